package main

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// The messages, the help and the documents keep to the words of the field.
func TestNoPlaceHasMoreForbiddenPhrasesThanItMay(t *testing.T) {
	t.Parallel()
	tree := os.DirFS("../..")
	text, err := os.ReadFile("open.txt")
	if err != nil {
		t.Fatal(err)
	}
	open, err := parseOpen(string(text))
	if err != nil {
		t.Fatal(err)
	}
	found, err := search(tree, false)
	if err != nil {
		t.Fatal(err)
	}
	wrong := exceeded(count(found), open)
	for _, w := range wrong {
		t.Errorf("%s; see: go run ./scripts/words", w)
	}
	for _, f := range found {
		if slices.ContainsFunc(wrong, func(w string) bool { return strings.HasPrefix(w, f.place()+" ") }) {
			t.Log(f)
		}
	}
}

func TestPhrasesAreFoundWhereTextIsWritten(t *testing.T) {
	t.Parallel()
	const source = "package p\n\nimport _ \"folder\"\n\ntype t struct {\n\tx int `json:\"folder\"` // goes on\n}\n\n" +
		"var help = `Two lines, the codon at\nwork, then\nmended.`\n\n" +
		"var joined = \"it goes \" +\n\t\"on anew\"\n\n" +
		"func f(n int) string { return \"no folder \" + help + \"in order to go, in order\" }\n"
	const document = "# A person\n\nIt goes\non, `goes on` is code.\n\n```\nanew\n```\n\n[link](folder/verb.md) behind\n"
	tree := fstest.MapFS{
		"p/p.go": {Data: []byte(source)}, "README.md": {Data: []byte(document)}, "p/p_test.go": {Data: []byte("package p\nvar x = \"anew\"")},
		"scripts/x/x.go": {Data: []byte("package x\nvar x = \"anew\"")},
	}
	check := func(comments bool, want ...string) {
		t.Helper()
		found, err := search(tree, comments)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range found {
			text, _, _ := strings.Cut(f.String(), ": ")
			got = append(got, strings.TrimSuffix(text, ":")+" "+f.text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	document1 := []string{"README.md:1 A person", "README.md:3 goes on", "README.md:10 behind"}
	code := []string{"p/p.go:9 at work", "p/p.go:11 mended", "p/p.go:13 goes on", "p/p.go:14 anew", "p/p.go:16 folder", "p/p.go:16 in order"}
	check(false, append(document1, code...)...)
	check(true, append(append(document1, code...), "p/p.go:6 goes on")...)
}

func TestTheListOnlyBecomesShorter(t *testing.T) {
	t.Parallel()
	open := map[string]int{"a": 3, "b": 2, "c": 1}
	counts := map[string]int{"a": 1, "b": 5, "d": 1}
	if got := lowered(counts, open); got != "1 a\n2 b\n" {
		t.Errorf("%q", got)
	}
	if got := exceeded(counts, open); len(got) != 2 || !strings.HasPrefix(got[0], "b has 5,") || !strings.HasPrefix(got[1], "d has 1,") {
		t.Errorf("%q", got)
	}
	if _, err := parseOpen("x a\n"); err == nil {
		t.Error("a line without a number was taken")
	}
}

func TestOnlyThePlacesThatAreAskedForAreListed(t *testing.T) {
	t.Parallel()
	for place, want := range map[string]bool{"runtime": true, "runtime/control": true, "runtimes": false, "README.md": true, "plan": false} {
		if got := wanted(place, []string{"./runtime/...", "README.md"}); got != want {
			t.Errorf("%s: %v", place, got)
		}
	}
}

// The chain of runs that leads to a position is a lineage path, in names and
// comments, too: it had two other names once. The timeline of a page is a drawing.
func TestALineagePathHasNoOtherName(t *testing.T) {
	t.Parallel()
	other := regexp.MustCompile(`(?i)thread|timeline`)
	means := []string{"OSThread", "a thread", "every thread", "first thread", "leader thread", "thread.started", "Timelines", `"timelines"`, "--only timelines", "timelines    checkpoints"}
	about := []string{"internal/proc", "runtime/keeper", "runtime/harness/codex", "runtime/web/page"} // threads of the operating system, what Codex calls a session, and a drawing of what ran when
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (name != "." && strings.HasPrefix(d.Name(), ".") || name == "scripts" || slices.Contains(about, name)) {
			return fs.SkipDir
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		n := 0
		for line := range strings.Lines(string(text)) {
			n++
			if other.MatchString(line) && !slices.ContainsFunc(means, func(m string) bool { return strings.Contains(line, m) }) {
				t.Errorf("%s:%d: %s: a chain of runs is called a lineage path", name, n, strings.TrimSpace(line))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
