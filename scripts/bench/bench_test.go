//go:build unix

package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hank/internal/race"
	"hank/scripts/bench/corpus"
	"hank/scripts/bench/system"
)

// The bench starts itself again, which is this test then.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && slices.Contains([]string{"worker", "unsynced", "open", "adopt", "peak"}, os.Args[1]) {
		os.Exit(dispatch(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// The quick form does all that the full one does, in small: every tree is
// compared with git's on the way. The clock is not looked at.
func TestQuickFormWritesTableJSONAndChart(t *testing.T) {
	t.Parallel()
	heavy(t)
	out := t.TempDir()
	args := []string{"checkpoint", "--quick", "--all", "--runs", "2", "--dir", t.TempDir(), "--out", out}
	if code := dispatch(args); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	table := string(read("table.txt"))
	var r results
	if err := json.Unmarshal(read("checkpoint.json"), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Cases) != len(cases) {
		t.Errorf("%d cases in the JSON, want %d", len(r.Cases), len(cases))
	}
	for _, c := range r.Commands {
		if !strings.Contains(table, c.Title) || len(c.Hank.Samples) != 2 || len(c.Other.Samples) != 2 || c.Ratio <= 0 {
			t.Errorf("the command %q was not measured: %+v", c.Title, c)
		}
	}
	if len(r.Commands) != 6 {
		t.Errorf("%d commands in the JSON, want 6", len(r.Commands))
	}
	for _, c := range r.Cases {
		if !strings.Contains(table, c.Title) {
			t.Errorf("the table has no row %q", c.Title)
		}
		for _, s := range []string{hankSide, gitSide, gitFsyncSide} {
			if len(c.Sides[s].Samples) != 2 {
				t.Errorf("%s: %d samples of %s, want 2", c.Name, len(c.Sides[s].Samples), s)
			}
		}
	}
	if len(r.Growth) != 4 || r.Many == nil || r.Many.Disk == nil || r.Memory == nil || !r.Memory.BlobVerified {
		t.Errorf("growth, disk or memory are missing: %+v", r)
	}
	if r.Many != nil && r.Many.Disk != nil && r.Many.Disk.Own.Commits == 0 {
		t.Error("no commits were weighed")
	}
	for d := xml.NewDecoder(strings.NewReader(string(read("checkpoint.svg")))); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the chart is no XML: %v", err)
		}
	}
	if strings.Contains(table+string(read("checkpoint.json")), out) {
		t.Error("the report names a path")
	}
}

// The quick form of the other one: it compares what hank status, an index and
// a real run say with what was made. The clock is not looked at.
func TestQuickFormOfTheStateBench(t *testing.T) {
	t.Parallel()
	heavy(t)
	out := t.TempDir()
	if code := dispatch([]string{"state", "--quick", "--dir", t.TempDir(), "--out", out}); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	data, err := os.ReadFile(filepath.Join(out, "state.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r stateReport
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Sizes) != 4 || len(r.Series) != 3 || len(r.Wants) == 0 || r.Adopt == nil || r.Adopt.Took.Median == 0 || r.Costs == nil || len(r.Costs.Totals) != len(costWays) {
		t.Errorf("something is missing in %+v", r)
	}
	for _, s := range r.Sizes {
		if s.Transitions.Hank.N < 12 || s.Transitions.Floor.N < 12 || s.Transitions.Ratio <= 0 || s.StateBytes == 0 {
			t.Errorf("a history of %d codons was not measured: %+v", s.Codons, s)
		}
	}
	table, err := os.ReadFile(filepath.Join(out, "table.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(table), "acknowledged transition") || strings.Contains(string(table)+string(data), out) {
		t.Errorf("the table is\n%s", table)
	}
}

// The comparison that the bench rests on must see a difference.
func TestDifferentTreesAreAnError(t *testing.T) {
	sides := []*side{
		{name: "a", turn: func(int) (sample, error) { return sample{tree: "1"}, nil }},
		{name: "b", turn: func(int) (sample, error) { return sample{tree: "2"}, nil }},
	}
	if err := (&bench{options: options{quick: true}}).turns(sides, 0, 1, unchanged); err == nil || !strings.Contains(err.Error(), "trees differ") {
		t.Errorf("error %v", err)
	}
}

// What is made up must look like source code to a compressor, or the figures
// mean nothing.
func TestTreesDeflateLikeSourceCode(t *testing.T) {
	t.Parallel()
	made, err := corpus.Make(filepath.Join(t.TempDir(), "tree"), 400, 1)
	if err != nil {
		t.Fatal(err)
	}
	g, err := newRepository(filepath.Join(t.TempDir(), "git"), made.Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.checkpoint(); err != nil {
		t.Fatal(err)
	}
	d, err := (&bench{}).weigh(g.dir)
	if err != nil {
		t.Fatal(err)
	}
	var size int64
	for i := range made.Files {
		if !corpus.IsLink(i) {
			size += int64(len(made.Content(i)))
		}
	}
	mean, factor := float64(size)/400, float64(size)/float64(d.Git.Blobs)
	t.Logf("mean size %.0f bytes, deflated %.2f times", mean, factor)
	if mean < 5000 || mean > 8000 || factor < 2 || factor > 4.5 {
		t.Errorf("mean size %.0f bytes, deflated %.2f times", mean, factor)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{}, {"checkpoint", "--runs", "3"}, {"checkpoint", "--case", "nosuch"}, {"checkpoint", "stray"}, {"checkpoint", "--nosuch"}} {
		if code := dispatch(args); code != 2 {
			t.Errorf("%q ends with %d, want 2", args, code)
		}
	}
}

func TestUnsyncedSideSyncsNothing(t *testing.T) {
	if !system.CanUnsync {
		t.Skip("this system cannot leave out syncs")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// A sync of a pipe fails, unless it is not done at all.
	if out, err := exec.Command("sync", "-d", "/dev/stdin").CombinedOutput(); err == nil {
		t.Skipf("sync takes anything here: %s", out)
	}
	if out, err := exec.Command(self, "unsynced", "sync", "-d", "/dev/stdin").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// heavy leaves out a test that takes seconds where that is asked for. With the race
// detector it takes half a minute, and finds what the tests of the engine find.
func heavy(t *testing.T) {
	t.Helper()
	if testing.Short() || race.Step > 1 {
		t.Skip("it takes seconds: scripts/test runs it without the race detector")
	}
}
