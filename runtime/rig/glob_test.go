//go:build unix

package rig

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hank/runtime/internal/testkit"
)

func found(t testing.TB, dir string, patterns ...string) matched {
	t.Helper()
	g, err := newGlobs(patterns)
	testkit.Must(t, err)
	root, err := os.OpenRoot(dir)
	testkit.Must(t, err)
	defer root.Close()
	m, err := g.find(root, nil)
	testkit.Must(t, err)
	return m
}

func TestPatternsGiveWhatTheDialectSays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a.md", "b.txt", ".hidden.md", "doc/a.md", "doc/deep/b.md", "doc/deep/c.txt", "out/x.json", "out/y/z.json",
		"node_modules/p/readme.md", "we[i]rd/x.md", ".git/a.md", "sub/.git/a.md", "sub/.hankweave-rig-new/a.md", "read_only_data_source/a.md"} {
		testkit.Write(t, filepath.Join(dir, name), name)
	}
	for _, c := range []struct{ patterns, want string }{
		{"*.md", ".hidden.md a.md"},
		{"**/*.md", ".hidden.md a.md doc/a.md doc/deep/b.md node_modules/p/readme.md we[i]rd/x.md"},
		{"**/*.md !node_modules", ".hidden.md a.md doc/a.md doc/deep/b.md we[i]rd/x.md"},
		{"**/*.md !**/deep !node_modules/**", ".hidden.md a.md doc/a.md we[i]rd/x.md"},
		{"doc", "doc/a.md doc/deep/b.md doc/deep/c.txt"},
		{"doc/", "doc/a.md doc/deep/b.md doc/deep/c.txt"},
		{"./doc/*.md", "doc/a.md"},
		{"doc/*", "doc/a.md doc/deep/b.md doc/deep/c.txt"},
		{"out/**", "out/x.json out/y/z.json"},
		{"out/*/*.json", "out/y/z.json"},
		{"{doc,out/y}/*.{md,json}", "doc/a.md out/y/z.json"},
		{"{a,doc/a}.md", "a.md doc/a.md"},
		{"?.txt", "b.txt"},
		{"b.txt b.txt *.txt doc doc/deep", "b.txt doc/a.md doc/deep/b.md doc/deep/c.txt"},
		{`we\[i\]rd/*.md`, "we[i]rd/x.md"},
		{"a.md/x", ""},
		{"no/such/thing *.none", ""},
		{".git .git/** sub/** read_only_data_source/*", ""},
		{"!*.md", ""},
		{".", ".hidden.md a.md b.txt doc/a.md doc/deep/b.md doc/deep/c.txt node_modules/p/readme.md out/x.json out/y/z.json we[i]rd/x.md"},
	} {
		if got := strings.Join(found(t, dir, strings.Fields(c.patterns)...).Files, " "); got != c.want {
			t.Errorf("%s gives\n%s, want\n%s", c.patterns, got, c.want)
		}
	}
}

func TestPatternsOutOfTheWorkspaceAreRefused(t *testing.T) {
	t.Parallel()
	for _, p := range []string{"", "!", "/etc/passwd", "..", "../x", "a/../../x", "!../x", "a/[", "{a"} {
		if _, err := newGlobs([]string{p}); err == nil {
			t.Errorf("%q is taken", p)
		}
	}
}

func TestLinksAreNotFollowedAndNotPassedOverInSilence(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	testkit.Write(t, filepath.Join(outside, "secret.md"), "secret")
	testkit.Write(t, filepath.Join(dir, "real/a.md"), "a")
	testkit.Symlink(t, outside, filepath.Join(dir, "out"))
	testkit.Symlink(t, "real", filepath.Join(dir, "in"))
	testkit.Symlink(t, "real/a.md", filepath.Join(dir, "latest.md"))
	testkit.Symlink(t, "latest.md", filepath.Join(dir, "other.txt"))
	for patterns, want := range map[string][]string{
		"out/*.md":       {"out"},
		"out/secret.md":  {"out"},
		"in/a.md":        {"in"},
		"latest.md":      {"latest.md"},
		"*.txt":          {"other.txt"},
		"real/*":         nil,
		"other.txt/x.md": nil,
	} {
		m := found(t, dir, patterns)
		if !slices.Equal(m.Skipped, want) {
			t.Errorf("%s skipped %q, want %q", patterns, m.Skipped, want)
		}
		if len(m.Files) > 0 && patterns != "real/*" {
			t.Errorf("%s gave %q", patterns, m.Files)
		}
	}
	if m := found(t, dir, "**/*.md"); !slices.Equal(m.Files, []string{"real/a.md"}) || !slices.Equal(m.Skipped, []string{"in", "latest.md", "out"}) {
		t.Errorf("%+v", m)
	}
}

func TestFoldersWithoutMatchesAreNotRead(t *testing.T) {
	t.Parallel()
	g, err := newGlobs([]string{"*.md", "src/*.go", "doc", "!doc/gen"})
	testkit.Must(t, err)
	for dir, want := range map[string]bool{
		"node_modules/p": false, "node_modules/p/q": false, "src": true, "src/sub": false,
		"doc": true, "doc/deep/er/and/more": true, "doc/gen": false, "doc/gen/x": false, "x.md/y/z": true,
	} {
		if g.reaches(dir) != want {
			t.Errorf("%s: %v", dir, !want)
		}
	}
}

// Not reading a directory must never lose a file: find gives exactly the files of
// a whole walk that match.
func TestFindingIsFilteringAWholeWalk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var all []string
	names := []string{"a", "b", "ab", ".c"}
	for _, one := range names {
		for _, two := range names {
			all = append(all, path.Join("d"+one, two+".x"), path.Join("d"+one, "d"+two, one+".x"), path.Join("d"+one, "d"+two, "y"))
		}
		all = append(all, one+".x")
	}
	for _, name := range all {
		testkit.Write(t, filepath.Join(dir, name), name)
	}
	root, err := os.OpenRoot(dir)
	testkit.Must(t, err)
	defer root.Close()
	segment := rapid.SampledFrom([]string{"*", "**", "d*", "da", "d{a,b}", "d?b", "*.x", "y", "a.x", "[!a]*", "{da,db/d*}", "d.c", "{a,da/a}.x"})
	rapid.Check(t, func(t *rapid.T) {
		var patterns []string
		for range rapid.IntRange(1, 3).Draw(t, "patterns") {
			p := strings.Join(rapid.SliceOfN(segment, 1, 4).Draw(t, "segments"), "/")
			if rapid.IntRange(0, 3).Draw(t, "negative") == 0 {
				p = "!" + p
			}
			patterns = append(patterns, p)
		}
		g, err := newGlobs(patterns)
		if err != nil {
			t.Fatal(err)
		}
		m, err := g.find(root, nil)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() && g.matches(name) {
				want = append(want, name)
			}
			return err
		})
		slices.Sort(want)
		if err != nil || !slices.Equal(m.Files, want) {
			t.Fatalf("%q gives\n%q, a whole walk\n%q", patterns, m.Files, want)
		}
	})
}

func TestANameThatNoFileHasGivesNone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testkit.Write(t, filepath.Join(dir, "a"), "a")
	if m := found(t, dir, "a", strings.Repeat("x", 300), "d/"+strings.Repeat("x", 300)+"/y"); !slices.Equal(m.Files, []string{"a"}) {
		t.Errorf("%q", m.Files)
	}
}
