package jsonshape

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"hank/internal/typo"
)

// Problem is something that is wrong with a document, or worth knowing of it.
type Problem struct {
	Doc     *Document
	Offset  int    // of the byte where it is
	Pointer string // JSON pointer (RFC 6901)
	Rule    string
	Message string
	Hint    string // what may help; often empty
}

// Checker compares documents with shapes. One checker may check many.
type Checker struct {
	Report func(Problem)
	// others are shapes in which a name that is unknown somewhere may be at home.
	Others []*Shape
	// tolerated are rules whose breach is reported under another rule, and the value
	// taken.
	Tolerated map[string]Tolerance

	hints map[hintKey]string // an unknown name is often wrong many times
}

// Tolerance is what is reported of a tolerated value.
type Tolerance struct{ Rule, Message string }

type hintKey struct {
	shape *Shape
	name  string
}

// Check reports everything in a document that does not have the shape, and marks
// what is wrong, so that the rest can be decoded.
func (c *Checker) Check(doc *Document, s *Shape) {
	if doc.Root != nil {
		w := checking{Checker: c, doc: doc}
		w.value(s, doc.Root)
	}
}

// hint says what an unknown name may mean; empty if nothing is near.
func (c *Checker) hint(s *Shape, name string) string {
	key := hintKey{s, name}
	hint, known := c.hints[key]
	if !known {
		if c.hints == nil {
			c.hints = map[hintKey]string{}
		}
		hint = s.hint(name, c.Others)
		c.hints[key] = hint
	}
	return hint
}

// checking is the check of one document, at a path in it.
type checking struct {
	*Checker
	doc  *Document
	path []string
}

func (c *checking) at(offset int, rule, hint, message string, args ...any) {
	var p strings.Builder
	for _, step := range c.path {
		p.WriteByte('/')
		p.WriteString(step)
	}
	c.Report(Problem{c.doc, offset, p.String(), rule, fmt.Sprintf(message, args...), hint})
}

// wrong reports a value and marks it.
func (c *checking) wrong(n *Node, rule, hint, message string, args ...any) {
	n.Bad, c.doc.wrong = true, true
	c.at(n.Start, rule, hint, message, args...)
}

func (c *checking) enter(step string) { c.path = append(c.path, Escape(step)) }

func (c *checking) leave() { c.path = c.path[:len(c.path)-1] }

// Escape writes a name as a step of a JSON pointer.
func Escape(name string) string {
	if strings.ContainsAny(name, "~/") {
		return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
	}
	return name
}

func (c *checking) value(s *Shape, n *Node) {
	if s.kind == aUnion {
		c.union(s, n)
		return
	}
	if !s.kind.holds(n) {
		c.wrongType(s, n)
		return
	}
	switch s.kind {
	case aString:
		c.str(s, n)
	case aWhole, aNumber:
		c.number(s, n)
	case anArray:
		c.array(s, n)
	case aMap, anObject:
		c.members(s, n)
	case anyValue:
		c.unique(n)
	}
}

// holds reports whether a value is of the JSON type that the shape asks for.
func (k kind) holds(n *Node) bool {
	switch k {
	case aScalar:
		return n.Kind != '{' && n.Kind != '['
	case aString:
		return n.Kind == '"'
	case aWhole, aNumber:
		return n.Kind == '0'
	case aBool:
		return n.Kind == 't' || n.Kind == 'f'
	case anArray:
		return n.Kind == '['
	case aMap, anObject:
		return n.Kind == '{'
	}
	return true
}

func (c *checking) wrongType(s *Shape, n *Node) {
	hint := ""
	switch {
	case n.Kind == 'n':
		hint = "leave the field out instead of writing null"
	case n.Kind == '"' && (s.kind == aWhole || s.kind == aNumber):
		if _, err := strconv.ParseFloat(n.Text, 64); err == nil {
			hint = "write the number without quotes"
		}
	case n.Kind == '"' && s.kind == aBool:
		if hint = "write true or false"; n.Text == "true" || n.Text == "false" {
			hint += " without quotes"
		}
	case n.Kind == '"' && s.kind == anArray:
		hint = "put it in brackets: [" + strconv.Quote(n.Text) + "]"
	}
	c.wrong(n, "wrong-type", hint, "must be %s, not %s", s.describe(), kindName(n))
}

func kindName(n *Node) string {
	switch n.Kind {
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 'n':
		return "null"
	}
	return strconv.FormatBool(n.Kind == 't')
}

// describe says in words what a value of the shape is.
func (s *Shape) describe() string {
	switch s.kind {
	case aString:
		if len(s.words) > 0 {
			return oneOf(s.words)
		}
		return "a string"
	case aWhole:
		return "a whole number"
	case aNumber:
		return "a number"
	case aScalar:
		return "a string, a number, true, false or null"
	case aBool:
		return "true or false"
	case anArray:
		return "an array"
	case aMap, anObject:
		if s.label != "" {
			return "an object (" + s.label + ")"
		}
		return "an object"
	case aUnion:
		if s.tag == "" {
			return s.variants[0].Shape.describe() + " or " + s.variants[1].Shape.describe()
		}
		return "an object"
	}
	return "a value"
}

// oneOf says which words are allowed.
func oneOf(words []string) string {
	if len(words) == 1 {
		return strconv.Quote(words[0])
	}
	return "one of " + quoted(words)
}

func quoted(words []string) string {
	q := make([]string, len(words))
	for i, w := range words {
		q[i] = strconv.Quote(w)
	}
	return strings.Join(q, ", ")
}

func (c *checking) str(s *Shape, n *Node) {
	switch {
	case len(s.words) > 0:
		for _, w := range s.words {
			if w == n.Text {
				return
			}
		}
		hint := ""
		if near := typo.Nearest(n.Text, s.words); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		c.wrong(n, "bad-value", hint, "%s is not allowed here: must be %s", Quote(n.Text), oneOf(s.words))
	case utf8.RuneCountInString(n.Text) < s.least:
		c.wrong(n, "bad-value", "", "must not be empty")
	case s.pattern != nil && !s.pattern.MatchString(n.Text):
		if t, tolerated := c.Tolerated[s.rule]; tolerated && n.Text != "" {
			c.at(n.Start, t.Rule, "", "%s %s", Quote(n.Text), t.Message)
			return
		}
		c.wrong(n, cmp.Or(s.rule, "bad-value"), "", "%s is not allowed here: %s", Quote(n.Text), s.says)
	case strings.IndexByte(n.Text, 0) >= 0:
		c.wrong(n, "bad-value", "", "must not contain a NUL character")
	}
}

// Quote shortens what is shown of a text.
func Quote(text string) string {
	const most = 60
	if r := []rune(text); len(r) > most {
		return strconv.Quote(string(r[:most])) + "…"
	}
	return strconv.Quote(text)
}

// largestWhole is the largest whole number that every reader of JSON sees as
// the same number.
const largestWhole = 1 << 53

func (c *checking) number(s *Shape, n *Node) {
	v, err := strconv.ParseFloat(n.Text, 64)
	switch {
	case err != nil:
		c.wrong(n, "bad-value", "", "%s is too large", n.Text)
	case s.kind == aWhole && (v != math.Trunc(v) || math.Abs(v) > largestWhole):
		c.wrong(n, "wrong-type", "", "must be a whole number, not %s", n.Text)
	case s.above && v <= s.min:
		c.wrong(n, "bad-value", "", "must be more than %s, not %s", decimal(s.min), n.Text)
	case v < s.min:
		c.wrong(n, "bad-value", "", "must be at least %s, not %s", decimal(s.min), n.Text)
	case s.max != 0 && v > s.max:
		c.wrong(n, "bad-value", "", "must be at most %s, not %s", decimal(s.max), n.Text)
	case s.kind == aWhole:
		if digits := strconv.FormatInt(int64(v), 10); digits != n.Text { // 3.0 and 3e0 are whole too
			n.Text, c.doc.wrong = digits, true
		}
	}
}

// decimal is a limit with all of its digits.
func decimal(limit float64) string { return strconv.FormatFloat(limit, 'f', -1, 64) }

func (c *checking) array(s *Shape, n *Node) {
	switch {
	case len(n.Kids) < s.least:
		c.wrong(n, "bad-value", "", "must have at least %d %s", s.least, plural(s.least, "item"))
	case s.most > 0 && len(n.Kids) > s.most:
		c.wrong(n, "bad-value", "", "must have at most %d %s", s.most, plural(s.most, "item"))
	}
	for i := range n.Kids {
		c.enter(strconv.Itoa(i))
		c.value(s.elem, &n.Kids[i])
		c.leave()
	}
}

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// members checks an object with fixed fields, or a map.
func (c *checking) members(s *Shape, n *Node) {
	c.duplicates(n)
	if c.another(s, n) {
		return
	}
	for i := range n.Kids {
		key, kid := &n.Names[i], &n.Kids[i]
		if key.bad {
			continue
		}
		elem := s.elem
		c.enter(key.Text)
		if s.kind == anObject {
			elem = c.known(s, key)
		}
		if elem != nil {
			c.value(elem, kid)
		} else {
			c.unique(kid)
		}
		c.leave()
	}
	for _, f := range s.Fields {
		if !f.required || n.Step(f.Name) != nil || !s.open && !s.free && s.Meant(n, f.Name) { // a wrong name for it is an error already
			continue
		}
		hint := ""
		if len(f.Shape.words) == 1 {
			hint = fmt.Sprintf("add %q: %q", f.Name, f.Shape.words[0])
		}
		c.at(n.Start, "missing-field", hint, "%s needs %q", s.label, f.Name)
	}
	if by := n.Step(s.need.field); by != nil && by.Kind == '"' && by.Text == s.need.value && n.Step(s.need.other) == nil && !s.Meant(n, s.need.other) {
		c.at(n.Start, "missing-field", s.need.hint, "%q: %q needs %q", s.need.field, s.need.value, s.need.other)
	}
}

// another reports an object that says in its type that it is something else, of which the fields
// are not compared.
func (c *checking) another(s *Shape, n *Node) bool {
	f, of := s.field("type"), n.Step("type")
	if f == nil || !f.required || len(f.Shape.words) != 1 || of == nil || of.Kind != '"' || of.Text == f.Shape.words[0] || typo.Nearest(of.Text, f.Shape.words) != "" {
		return false
	}
	n.Bad = true
	c.enter("type")
	c.value(f.Shape, of)
	c.leave()
	return true
}

// known returns the shape of a field, or reports the name.
func (c *checking) known(s *Shape, key *name) *Shape {
	f := s.field(key.Text)
	if f == nil && s.free {
		return nil
	}
	if f == nil {
		rule := "unknown-field"
		if s.open {
			rule = "ignored-field"
		} else {
			key.bad, c.doc.wrong = true, true
		}
		c.at(key.start, rule, c.hint(s, key.Text), "unknown field %s in %s", Quote(key.Text), s.label)
		return nil
	}
	if f.inert {
		c.at(key.start, "no-effect", "", "%q is ignored by hank", key.Text)
	}
	return f.Shape
}

// duplicates reports names that an object has twice; the first one counts.
func (c *checking) duplicates(n *Node) {
	if len(n.Names) < 2 {
		return
	}
	seen := make(map[string]bool, len(n.Names))
	for i := range n.Names {
		if key := &n.Names[i]; seen[key.Text] {
			key.bad, c.doc.wrong = true, true
			c.enter(key.Text)
			c.at(key.start, "duplicate-field", "remove one of the two", "duplicate key %s", Quote(key.Text))
			c.leave()
		} else {
			seen[key.Text] = true
		}
	}
}

// unique reports duplicate names in a value whose shape is not known.
func (c *checking) unique(n *Node) {
	if n.Kind == '{' {
		c.duplicates(n)
	}
	for i := range n.Kids {
		step := strconv.Itoa(i)
		if n.Kind == '{' {
			step = n.Names[i].Text
		}
		c.enter(step)
		c.unique(&n.Kids[i])
		c.leave()
	}
}

func (c *checking) union(s *Shape, n *Node) {
	if s.tag == "" {
		chosen := s.variants[0].Shape
		if s.other(n) {
			chosen = s.variants[1].Shape
		}
		if !chosen.kind.holds(n) {
			c.wrongType(s, n)
			return
		}
		c.value(chosen, n)
		return
	}
	if n.Kind != '{' {
		c.wrongType(s, n)
		return
	}
	tag := n.Step(s.tag)
	var values []string
	for _, v := range s.variants {
		if tag == nil && v.Value != "" && s.untagged() != nil && v.Shape != s.untagged() && v.Shape.lacksOnly(n, s.tag) {
			n.Bad, c.doc.wrong = true, true
			c.value(v.Shape, n)
			return
		}
		if tag == nil && v.Value == "" || tag != nil && tag.Kind == '"' && v.Value == tag.Text {
			c.value(v.Shape, n)
			return
		}
		if v.Value != "" {
			values = append(values, v.Value)
		}
	}
	n.Bad, c.doc.wrong = true, true
	if tag == nil {
		c.at(n.Start, "missing-field", "", "needs %q: %s", s.tag, oneOf(values))
		return
	}
	c.enter(s.tag)
	if tag.Kind == '"' && typo.Nearest(tag.Text, values) == "" {
		c.at(tag.Start, "bad-value", "", "%s is not allowed here: %s", Quote(tag.Text), cmp.Or(s.says, "must be "+oneOf(values)))
	} else {
		c.value(Word(values...), tag)
	}
	c.leave()
}
