package report

import (
	"strings"

	"hank/state"
)

// Before is what must be done before a command, as it is printed after it; empty if
// that is nothing.
func Before(first string) string {
	if first == "" {
		return ""
	}
	return "; before that: " + first
}

// FirstLine is a text's first line, and whether there is more.
func FirstLine(text string) string {
	first, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if rest != "" {
		first += " …"
	}
	return first
}

// Short is a checkpoint as it is printed.
func Short(sha state.SHA) string { return string(sha[:min(12, len(sha))]) }
