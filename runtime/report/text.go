package report

import (
	"strings"

	"hank/internal/lazyregexp"
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

var fullSHA = lazyregexp.New(`\b([0-9a-f]{12})[0-9a-f]{28}\b`)

// ShortNames is a text in which checkpoints are named as they are printed.
func ShortNames(text string) string {
	return fullSHA.ReplaceAllString(text, "$1")
}

// Short is a checkpoint as it is printed.
func Short(sha state.SHA) string { return string(sha[:min(12, len(sha))]) }
