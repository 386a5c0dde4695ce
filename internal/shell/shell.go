// Package shell writes words into command lines that people copy.
package shell

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+=,"

// Quote returns a word as a POSIX shell reads it, on one line: unchanged where that is
// safe, else in single quotes, or printed by printf where it has a line break, or what no
// terminal shows as it is. One that ends with a line break, which no $(…) returns, is on
// several lines.
func Quote(word string) string {
	switch {
	case word != "" && strings.Trim(word, safe) == "":
		return word
	case strings.ContainsFunc(word, unseen) && !strings.HasSuffix(word, "\n"):
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

// unseen reports whether a terminal does not show a character as itself: it controls the
// terminal, has no shape, or is no character.
func unseen(r rune) bool { return r != '\t' && (r == utf8.RuneError || !unicode.IsPrint(r)) }

// printed is a word as what printf prints.
func printed(word string) string {
	var format strings.Builder
	for at, r := range word {
		_, size := utf8.DecodeRuneInString(word[at:])
		switch char := word[at : at+size]; {
		case r == '\n':
			format.WriteString(`\n`)
		case unseen(r) || r != ' ' && r < utf8.RuneSelf && (!strings.Contains(safe, char) || r == '%' || r == '-' && at == 0):
			for _, c := range []byte(char) {
				fmt.Fprintf(&format, `\%03o`, c)
			}
		default:
			format.WriteString(char)
		}
	}
	return `"$(printf '` + format.String() + `')"`
}
