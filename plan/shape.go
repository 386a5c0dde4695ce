package plan

import "hank/internal/lazyregexp"

// shape says what a JSON value must look like. The shapes of this package are
// the one table behind the checks, the hints and the published JSON Schema.
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
