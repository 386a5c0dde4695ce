// Package pattern says which patterns of files hank takes: those that doublestar
// can read, and can match in a time that somebody waits for. BadPath says the same of a path
// that is no pattern.
package pattern

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
)

// maxWays is how many patterns without braces one with braces may stand for. To
// match it may take as many tries, for each file of the workspace: twenty pairs
// of braces, a million of them.
const maxWays = 1000

// Hint says how a pattern becomes one that is taken.
const Hint = `write \[ or \{ for the character itself; braces may give at most 1000 alternatives; ? fits what is no text`

// Valid reports whether a pattern is taken. One with bytes that are no text is
// not: doublestar takes any such byte of a name for any other. A ? or * is what
// fits them. (U+FFFD, which names have that were text once, fits them too.)
func Valid(text string) bool {
	return doublestar.ValidatePattern(text) && ways(text) <= maxWays && utf8.ValidString(text)
}

// Inside reports whether a pattern names what may be in a workspace: it is not empty or
// absolute, and does not lead up.
func Inside(text string) bool {
	return text != "" && text[0] != '/' && !slices.Contains(strings.Split(text, "/"), "..")
}

// ways is at least how many alternatives the braces of a valid pattern give, or
// something above maxWays.
func ways(text string) int {
	total, open := 1, []int{}
	for i := 0; i < len(text) && total <= maxWays; i++ {
		switch text[i] {
		case '\\':
			i++
		case '{':
			open = append(open, 1)
		case ',':
			if n := len(open); n > 0 {
				open[n-1]++
			}
		case '}':
			if n := len(open); n > 0 {
				total, open = total*open[n-1], open[:n-1]
			}
		}
	}
	return total
}
