// Package typo finds the name that a mistyped one was perhaps meant to be.
package typo

import (
	"io/fs"
	"slices"
	"strings"
)

// Nearest returns the word that a mistyped one differs from by the fewest edits, the
// first of the list if several do; where none is near (one edit for each three letters), the
// only one that begins with it; else nothing. Upper and lower case, dashes and underscores
// make no difference.
func Nearest(s string, words []string) string {
	best, least := "", 1<<30
	folded := fold(s)
	for _, w := range words {
		if f := fold(w); len(f) < 2*len(folded)+3 {
			if d := edits(folded, f); d < least && (d == 0 || d < len(folded)) { // else no letter is the same
				best, least = w, d
			}
		}
	}
	if len(folded) > 100 || least > max(1, len(folded)/3) {
		return begun(folded, words)
	}
	return best
}

// NearestFile is Nearest of the names in a directory.
func NearestFile(s string, entries []fs.DirEntry) string {
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return Nearest(s, names)
}

// leastBegun is how many letters name a word by its beginning.
const leastBegun = 3

// begun returns the only word that begins so, if it has letters enough.
func begun(folded string, words []string) (only string) {
	for _, w := range words {
		if len(folded) < leastBegun || !strings.HasPrefix(fold(w), folded) || w == only {
			continue
		}
		if only != "" {
			return ""
		}
		only = w
	}
	return only
}

// Same reports whether two words differ by nothing that counts here.
func Same(a, b string) bool { return fold(a) == fold(b) }

func fold(s string) string {
	return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(s))
}

// edits counts the insertions, deletions, replacements and swaps of
// neighbours between two words (optimal string alignment).
func edits(a, b string) int {
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		older := before
		before = row
		row = slices.Clone(older)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(before[j]+1, row[j-1]+1, before[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], older[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
