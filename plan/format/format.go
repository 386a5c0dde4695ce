package format

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"hank/plan/diagnostic"
	"hank/plan/jsonshape"
)

// widest is the longest line, in characters, into which what the author has written on one
// line is put.
const widest = 120

// Most is what hank reads of a hank.json, in bytes. No result has more.
const Most = 16 << 20

// Text lays out a JSON text. An object or array stays on one line if the author has begun it
// there and it is not too wide; else each member has a line of its own. Of several empty
// lines between two members one stays. Laying out the result changes nothing.
// With a problem the text is nil.
func Text(file string, data []byte) ([]byte, []diagnostic.Diagnostic) {
	var out diagnostic.Reporter
	doc := jsonshape.Read(file, data, out.Problem)
	if doc.Root != nil {
		out.Check(doc, jsonshape.Anything()) // duplicate names
	}
	if len(out.List) > 0 {
		return nil, out.Sorted(file)
	}
	p := printer{in: data}
	p.space()
	p.value(0, 0)
	if p.full() {
		out.At(doc, 0, "", "missing-file", fmt.Sprintf("laid out it would have more than %d bytes, which hank does not read", Most), "nest less deeply")
		return nil, out.List
	}
	return append(p.out.Bytes(), '\n'), nil
}

// printer goes through a text that is known to be JSON.
type printer struct {
	in  []byte
	at  int
	out bytes.Buffer
}

// full reports whether the result has become too large.
func (p *printer) full() bool { return p.out.Len() >= Most }

// space passes over white space, and counts the lines that end in it.
func (p *printer) space() (lines int) {
	for p.at < len(p.in) {
		switch p.in[p.at] {
		case '\n':
			lines++
		case ' ', '\t', '\r':
		default:
			return lines
		}
		p.at++
	}
	return lines
}

// token copies a string, number or word.
func (p *printer) token() {
	start := p.at
	if p.in[p.at] == '"' {
		for p.at++; p.in[p.at] != '"'; p.at++ {
			if p.in[p.at] == '\\' {
				p.at++
			}
		}
		p.at++
	} else {
		for p.at < len(p.in) && bytes.IndexByte([]byte(" \t\r\n,:]}"), p.in[p.at]) < 0 {
			p.at++
		}
	}
	p.out.Write(p.in[start:p.at])
}

// value prints the value that comes, which begins at a column of the output, below so many
// open objects and arrays.
func (p *printer) value(column, depth int) {
	open := p.in[p.at]
	if open != '{' && open != '[' {
		p.token()
		return
	}
	if flat, end := flatten(p.in[p.at:], widest-column); flat != nil {
		p.out.Write(flat)
		p.at += end
		return
	}
	p.out.WriteByte(open)
	p.at++
	empty := true
	for lines := p.space(); !p.full() && p.in[p.at] != '}' && p.in[p.at] != ']'; lines = p.space() {
		if p.in[p.at] == ',' {
			p.out.WriteByte(',')
			p.at++
			lines = p.space()
		}
		if !empty && lines > 1 {
			p.out.WriteByte('\n')
		}
		empty = false
		p.line(depth + 1)
		start := p.out.Len()
		if open == '{' {
			p.token()
			p.space()
			p.at++ // the colon
			p.space()
			p.out.WriteString(": ")
		}
		p.value(2*(depth+1)+utf8.RuneCount(p.out.Bytes()[start:])+1, depth+1) // with a comma
	}
	if p.full() {
		return
	}
	if !empty {
		p.line(depth)
	}
	p.out.WriteByte(p.in[p.at])
	p.at++
}

func (p *printer) line(depth int) {
	p.out.WriteByte('\n')
	for range depth {
		p.out.WriteString("  ")
	}
}

// flatten prints the object or array at the beginning of a text on one line, with the number
// of bytes that it takes there; nil if a line ends in it, or it is wider than room. An empty
// one is always flat.
func flatten(in []byte, room int) (flat []byte, end int) {
	p := printer{in: in}
	var open []byte
	for {
		if p.space() > 0 && !(p.out.Len() == 1 && closes(p.in[p.at])) {
			return nil, 0
		}
		switch c := p.in[p.at]; c {
		case '{', '[':
			open = append(open, c)
			p.out.WriteByte(c)
			p.at++
			if c == '{' && !nextCloses(p.in[p.at:]) {
				p.out.WriteByte(' ')
			}
		case '}', ']':
			if b := p.out.Bytes(); c == '}' && b[len(b)-1] != '{' {
				p.out.WriteByte(' ')
			}
			p.out.WriteByte(c)
			p.at++
			if open = open[:len(open)-1]; len(open) == 0 {
				if p.out.Len() > 2 && utf8.RuneCount(p.out.Bytes()) > room {
					return nil, 0
				}
				return p.out.Bytes(), p.at
			}
		case ',', ':':
			p.out.WriteByte(c)
			p.out.WriteByte(' ')
			p.at++
		default:
			p.token()
		}
		if p.out.Len() > 4*widest {
			return nil, 0
		}
	}
}

func closes(c byte) bool { return c == '}' || c == ']' }

// nextCloses reports whether what comes after white space closes an object.
func nextCloses(in []byte) bool {
	in = bytes.TrimLeft(in, " \t\r\n")
	return len(in) > 0 && closes(in[0])
}
