package machine

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"mvdan.cc/sh/v3/syntax"

	"hank/internal/lazyregexp"
	"hank/plan"
	"hank/plan/diagnostic"
	"hank/runtime/harness"
)

// parseLimit is how long sh may take to read one script.
const parseLimit = 20 * time.Second

// scripts lets sh parse texts that it is going to be given (sh -n), and says which it
// cannot. Nothing is run. Where there is no sh, nothing is said.
func scripts(ctx context.Context, p *plan.Program, all []plan.Script, environ []string) []diagnostic.Diagnostic {
	env := harness.NewEnviron(environ)
	sh := harness.LookPath("sh", env)
	if sh == "" {
		return nil
	}
	problems := parseAll(ctx, sh, env["PATH"], all)
	var found []diagnostic.Diagnostic
	for _, s := range all {
		why := problems[s.ScriptText]
		if why == "" {
			continue
		}
		rule, what := "script-syntax", "the script of "+strconv.Quote(string(s.Owner))
		if s.Command {
			rule, what = "command-syntax", "the command of "+strconv.Quote(string(s.Owner))
		}
		line, why := place(why)
		file, line := s.Place(line)
		if len(s.Files) > 1 { // an if in one of them may lack its end in the last
			what += ", which is " + strings.Join(s.Files, " and ")
		}
		if file != "" {
			found = append(found, p.DiagnoseFile(file, line, rule, "sh -n checks a script without running it", fmt.Sprintf("sh cannot parse %s: %s", what, why)))
			continue
		}
		if line > 1 {
			why = fmt.Sprintf("line %d: %s", line, why)
		}
		found = append(found, p.Diagnose(s.Pointer, rule, "sh -n checks a script without running it", fmt.Sprintf("sh cannot parse %s: %s", what, why)))
	}
	return found
}

// parseAll says why sh cannot parse texts, by text. Equal ones are parsed once, and those
// that every shell can parse for sure, without it: a process for each of 10,000 scripts
// takes a minute.
func parseAll(ctx context.Context, sh, path string, scripts []plan.Script) map[*plan.ScriptText]string {
	var texts []string
	distinct, at := map[*plan.ScriptText]int{}, map[string]int{} // the place in texts; -1: it needs no process
	for _, s := range scripts {
		if _, seen := distinct[s.ScriptText]; seen { // a shared one may be long
			continue
		}
		i, seen := at[s.Text]
		if !seen {
			if i = -1; !parsable(s.Text) {
				i, texts = len(texts), append(texts, s.Text)
			}
			at[s.Text] = i
		}
		distinct[s.ScriptText] = i
	}
	whys := make([]string, len(texts))
	var group errgroup.Group
	group.SetLimit(max(2, runtime.GOMAXPROCS(0)))
	for i, text := range texts {
		group.Go(func() error {
			if whys[i] = parse(ctx, sh, path, text); whys[i] == "" {
				return nil
			}
			line, _ := place(whys[i])
			if before := ended(text, line); before != "" && parse(ctx, sh, path, before) == "" {
				whys[i] = "" // data may follow, which sh does not read
			}
			return nil
		})
	}
	_ = group.Wait() // none of them fails
	problems := map[*plan.ScriptText]string{}
	for text, i := range distinct {
		if i >= 0 {
			problems[text] = whys[i]
		}
	}
	return problems
}

// parse says why sh cannot parse a text; empty if it can, or if sh does not say.
func parse(ctx context.Context, sh, path, text string) string {
	ctx, cancel := context.WithTimeout(ctx, parseLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, sh, "-n")
	cmd.Env = []string{"PATH=" + path, "LC_ALL=C"}
	cmd.Stdin = strings.NewReader(text)
	cmd.WaitDelay = time.Second
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err == nil || ctx.Err() != nil {
		return ""
	}
	first, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
	return first
}

// exits is a line that ends a script, where the grammar does not take it for a part of more.
var exits = lazyregexp.New(`(?m)^exit(?:[ \t]+[0-9]+)?[ \t]*;?[ \t]*(?:#.*)?\n`)

// ended is a script to the first of its lines that ends it, if that is before a line; else
// empty.
func ended(text string, line int) string {
	for _, at := range exits.FindAllStringIndex(text, 1) {
		if before := text[:at[1]]; strings.Count(before, "\n") < line && !strings.Contains(before, "<<") { // it may be in a here-document
			return before
		}
	}
	return ""
}

// complaint is how shells begin: dash "sh: 2: Syntax error: …", bash "sh: line 2: syntax
// error …", busybox "sh: syntax error: …".
var complaint = lazyregexp.New(`^(?:[^:]*/)?(?:sh|dash|bash|ash|busybox)?(?:\[\d+\])?: *(?:line )?(?:(\d+): )?`)

// place takes the line out of a complaint; 1 if it has none.
func place(why string) (line int, rest string) {
	m := complaint.FindStringSubmatch(why)
	if m == nil {
		return 1, why
	}
	line, err := strconv.Atoi(m[1])
	if err != nil {
		line = 1
	}
	return line, why[len(m[0]):]
}

// reserved are the words that mean something to the grammar of sh, or of a shell that
// stands in for it.
var reserved = strings.Fields("if then else elif fi do done case esac while until for in { } ! function select time coproc [[ ]]")

// oddities are what the parser may read otherwise than one of the shells: a backslash, which
// may be the last byte; a carriage return or another control character; a number in the place
// of a file that is redirected in its turn (>&2>&1); $[.
var oddities = lazyregexp.New(`[\\\x00-\x08\x0b-\x1f]|[<>&]\s*\d+[<>]|\$\[`)

// variableName is what every shell takes for the variable of a loop.
var variableName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// parsable reports whether every sh can parse a text for sure, without a process. False
// means only that sh has to be asked: the parser takes reserved words for commands, and
// any command for the body of a function.
func parsable(text string) bool {
	if oddities.MatchString(text) {
		return false
	}
	script, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(text), "")
	if err != nil {
		return false
	}
	sure := true
	syntax.Walk(script, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.FuncDecl:
			sure = false
		case *syntax.WordIter:
			sure = sure && variableName.MatchString(n.Name.Value)
		case *syntax.ParamExp: // shells do not agree on quotes in "${x:-…}"
			sure = sure && (n.Exp == nil || !strings.ContainsAny(text[n.Pos().Offset():n.End().Offset()], "'`\""))
		case *syntax.CallExpr:
			if len(n.Args) > 0 {
				word := n.Args[0]
				begin, _ := word.Parts[0].(*syntax.Lit)
				index := begin != nil && strings.Contains(begin.Value, "[") && word.Lit() != "[" // bash looks for its end
				sure = sure && !index && !slices.Contains(reserved, word.Lit())
			}
		}
		return sure
	})
	return sure
}
