package sentinel

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"
	"time"
)

// ownTemplate is a template of Go's text/template. It may use what reads data and compares
// it: no definition, no output format, and no function that is not listed here.
type ownTemplate struct{ t *template.Template }

// allowed are the functions. step and pass are not for authors: step is put into each
// repetition, and pass at the end of each pipeline, so that what has no end has one.
var allowed = []string{"and", "or", "not", "eq", "ne", "lt", "le", "gt", "ge", "len", "index", "slice", "json", "pretty", "join"}

const (
	stepName = "hankStep"
	passName = "hankPass" // hands on what it is given
)

// functions are ours of a rendering.
func functions(w *work) template.FuncMap {
	return template.FuncMap{
		stepName: func() (string, error) { return "", w.step() },
		passName: func(v any) (any, error) { return v, w.step() },
		"json":   func(v any) (string, error) { return stringify(v, "", w) },
		"pretty": func(v any) (string, error) { return stringify(v, "  ", w) },
		"join": func(separator string, v any) (string, error) {
			list, ok := v.([]any)
			if !ok {
				return "", fmt.Errorf("join needs a list")
			}
			return joined(list, separator, w)
		},
	}
}

func parseOwn(text string) (*ownTemplate, error) {
	t, err := template.New("prompt").Funcs(functions(&work{})).Option("missingkey=zero").Parse(text)
	if err != nil {
		return nil, ownError(text, err)
	}
	if names := t.Templates(); len(names) > 1 {
		return nil, refused(t.Tree.Root.Pos, "define and block cannot be used")
	}
	if t.Tree == nil {
		return &ownTemplate{t}, nil
	}
	add := additions{step: action(stepName), pass: action("1 | " + passName).Pipe.Cmds[1]}
	if err := add.check(t.Root, 0); err != nil {
		return nil, err
	}
	return &ownTemplate{t}, nil
}

func refused(pos parse.Pos, format string, args ...any) error {
	return &TemplateError{int(pos), fmt.Sprintf(format, args...), "a template can use if, range, with, fields, and the functions " + strings.Join(allowed, ", ")}
}

// ownError has the place of an error of the parser, which names a line.
func ownError(text string, err error) error {
	message, line := strings.TrimPrefix(err.Error(), "template: prompt:"), 1
	if number, rest, ok := strings.Cut(message, ": "); ok {
		if n, e := strconv.Atoi(strings.TrimSpace(number)); e == nil {
			message, line = rest, n
		}
	}
	offset := 0
	for ; line > 1; line-- {
		next := strings.IndexByte(text[offset:], '\n')
		if next < 0 {
			break
		}
		offset += next + 1
	}
	return &TemplateError{offset, message, `templates are those of Go's text/template; a literal {{ is written {{"{{"}}`}
}

// maxNesting bounds how deep a template is nested, so that going through it cannot use up
// the stack.
const maxNesting = 100

// additions are what is put into a template, so that its work is counted.
type additions struct {
	step parse.Node
	pass *parse.CommandNode
}

// action is the only action of a text.
func action(text string) *parse.ActionNode {
	return template.Must(template.New("").Funcs(functions(&work{})).Parse("{{" + text + "}}")).Root.Nodes[0].(*parse.ActionNode)
}

// check goes through a template, refuses what it may not use, and adds what counts.
func (a additions) check(n parse.Node, depth int) error {
	if depth > maxNesting {
		return refused(n.Position(), "the template is nested more than %d times", maxNesting)
	}
	all := func(nodes ...parse.Node) error {
		for _, n := range nodes {
			if err := a.check(n, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	branch := func(b *parse.BranchNode) error {
		if err := all(b.Pipe, b.List); err != nil || b.ElseList == nil {
			return err
		}
		return all(b.ElseList)
	}
	switch n := n.(type) {
	case *parse.ListNode:
		return all(n.Nodes...)
	case *parse.ActionNode:
		return all(n.Pipe)
	case *parse.IfNode:
		return branch(&n.BranchNode)
	case *parse.WithNode:
		return branch(&n.BranchNode)
	case *parse.RangeNode:
		err := branch(&n.BranchNode)
		n.List.Nodes = append([]parse.Node{a.step}, n.List.Nodes...)
		return err
	case *parse.PipeNode:
		for _, c := range n.Cmds {
			if err := all(c.Args...); err != nil {
				return err
			}
		}
		n.Cmds = append(n.Cmds, a.pass)
	case *parse.ChainNode:
		return all(n.Node)
	case *parse.IdentifierNode:
		if !slices.Contains(allowed, n.Ident) {
			return refused(n.Pos, "the function %s cannot be used", n.Ident)
		}
	case *parse.TemplateNode:
		return refused(n.Pos, "template cannot be used")
	}
	return nil
}

func (o *ownTemplate) render(it map[string]any, w *work) (text string, err error) {
	t, err := o.t.Clone()
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := t.Funcs(functions(w)).Execute(&limited{&b, w}, it); err != nil {
		message := err.Error()
		if _, after, ok := strings.Cut(message, "executing \"prompt\" at "); ok {
			message = after
		}
		return "", fmt.Errorf("%s", message)
	}
	return b.String(), nil
}

// limited refuses more than a prompt may have, and what takes too long.
type limited struct {
	b *bytes.Buffer
	w *work
}

func (l *limited) Write(p []byte) (int, error) {
	if l.b.Len()+len(p) > mostText {
		return 0, errTooLong
	}
	if time.Now().After(l.w.until) {
		return 0, errTooMuch
	}
	return l.b.Write(p)
}

var _ io.Writer = (*limited)(nil)
