//go:build unix

package match_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/match"
	"hank/checkpoint/scan"
)

// What is left out is in no snapshot, whatever rules, patterns and index say for
// it, and whatever its name has; unless it would be destroyed.
func TestWhatIsLeftOutIsInNoCheckpoint(t *testing.T) {
	t.Parallel()
	r, _ := projectRig(t, 3) // whose index has all that is written next, too
	names := []string{".env", "a [b]*?/.env", `back\slash/.env`, "end /.env", "!x/.env"}
	for _, name := range names {
		r.Write(name, "A=1")
	}
	testkit.Stock(t, "-C", r.Ws.Path(), "add", "-Af", ".")
	size, err := r.Store.Estimate(t.Context(), scan.SnapshotRequest{Workspace: r.Ws, Selection: match.Selection{All: true}})
	testkit.Must(t, err)
	if want := slices.Sorted(slices.Values(names)); !slices.Equal(size.Private, want) {
		t.Errorf("the estimate names %q, want %q", size.Private, want)
	}
	testkit.Must(t, match.LeaveOut(r.Store.DB, names[:3]))
	testkit.Must(t, match.LeaveOut(r.Store.DB, names[2:]))
	if got := match.LeftOut(r.Store.DB); !slices.Equal(got, slices.Sorted(slices.Values(names))) {
		t.Errorf("left out are %q", got)
	}
	r.Write(".gitignore", "!.env\n")
	r.Reopen()
	for _, sel := range []match.Selection{{All: true}, {Patterns: []string{".env", "**/.env"}}} {
		snap := r.Snapshot(sel)
		for _, path := range r.Paths(snap.Tree) {
			if filepath.Base(path) == ".env" {
				t.Errorf("%+v takes %q", sel, path)
			}
		}
		if len(snap.Private) > 0 {
			t.Errorf("%+v names %q", sel, snap.Private)
		}
		r.Commit(snap)
	}
	if got := r.Paths(r.Snapshot(match.Selection{}, ".env").Tree); len(got) > 0 {
		t.Errorf("what must be included is taken: %q", got)
	}
	if err := match.LeaveOut(r.Store.DB, []string{"a\nb/.env"}); err == nil {
		t.Error("a name that no line can have is taken")
	}
	text, err := os.ReadFile(filepath.Join(r.Opts.Dir, "info", "exclude"))
	testkit.Must(t, err)
	testkit.Must(t, os.WriteFile(filepath.Join(r.Ws.Path(), ".gitignore"), nil, 0o600))
	testkit.Must(t, os.WriteFile(filepath.Join(r.Ws.Path(), ".git", "info", "exclude"), text, 0o600))
	testkit.Stock(t, "-C", r.Ws.Path(), "rm", "-rqf", "--cached", ".")
	for _, name := range names {
		testkit.Stock(t, "-C", r.Ws.Path(), "check-ignore", "-q", "--", name) // as stock git reads the lines
	}
}
