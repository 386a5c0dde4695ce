package match

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hank/checkpoint/worktree"
)

func TestPatternsTakeWhatTheirDialectSays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		patterns string // separated by spaces
		path     string
		want     bool
	}{
		{"*.md", "a.md", true}, {"*.md", "d/a.md", false}, {"**/*.md", "d/a.md", true}, {"**/*.md", "a.md", true},
		{"*", "a", true}, {"*", "d/a", false}, {"src/*", "src/a", true}, {"src/*", "src/d/a", false},
		{"src", "src/d/a", true}, {"src", "src", true}, {"src/", "src/a", true}, {"./src", "src/a", true}, {"src", "lib/src/a", false},
		{"src/**", "src/d/a", true}, {"src/**/*.go", "src/a.go", true}, {"src/**/*.go", "src/d/e/a.go", true},
		{"{a,b}/*.go", "b/x.go", true}, {"{src,docs}", "docs/x", true}, {"**", ".dot/x", true},
		{"** !*.log", "a.log", false}, {"** !*.log", "d/a.log", true}, {"** !out", "out/x", false}, {"** !out/", "out/x", false}, {"src !src/gen/**", "src/gen/a", false},
		{"!a", "b", false}, {"", "a", false},
		{".", "a", true}, {"./", "d/a", true}, {"./.", "a", true}, {".//", "a", true}, {"d !.", "d/a", false}, {"** !./", "a", false},
		{"d/.", "d/f", true}, {"d/.", "e", false}, {"d//f", "d/f", true}, {"d/./f", "d/f", true}, {"././d", "d/f", true}, {"d//", "d/f", true},
		{"d*/.", "dd/f", true}, {"d*//*.c", "dd/a.c", true}, {"**//*.c", "d/a.c", true}, {"{d,e}/./f", "e/f", true}, {"** !d/.", "d/f", false},
		{"[/./]a", ".a", true}, {"!", "a", false}, {"** !", "a", true},
	} {
		sel := Selection{Patterns: strings.Fields(c.patterns)}
		if got := sel.Matcher()(c.path); got != c.want {
			t.Errorf("%q and %q: %v", c.patterns, c.path, got)
		}
	}
}

func TestNoFolderIsSkippedThatHoldsASelectedFile(t *testing.T) {
	t.Parallel()
	part := rapid.SampledFrom([]string{"a", "b", "ab", "*", "a*", "**", "{a,b}", "[ab]", "[^/]", "[/a]b", "?", ".", ""})
	name := rapid.SampledFrom([]string{"a", "b", "ab", "ba"})
	rapid.Check(t, func(t *rapid.T) {
		var sel Selection
		for range rapid.IntRange(1, 3).Draw(t, "patterns") {
			p := strings.Join(rapid.SliceOfN(part, 1, 4).Draw(t, "parts"), "/")
			if rapid.IntRange(0, 4).Draw(t, "negative") == 0 {
				p = "!" + p
			}
			sel.Patterns = append(sel.Patterns, p)
		}
		path := strings.Join(rapid.SliceOfN(name, 2, 5).Draw(t, "path"), "/")
		x := NewSelector(sel, nil)
		if !x.Takes(path) {
			return
		}
		for dir := worktree.Parent(path); dir != ""; dir = worktree.Parent(dir) {
			if !x.MayHold(dir) {
				t.Fatalf("%q takes %q and skips %q", sel.Patterns, path, dir)
			}
		}
	})
}
