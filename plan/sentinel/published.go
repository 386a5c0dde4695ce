package sentinel

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The published form: <%= EXPRESSION %>, where an expression reads it.events, it.codon and
// it.world. Of the language that it is written in there are: members, indexes, length, at,
// slice, join, map and filter with an arrow of one name, JSON.stringify, texts, numbers,
// comparisons, && || ?? and parentheses. Anything else is an error: a text that was meant as
// code is not sent to a model.

// segment is a text, and what is filled in after it; nil at the end.
type segment struct {
	text string
	expr expr
}

// noCode is what is said of code.
const noCode = "hank fills in <%= it.… %>: members of it.events, it.codon and it.world, JSON.stringify, length, at, slice, map, filter, join; a loop or a condition is written in Go's text/template ({{range .events}}…{{end}})"

func parsePublished(text string) (all []segment, err error) {
	rest, at := text, 0
	for {
		open := strings.Index(rest, "<%")
		if open < 0 {
			return append(all, segment{text: rest}), nil
		}
		s := segment{text: rest[:open]}
		start, inner := at+open, rest[open+2:]
		if !strings.HasPrefix(inner, "=") && !strings.HasPrefix(inner, "~") {
			return nil, &TemplateError{start, fmt.Sprintf("%q is code, and a template of a sentinel is not run", shown(rest[open:])), noCode}
		}
		p := &parser{text: inner[1:]}
		if s.expr, err = p.whole(); err != nil {
			return nil, &TemplateError{start + 3 + p.at, err.Error(), noCode}
		}
		at, rest = start+3+p.at+2, p.text[p.at+2:]
		all = append(all, s)
	}
}

// shown is the beginning of a place, as a message has it.
func shown(text string) string {
	if end := strings.Index(text, "%>"); end >= 0 && end < 60 {
		return text[:end+2]
	}
	cut := min(len(text), 60)
	for cut > 0 && cut < len(text) && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// parser reads an expression up to %>.
type parser struct {
	text  string
	at    int
	depth int
	links int      // operators, members and methods that follow one another
	names []string // of arrows around
}

// whole is an expression, and at is then that of its %>.
func (p *parser) whole() (expr, error) {
	e, err := p.or()
	if err != nil {
		return nil, err
	}
	if p.space(); !strings.HasPrefix(p.text[p.at:], "%>") {
		return nil, p.unexpected()
	}
	return e, nil
}

func (p *parser) space() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

func (p *parser) unexpected() error {
	p.space()
	if p.at >= len(p.text) {
		return fmt.Errorf("the place does not end: %%> is missing")
	}
	rest := p.text[p.at:]
	if strings.HasPrefix(rest, "%>") {
		return fmt.Errorf("the expression ends too early")
	}
	end := 1
	for end < len(rest) && (isName(rest[end]) && isName(rest[0]) || !utf8.RuneStart(rest[end])) {
		end++
	}
	return fmt.Errorf("%q cannot be used here", rest[:end])
}

// take takes a symbol if it is next.
func (p *parser) take(symbol string) bool {
	p.space()
	if !strings.HasPrefix(p.text[p.at:], symbol) {
		return false
	}
	p.at += len(symbol)
	return true
}

// mostLinks bounds how long an expression is: each of its links is one call in another
// when it is filled in, and too many would use up the stack.
const mostLinks = 10_000

// link counts one.
func (p *parser) link() error {
	if p.links++; p.links > mostLinks {
		return fmt.Errorf("the expression has more than %d parts", mostLinks)
	}
	return nil
}

func (p *parser) or() (expr, error) {
	if p.depth++; p.depth > maxNesting {
		return nil, fmt.Errorf("the expression is nested more than %d times", maxNesting)
	}
	defer func() { p.depth-- }()
	return p.binary([]string{"||", "??"}, func() (expr, error) {
		return p.binary([]string{"&&"}, func() (expr, error) {
			return p.binary([]string{"===", "!==", "==", "!=", "<=", ">=", "<", ">"}, p.not)
		})
	})
}

func (p *parser) binary(operators []string, operand func() (expr, error)) (expr, error) {
	left, err := operand()
next:
	for err == nil {
		for _, o := range operators {
			if p.take(o) {
				var right expr
				if err = p.link(); err != nil {
					return nil, err
				}
				if right, err = operand(); err == nil {
					left = operation{o, left, right}
				}
				continue next
			}
		}
		return left, nil
	}
	return nil, err
}

func (p *parser) not() (expr, error) {
	if p.space(); strings.HasPrefix(p.text[p.at:], "!") && !strings.HasPrefix(p.text[p.at:], "!=") {
		if p.depth++; p.depth > maxNesting {
			return nil, fmt.Errorf("the expression is nested more than %d times", maxNesting)
		}
		defer func() { p.depth-- }()
		p.at++
		of, err := p.not()
		return negation{of}, err
	}
	return p.suffixed()
}

// suffixed is a value with the members, indexes and methods after it.
func (p *parser) suffixed() (expr, error) {
	e, err := p.primary()
	for err == nil {
		if err = p.link(); err != nil {
			return nil, err
		}
		switch {
		case p.take("?.["), p.take("["):
			var index expr
			if index, err = p.or(); err == nil && !p.take("]") {
				err = p.unexpected()
			}
			e = member{e, index}
		case p.take("?."), p.take("."):
			name := p.name()
			switch {
			case name == "":
				return nil, p.unexpected()
			case p.take("("):
				e, err = p.method(e, name)
			default:
				e = member{e, literal{name}}
			}
		default:
			return e, nil
		}
	}
	return nil, err
}

func isName(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// name takes a name; empty if there is none.
func (p *parser) name() string {
	p.space()
	from := p.at
	for p.at < len(p.text) && isName(p.text[p.at]) {
		p.at++
	}
	if from < p.at && p.text[from] >= '0' && p.text[from] <= '9' {
		p.at = from
	}
	return p.text[from:p.at]
}

// arities are how many arguments a method may have.
var arities = map[string][2]int{"at": {1, 1}, "slice": {0, 2}, "join": {0, 1}, "map": {1, 1}, "filter": {1, 1}, "toString": {0, 0}}

func (p *parser) method(of expr, name string) (expr, error) {
	arity, known := arities[name]
	if !known {
		p.at -= len(name) + 1
		return nil, fmt.Errorf("the method %s cannot be used", name)
	}
	m := method{of: of, name: name}
	if name == "map" || name == "filter" {
		parameter, body, err := p.arrow()
		m.parameter, m.body = parameter, body
		return m, err
	}
	args, err := p.arguments()
	if err == nil && (len(args) < arity[0] || len(args) > arity[1]) {
		err = fmt.Errorf("%s has %d to %d arguments here", name, arity[0], arity[1])
	}
	m.args = args
	return m, err
}

// arguments are those up to the closing parenthesis.
func (p *parser) arguments() (args []expr, err error) {
	if p.take(")") {
		return nil, nil
	}
	for {
		e, err := p.or()
		if err != nil {
			return nil, err
		}
		args = append(args, e)
		if p.take(")") {
			return args, nil
		}
		if !p.take(",") {
			return nil, p.unexpected()
		}
	}
}

// arrow is name => expression, up to the closing parenthesis.
func (p *parser) arrow() (parameter string, body expr, err error) {
	wrapped := p.take("(")
	parameter = p.name()
	if parameter == "" || wrapped && !p.take(")") || !p.take("=>") {
		return "", nil, p.unexpected()
	}
	p.names = append(p.names, parameter)
	body, err = p.or()
	p.names = p.names[:len(p.names)-1]
	if err == nil && !p.take(")") {
		err = p.unexpected()
	}
	return parameter, body, err
}

func (p *parser) primary() (expr, error) {
	p.space()
	if p.at >= len(p.text) {
		return nil, p.unexpected()
	}
	switch c := p.text[p.at]; {
	case c == '(':
		p.at++
		e, err := p.or()
		if err == nil && !p.take(")") {
			err = p.unexpected()
		}
		return e, err
	case c == '"' || c == '\'' || c == '`':
		return p.quoted(c)
	case c >= '0' && c <= '9' || c == '-':
		return p.number()
	}
	from := p.at
	name := p.name()
	switch name {
	case "":
		return nil, p.unexpected()
	case "it":
		return variable{"it"}, nil
	case "null", "undefined":
		return literal{nil}, nil
	case "true", "false":
		return literal{name == "true"}, nil
	case "JSON":
		if p.take(".") && p.name() == "stringify" && p.take("(") {
			args, err := p.arguments()
			if err == nil && (len(args) < 1 || len(args) > 3) {
				err = fmt.Errorf("JSON.stringify has 1 to 3 arguments here")
			}
			return stringified{args}, err
		}
	}
	for _, known := range p.names {
		if known == name {
			return variable{name}, nil
		}
	}
	p.at = from
	return nil, fmt.Errorf("%q is not known here", name)
}

func (p *parser) quoted(quote byte) (expr, error) {
	var b strings.Builder
	for i := p.at + 1; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case c == quote:
			p.at = i + 1
			return literal{b.String()}, nil
		case c == '$' && quote == '`' && strings.HasPrefix(p.text[i:], "${"):
			p.at = i
			return nil, fmt.Errorf("a text in back-quotes with ${ cannot be used")
		case c == '\\' && i+1 < len(p.text):
			i++
			if at := strings.IndexByte("ntr", p.text[i]); at >= 0 {
				b.WriteByte("\n\t\r"[at])
			} else {
				b.WriteByte(p.text[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return nil, fmt.Errorf("the text does not end")
}

func (p *parser) number() (expr, error) {
	end := p.at + 1
	for end < len(p.text) && (p.text[end] >= '0' && p.text[end] <= '9' || p.text[end] == '.') {
		end++
	}
	f, err := strconv.ParseFloat(p.text[p.at:end], 64)
	if err != nil {
		return nil, p.unexpected()
	}
	p.at = end
	return literal{f}, nil
}
