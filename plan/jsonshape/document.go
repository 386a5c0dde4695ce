package jsonshape

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

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Document is a JSON file with the position of everything in it.
type Document struct {
	File  string
	Data  []byte
	Apart bool   // it is named from elsewhere than the other files
	clean []byte // data without what the reader passed over
	Root  *Node  // nil if the file is not JSON
	wrong bool   // something in the tree is marked or rewritten: clean is not what it says
	lines []int  // byte offset at which each line starts; filled when first needed

	// The latest position that was asked for: the next one is often after it
	// in the same line, and a file may be one long line.
	offset, line, column int
}

// Node is a JSON value. Positions are byte offsets.
type Node struct {
	Kind  jsontext.Kind
	Start int
	end   int
	Text  string // the decoded string, or the digits of a number
	Names []name // of an object's members, one for each kid
	Kids  []Node
	Bad   bool // reported as wrong: left out when the value is decoded
}

// EachText calls visit for each string in the value, or that is one; names of members are none.
// Its pointer (RFC 6901) from the value on is worked out only where it is asked for. n may be nil.
func (n *Node) EachText(visit func(text *Node, pointer func() string)) {
	if n == nil {
		return
	}
	type step struct {
		in  *Node
		kid int
	}
	var path []step
	pointer := func() string {
		var text strings.Builder
		for _, s := range path {
			if text.WriteByte('/'); s.in.Kind == '{' {
				text.WriteString(Escape(s.in.Names[s.kid].Text))
			} else {
				text.WriteString(strconv.Itoa(s.kid))
			}
		}
		return text.String()
	}
	var walk func(*Node)
	walk = func(n *Node) {
		if n.Kind == '"' {
			visit(n, pointer)
		}
		for i := range n.Kids {
			path = append(path, step{n, i})
			walk(&n.Kids[i])
			path = path[:len(path)-1]
		}
	}
	walk(n)
}

// name is a member's name and where it is.
type name struct {
	Text  string
	start int
	bad   bool
}

// Read parses a file. Comments, trailing commas and a byte order mark
// are reported and passed over, so that the rest is checked too; any other
// syntax error ends the reading.
func Read(file string, data []byte, report func(Problem)) *Document {
	doc := &Document{File: file, Data: data}
	if len(bytes.TrimSpace(data)) == 0 {
		report(Problem{doc, 0, "", "syntax", "the file is empty", ""})
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
	doc.Root = &root
	if rest := skipSpace(clean, root.end); rest < len(clean) {
		report(Problem{doc, rest, "", "trailing-data", "unexpected text after the JSON value", "remove everything after the last closing bracket"})
	}
	return doc
}

func (doc *Document) syntaxError(err error, report func(Problem)) {
	var syntax *jsontext.SyntacticError
	offset, pointer, message := len(doc.Data), "", err.Error()
	if errors.As(err, &syntax) {
		offset, pointer, message = int(syntax.ByteOffset), string(syntax.JSONPointer), syntax.Err.Error()
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		message = "unexpected end of file"
	}
	report(Problem{doc, offset, pointer, "syntax", message, ""})
}

// withoutExtras returns the data with a byte order mark, comments and trailing
// commas blanked by spaces, so that offsets stay.
func (doc *Document) withoutExtras(report func(Problem)) []byte {
	clean := doc.Data
	blank := func(from, to int, rule, message, hint string) {
		if &clean[0] == &doc.Data[0] {
			clean = bytes.Clone(doc.Data)
		}
		for i := from; i < to; i++ {
			if clean[i] != '\n' {
				clean[i] = ' '
			}
		}
		report(Problem{doc, from, "", rule, message, hint})
	}
	if bytes.HasPrefix(clean, []byte("\ufeff")) {
		blank(0, 3, "byte-order-mark", "the file starts with a byte order mark", "save it as UTF-8 without BOM")
	}
	comma := -1 // a comma with only space and comments after it so far
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
			blank(i, end, "comment", "comments are not allowed in "+doc.File, "remove it, or move the text into a \"description\"")
			i = end - 1
		case c == ',':
			comma = i
		case (c == '}' || c == ']') && comma >= 0:
			blank(comma, comma+1, "trailing-comma", "trailing comma", "remove the comma")
			comma = -1
		case c != ' ' && c != '\t' && c != '\r' && c != '\n':
			comma = -1
		}
	}
	return clean
}

// commentEnd is the offset after the comment that starts at i.
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
	kids  []Node
	count int // of values so far
}

// mostValues bounds the values of a document: each takes a hundred times the two bytes
// that it may have in the file.
const mostValues = 500_000

// Parse reads a value from data that need not be a file.
func Parse(data []byte) (*Node, error) {
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

func (r *nodeReader) value() (Node, error) {
	t, start, err := r.token()
	if err != nil {
		return Node{}, err
	}
	if r.count++; r.count > mostValues {
		return Node{}, fmt.Errorf("the file has more than %d values", mostValues)
	}
	n := Node{Kind: t.Kind(), Start: start}
	switch n.Kind {
	case '"', '0':
		n.Text = t.String()
	case '{', '[':
		names, kids := len(r.names), len(r.kids)
		if n.Kind == '{' {
			err = r.members()
		} else {
			err = r.items()
		}
		n.Names, n.Kids = slices.Clone(r.names[names:]), slices.Clone(r.kids[kids:])
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
		key := name{Text: t.String(), start: start}
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

// Member is the value of a member that was not reported as wrong, or nil.
func (n *Node) Member(key string) *Node {
	for i := range n.Names {
		if n.Names[i].Text == key && !n.Names[i].bad && !n.Kids[i].Bad {
			return &n.Kids[i]
		}
	}
	return nil
}

// Find is the byte offset of what a JSON pointer names, or of the nearest
// thing around it that exists.
func (doc *Document) Find(pointer string) int {
	n := doc.Root
	if n == nil {
		return 0
	}
	for _, step := range Steps(pointer) {
		next := n.Step(step)
		if next == nil {
			break
		}
		n = next
	}
	return n.Start
}

// At is the value that a JSON pointer names, or nil.
func (doc *Document) At(pointer string) *Node { return doc.Root.At(pointer) }

// At is the value that a JSON pointer names from this one on, or nil. n may be nil.
func (n *Node) At(pointer string) *Node {
	for pointer != "" && n != nil {
		step, rest := pointer[1:], ""
		if i := strings.IndexByte(step, '/'); i >= 0 {
			step, rest = step[:i], step[i:]
		}
		if pointer = rest; strings.Contains(step, "~") {
			step = unescape.Replace(step)
		}
		n = n.Step(step)
	}
	return n
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// Steps are the names and indexes that a JSON pointer goes through.
func Steps(pointer string) []string {
	steps := strings.Split(pointer, "/")[1:]
	if strings.Contains(pointer, "~") {
		for i := range steps {
			steps[i] = unescape.Replace(steps[i])
		}
	}
	return steps
}

// Step returns the value of a member, or the element whose index key is; nil: there
// is none.
func (n *Node) Step(key string) *Node {
	if n.Kind == '[' {
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(n.Kids) {
			return &n.Kids[i]
		}
		return nil
	}
	for i := range n.Names {
		if n.Names[i].Text == key {
			return &n.Kids[i]
		}
	}
	return nil
}

// Position converts a byte offset to a line and a column in characters, both
// from 1.
func (doc *Document) Position(offset int) (line, column int) {
	if doc.lines == nil {
		doc.lines = []int{0}
		for i, c := range doc.Data {
			if c == '\n' {
				doc.lines = append(doc.lines, i+1)
			}
		}
	}
	offset = min(max(offset, 0), len(doc.Data))
	line = sort.SearchInts(doc.lines, offset+1)
	from, column := doc.lines[line-1], 1
	if doc.line == line && doc.offset <= offset {
		from, column = doc.offset, doc.column
	}
	column += utf8.RuneCount(doc.Data[from:offset])
	doc.offset, doc.line, doc.column = offset, line, column
	return line, column
}

// encode writes the value without what was reported as wrong: bad members are
// left out, bad items become null, so that the positions of the others stay.
func (n *Node) encode(e *jsontext.Encoder) error {
	switch n.Kind {
	case '{':
		_ = e.WriteToken(jsontext.BeginObject)
		for i := range n.Kids {
			if n.Names[i].bad || n.Kids[i].Bad {
				continue
			}
			_ = e.WriteToken(jsontext.String(n.Names[i].Text))
			if err := n.Kids[i].encode(e); err != nil {
				return err
			}
		}
		return e.WriteToken(jsontext.EndObject)
	case '[':
		_ = e.WriteToken(jsontext.BeginArray)
		for i := range n.Kids {
			if n.Kids[i].Bad {
				_ = e.WriteToken(jsontext.Null)
			} else if err := n.Kids[i].encode(e); err != nil {
				return err
			}
		}
		return e.WriteToken(jsontext.EndArray)
	case '"':
		return e.WriteToken(jsontext.String(n.Text))
	case '0':
		return e.WriteValue(jsontext.Value(n.Text))
	case 't', 'f':
		return e.WriteToken(jsontext.Bool(n.Kind == 't'))
	}
	return e.WriteToken(jsontext.Null)
}

// Sound is the JSON of the file without what is wrong in it.
func (doc *Document) Sound() jsontext.Value {
	if doc.clean != nil && !doc.wrong {
		return doc.clean[:doc.Root.end]
	}
	return doc.Root.Sound()
}

// DecodeAhead decodes the data of a file while it is read and checked. What it returns gives
// the value of the sound JSON (Sound): of a file with nothing wrong that is what was decoded.
func DecodeAhead[T any](data []byte) func(sound jsontext.Value) (*T, error) {
	ahead, ended := new(T), make(chan error, 1)
	go func() { ended <- json.Unmarshal(data, ahead) }()
	return func(sound jsontext.Value) (*T, error) {
		if n := len(sound); n > 0 && n <= len(data) && &sound[0] == &data[0] && skipSpace(data, n) == len(data) {
			return ahead, <-ended
		}
		v := new(T)
		return v, json.Unmarshal(sound, v)
	}
}

// Sound returns the JSON of the value without what is wrong in it.
func (n *Node) Sound() jsontext.Value {
	var b bytes.Buffer
	if err := n.encode(jsontext.NewEncoder(&b)); err != nil {
		return jsontext.Value("null") // cannot be: every part was read as JSON, names are unique
	}
	return b.Bytes()
}

// Set puts a member into an object; a later value replaces an earlier one, as
// it does in an environment.
func (n *Node) Set(key string, value Node) {
	if old := n.Step(key); old != nil {
		*old = value
		return
	}
	n.Names, n.Kids = append(n.Names, name{Text: key}), append(n.Kids, value)
}
