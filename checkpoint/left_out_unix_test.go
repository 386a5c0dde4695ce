//go:build unix

package checkpoint

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// What is left out is in no snapshot, whatever rules, patterns and index say for
// it, and whatever its name has; unless it would be destroyed.
func TestWhatIsLeftOutIsInNoCheckpoint(t *testing.T) {
	t.Parallel()
	r, _ := projectRig(t, 3) // whose index has all that is written next, too
	names := []string{".env", "a [b]*?/.env", `back\slash/.env`, "end /.env", "!x/.env"}
	for _, name := range names {
		r.write(name, "A=1")
	}
	stock(t, "-C", r.ws.Path(), "add", "-Af", ".")
	size, err := r.store.Estimate(t.Context(), SnapshotRequest{Workspace: r.ws, Selection: Selection{All: true}})
	must(t, err)
	if want := slices.Sorted(slices.Values(names)); !slices.Equal(size.Private, want) {
		t.Errorf("the estimate names %q, want %q", size.Private, want)
	}
	must(t, r.store.LeaveOut(names[:3]))
	must(t, r.store.LeaveOut(names[2:]))
	if got := r.store.LeftOut(); !slices.Equal(got, slices.Sorted(slices.Values(names))) {
		t.Errorf("left out are %q", got)
	}
	r.write(".gitignore", "!.env\n")
	r.reopen()
	for _, sel := range []Selection{{All: true}, {Patterns: []string{".env", "**/.env"}}} {
		snap := r.snapshot(sel)
		for _, path := range r.paths(snap.Tree) {
			if filepath.Base(path) == ".env" {
				t.Errorf("%+v takes %q", sel, path)
			}
		}
		if len(snap.Private) > 0 {
			t.Errorf("%+v names %q", sel, snap.Private)
		}
		r.commit(snap)
	}
	if got := r.paths(r.snapshot(Selection{}, ".env").Tree); len(got) > 0 {
		t.Errorf("what must be included is taken: %q", got)
	}
	if err := r.store.LeaveOut([]string{"a\nb/.env"}); err == nil {
		t.Error("a name that no line can have is taken")
	}
	text, err := os.ReadFile(filepath.Join(r.opts.Dir, "info", "exclude"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(r.ws.Path(), ".gitignore"), nil, 0o600))
	must(t, os.WriteFile(filepath.Join(r.ws.Path(), ".git", "info", "exclude"), text, 0o600))
	stock(t, "-C", r.ws.Path(), "rm", "-rqf", "--cached", ".")
	for _, name := range names {
		stock(t, "-C", r.ws.Path(), "check-ignore", "-q", "--", name) // as stock git reads the lines
	}
}
