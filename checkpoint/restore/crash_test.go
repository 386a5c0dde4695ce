//go:build unix

package restore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/storage/memory"

	"hank/checkpoint/internal/layouttest"
	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/worktree"
	"hank/internal/race"
	"hank/internal/short"
)

// The pair of layouts that the tests of interruptions go between: every kind
// of change, swaps of type, a read-only directory, new and vanishing
// directories.
var (
	crashFrom = layouttest.Layout{
		"changed": layouttest.File("old"), "deleted": layouttest.File("old"), "mode": layouttest.File("same"), "same": layouttest.File("same"),
		"f2d": layouttest.File("old"), "d2f/x": layouttest.File("old"), "d2f/sub/y": layouttest.Exe("old"), "l2d": layouttest.Link("ro"), "d2l/x": layouttest.File("old"),
		"f2l": layouttest.File("old"), "l2f": layouttest.Link("changed"), "l2l": layouttest.Link("a"), "ro/a": layouttest.File("old"), "ro/b": layouttest.File("old"), "going/going/gone": layouttest.File("old"),
	}
	crashTo = layouttest.Layout{
		"changed": layouttest.File("new"), "added": layouttest.Exe("new"), "mode": layouttest.Exe("same"), "same": layouttest.File("same"),
		"f2d/x": layouttest.File("new"), "f2d/sub/y": layouttest.File("new"), "d2f": layouttest.File("new"), "l2d/x": layouttest.File("new"), "d2l": layouttest.Link("ro"),
		"f2l": layouttest.Link("changed"), "l2f": layouttest.File("new"), "l2l": layouttest.Link("b"), "ro/a": layouttest.File("new"), "ro/c/d": layouttest.File("new"), "fresh/dir/file": layouttest.File("new"),
	}
)

// crashWrites is how many files and symlinks a restore of this pair writes.
const crashWrites = 14

// stopsAfter is a context that is done after n looks at it.
type stopsAfter struct {
	context.Context
	left atomic.Int64
}

func (c *stopsAfter) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// onlyFromOrTo checks that each path holds what one of the layouts has there,
// or nothing, and that nothing else is there.
func onlyFromOrTo(t *testing.T, what string, got, from, to layouttest.Layout) {
	t.Helper()
	for path, f := range got {
		if f != from[path] && f != to[path] && f.Mode != 0o040000 {
			t.Fatalf("%s: %q is %v, which is neither from nor to", what, path, f)
		}
	}
}

// A restore that is stopped before any of its steps leaves no temporary file
// and each file whole; the same call finishes it, and the opposite one undoes it.
func TestRestoreStoppedAtEveryStepIsFinishedOrUndone(t *testing.T) {
	t.Parallel()
	race.Without(t)
	short.Skip(t)
	for _, undo := range []bool{false, true} {
		for n := int64(0); ; n++ {
			s := newSite(t, memory.NewStorage(), crashFrom)
			testkit.Must(t, os.Chmod(s.path("ro"), 0o555))
			ctx := &stopsAfter{Context: t.Context()}
			ctx.left.Store(n)
			req := s.request(crashFrom, crashTo)
			_, err := Restore(ctx, req)
			what := fmt.Sprintf("stopped at step %d", n)
			if err == nil {
				if n < 20 {
					t.Fatalf("only %d steps: the test does not stop anything", n)
				}
				break
			}
			var incomplete *IncompleteError
			if !errors.As(err, &incomplete) || !errors.Is(err, context.Canceled) {
				t.Fatalf("%s: %v", what, err)
			}
			half := layouttest.ReadBack(t, s.root)
			onlyFromOrTo(t, what, half, crashFrom, crashTo)
			if !incomplete.Touched {
				layouttest.SameLayout(t, what+", said to be untouched", half, crashFrom)
			}
			finish(t, s, what, undo)
		}
	}
}

func finish(t *testing.T, s *site, what string, undo bool) {
	t.Helper()
	from, to := crashFrom, crashTo
	if undo {
		from, to = to, from
	}
	_, err := s.restore(from, to)
	if err != nil {
		t.Fatalf("%s, then again (undo %v): %v", what, undo, err)
	}
	layouttest.SameLayout(t, what, layouttest.ReadBack(t, s.root), to)
	info, err := os.Stat(s.path("ro"))
	testkit.Must(t, err)
	if info.Mode().Perm() != 0o555 {
		t.Fatalf("%s: the read-only directory now has %o", what, info.Mode().Perm())
	}
}

const crashEnv = "HANK_TEST_RESTORE_ROOT"

// TestRestoreInChild is the process that the next test kills.
func TestRestoreInChild(t *testing.T) {
	root := os.Getenv(crashEnv)
	if root == "" {
		t.Skip("run by TestRestoreKilledAtEveryFailpointIsFinishedOrUndone")
	}
	st := memory.NewStorage()
	ws := layouttest.OpenWS(t, root)
	_, err := Restore(t.Context(), RestoreRequest{Store: st, Workspace: ws, From: layouttest.PutTree(t, st, crashFrom), To: layouttest.PutTree(t, st, crashTo), Removable: testkit.Anything})
	testkit.Must(t, err)
}

// The same with kill -9, which leaves temporary files, a journal, and
// directories with the wrong permissions behind.
func TestRestoreKilledAtEveryFailpointIsFinishedOrUndone(t *testing.T) {
	t.Parallel()
	race.Without(t)
	short.Skip(t)
	self, err := os.Executable()
	testkit.Must(t, err)
	killed := 0
	for _, point := range []string{"restore.started", "restore.written", "restore.staged", "restore.aside", "restore.filled", "restore.deleted", "restore.renamed", "restore.synced"} {
		for n := 1; ; n++ {
			s := newSite(t, memory.NewStorage(), crashFrom)
			testkit.Must(t, os.Chmod(s.path("ro"), 0o555))
			if n%3 == 0 {
				testkit.Must(t, os.Chmod(s.root, 0o555))
			}
			cmd := exec.Command(self, "-test.run=^TestRestoreInChild$")
			cmd.Env = append(os.Environ(), crashEnv+"="+s.root, fmt.Sprintf("HANK_FAILPOINT=%s:%d", point, n))
			out, err := cmd.CombinedOutput()
			if err == nil {
				if n == 1 {
					t.Fatalf("%s is never passed", point)
				}
				break
			}
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("child at %s:%d: %v\n%s", point, n, err, out)
			}
			killed++
			what := fmt.Sprintf("killed at %s:%d", point, n)
			half, staged := layouttest.ReadBack(t, s.root), 0
			for path := range half {
				if strings.Contains(path, worktree.TempPrefix) {
					delete(half, path)
					staged++
				}
			}
			if point == "restore.synced" && n == 1 && staged != crashWrites+1 {
				t.Fatalf("%s: %d temporary files with the journal, want %d: everything is staged before the first sync", what, staged, crashWrites+1)
			}
			switch {
			case point == "restore.started", point == "restore.written", point == "restore.staged", point == "restore.synced" && n == 1:
				layouttest.SameLayout(t, what+", before anything is touched", half, crashFrom)
			case point == "restore.synced":
				layouttest.SameLayout(t, what+", at the end", half, crashTo)
			default:
				onlyFromOrTo(t, what, half, crashFrom, crashTo)
			}
			if plan, err := PlanRestore(s.request(crashFrom, crashTo)); err != nil || len(plan.Blocked) > 0 {
				t.Fatalf("%s: the rest of it is planned as %+v, %v", what, plan, err)
			}
			finish(t, s, what, n%2 == 0)
			if info, err := os.Stat(s.root); err != nil || n%3 == 0 && info.Mode().Perm() != 0o555 {
				t.Fatalf("%s: the read-only root now has %o", what, info.Mode().Perm())
			}
		}
	}
	t.Logf("killed %d times", killed)
}

// Everything is where it belongs, and perhaps not on the disk: who finishes a
// restore that was killed at its end syncs it.
func TestARestoreOfWhatIsThereAlreadyIsSynced(t *testing.T) {
	t.Parallel()
	s := newSite(t, memory.NewStorage(), crashTo)
	self, err := os.Executable()
	testkit.Must(t, err)
	cmd := exec.Command(self, "-test.run=^TestRestoreInChild$")
	cmd.Env = append(os.Environ(), crashEnv+"="+s.root, "HANK_FAILPOINT=restore.synced:1")
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Errorf("nothing was synced: %s", out)
	}
}

// Restores killed at random moments, one after the other in one workspace,
// with the last one left to finish.
func TestRestoreKilledAtRandomMoments(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	testkit.Must(t, err)
	s := newSite(t, memory.NewStorage(), crashFrom)
	testkit.Must(t, os.Chmod(s.path("ro"), 0o555))
	for i := range 10 {
		cmd := exec.Command(self, "-test.run=^TestRestoreInChild$")
		cmd.Env = append(os.Environ(), crashEnv+"="+s.root)
		testkit.Must(t, cmd.Start())
		time.Sleep(time.Duration(i) * 3 * time.Millisecond) // the moment is the test's only variable
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	finish(t, s, "killed ten times", false)
	finish(t, s, "and back", true)
}
