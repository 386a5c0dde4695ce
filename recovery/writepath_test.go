package recovery

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"hank/internal/vfs/vfstest"
	"hank/recovery/execution"
	"hank/recovery/lock"
	"hank/state"
	"hank/state/journal"
)

// What the journal did not take is neither in memory nor told to observers, and
// nothing more is taken.
func TestWhatTheJournalDidNotTakeHasNotHappened(t *testing.T) {
	t.Parallel()
	for _, op := range []vfstest.Op{vfstest.OpWrite, vfstest.OpSync} {
		var failing atomic.Bool
		var told atomic.Int64
		fsys := vfstest.Inject(fast, func(c vfstest.Call) error {
			if failing.Load() && c.Op == op && strings.HasSuffix(c.Name, "events.jsonl") {
				return syscall.EIO
			}
			return nil
		})
		a := begin(t, filepath.Join(t.TempDir(), "x"), 3, CreateOptions{Options: execution.Options{FS: fsys,
			Appended: func(journal.Event, *state.State) { told.Add(1) }, Synced: func(uint64) { told.Add(1) }}})
		before := a.x.State()
		told.Store(0)
		failing.Store(true)
		limit := state.LimitsSet{Limits: state.Limits{MaxDollars: state.Dollar}}
		if err := a.x.Record(limit); !errors.Is(err, syscall.EIO) {
			t.Errorf("%s: %v", op, err)
		}
		failing.Store(false)
		if err := a.x.Record(limit); err == nil {
			t.Errorf("%s: something was taken after the failure", op)
		}
		if a.x.State() != before || told.Load() > 0 {
			t.Errorf("%s: limits are %v, observers were told %d times", op, a.x.State().Limits, told.Load())
		}
		_ = a.x.Close() // says the same
		if s := must(Read(a.x.Layout.Root))(t).State; s.Limits.Any() {
			t.Errorf("%s: limits are %v after it was opened again", op, s.Limits)
		}
	}
}

// A save that waits while the directory is replaced is not made in the new one.
func TestAStateIsNotSavedIntoAnotherDirectory(t *testing.T) {
	t.Parallel()
	a := begin(t, filepath.Join(t.TempDir(), "x"), 3, CreateOptions{})
	a.waitForSave()
	hankweave, w := a.x.Layout.Hankweave(), a.x.StateWriter
	w.Disk.Lock()
	ok(t, a.x.Record(state.LimitsSet{Limits: state.Limits{MaxDollars: state.Dollar}}))
	ok(t, os.Rename(hankweave, hankweave+".moved"))
	ok(t, exec.Command("cp", "-a", hankweave+".moved", hankweave).Run())
	before := hash(t, hankweave)
	w.Disk.Unlock()
	var lost *lock.LostError
	if err := w.Close(); !errors.As(err, &lost) {
		t.Errorf("the save ended with %v", err)
	}
	if hash(t, hankweave) != before {
		t.Error("it was made in a directory that is not locked")
	}
	_ = a.x.Close() // says the same
}
