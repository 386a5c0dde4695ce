package term

import (
	"strings"
	"unicode"

	"hank/internal/lazyregexp"
)

// escapes are the control sequences of terminals (ECMA-48: CSI, OSC and the
// other strings, and those of two characters).
var escapes = lazyregexp.New("\x1b(?:\\[[0-?]*[ -/]*[@-~]|[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)|[ -/]*[0-~])")

// Printable is a text of others as it may be shown on a terminal: valid UTF-8,
// and of control characters only newlines and tabs. What would steer the
// terminal, or show characters in another order, is left out.
func Printable(text string) string {
	if strings.IndexByte(text, 0x1b) >= 0 {
		text = escapes.ReplaceAllString(text, "")
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || reorders(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// reorders reports whether a character overrides the direction of writing: with it a
// name can be shown as another one.
func reorders(r rune) bool { return r >= '\u202A' && r <= '\u202E' || r >= '\u2066' && r <= '\u2069' }
