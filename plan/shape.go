package plan

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"hank/internal/lazyregexp"
	"hank/internal/typo"
)

// shape says what a JSON value must look like. It is behind the checks, the hints
// and the JSON Schema.
type shape struct {
	kind  kind
	name  string // of objects with a definition of their own in the schema
	label string // what it is called in messages: "a codon"

	fields  []field            // objects
	open    bool               // objects: unknown members are only warned about
	typos   map[string]string  // objects: wrong names and what is meant
	elem    *shape             // arrays and maps
	least   int                // shortest string, fewest items
	most    int                // most items; 0 is no limit
	words   []string           // strings: the allowed ones
	pattern *lazyregexp.Regexp // strings
	says    string             // what a pattern asks for, or what to know about a union, in words
	rule    string             // strings: rule of a mismatch; default bad-value
	min     float64            // numbers
	max     float64            // numbers; 0 is no limit
	above   bool               // numbers: min itself is not allowed

	tag      string           // unions: the member that decides
	variants []variant        // unions
	other    func(*node) bool // unions without tag: which variant, see eitherOr
}

type kind int

const (
	anyValue kind = iota
	aScalar       // a string, a number, true, false or null
	aString
	aWhole
	aNumber
	aBool
	anArray
	aMap
	anObject
	aUnion
)

// field is a member of an object.
type field struct {
	name     string
	shape    *shape
	required bool
	inert    bool // accepted for compatibility; hank does nothing with it
	doc      string
}

// variant is one form of a union: value is what the tag holds. The last
// variant of a union may have an empty value: it is taken if the tag is absent.
type variant struct {
	value string
	shape *shape
}

func object(name, label string, fields ...field) *shape {
	return &shape{kind: anObject, name: name, label: label, fields: fields}
}

func (s *shape) withTypos(typos map[string]string) *shape { s.typos = typos; return s }

// lenient makes unknown members a warning, as the compatible system drops
// them in silence.
func (s *shape) lenient() *shape { s.open = true; return s }

func required(name string, s *shape, doc string) field {
	return field{name: name, shape: s, required: true, doc: doc}
}

func optional(name string, s *shape, doc string) field {
	return field{name: name, shape: s, doc: doc}
}

// inert is an optional field that hank accepts and ignores.
func inert(name string, s *shape, doc string) field {
	return field{name: name, shape: s, doc: doc, inert: true}
}

func text() *shape                  { return &shape{kind: aString} }
func filled() *shape                { return &shape{kind: aString, least: 1} }
func word(words ...string) *shape   { return &shape{kind: aString, words: words} }
func boolean() *shape               { return &shape{kind: aBool} }
func anything() *shape              { return &shape{kind: anyValue} }
func scalar() *shape                { return &shape{kind: aScalar} }
func list(elem *shape) *shape       { return &shape{kind: anArray, elem: elem} }
func filledList(elem *shape) *shape { return &shape{kind: anArray, elem: elem, least: 1} }
func mapOf(elem *shape) *shape      { return &shape{kind: aMap, elem: elem} }

func matching(pattern, says string) *shape {
	return &shape{kind: aString, pattern: lazyregexp.New(pattern), says: says}
}

// whole is a whole number in a range; a max of 0 is no limit.
func whole(least, most float64) *shape { return &shape{kind: aWhole, min: least, max: most} }

func number(least, most float64) *shape { return &shape{kind: aNumber, min: least, max: most} }

// positive is a number above 0; a max of 0 is no limit.
func positive(most float64) *shape { return &shape{kind: aNumber, max: most, above: true} }

// tagged is one of several objects, told apart by the member tag.
func tagged(tag string, variants ...variant) *shape {
	return &shape{kind: aUnion, tag: tag, variants: variants}
}

// under sets the rule under which a text that does not fit the pattern is reported.
func (s *shape) under(rule string) *shape { s.rule = rule; return s }

// saying sets the hint for a tag that is not among the variants.
func (s *shape) saying(hint string) *shape { s.says = hint; return s }

// eitherOr is the first shape for values of the given kind, else the second.
func eitherOr(kind byte, first, second *shape) *shape {
	return &shape{
		kind:     aUnion,
		variants: []variant{{shape: first}, {shape: second}},
		other:    func(n *node) bool { return byte(n.kind) != kind },
	}
}

// field returns the field of a name, or nil.
func (s *shape) field(name string) *field {
	for i := range s.fields {
		if s.fields[i].name == name {
			return &s.fields[i]
		}
	}
	return nil
}

// hint says what an unknown name may mean; empty if nothing is near.
func (s *shape) hint(key string, others []*shape) string {
	if right := s.typos[key]; right != "" {
		return "did you mean " + right + "?"
	}
	names := make([]string, len(s.fields))
	for i, f := range s.fields {
		names[i] = f.name
	}
	if near := typo.Nearest(key, names); near != "" {
		return "did you mean " + near + "?"
	}
	for _, other := range others {
		if other != s && other.field(key) != nil {
			return fmt.Sprintf("%q is a field of %s", key, other.label)
		}
	}
	if s.typos == nil && len(names) <= 12 {
		return "the fields are " + strings.Join(names, ", ")
	}
	return ""
}

// takesText reports whether values of the shape can be written as a bare text, as
// in an environment variable.
func (s *shape) takesText() bool {
	return s.kind == aString || s.kind == aWhole || s.kind == aNumber || s.kind == aBool
}

// fromText reads a bare text as the kind of value that the shape asks for. What
// does not fit stays a string and is reported by the check.
func (s *shape) fromText(text string) node {
	switch s.kind {
	case aBool:
		switch text {
		case "true", "1":
			return node{kind: 't'}
		case "false", "0":
			return node{kind: 'f'}
		}
	case aWhole, aNumber:
		if jsontext.Value(text).Kind() == '0' && jsontext.Value(text).IsValid() {
			return node{kind: '0', text: strings.TrimSpace(text)}
		}
	}
	return node{kind: '"', text: text}
}
