package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"hank/internal/short"
)

// No package of hank has outgrown the limits.
func TestNoPackageIsTooLarge(t *testing.T) {
	short.Skip(t)
	sizes, err := count(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	h, err := load("../..")
	if err != nil {
		t.Fatal(err)
	}
	needless, err := h.needless("../..")
	if err != nil {
		t.Fatal(err)
	}
	report, wrong := check(sizes, h.climbs(), larger, tangled)
	for _, w := range append(wrong, checkExports(needless, mostNeedless)...) {
		t.Error(w)
	}
	for _, name := range []string{"  state\n", "  scripts/house\n", "  cmd/hank"} {
		if !strings.Contains(report, name) {
			t.Errorf("the report does not have%s:\n%s", name, report)
		}
	}
}

func TestWhatIsTooLargeIsReported(t *testing.T) {
	tree := fstest.MapFS{}
	add := func(dir string, files, lines int) {
		for i := range files {
			tree[fmt.Sprintf("%s/f%d.go", dir, i)] = &fstest.MapFile{Data: []byte(strings.Repeat("\n", lines))}
		}
	}
	add("limit", 30, 100)
	tree["limit/more_test.go"] = &fstest.MapFile{Data: []byte(strings.Repeat("\n", 5000))}
	tree["limit/testdata/more.go"] = tree["limit/more_test.go"]
	add("limit/page", 1, 4000)
	add("long", 2, 2001)
	add("many", 31, 1)
	add("cmd/hank", 31, 1)
	add("listed", 1, 5000)
	add("grown", 1, 5001)
	add("shrunk", 1, 4000)
	sizes, err := count(tree)
	if err != nil {
		t.Fatal(err)
	}
	climbs := map[string]climb{"limit": {39, 3}, "long": {40, 5}, "many": {4, 1}, "listed": {10, 4}, "grown": {10, 5}, "shrunk": {10, 1}}
	_, wrong := check(sizes, climbs, map[string]int{"listed": 5000, "grown": 5000, "shrunk": 5000, "gone": 5000},
		map[string]int{"listed": 4, "grown": 4, "shrunk": 4, "gone": 4})
	want := []string{
		"grown has 5001 lines, more than 5000",
		"shrunk has 4000 lines, within the limit of 4000",
		"long has 4002 lines, more than 4000",
		"many has 31 files, more than 30",
		"gone is in the list of larger",
		"gone is in the list of tangled",
		"long has 5 of 40 arrows up, more than 4",
		"grown has 5 of 10 arrows up, more than 4",
		"shrunk has 1 of 10 arrows up, within",
	}
	for _, w := range want {
		found := false
		for _, have := range wrong {
			found = found || strings.HasPrefix(have, w)
		}
		if !found {
			t.Errorf("not reported: %s", w)
		}
	}
	if len(wrong) != len(want) {
		t.Errorf("reported: %s", strings.Join(wrong, "\n"))
	}
}

// Of a circle one arrow leads up, and of two files that use each other; the order is
// otherwise from what is used to what uses it.
func TestAsFewArrowsAsPossibleLeadUp(t *testing.T) {
	for _, c := range []struct {
		name, arrows string
		up           int
	}{
		{"nothing", "", 0},
		{"a chain", "d>c c>b b>a", 0},
		{"a chain and what it implies", "a>b b>c c>d a>c a>d b>d", 0},
		{"two that use each other", "a>b b>a", 1},
		{"a circle", "a>b b>c c>d d>a", 1},
		{"two circles that share an arrow", "a>b b>c c>a b>d d>a", 1},
		{"two circles apart", "a>b b>a c>d d>c a>c", 2},
		{"each uses each of three", "a>b b>a a>c c>a b>c c>b", 3},
	} {
		var all []arrow
		for a := range strings.FieldsSeq(c.arrows) {
			from, to, _ := strings.Cut(a, ">")
			all = append(all, arrow{from, to})
		}
		order, up := climbing(all)
		if len(up) != c.up {
			t.Errorf("%s: %d lead up in %v, want %d", c.name, len(up), order, c.up)
		}
	}
}

// The names that others need stay off the list; those that nobody or only a test uses are
// on it.
func TestExportedNamesWithoutAUserAreListed(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module m\n\ngo 1.26\n",
		"state/a.go": `package state

type Used struct{ Field Inner }
type Inner struct{}
type Lonely struct{}
type Tested struct{}

func (Used) Error() string { return "" }
func (Used) Called()       {}
func (Used) Forgotten()    {}
func (*Used) hidden()      {}

const Limit = 1
`,
		"state/b_other.go":      "//go:build plan9\n\npackage state\n",
		"cmd/c/main.go":         "package main\n\nimport \"m/state\"\n\nfunc main() { state.Used{}.Called() }\n",
		"cmd/c/main_plan9.go":   "package main\n\nimport \"m/state\"\n\nvar _ = state.Limit\n",
		"cmd/c/main_test.go":    "package main\n\nimport \"m/state\"\n\nvar _ state.Tested\n",
		"state/internal/x/x.go": "package x\n\nfunc Helper() {}\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	h, err := load(dir)
	if err != nil {
		t.Fatal(err)
	}
	list, err := h.needless(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range list {
		got = append(got, e.String())
	}
	want := []string{"state/a.go:5: state.Lonely", "state/a.go:6: state.Tested  (tests of other packages use it)", "state/a.go:10: state.Used.Forgotten"}
	if !slices.Equal(got, want) {
		t.Errorf("listed:\n%s", strings.Join(got, "\n"))
	}
	verdicts := map[int]string{2: "more than 2", 3: "", 4: ""}
	if runtime.GOOS == "linux" {
		verdicts[4] = "from 4"
	}
	for limit, want := range verdicts {
		if wrong := strings.Join(checkExports(list, limit), "\n"); !strings.Contains(wrong, want) || (wrong == "") != (want == "") {
			t.Errorf("at most %d: %q", limit, wrong)
		}
	}
}
