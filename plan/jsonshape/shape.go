package jsonshape

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"hank/internal/lazyregexp"
	"hank/internal/typo"
)

// Shape says what a JSON value must look like. The checks, the hints and
// the JSON Schema use it.
type Shape struct {
	kind  kind
	name  string // of objects with a definition of their own in the schema
	label string // what it is called in messages: "a codon"

	Fields  []Field            // objects
	open    bool               // objects: unknown members are only warned about
	free    bool               // objects: unknown members are nobody's business
	typos   map[string]string  // objects: wrong names and what is meant
	elem    *Shape             // arrays and maps
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
	variants []Variant        // unions
	other    func(*Node) bool // unions without tag: which variant, see EitherOr

	need need // objects
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

// Field is a member of an object.
type Field struct {
	Name     string
	Shape    *Shape
	required bool
	inert    bool // accepted for compatibility; hank does nothing with it
	doc      string
}

// Variant is one form of a union: value is what the tag holds. The last
// variant of a union may have an empty value: it is taken if the tag is absent.
type Variant struct {
	Value string
	Shape *Shape
}

// Object is an object with these fields. A named one is a definition of its own in
// the schema; the label is what messages call it: "a codon".
func Object(name, label string, fields ...Field) *Shape {
	return &Shape{kind: anObject, name: name, label: label, Fields: fields}
}

// WithTypos sets the wrong names that people write, and what is meant by them.
func (s *Shape) WithTypos(typos map[string]string) *Shape { s.typos = typos; return s }

// need is a field that a value of another one makes required.
type need struct{ field, value, other, hint string }

// Needing makes a field required where another one has a value.
func (s *Shape) Needing(field, value, other, hint string) *Shape {
	s.need = need{field, value, other, hint}
	return s
}

// Lenient makes unknown members a warning, as the compatible system drops
// them in silence.
func (s *Shape) Lenient() *Shape { s.open = true; return s }

// Open takes unknown members without a word: the object is somebody else's.
func (s *Shape) Open() *Shape { s.free = true; return s }

// Required is a field that must be there.
func Required(name string, s *Shape, doc string) Field {
	return Field{Name: name, Shape: s, required: true, doc: doc}
}

// Optional is a field that may be left out.
func Optional(name string, s *Shape, doc string) Field {
	return Field{Name: name, Shape: s, doc: doc}
}

// Inert is an optional field that hank accepts and ignores.
func Inert(name string, s *Shape, doc string) Field {
	return Field{Name: name, Shape: s, doc: doc, inert: true}
}

// Text is any string.
func Text() *Shape { return &Shape{kind: aString} }

// Filled is a string that is not empty.
func Filled() *Shape { return &Shape{kind: aString, least: 1} }

// Word is one of these strings.
func Word(words ...string) *Shape { return &Shape{kind: aString, words: words} }

// Boolean is true or false.
func Boolean() *Shape { return &Shape{kind: aBool} }

// Anything is any value.
func Anything() *Shape { return &Shape{kind: anyValue} }

// Scalar is a string, a number, true, false or null.
func Scalar() *Shape { return &Shape{kind: aScalar} }

// List is an array.
func List(elem *Shape) *Shape { return &Shape{kind: anArray, elem: elem} }

// FilledList is an array with at least one item.
func FilledList(elem *Shape) *Shape { return &Shape{kind: anArray, elem: elem, least: 1} }

// MapOf is an object with any names.
func MapOf(elem *Shape) *Shape { return &Shape{kind: aMap, elem: elem} }

// Matching is a string that fits a regular expression; says is what that asks for,
// in words.
func Matching(pattern, says string) *Shape {
	return &Shape{kind: aString, pattern: lazyregexp.New(pattern), says: says}
}

// Whole is a whole number in a range; a max of 0 is no limit.
func Whole(least, most float64) *Shape { return &Shape{kind: aWhole, min: least, max: most} }

// Number is a number in a range; a most of 0 is no limit.
func Number(least, most float64) *Shape { return &Shape{kind: aNumber, min: least, max: most} }

// Positive is a number above 0; a max of 0 is no limit.
func Positive(most float64) *Shape { return &Shape{kind: aNumber, max: most, above: true} }

// Tagged is one of several objects, told apart by the member tag.
func Tagged(tag string, variants ...Variant) *Shape {
	return &Shape{kind: aUnion, tag: tag, variants: variants}
}

// Under sets the rule under which a text that does not fit the pattern is reported.
func (s *Shape) Under(rule string) *Shape { s.rule = rule; return s }

// Saying sets what is said of a tag that is not among the variants.
func (s *Shape) Saying(hint string) *Shape { s.says = hint; return s }

// EitherOr is the first shape for values of the given kind, else the second.
func EitherOr(kind byte, first, second *Shape) *Shape {
	return &Shape{
		kind:     aUnion,
		variants: []Variant{{Shape: first}, {Shape: second}},
		other:    func(n *Node) bool { return byte(n.Kind) != kind },
	}
}

// field returns the field of a name, or nil.
func (s *Shape) field(name string) *Field {
	for i := range s.Fields {
		if s.Fields[i].Name == name {
			return &s.Fields[i]
		}
	}
	return nil
}

// Meant reports whether an object has a name that is unknown, and that its hint takes for a
// field.
func (s *Shape) Meant(n *Node, field string) bool {
	return n != nil && slices.ContainsFunc(n.Names, func(key name) bool {
		meant, ok := strings.CutPrefix(s.hint(key.Text, nil), "did you mean ")
		return ok && s.field(key.Text) == nil && slices.Contains(strings.Fields(strings.TrimSuffix(meant, "?")), field)
	})
}

// untagged is the variant of a union that is taken without a tag; nil: there is none.
func (s *Shape) untagged() *Shape {
	if last := s.variants[len(s.variants)-1]; last.Value == "" {
		return last.Shape
	}
	return nil
}

// lacksOnly reports whether an object has all fields that the shape requires but one.
func (s *Shape) lacksOnly(n *Node, field string) bool {
	return !slices.ContainsFunc(s.Fields, func(f Field) bool { return f.required && (n.Step(f.Name) == nil) != (f.Name == field) })
}

// hint says what an unknown name may mean; empty if nothing is near.
func (s *Shape) hint(key string, others []*Shape) string {
	if right := s.typos[key]; right != "" {
		return "did you mean " + right + "?"
	}
	names := make([]string, len(s.Fields))
	for i, f := range s.Fields {
		names[i] = f.Name
	}
	if near := typo.Nearest(key, names); near != "" {
		return "did you mean " + near + "?"
	}
	for _, other := range others {
		if other != s && other.field(key) != nil {
			return fmt.Sprintf("%q is a field of %s", key, other.label)
		}
	}
	return "remove it; the fields are " + strings.Join(names, ", ")
}

// TakesText reports whether values of the shape can be written as a bare text, as
// in an environment variable.
func (s *Shape) TakesText() bool {
	return s.kind == aString || s.kind == aWhole || s.kind == aNumber || s.kind == aBool
}

// FromText reads a bare text as the kind of value that the shape asks for. What
// does not fit stays a string and is reported by the check.
func (s *Shape) FromText(text string) Node {
	switch s.kind {
	case aBool:
		switch strings.ToLower(text) {
		case "false", "0", "no", "n", "off", "":
			return Node{Kind: 'f'}
		}
		if text == "true" || text == "1" {
			return Node{Kind: 't'}
		}
	case aWhole, aNumber:
		if jsontext.Value(text).Kind() == '0' && jsontext.Value(text).IsValid() {
			return Node{Kind: '0', Text: strings.TrimSpace(text)}
		}
	}
	return Node{Kind: '"', Text: text}
}
