package diagnostic

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"hank/plan/jsonshape"
)

// Severity grades a diagnostic.
type Severity string

// The severities. A hank with an error does not run.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

// Diagnostic is one thing that is wrong, or worth knowing, about a file.
type Diagnostic struct {
	Severity Severity `json:"severity"`
	Rule     string   `json:"rule"` // stable id, see Rules
	File     string   `json:"file"` // relative to the directory of the hank
	Line     int      `json:"line,omitzero"`
	Column   int      `json:"column,omitzero"` // in characters, from 1
	Pointer  string   `json:"pointer"`         // JSON pointer (RFC 6901)
	Message  string   `json:"message"`
	Hint     string   `json:"hint,omitzero"`
	Help     string   `json:"help,omitzero"` // the section of the documentation about the rule

	doc    *jsonshape.Document // the file, and where in it; nil if it was not read
	offset int
}

// What File names where a setting comes from no file.
const (
	CommandLine = "command line"
	Environment = "environment"
)

// InNoFile reports whether the diagnostic is about a setting that comes from no file.
func (d Diagnostic) InNoFile() bool {
	return d.Line == 0 && (d.File == CommandLine || d.File == Environment)
}

// In names the file from outside of the directory of the hank; settings are not in it.
func (d Diagnostic) In(dir string) string {
	if d.InNoFile() || d.Line == 0 && d.File == "hankweave.json" || d.doc != nil && d.doc.Apart {
		return d.File
	}
	return filepath.Join(dir, filepath.FromSlash(d.File))
}

// widestExcerpt is how many characters of a line are shown on each side of a place.
const widestExcerpt = 60

// Excerpt is the line that the diagnostic is about, up to its place and from there on,
// without characters that a terminal acts upon. found is false where the file was not
// read.
func (d Diagnostic) Excerpt() (before, after string, found bool) {
	if d.doc == nil || d.Line == 0 {
		return "", "", false
	}
	data := d.doc.Data
	at := min(d.offset, len(data))
	// A file may be one long line: little more of it is looked at than what is shown.
	start, end := max(0, at-8*widestExcerpt), min(len(data), at+8*widestExcerpt)
	if n := bytes.LastIndexByte(data[start:at], '\n'); n >= 0 {
		start += n + 1
	}
	if n := bytes.IndexByte(data[at:end], '\n'); n >= 0 {
		end = at + n
	}
	head, tail := data[max(start, at-4*widestExcerpt):at], data[at:min(end, at+4*widestExcerpt)]
	if start < at-len(head) {
		start = -1
	}
	for n := utf8.RuneCount(head); n > widestExcerpt; n-- {
		_, size := utf8.DecodeRune(head)
		head, start = head[size:], -1
	}
	if start < 0 {
		before = "…"
	}
	shown := []rune(visible(tail))
	after = string(shown[:min(len(shown), widestExcerpt)])
	if len(shown) > widestExcerpt || at+len(tail) < end {
		after += "…"
	}
	return before + visible(head), strings.TrimRight(after, " "), true
}

// visible is text with a space in place of each character that shows nothing.
func visible(text []byte) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, string(text))
}

// String is the diagnostic on one line, with the hint on a second.
func (d Diagnostic) String() string {
	var b strings.Builder
	b.WriteString(d.File)
	if d.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", d.Line, d.Column)
	}
	fmt.Fprintf(&b, ": %s [%s] %s", d.Severity, d.Rule, d.Message)
	if d.Hint != "" {
		fmt.Fprintf(&b, "\n    hint: %s", d.Hint)
	}
	return b.String()
}

// HasErrors reports whether one of the diagnostics is an error.
func HasErrors(ds []Diagnostic) bool {
	for _, d := range ds {
		if d.Severity == Error {
			return true
		}
	}
	return false
}

// Text renders diagnostics for people, one after the other.
func Text(ds []Diagnostic) string {
	var b strings.Builder
	for _, d := range ds {
		b.WriteString(d.String())
		b.WriteByte('\n')
	}
	return b.String()
}
