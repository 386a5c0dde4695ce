package recovery

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hank/checkpoint"
	"hank/checkpoint/scan"
	"hank/recovery/execution"
	"hank/recovery/githistory"
	"hank/state"
)

// A script that writes into a directory that the step before it made must find
// it, also when it is done again after a crash. Git holds no empty directories.
func TestEmptyFoldersComeBackAndGo(t *testing.T) {
	t.Parallel()
	x, err := Create(t.Context(), filepath.Join(t.TempDir(), "x"), CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	in := func(name string) string { return filepath.Join(x.Layout.Workspace, name) }
	everything := checkpoint.Selection{All: true}
	for _, dir := range []string{"scratch", "deep/er/\xff", "deep/er/kept", "full"} {
		if err := os.MkdirAll(in(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(in("full/file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	snap, err := x.Snapshot(t.Context(), everything, "")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"deep/er/kept", "deep/er/\xff", "scratch"}; !slices.Equal(snap.Empty, want) {
		t.Fatalf("empty folders: %q", snap.Empty)
	}
	if notes := execution.Shortcomings(snap); len(notes) != 1 {
		t.Errorf("a name that no message can hold is passed over: %q", notes)
	}
	before, err := x.Commit(t.Context(), execution.Commit{Title: githistory.Title{Status: state.KindInitial}, Snapshot: snap, Branch: "main", Transition: state.InitialCheckpointSet{}})
	if err != nil {
		t.Fatal(err)
	}

	for _, dir := range []string{"scratch", "deep"} {
		if err := os.RemoveAll(in(dir)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(in("deep"), []byte("in the way"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(in("new/one"), 0o755); err != nil {
		t.Fatal(err)
	}
	moved, err := x.MoveTree(t.Context(), execution.Move{Kind: "restore", To: before, Tracked: everything})
	if err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]bool{"scratch": true, "deep/er/kept": true, "full": true, "new": false} {
		if fi, err := os.Lstat(in(dir)); (err == nil && fi.IsDir()) != want {
			t.Errorf("after the restore, %s: %v", dir, err)
		}
	}

	if _, err := x.MoveTree(t.Context(), execution.Move{Kind: "undo", To: moved.Safety, Tracked: everything}); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]bool{"scratch": false, "deep": false, "full": true, "new/one": true} {
		if fi, err := os.Lstat(in(dir)); (err == nil && fi.IsDir()) != want {
			t.Errorf("after it was undone, %s: %v", dir, err)
		}
	}
}

// What a checkpoint holds otherwise than it is on the disk is named, and a
// thousand of them do not fill the record.
func TestShortcomingsAreNamedAndBounded(t *testing.T) {
	t.Parallel()
	few := &checkpoint.Snapshot{Skipped: []scan.Skipped{{Path: "s", Why: "a socket"}}, Escaped: []scan.Escaped{{Path: ".GIT", As: "x"}}, Nested: []string{"lib"}}
	want := []string{
		`not in the checkpoint: "s" (a socket)`, `kept in the checkpoint as "x": ".GIT"`,
		`not in the checkpoint: "lib/.git" (the history of a repository of its own; its files are)`,
	}
	if got := execution.Shortcomings(few); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	many := &checkpoint.Snapshot{Skipped: make([]scan.Skipped, 1000), Escaped: make([]scan.Escaped, 1000), Nested: make([]string, 1000)}
	if got := execution.Shortcomings(many); len(got) != 3*(execution.MaxNotes+1) || got[execution.MaxNotes] != "and 980 more are not in the checkpoint" {
		t.Errorf("%d notes: %q", len(got), got[execution.MaxNotes])
	}
}
