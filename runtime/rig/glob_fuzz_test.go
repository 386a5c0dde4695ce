package rig

import (
	"path"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzGlobs: patterns that are taken never lead out of the workspace, and a file
// that they give is always come to: every directory on the way is read, from one of
// the bases on.
func FuzzGlobs(f *testing.F) {
	for _, s := range [][3]string{{"*.md", "!node_modules", "a.md"}, {"{doc,out/y}/*.{md,json}", "!**/deep", "out/y/z.json"}, {`we\[i\]rd/*.md`, "./doc/", "we[i]rd/x.md"}, {"a/./b//c", "!", "a/b/c"},
		{"a/{b,c/**}/d", ".", "a/c/x/d"}, {"{a,b/c}", "**", "b/c"}, {"a[/]b", "x", "a/b"}, {"**" + strings.Repeat("a**", 8), "[^a]/?", strings.Repeat("a", 40)}, {"{../x,a}", "", "../x"}} {
		f.Add(s[0], s[1], s[2])
	}
	f.Fuzz(func(t *testing.T, one, two, file string) {
		if len(one)+len(two)+len(file) > 300 || file == "" || path.Clean("/" + file)[1:] != file {
			return
		}
		if strings.ContainsRune(one+two, utf8.RuneError) && !utf8.ValidString(file) {
			return // see pattern.Valid
		}
		for _, patterns := range [][]string{{one}, {one, two}} {
			g, err := newGlobs(patterns)
			if err != nil {
				if err.Error() == "" || len(g.want)+len(g.except) > 0 {
					t.Fatalf("%q: %v, and %+v", patterns, err, g)
				}
				continue
			}
			bases := g.bases()
			for _, b := range bases {
				if b != path.Clean(b) || path.IsAbs(b) || b == ".." || strings.HasPrefix(b, "../") {
					t.Fatalf("%q begins at %q", patterns, b)
				}
			}
			if !g.matches(file) {
				continue
			}
			for i, c := range file {
				if c == '/' && !g.reaches(file[:i]) {
					t.Fatalf("%q give %q and do not read %q", patterns, file, file[:i])
				}
			}
			under := false
			for _, b := range bases {
				under = under || b == "." || b == file || strings.HasPrefix(file, b+"/")
			}
			if !under {
				t.Fatalf("%q give %q, which is below none of %q", patterns, file, bases)
			}
		}
	})
}
