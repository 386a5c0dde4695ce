package plan

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"hank/internal/typo"
)

// problem is something that is wrong with a document, or worth knowing of it.
type problem struct {
	doc     *document
	offset  int    // of the byte where it is
	pointer string // JSON pointer (RFC 6901)
	rule    string
	message string
	hint    string // what may help; often empty
}

// checker compares documents with shapes. One checker may check many.
type checker struct {
	report func(problem)
	// others are shapes in which a name that is unknown somewhere may be at home.
	others []*shape
	// tolerated are rules whose breach is reported under another rule, and the value
	// taken.
	tolerated map[string]tolerance

	hints map[hintKey]string // an unknown name is often wrong many times
}

// tolerance is what is reported of a tolerated value.
type tolerance struct{ rule, message string }

type hintKey struct {
	shape *shape
	name  string
}

// check reports everything in a document that does not have the shape, and marks
// what is wrong, so that the rest can be decoded.
func (c *checker) check(doc *document, s *shape) {
	if doc.root != nil {
		w := checking{checker: c, doc: doc}
		w.value(s, doc.root)
	}
}

// hint says what an unknown name may mean; empty if nothing is near.
func (c *checker) hint(s *shape, name string) string {
	key := hintKey{s, name}
	hint, known := c.hints[key]
	if !known {
		if c.hints == nil {
			c.hints = map[hintKey]string{}
		}
		hint = s.hint(name, c.others)
		c.hints[key] = hint
	}
	return hint
}

// checking is the check of one document, at a path in it.
type checking struct {
	*checker
	doc  *document
	path []string
}

func (c *checking) at(offset int, rule, hint, message string, args ...any) {
	var p strings.Builder
	for _, step := range c.path {
		p.WriteByte('/')
		p.WriteString(step)
	}
	c.report(problem{c.doc, offset, p.String(), rule, fmt.Sprintf(message, args...), hint})
}

// wrong reports a value and marks it.
func (c *checking) wrong(n *node, rule, hint, message string, args ...any) {
	n.bad, c.doc.wrong = true, true
	c.at(n.start, rule, hint, message, args...)
}

func (c *checking) enter(step string) { c.path = append(c.path, escape(step)) }
func (c *checking) leave()            { c.path = c.path[:len(c.path)-1] }

// escape writes a name as a step of a JSON pointer.
func escape(name string) string {
	if strings.ContainsAny(name, "~/") {
		return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
	}
	return name
}

func (c *checking) value(s *shape, n *node) {
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

// holds tells whether a value is of the JSON type that the shape asks for.
func (k kind) holds(n *node) bool {
	switch k {
	case aScalar:
		return n.kind != '{' && n.kind != '['
	case aString:
		return n.kind == '"'
	case aWhole, aNumber:
		return n.kind == '0'
	case aBool:
		return n.kind == 't' || n.kind == 'f'
	case anArray:
		return n.kind == '['
	case aMap, anObject:
		return n.kind == '{'
	}
	return true
}

func (c *checking) wrongType(s *shape, n *node) {
	hint := ""
	switch {
	case n.kind == 'n':
		hint = "leave the field out instead of writing null"
	case n.kind == '"' && (s.kind == aWhole || s.kind == aNumber):
		if _, err := strconv.ParseFloat(n.text, 64); err == nil {
			hint = "write the number without quotes"
		}
	case n.kind == '"' && s.kind == aBool:
		hint = "write true or false without quotes"
	case n.kind == '"' && s.kind == anArray:
		hint = "put it in brackets: [" + strconv.Quote(n.text) + "]"
	}
	c.wrong(n, "wrong-type", hint, "must be %s, not %s", s.describe(), kindName(n))
}

func kindName(n *node) string {
	switch n.kind {
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
	return strconv.FormatBool(n.kind == 't')
}

// describe says in words what a value of the shape is.
func (s *shape) describe() string {
	switch s.kind {
	case aString:
		if len(s.words) > 0 {
			return "one of " + quoted(s.words)
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
			return s.label + " (an object)"
		}
		return "an object"
	case aUnion:
		if s.tag == "" {
			return s.variants[0].shape.describe() + " or " + s.variants[1].shape.describe()
		}
		return "an object"
	}
	return "a value"
}

func quoted(words []string) string {
	q := make([]string, len(words))
	for i, w := range words {
		q[i] = strconv.Quote(w)
	}
	return strings.Join(q, ", ")
}

func (c *checking) str(s *shape, n *node) {
	switch {
	case len(s.words) > 0:
		for _, w := range s.words {
			if w == n.text {
				return
			}
		}
		hint := ""
		if near := typo.Nearest(n.text, s.words); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		c.wrong(n, "bad-value", hint, "%s is not allowed here: must be one of %s", quote(n.text), quoted(s.words))
	case utf8.RuneCountInString(n.text) < s.least:
		c.wrong(n, "bad-value", "", "must not be empty")
	case s.pattern != nil && !s.pattern.MatchString(n.text):
		if t, tolerated := c.tolerated[s.rule]; tolerated && n.text != "" {
			c.at(n.start, t.rule, "", "%s %s", quote(n.text), t.message)
			return
		}
		c.wrong(n, cmp.Or(s.rule, "bad-value"), "", "%s is not allowed here: %s", quote(n.text), s.says)
	case strings.IndexByte(n.text, 0) >= 0:
		c.wrong(n, "bad-value", "", "must not contain a NUL character")
	}
}

// quote shortens what is shown of a text.
func quote(text string) string {
	const most = 60
	if r := []rune(text); len(r) > most {
		return strconv.Quote(string(r[:most])) + "…"
	}
	return strconv.Quote(text)
}

// largestWhole is the largest whole number that every reader of JSON sees as
// the same number.
const largestWhole = 1 << 53

func (c *checking) number(s *shape, n *node) {
	v, err := strconv.ParseFloat(n.text, 64)
	switch {
	case err != nil:
		c.wrong(n, "bad-value", "", "%s is too large", n.text)
	case s.kind == aWhole && (v != math.Trunc(v) || math.Abs(v) > largestWhole):
		c.wrong(n, "wrong-type", "", "must be a whole number, not %s", n.text)
	case s.above && v <= s.min:
		c.wrong(n, "bad-value", "", "must be more than %v, not %s", s.min, n.text)
	case v < s.min:
		c.wrong(n, "bad-value", "", "must be at least %v, not %s", s.min, n.text)
	case s.max != 0 && v > s.max:
		c.wrong(n, "bad-value", "", "must be at most %v, not %s", s.max, n.text)
	case s.kind == aWhole:
		if digits := strconv.FormatInt(int64(v), 10); digits != n.text { // 3.0 and 3e0 are whole too
			n.text, c.doc.wrong = digits, true
		}
	}
}

func (c *checking) array(s *shape, n *node) {
	switch {
	case len(n.kids) < s.least:
		c.wrong(n, "bad-value", "", "must have at least %d %s", s.least, plural(s.least, "item"))
	case s.most > 0 && len(n.kids) > s.most:
		c.wrong(n, "bad-value", "", "must have at most %d %s", s.most, plural(s.most, "item"))
	}
	for i := range n.kids {
		c.enter(strconv.Itoa(i))
		c.value(s.elem, &n.kids[i])
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
func (c *checking) members(s *shape, n *node) {
	c.duplicates(n)
	for i := range n.kids {
		key, kid := &n.names[i], &n.kids[i]
		if key.bad {
			continue
		}
		elem := s.elem
		c.enter(key.text)
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
	for _, f := range s.fields {
		if f.required && n.step(f.name) == nil {
			c.at(n.start, "missing-field", "", "%s needs %q", s.label, f.name)
		}
	}
}

// known returns the shape of a field, or reports the name.
func (c *checking) known(s *shape, key *name) *shape {
	f := s.field(key.text)
	if f == nil {
		rule := "unknown-field"
		if s.open {
			rule = "ignored-field"
		} else {
			key.bad, c.doc.wrong = true, true
		}
		c.at(key.start, rule, c.hint(s, key.text), "%s has no field %s", s.label, quote(key.text))
		return nil
	}
	if f.inert {
		c.at(key.start, "no-effect", "", "%q is accepted, but hank does nothing with it", key.text)
	}
	return f.shape
}

// duplicates reports names that an object has twice; the first one counts.
func (c *checking) duplicates(n *node) {
	if len(n.names) < 2 {
		return
	}
	seen := make(map[string]bool, len(n.names))
	for i := range n.names {
		if key := &n.names[i]; seen[key.text] {
			key.bad, c.doc.wrong = true, true
			c.enter(key.text)
			c.at(key.start, "duplicate-field", "remove one of the two", "%s stands here twice", quote(key.text))
			c.leave()
		} else {
			seen[key.text] = true
		}
	}
}

// unique reports duplicate names in a value whose shape is not known.
func (c *checking) unique(n *node) {
	if n.kind == '{' {
		c.duplicates(n)
	}
	for i := range n.kids {
		step := strconv.Itoa(i)
		if n.kind == '{' {
			step = n.names[i].text
		}
		c.enter(step)
		c.unique(&n.kids[i])
		c.leave()
	}
}

func (c *checking) union(s *shape, n *node) {
	if s.tag == "" {
		chosen := s.variants[0].shape
		if s.other(n) {
			chosen = s.variants[1].shape
		}
		if !chosen.kind.holds(n) {
			c.wrongType(s, n)
			return
		}
		c.value(chosen, n)
		return
	}
	if n.kind != '{' {
		c.wrongType(s, n)
		return
	}
	tag := n.step(s.tag)
	var values []string
	for _, v := range s.variants {
		if tag == nil && v.value == "" || tag != nil && tag.kind == '"' && v.value == tag.text {
			c.value(v.shape, n)
			return
		}
		if v.value != "" {
			values = append(values, v.value)
		}
	}
	n.bad, c.doc.wrong = true, true
	if tag == nil {
		c.at(n.start, "missing-field", "", "needs %q: one of %s", s.tag, quoted(values))
		return
	}
	c.enter(s.tag)
	if tag.kind == '"' && typo.Nearest(tag.text, values) == "" {
		c.at(tag.start, "bad-value", s.says, "%s is not allowed here: must be one of %s", quote(tag.text), quoted(values))
	} else {
		c.value(word(values...), tag)
	}
	c.leave()
}
