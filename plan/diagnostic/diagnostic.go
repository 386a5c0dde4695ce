package diagnostic

import (
	"fmt"
	"strings"
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
