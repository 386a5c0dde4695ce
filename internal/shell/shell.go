// Package shell writes words into command lines that people copy.
package shell

import (
	"fmt"
	"strings"
)

const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+=,"

// Quote returns a word as a POSIX shell reads it, on one line: unchanged where that is
// safe, else in single quotes, or printed by printf where it has a line break. One that
// ends with a line break, which no $(…) returns, is on several lines.
func Quote(word string) string {
	switch {
	case word != "" && strings.Trim(word, safe) == "":
		return word
	case strings.ContainsAny(word, "\n\r") && !strings.HasSuffix(word, "\n"):
		return printed(word)
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Path is Quote of a path: one that begins with - has ./ before it, so that no command
// takes it for an option.
func Path(path string) string {
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	return Quote(path)
}

// printed is a word as what printf prints.
func printed(word string) string {
	var format strings.Builder
	for i, c := range []byte(word) {
		switch {
		case c == '\n':
			format.WriteString(`\n`)
		case c != ' ' && c < 0x80 && (strings.IndexByte(safe, c) < 0 || c == '%' || c == '-' && i == 0):
			fmt.Fprintf(&format, `\%03o`, c)
		default:
			format.WriteByte(c)
		}
	}
	return `"$(printf '` + format.String() + `')"`
}
