package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// No package of hank has outgrown the limits.
func TestNoPackageIsTooLarge(t *testing.T) {
	report, wrong, err := check(os.DirFS("../.."), larger)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range wrong {
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
	_, wrong, err := check(tree, map[string]int{"listed": 5000, "grown": 5000, "shrunk": 5000, "gone": 5000})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"grown has 5001 lines, more than 5000",
		"shrunk has 4000 lines, within the limit of 4000",
		"long has 4002 lines, more than 4000",
		"many has 31 files, more than 30",
		"gone is in the list",
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
