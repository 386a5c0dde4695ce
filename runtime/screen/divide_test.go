package screen

import (
	"strings"
	"testing"
)

// A page of text is divided at any width, whatever its lines are, and loses nothing but spaces.
func TestTextIsDividedAtAnyWidth(t *testing.T) {
	t.Parallel()
	lines := []string{"", "  ", strings.Repeat(" ", 90), strings.Repeat("e\u0301", 20) + "  ", "a  " + strings.Repeat("日本語", 30), strings.Repeat("x", 200), "   1  12:00:00  costs.updated  " + strings.Repeat("word ", 40), "\u200d\u200d  \u200d", "\xff\xfe  \xff" + strings.Repeat("\xff", 90)}
	letters := func(s string) string { return strings.Join(strings.Fields(s), "") }
	for _, words := range []bool{false, true} {
		for columns := 1; columns <= 100; columns++ {
			p := textPage{text: lines, top: 3}
			p.fold(columns, words)
			p.fold(columns+1, words)
			shown := make([]string, len(lines))
			for _, row := range p.folded {
				shown[row.line] += row.text
			}
			for i, line := range lines {
				if letters(shown[i]) != letters(line) {
					t.Fatalf("%d columns, words %v: line %d is %q, and shows %q", columns, words, i, line, shown[i])
				}
			}
		}
	}
}
