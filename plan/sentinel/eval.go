package sentinel

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// missing is the value of what is not there, which is not the same as null. All other
// values are those of JSON: nil, bool, float64, string, []any, map[string]any.
type missing struct{}

// scope has the names that an expression knows.
type scope map[string]any

// expr is an expression of the published form.
type expr interface {
	eval(scope, *work) (any, error)
}

type (
	literal   struct{ value any }
	variable  struct{ name string }
	member    struct{ of, key expr }
	negation  struct{ of expr }
	operation struct {
		operator    string
		left, right expr
	}
	method struct {
		of        expr
		name      string
		args      []expr
		parameter string // of map and filter
		body      expr
	}
	stringified struct{ args []expr }
)

func (l literal) eval(scope, *work) (any, error) { return l.value, nil }

func (v variable) eval(s scope, _ *work) (any, error) { return s[v.name], nil }

func (m member) eval(s scope, w *work) (any, error) {
	of, err := m.of.eval(s, w)
	if err != nil {
		return nil, err
	}
	key, err := m.key.eval(s, w)
	if err = errors.Join(err, w.step()); err != nil {
		return nil, err
	}
	if of == nil || of == (missing{}) {
		return nil, fmt.Errorf("there is no %s of %s", display(key), display(of))
	}
	switch k := key.(type) {
	case string:
		return lookUp(of, k), nil
	case float64:
		if list, ok := of.([]any); ok {
			return item(list, k), nil
		}
	}
	return missing{}, nil
}

// lookUp is a member of a value.
func lookUp(of any, name string) any {
	switch of := of.(type) {
	case map[string]any:
		if v, ok := of[name]; ok {
			return v
		}
	case []any:
		if name == "length" {
			return float64(len(of))
		}
		if i, err := strconv.Atoi(name); err == nil {
			return item(of, float64(i))
		}
	case string:
		if name == "length" {
			return float64(utf8.RuneCountInString(of))
		}
	}
	return missing{}
}

func item(list []any, i float64) any {
	if i != math.Trunc(i) || i < 0 || i >= float64(len(list)) {
		return missing{}
	}
	return list[int(i)]
}

func (n negation) eval(s scope, w *work) (any, error) {
	v, err := n.of.eval(s, w)
	return !truth(v), err
}

// truth is whether a value counts as true.
func truth(v any) bool {
	switch v := v.(type) {
	case nil, missing:
		return false
	case bool:
		return v
	case float64:
		return v != 0 && !math.IsNaN(v)
	case string:
		return v != ""
	}
	return true
}

func (o operation) eval(s scope, w *work) (any, error) {
	if err := w.step(); err != nil {
		return nil, err
	}
	left, err := o.left.eval(s, w)
	if err != nil {
		return nil, err
	}
	none := left == nil || left == (missing{})
	switch {
	case o.operator == "||" && truth(left), o.operator == "&&" && !truth(left), o.operator == "??" && !none:
		return left, nil
	}
	right, err := o.right.eval(s, w)
	if err != nil {
		return nil, err
	}
	switch o.operator {
	case "===", "==":
		return same(left, right), nil
	case "!==", "!=":
		return !same(left, right), nil
	case "<", "<=", ">", ">=":
		order, comparable := compare(left, right)
		if !comparable {
			return false, nil
		}
		return order < 0 && o.operator[0] == '<' || order > 0 && o.operator[0] == '>' || order == 0 && len(o.operator) == 2, nil
	}
	return right, nil
}

// same reports whether two scalars are equal.
func same(a, b any) bool {
	switch a.(type) {
	case []any, map[string]any:
		return false
	}
	switch b.(type) {
	case []any, map[string]any:
		return false
	}
	return a == b
}

func compare(a, b any) (order int, comparable bool) {
	switch a := a.(type) {
	case float64:
		if b, ok := b.(float64); ok {
			return cmp.Compare(a, b), true
		}
	case string:
		if b, ok := b.(string); ok {
			return strings.Compare(a, b), true
		}
	}
	return 0, false
}

func (m method) eval(s scope, w *work) (any, error) {
	of, err := m.of.eval(s, w)
	if err != nil {
		return nil, err
	}
	args := make([]any, len(m.args))
	for i, a := range m.args {
		if args[i], err = a.eval(s, w); err != nil {
			return nil, err
		}
	}
	if m.name == "toString" {
		return w.text(display(of))
	}
	if text, ok := of.(string); ok && m.name == "slice" {
		runes := []rune(text)
		from, to := bounds(len(runes), args)
		return w.text(string(runes[from:to]))
	}
	list, ok := of.([]any)
	if !ok {
		return nil, fmt.Errorf("%s is of a list, and %s is none", m.name, display(of))
	}
	switch m.name {
	case "at":
		i, _ := args[0].(float64)
		if i < 0 {
			i += float64(len(list))
		}
		return item(list, i), nil
	case "slice":
		from, to := bounds(len(list), args)
		return list[from:to], nil
	case "join":
		separator := ","
		if len(args) > 0 {
			if separator, err = w.text(display(args[0])); err != nil {
				return nil, err
			}
		}
		return joined(list, separator, w)
	}
	return m.each(list, s, w)
}

// each is map and filter.
func (m method) each(list []any, s scope, w *work) (any, error) {
	inner := scope{}
	for name, v := range s {
		inner[name] = v
	}
	var out []any
	for _, v := range list {
		if err := w.step(); err != nil {
			return nil, err
		}
		inner[m.parameter] = v
		r, err := m.body.eval(inner, w)
		switch {
		case err != nil:
			return nil, err
		case r == (missing{}) && m.name == "map":
			out = append(out, nil)
		case m.name == "map":
			out = append(out, r)
		case truth(r):
			out = append(out, v)
		}
	}
	return out, nil
}

// bounds are those of slice: negative ones count from the end.
func bounds(n int, args []any) (from, to int) {
	place := func(i, otherwise int) int {
		if i >= len(args) {
			return otherwise
		}
		f, ok := args[i].(float64)
		if !ok || math.IsNaN(f) {
			return otherwise
		}
		if f < 0 {
			f += float64(n)
		}
		return int(min(max(f, 0), float64(n)))
	}
	from, to = place(0, 0), place(1, n)
	return from, max(from, to)
}

func joined(list []any, separator string, w *work) (string, error) {
	var b strings.Builder
	for i, v := range list {
		if err := w.step(); err != nil {
			return "", err
		}
		if i > 0 {
			b.WriteString(separator)
		}
		if v != nil && v != (missing{}) {
			b.WriteString(display(v))
		}
		if b.Len() > mostText {
			return "", errTooLong
		}
	}
	return b.String(), w.made(b.Len())
}

func (c stringified) eval(s scope, w *work) (any, error) {
	v, err := c.args[0].eval(s, w)
	if err != nil {
		return nil, err
	}
	indent := ""
	if len(c.args) == 3 {
		by, err := c.args[2].eval(s, w)
		if err != nil {
			return nil, err
		}
		switch by := by.(type) {
		case float64:
			indent = strings.Repeat(" ", int(min(max(by, 0), 10)))
		case string:
			if strings.Trim(by, " \t") == "" {
				indent = by[:min(len(by), 10)]
			}
		}
	}
	if v == (missing{}) {
		return missing{}, nil
	}
	return stringify(v, indent, w)
}

// stringify is a value as JSON.
func stringify(v any, indent string, w *work) (string, error) {
	if err := w.step(); err != nil {
		return "", err
	}
	options := []json.Options{json.Deterministic(true)}
	if indent != "" {
		options = append(options, jsontext.WithIndent(indent))
	}
	text, err := json.Marshal(v, options...)
	if err != nil {
		return "", err
	}
	return string(text), w.made(len(text))
}

// display is a value as a prompt has it.
func display(v any) string {
	switch v := v.(type) {
	case missing:
		return "undefined"
	case string:
		return v
	}
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}
