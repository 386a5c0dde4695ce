//go:build unix

package recovery

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"hank/checkpoint"
	"hank/internal/failpoint"
	"hank/internal/vfs/vfstest"
	"hank/recovery/execution"
	"hank/recovery/githistory"
	"hank/recovery/lock"
	"hank/state"
	"hank/state/journal"
)

// What was lost for a moment is not trusted again: nothing more is recorded,
// although every file is back where it was.
func TestABrokenExecutionRecordsNothingMore(t *testing.T) {
	t.Parallel()
	a := begin(t, filepath.Join(t.TempDir(), "x"), 3, CreateOptions{})
	a.settle()
	hankweave, before := a.x.Layout.Hankweave(), a.x.Journal.Last()
	limit := state.LimitsSet{Limits: state.Limits{MaxDollars: state.Dollar}}
	ok(t, os.Rename(hankweave, hankweave+".moved"))
	var lost *lock.LostError
	if err := a.x.Record(limit); !errors.As(err, &lost) {
		t.Errorf("without its directory: %v", err)
	}
	ok(t, os.Rename(hankweave+".moved", hankweave))
	ok(t, a.x.Held())
	broken := a.x.Broken
	for name, err := range map[string]error{"Record": a.x.Record(limit), "RecordLater": a.x.RecordLater(limit), "Note": a.x.Note("test.note", nil), "Sync": a.x.Sync()} {
		if err == nil || !errors.Is(err, broken) {
			t.Errorf("%s after that: %v", name, err)
		}
	}
	if last := a.x.Journal.Last(); last != before || a.x.State().Limits.Any() {
		t.Errorf("the journal has %d events instead of %d, the limits are %v", last, before, a.x.State().Limits)
	}
	_ = a.x.Close() // says the same
}

// A checkpoint whose branch does not move is not acknowledged: neither the journal
// nor the state knows of it.
func TestACheckpointIsRecordedAfterItsBranchHasMoved(t *testing.T) {
	t.Parallel()
	var failing atomic.Bool
	fsys := vfstest.Inject(fast, func(c vfstest.Call) error {
		if failing.Load() && c.Op == vfstest.OpRename && strings.Contains(filepath.ToSlash(c.Name), "refs/heads/") {
			return syscall.EIO
		}
		return nil
	})
	a := begin(t, filepath.Join(t.TempDir(), "x"), 3, CreateOptions{Options: execution.Options{FS: fsys}})
	a.write("log.txt", "more\n")
	snap := must(a.x.Snapshot(a.ctx, execution.Tracked(a.x.State(), ""), a.x.Head()))(t)
	before, last := a.x.State(), a.x.Journal.Last()
	commit := execution.Commit{Title: githistory.Title{Status: state.KindManual}, Snapshot: snap, Parents: []state.SHA{a.x.Head()}, Branch: "main",
		Transition: state.CheckpointCreated{Kind: state.KindManual, Branch: "main", Base: true}}
	failing.Store(true)
	if _, err := a.x.Commit(a.ctx, commit); !errors.Is(err, syscall.EIO) {
		t.Errorf("a commit whose branch cannot move: %v", err)
	}
	failing.Store(false)
	if a.x.State() != before || a.x.Journal.Last() != last {
		t.Errorf("it is recorded: the base is %s, the journal has %d events instead of %d", a.x.State().Base, a.x.Journal.Last(), last)
	}
	ok(t, a.x.Close())
}

// A move is closed after its empty directories: one that stops there is open, and the
// next opening makes them.
func TestAMoveIsOpenUntilItsEmptyDirectoriesAreThere(t *testing.T) {
	t.Parallel()
	x := must(Create(t.Context(), filepath.Join(t.TempDir(), "x"), CreateOptions{}))(t)
	scratch := filepath.Join(x.Layout.Workspace, "scratch")
	ok(t, os.Mkdir(scratch, 0o755))
	write(t, x, map[string]string{"a": "1"})
	to := must(x.Preserve(t.Context(), snap(t, x), "recovery/to", x.Head(), "the target"))(t)
	ok(t, os.Remove(scratch))
	write(t, x, map[string]string{"a": "2"})
	undo := failpoint.Refuse(x.Layout.Workspace, "scratch", syscall.EIO)
	defer undo()
	if _, err := x.MoveTree(t.Context(), execution.Move{Kind: "restore", To: to, Tracked: checkpoint.Selection{All: true}}); !errors.Is(err, syscall.EIO) {
		t.Errorf("a move whose empty directory cannot be made: %v", err)
	}
	if x.State().Intent == nil {
		t.Error("it is closed without its empty directory")
	}
	undo()
	root := x.Layout.Root
	ok(t, x.Close())
	x = must(Open(t.Context(), root, execution.Options{}))(t)
	if fi, err := os.Lstat(scratch); err != nil || !fi.IsDir() || x.State().Intent != nil {
		t.Errorf("after an opening the intent is %+v, the directory %v", x.State().Intent, err)
	}
	ok(t, x.Close())
}

// checkpointed takes a snapshot of the workspace for a checkpoint on main.
func (a *author) checkpointed() execution.Commit {
	a.t.Helper()
	a.write("log.txt", "more\n")
	snap := must(a.x.Snapshot(a.ctx, execution.Tracked(a.x.State(), ""), a.x.Head()))(a.t)
	return execution.Commit{Title: githistory.Title{Status: state.KindManual}, Snapshot: snap, Parents: []state.SHA{a.x.Head()}, Branch: "main",
		Transition: state.CheckpointCreated{Kind: state.KindManual, Branch: "main", Base: true}}
}

// Packs are merged only in the directory that is locked, and only after a checkpoint that
// was acknowledged.
func TestNoPacksAreMergedAfterACheckpointThatFails(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]bool{"the journal cannot be written": false, "the directory is lost": true} {
		var armed atomic.Bool
		var a *author
		fsys := vfstest.Inject(fast, func(c vfstest.Call) error {
			if !lost && armed.Load() && c.Op == vfstest.OpWrite && filepath.Base(c.Name) == "events.jsonl" {
				return syscall.EIO
			}
			return nil
		})
		var warned atomic.Pointer[string]
		a = begin(t, filepath.Join(t.TempDir(), "x"), 3, CreateOptions{Options: execution.Options{FS: fsys, Appended: func(journal.Event, *state.State) {
			if lost && armed.CompareAndSwap(true, false) {
				at := a.x.Layout.Hankweave()
				ok(t, os.Rename(at, at+".moved"))
			}
		}}})
		a.x.Merger = nil
		for !a.x.Store.MergeDue() {
			must(a.x.Commit(a.ctx, a.checkpointed()))(t)
		}
		a.x.Merger = execution.NewMerger(a.x.Store, func(text string) { warned.Store(&text) })
		c := a.checkpointed()
		armed.Store(true)
		if _, err := a.x.Commit(a.ctx, c); (err == nil) != lost {
			t.Errorf("%s: a checkpoint says %v", name, err)
		}
		a.x.Merger.Ended.Wait()
		if text := warned.Load(); !a.x.Store.MergeDue() || text != nil {
			t.Errorf("%s: a merge has begun: %v", name, text)
		}
		_ = a.x.Close() // says the same
	}
}

// Of a checkpoint that is refused nothing stays in the store.
func TestACheckpointThatIsRefusedLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	a := begin(t, filepath.Join(t.TempDir(), "x"), 3, CreateOptions{})
	c := a.checkpointed()
	c.Transition = state.InitialCheckpointSet{} // there is one
	if _, err := a.x.Commit(a.ctx, c); err == nil {
		t.Error("it was made")
	}
	if a.x.Store.Pending != nil {
		t.Error("its objects wait for the next checkpoint")
	}
	ok(t, a.x.Close())
}
