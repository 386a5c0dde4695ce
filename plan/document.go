package plan

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// document is a JSON file with the position of everything in it.
type document struct {
	file  string
	data  []byte
	clean []byte // data without what the reader passed over
	root  *node  // nil if the file is not JSON
	wrong bool   // something in the tree is marked or rewritten: clean is not what it says
	lines []int  // byte offset at which each line starts; filled when first needed

	// The latest position that was asked for: the next one is often behind it
	// in the same line, and a file may be one long line.
	offset, line, column int
}

// node is a JSON value. Positions are byte offsets.
type node struct {
	kind  jsontext.Kind
	start int
	end   int
	text  string // the decoded string, or the digits of a number
	names []name // of an object's members, one for each kid
	kids  []node
	bad   bool // reported as wrong: left out when the value is decoded
}

// name is a member's name and where it stands.
type name struct {
	text  string
	start int
	bad   bool
}

// readDocument parses a file. Comments, trailing commas and a byte order mark
// are reported and passed over, so that the rest is checked too; any other
// syntax error ends the reading.
func readDocument(file string, data []byte, report func(problem)) *document {
	doc := &document{file: file, data: data}
	if len(bytes.TrimSpace(data)) == 0 {
		report(problem{doc, 0, "", "syntax", "the file is empty", ""})
		return doc
	}
	clean := doc.withoutExtras(report)
	doc.clean = clean
	r := newNodeReader(clean)
	root, err := r.value()
	if err != nil {
		doc.syntaxError(err, report)
		return doc
	}
	doc.root = &root
	if rest := skipSpace(clean, root.end); rest < len(clean) {
		report(problem{doc, rest, "", "trailing-data", "there is text behind the end of the JSON value", "remove everything behind the last closing bracket"})
	}
	return doc
}

func (doc *document) syntaxError(err error, report func(problem)) {
	var syntax *jsontext.SyntacticError
	offset, pointer, message := len(doc.data), "", err.Error()
	if errors.As(err, &syntax) {
		offset, pointer, message = int(syntax.ByteOffset), string(syntax.JSONPointer), syntax.Err.Error()
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		message = "the file ends in the middle"
	}
	report(problem{doc, offset, pointer, "syntax", message, ""})
}

// withoutExtras returns the data with a byte order mark, comments and trailing
// commas blanked by spaces, so that offsets stay.
func (doc *document) withoutExtras(report func(problem)) []byte {
	clean := doc.data
	blank := func(from, to int, rule, message, hint string) {
		if &clean[0] == &doc.data[0] {
			clean = bytes.Clone(doc.data)
		}
		for i := from; i < to; i++ {
			if clean[i] != '\n' {
				clean[i] = ' '
			}
		}
		report(problem{doc, from, "", rule, message, hint})
	}
	if bytes.HasPrefix(clean, []byte("\ufeff")) {
		blank(0, 3, "byte-order-mark", "the file starts with a byte order mark", "save it as UTF-8 without BOM")
	}
	comma := -1 // a comma with only space and comments behind it so far
	for i := 0; i < len(clean); i++ {
		switch c := clean[i]; {
		case c == '"':
			comma = -1
			for i++; i < len(clean) && clean[i] != '"'; i++ {
				if clean[i] == '\\' {
					i++
				}
			}
		case c == '/' && i+1 < len(clean) && (clean[i+1] == '/' || clean[i+1] == '*'):
			end := commentEnd(clean, i)
			blank(i, end, "comment", doc.file+" is JSON without comments", "move the text into a \"description\"")
			i = end - 1
		case c == ',':
			comma = i
		case (c == '}' || c == ']') && comma >= 0:
			blank(comma, comma+1, "trailing-comma", "there is a comma behind the last value", "remove the comma")
			comma = -1
		case c != ' ' && c != '\t' && c != '\r' && c != '\n':
			comma = -1
		}
	}
	return clean
}

// commentEnd is the offset behind the comment that starts at i.
func commentEnd(data []byte, i int) int {
	stop, keep := "\n", 0
	if data[i+1] == '*' {
		stop, keep = "*/", 2
	}
	if n := bytes.Index(data[i+2:], []byte(stop)); n >= 0 {
		return i + 2 + n + keep
	}
	return len(data)
}

func skipSpace(data []byte, i int) int {
	for i < len(data) && strings.IndexByte(" \t\r\n", data[i]) >= 0 {
		i++
	}
	return i
}

// nodeReader builds nodes from tokens. Members and items are gathered on a
// stack and copied when their number is known.
type nodeReader struct {
	d     *jsontext.Decoder
	data  []byte
	names []name
	kids  []node
	count int // of values so far
}

// mostValues bounds the values of a document: each takes a hundred times the two bytes
// that it may have in the file.
const mostValues = 500_000

// parseNode reads a value from data that need not be a file.
func parseNode(data []byte) (*node, error) {
	root, err := newNodeReader(data).value()
	return &root, err
}

func newNodeReader(data []byte) *nodeReader {
	return &nodeReader{d: jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true)), data: data}
}

func (r *nodeReader) token() (jsontext.Token, int, error) {
	start := int(r.d.InputOffset())
	for start < len(r.data) && strings.IndexByte(" \t\r\n,:", r.data[start]) >= 0 {
		start++
	}
	t, err := r.d.ReadToken()
	return t, start, err
}

func (r *nodeReader) value() (node, error) {
	t, start, err := r.token()
	if err != nil {
		return node{}, err
	}
	if r.count++; r.count > mostValues {
		return node{}, fmt.Errorf("the file has more than %d values", mostValues)
	}
	n := node{kind: t.Kind(), start: start}
	switch n.kind {
	case '"', '0':
		n.text = t.String()
	case '{', '[':
		names, kids := len(r.names), len(r.kids)
		if n.kind == '{' {
			err = r.members()
		} else {
			err = r.items()
		}
		n.names, n.kids = slices.Clone(r.names[names:]), slices.Clone(r.kids[kids:])
		r.names, r.kids = r.names[:names], r.kids[:kids]
	}
	n.end = int(r.d.InputOffset())
	return n, err
}

func (r *nodeReader) members() error {
	for {
		t, start, err := r.token()
		if err != nil || t.Kind() == '}' {
			return err
		}
		key := name{text: t.String(), start: start}
		kid, err := r.value()
		if err != nil {
			return err
		}
		r.names, r.kids = append(r.names, key), append(r.kids, kid)
	}
}

func (r *nodeReader) items() error {
	for {
		if r.d.PeekKind() == ']' {
			_, _, err := r.token()
			return err
		}
		kid, err := r.value()
		if err != nil {
			return err
		}
		r.kids = append(r.kids, kid)
	}
}

// member is the value of a member that was not reported as wrong, or nil.
func (n *node) member(key string) *node {
	for i := range n.names {
		if n.names[i].text == key && !n.names[i].bad && !n.kids[i].bad {
			return &n.kids[i]
		}
	}
	return nil
}

// find is the byte offset of what a JSON pointer names, or of the nearest
// thing around it that exists.
func (doc *document) find(pointer string) int {
	n := doc.root
	if n == nil {
		return 0
	}
	for _, step := range pointerSteps(pointer) {
		next := n.step(step)
		if next == nil {
			break
		}
		n = next
	}
	return n.start
}

// at is the value that a JSON pointer names, or nil.
func (doc *document) at(pointer string) *node {
	n := doc.root
	for _, step := range pointerSteps(pointer) {
		if n == nil {
			return nil
		}
		n = n.step(step)
	}
	return n
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

func pointerSteps(pointer string) []string {
	steps := strings.Split(pointer, "/")[1:]
	if strings.Contains(pointer, "~") {
		for i := range steps {
			steps[i] = unescape.Replace(steps[i])
		}
	}
	return steps
}

func (n *node) step(key string) *node {
	if n.kind == '[' {
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(n.kids) {
			return &n.kids[i]
		}
		return nil
	}
	for i := range n.names {
		if n.names[i].text == key {
			return &n.kids[i]
		}
	}
	return nil
}

// position converts a byte offset to a line and a column in characters, both
// from 1.
func (doc *document) position(offset int) (line, column int) {
	if doc.lines == nil {
		doc.lines = []int{0}
		for i, c := range doc.data {
			if c == '\n' {
				doc.lines = append(doc.lines, i+1)
			}
		}
	}
	offset = min(max(offset, 0), len(doc.data))
	line = sort.SearchInts(doc.lines, offset+1)
	from, column := doc.lines[line-1], 1
	if doc.line == line && doc.offset <= offset {
		from, column = doc.offset, doc.column
	}
	column += utf8.RuneCount(doc.data[from:offset])
	doc.offset, doc.line, doc.column = offset, line, column
	return line, column
}

// encode writes the value without what was reported as wrong: bad members are
// left out, bad items become null, so that the positions of the others stay.
func (n *node) encode(e *jsontext.Encoder) error {
	switch n.kind {
	case '{':
		_ = e.WriteToken(jsontext.BeginObject)
		for i := range n.kids {
			if n.names[i].bad || n.kids[i].bad {
				continue
			}
			_ = e.WriteToken(jsontext.String(n.names[i].text))
			if err := n.kids[i].encode(e); err != nil {
				return err
			}
		}
		return e.WriteToken(jsontext.EndObject)
	case '[':
		_ = e.WriteToken(jsontext.BeginArray)
		for i := range n.kids {
			if n.kids[i].bad {
				_ = e.WriteToken(jsontext.Null)
			} else if err := n.kids[i].encode(e); err != nil {
				return err
			}
		}
		return e.WriteToken(jsontext.EndArray)
	case '"':
		return e.WriteToken(jsontext.String(n.text))
	case '0':
		return e.WriteValue(jsontext.Value(n.text))
	case 't', 'f':
		return e.WriteToken(jsontext.Bool(n.kind == 't'))
	}
	return e.WriteToken(jsontext.Null)
}

// sound is the JSON of the file without what is wrong in it.
func (doc *document) sound() jsontext.Value {
	if doc.clean != nil && !doc.wrong {
		return doc.clean[:doc.root.end]
	}
	return doc.root.sound()
}

// sound returns the JSON of the value without what is wrong in it.
func (n *node) sound() jsontext.Value {
	var b bytes.Buffer
	if err := n.encode(jsontext.NewEncoder(&b)); err != nil {
		return jsontext.Value("null") // cannot be: every part was read as JSON, names are unique
	}
	return b.Bytes()
}

// set puts a member into an object; a later value replaces an earlier one, as
// it does in an environment.
func (n *node) set(key string, value node) {
	if old := n.step(key); old != nil {
		*old = value
		return
	}
	n.names, n.kids = append(n.names, name{text: key}), append(n.kids, value)
}
