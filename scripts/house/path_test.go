package main

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// Whoever wants to know how a transition becomes durable reads no more than the limit.
func TestTheTransitionPathIsShort(t *testing.T) {
	report, wrong, err := measurePath(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range wrong {
		t.Error(w)
	}
	if !strings.Contains(report, readingOrder) {
		t.Errorf("the report is %q", report)
	}
}

func TestTheTransitionPathIsMeasured(t *testing.T) {
	long := "package p\n" + strings.Repeat("var _ = 1\n\n// more\n", maxPath-3)
	tree := fstest.MapFS{
		readingOrder: {Data: []byte("| file | read |\n|---|---|\n| `a.go` | `A` |\n| `b.go` | `B` |\n| `a.go` | `A2` |\n")},
		"a.go":       {Data: []byte(long)},
		"b.go":       {Data: []byte("// B.\npackage b\n\nvar B = 2 // counts\n")},
		"c.go":       {Data: []byte(long)},
	}
	report, wrong, err := measurePath(tree)
	if want := "   4000 lines of code in the 2 files of docs/reading.md\n"; err != nil || len(wrong) > 0 || report != want {
		t.Errorf("%q, %q, %v; want %q", report, wrong, err, want)
	}
	tree["b.go"] = &fstest.MapFile{Data: []byte("package b\n\nvar (\n\tB = 2\n)\n")}
	if _, wrong, err = measurePath(tree); err != nil || len(wrong) != 1 || !strings.Contains(wrong[0], "4002 lines of code, more than 4000") {
		t.Errorf("%q, %v", wrong, err)
	}
	delete(tree, "b.go")
	if _, _, err = measurePath(tree); err == nil {
		t.Error("a file that does not exist is not reported")
	}
	tree[readingOrder] = &fstest.MapFile{Data: []byte("nothing\n")}
	if _, _, err = measurePath(tree); err == nil {
		t.Error("a page without files is not reported")
	}
}

func TestLinesOfCodeAreCounted(t *testing.T) {
	for text, want := range map[string]int{
		"package p\n":                                                      1,
		"// a comment\n\npackage p // another\n":                           1,
		"/* one\n\ntwo */\npackage p\n":                                    1,
		"package p\n\nvar a = `one\n// in a text\nthree`\n":                4,
		"package p\n\nfunc f() {\n\t/* x */ g(`a\nb`); h()\n\n\t// why\n}": 5,
	} {
		if got := codeLines([]byte(text)); got != want {
			t.Errorf("%d lines, want %d:\n%s", got, want, text)
		}
	}
}
