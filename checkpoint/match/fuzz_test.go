package match

import (
	"path"
	"strings"
	"testing"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"hank/checkpoint/worktree"
)

// FuzzSelection: a pattern that is taken never loses a file because a directory on
// the way to it is not looked into, and what it says takes no time.
func FuzzSelection(f *testing.F) {
	f.Add("src/**/*.go", "!src/gen", "src/a/b.go")
	f.Add("{a,b/c}/*.md", "", "b/c/x.md")
	f.Add("a/[!b]?", "**/x", "a/cd")
	f.Add("./a/", "!**", "a/b/c")
	f.Add("**a**b**c**d**e**f**g**h", "!"+strings.Repeat("*a", 30), strings.Repeat("a", 60))
	f.Add(`\*`, `!\`, "*")
	f.Fuzz(func(t *testing.T, one, two, file string) {
		if len(one)+len(two)+len(file) > 1000 || file == "" || path.Clean("/" + file)[1:] != file {
			return
		}
		s := Selection{Patterns: []string{one, two}}
		if s.Validate() != nil {
			return
		}
		for _, p := range s.Patterns {
			if !doublestar.ValidatePattern(strings.TrimPrefix(p, "!")) {
				t.Fatalf("%q is accepted", p)
			}
		}
		x := NewSelector(s, nil)
		began := time.Now()
		taken := x.Takes(file)
		if took := time.Since(began); took > 5*time.Second { // hundreds of times what any needs
			t.Fatalf("%q took %v", s.Patterns, took)
		}
		if !taken {
			return
		}
		for dir := worktree.Parent(file); dir != ""; dir = worktree.Parent(dir) {
			if !x.MayHold(dir) {
				t.Fatalf("%q takes %q and does not look into %q", s.Patterns, file, dir)
			}
		}
	})
}

// FuzzIndexPaths: the index of a person's own repository gives whole paths, no
// more of them than it has bytes, in the order that git has written.
func FuzzIndexPaths(f *testing.F) {
	f.Add([]byte("DIRC\x00\x00\x00\x04\x00\x00\x00\x01" + strings.Repeat("\x00", 62) + "\x00a\x00" + strings.Repeat("\x00", 20)))
	f.Add([]byte("DIRC\x00\x00\x00\x02\xff\xff\xff\xff" + strings.Repeat("\x00", 100)))
	f.Fuzz(func(t *testing.T, data []byte) {
		paths, _ := IndexPaths(data)
		total := 0
		for _, p := range paths {
			total += len(p)
			if p == "" || strings.Contains(p, "\x00") {
				t.Fatalf("the path %q", p)
			}
		}
		if len(paths) > len(data)/62+1 || total > len(data)*len(data)+1 {
			t.Fatalf("%d paths of %d bytes in %d bytes", len(paths), total, len(data))
		}
	})
}
