package trigger

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Expression compiles the regular expression of a condition, which is one of JavaScript:
// \u2713 is the character of that number, and two that are halves of one character are that
// character. What JavaScript has and RE2 cannot have is an error.
func Expression(text string) (*regexp.Regexp, error) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		unit, ok := unitAt(text[i:])
		if !ok {
			b.WriteString(text[i : i+2])
			i++
			continue
		}
		i += 5
		if low, ok := unitAt(text[i+1:]); ok && utf16.IsSurrogate(unit) && utf16.DecodeRune(unit, low) != '\uFFFD' {
			unit, i = utf16.DecodeRune(unit, low), i+6
		}
		fmt.Fprintf(&b, `\x{%X}`, unit)
	}
	return regexp.Compile(b.String())
}

// unitAt is the number of \uXXXX at the beginning of a text.
func unitAt(text string) (unit rune, ok bool) {
	if len(text) < 6 || text[:2] != `\u` {
		return 0, false
	}
	n, err := strconv.ParseUint(text[2:6], 16, 16)
	return rune(n), err == nil
}
