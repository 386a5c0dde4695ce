//go:build linux

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hank/internal/built"
	"hank/internal/race"
	"hank/internal/short"
)

// TestQuickFormMeasuresEveryCase: the quick form does all that the full one does, in small.
// The clock is not looked at.
func TestQuickFormMeasuresEveryCase(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	if race.Step > 1 {
		t.Skip("it takes seconds: scripts/test runs it without the race detector")
	}
	hank, err := built.Hank(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	if err := measure([]string{"--quick", "--hank", hank, "--keep", t.TempDir(), "--out", out}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(out, "viewers.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r results
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile(filepath.Join(out, "table.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		n := 0
		for _, f := range r.Figures {
			if f.Case != c.name {
				continue
			}
			if n++; !strings.Contains(string(table), f.What) {
				t.Errorf("the table has no %q:\n%s", f.What, table)
			}
			if f.Value <= 0 && !strings.Contains(f.What, "nothing changes") && f.Unit != "%" {
				t.Errorf("%s: %v", f.What, f.Value)
			}
		}
		if n == 0 {
			t.Errorf("the case %s has no figure", c.name)
		}
	}
}

// TestAFigureBesideItsTarget: what is at most the target has passed, a target of nothing counts,
// and without one there is no verdict.
func TestAFigureBesideItsTarget(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		f    figure
		want string
	}{
		{figure{Value: 16, Target: 16}, "PASS"}, {figure{Value: 16.1, Target: 16}, "MISS"}, {figure{Value: 5}, ""},
		{figure{zero: true}, "PASS"}, {figure{Value: 1, zero: true}, "MISS"},
	} {
		if got := c.f.verdict(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.f, got, c.want)
		}
	}
}
