package page

import (
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"io"
	"reflect"
	"strings"
	"text/template/parse"
	"time"
	"unicode"

	"github.com/dustin/go-humanize"

	"hank/internal/lazyregexp"
	"hank/internal/term"
	"hank/runtime/liveview"
	"hank/runtime/report"
	"hank/runtime/verdict"
	"hank/state"
)

//go:embed templates/*.html
var sources embed.FS

// printer prints templates.
type printer struct {
	mask func(string) string
	all  *template.Template
}

func newPrinter(mask func(string) string) *printer {
	p := &printer{mask: mask}
	p.all = template.Must(template.New("").Funcs(template.FuncMap{
		"shown": p.shown, "brief": p.brief, "clock": clock, "exact": exact, "sha": short, "mark": mark, "class": class, "duration": term.Duration, "dict": dict, "name": name, "count": term.Count, "comma": comma, "parts": p.parts,
	}).ParseFS(sources, "templates/*.html"))
	for _, t := range p.all.Templates() {
		if t.Tree != nil {
			showAll(t.Tree.Root)
		}
	}
	return p
}

func (p *printer) print(out io.Writer, name string, data any) error {
	return p.all.ExecuteTemplate(out, name, data)
}

// showAll has every value that a template prints go through shown. The escaping for the
// place comes after it.
func showAll(list *parse.ListNode) {
	if list == nil {
		return
	}
	for _, n := range list.Nodes {
		switch n := n.(type) {
		case *parse.ActionNode:
			if len(n.Pipe.Decl) == 0 {
				n.Pipe.Cmds = append(n.Pipe.Cmds, &parse.CommandNode{NodeType: parse.NodeCommand, Pos: n.Pos,
					Args: []parse.Node{parse.NewIdentifier("shown").SetPos(n.Pos)}})
			}
		case *parse.IfNode:
			showAll(n.List)
			showAll(n.ElseList)
		case *parse.RangeNode:
			showAll(n.List)
			showAll(n.ElseList)
		case *parse.WithNode:
			showAll(n.List)
			showAll(n.ElseList)
		}
	}
}

// shown is a value as a page may have it: a text without secrets, without what shows
// characters in another order, and without control characters. Numbers stay.
func (p *printer) shown(value any) any {
	switch v := reflect.ValueOf(value); {
	case !v.IsValid():
		return ""
	case v.Kind() == reflect.String:
		return p.text(v.String())
	case v.Kind() == reflect.Bool, v.CanInt() && !isStringer(value), v.CanUint(), v.CanFloat():
		return value
	}
	return p.text(fmt.Sprint(value))
}

func isStringer(value any) bool { _, ok := value.(fmt.Stringer); return ok }

func (p *printer) text(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r >= '\u202A' && r <= '\u202E' || r >= '\u2066' && r <= '\u2069' || unicode.IsControl(r):
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(p.mask(text), "\uFFFD"))
}

// part is a part of a text; Whole: a line does not end in it.
type part struct {
	Text  string
	Whole bool
}

// whole is a day or a time, or an option of a command, at whose hyphens browsers would end a line.
var whole = lazyregexp.New(`\b\d{4}-\d\d-\d\d\b(?:[ T]\d\d:\d\d(?::\d\d)?(?:\.\d+)?Z?)?|\B--?[a-z][a-z-]{0,30}`)

// parts are the parts of a text.
func (p *printer) parts(text string) (out []part) {
	text = p.text(text)
	end := 0
	for _, at := range whole.FindAllStringIndex(text, -1) {
		out = append(out, part{Text: text[end:at[0]]}, part{text[at[0]:at[1]], true})
		end = at[1]
	}
	return append(out, part{Text: text[end:]})
}

// clock is a time for people, in the zone of this machine.
func clock(t any) string {
	switch t := t.(type) {
	case time.Time:
		return t.Local().Format(time.DateTime)
	case *time.Time:
		if t != nil {
			return t.Local().Format(time.DateTime)
		}
	case state.Time:
		return t.Local().Format(time.DateTime)
	case *state.Time:
		if t != nil {
			return t.Local().Format(time.DateTime)
		}
	}
	return ""
}

// comma is a number with its thousands apart.
func comma(n int64) string { return humanize.Comma(n) }

// exact is an amount to the billionth of a dollar.
func exact(u state.USD) string { return u.String() }

// short is a checkpoint as people read it.
func short(sha state.SHA) string { return string(sha[:min(12, len(sha))]) }

// class is the class of style of a verdict.
func class(v any) string {
	switch verdict.Verdict(fmt.Sprint(v)) {
	case verdict.Completed:
		return "good"
	case verdict.Failed, verdict.Crashed, verdict.Interrupted, verdict.Blocked, verdict.Refused:
		return "bad"
	case verdict.Skipped, verdict.NotBegun, "", next, toCome:
		return "dim"
	case verdict.Stopped, verdict.Budget, verdict.Waiting, verdict.Unavailable, verdict.Held, verdict.Paused, verdict.RolledBack:
		return "warn"
	}
	return "runs"
}

// mark is the sign of a verdict, beside its word; the same as in a terminal.
func mark(v any) string {
	switch of := verdict.Verdict(fmt.Sprint(v)); of {
	case next, toCome:
		return liveview.Symbol("", false)
	default:
		return liveview.Symbol(of, false)
	}
}

// dict is a value with names, for a template inside of another one.
func dict(pairs ...any) map[string]any {
	d := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		d[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return d
}

// name is a path for people. One that is no text is shown as well as it can be.
func name(p report.Path) string { return cmp.Or(p.Path, string(p.PathBase64)) }
