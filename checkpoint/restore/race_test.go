//go:build unix

package restore

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-git/go-git/v5/storage/memory"

	"hank/checkpoint/diff"
	"hank/checkpoint/internal/layouttest"
	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/worktree"
	"hank/internal/short"
)

// actsAt is a context that calls act at the n-th look at it: between two
// steps of a restore.
type actsAt struct {
	context.Context
	n    int64
	seen atomic.Int64
	act  func()
}

func (c *actsAt) Err() error {
	if c.seen.Add(1) == c.n {
		c.act()
	}
	return nil
}

// Someone writes to a file, or makes one where one will be, while the restore
// runs. Whatever the moment, what they wrote is not lost: it is there, or the
// restore came later and says that it did not get through. (Once the file has
// its place, their writing is simply a later change.)
func TestRestoreDestroysNothingThatIsWrittenMeanwhile(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	from := layouttest.Layout{"replaced": layouttest.File("old"), "deleted": layouttest.File("old"), "d/x": layouttest.File("old"), "swapped": layouttest.File("old")}
	to := layouttest.Layout{"replaced": layouttest.File("new"), "added": layouttest.File("new"), "d/new": layouttest.File("new"), "swapped/in": layouttest.File("new")}
	for _, name := range []string{"replaced", "deleted", "added", "d/x", "d/new", "swapped"} {
		for n := int64(1); ; n++ {
			s := newSite(t, memory.NewStorage(), from)
			wrote := false
			ctx := &actsAt{Context: t.Context(), n: n, act: func() {
				testkit.Must(t, os.RemoveAll(s.path("aside")))
				// A new inode, so that a file is not written while it is renamed.
				testkit.Must(t, os.WriteFile(s.path("aside"), []byte("precious"), 0o600))
				wrote = os.Rename(s.path("aside"), s.path(name)) == nil
			}}
			_, err := Restore(ctx, s.request(from, to))
			if ctx.seen.Load() < n {
				if n < 8 {
					t.Fatalf("only %d moments: the test does not interfere", n)
				}
				break
			}
			if got, _ := os.ReadFile(s.path(name)); wrote && string(got) != "precious" {
				t.Fatalf("%s, written at moment %d, now holds %q; the restore said %v", name, n, got, err)
			}
			var incomplete *IncompleteError
			if err != nil && !errors.As(err, &incomplete) {
				t.Fatalf("%s at moment %d: %v", name, n, err)
			}
			for path := range layouttest.ReadBack(t, s.root) {
				if len(path) >= len(worktree.TempPrefix) && path[:len(worktree.TempPrefix)] == worktree.TempPrefix {
					t.Fatalf("%s at moment %d: %s is left", name, n, path)
				}
			}
		}
	}
}

// What can be tested of file systems that ignore case without having one.
func TestAFileSystemThatIgnoresCase(t *testing.T) {
	t.Parallel()
	old := seen{dev: 1, ino: 2, mode: 0o100644}
	edited := seen{dev: 1, ino: 4, mode: 0o100644}
	p := &planner{
		blocked: map[string]string{"new": "", "other": ""},
		unsaved: []step{
			{Change: diff.Change{Path: "new", Kind: diff.Added}, was: edited, content: "2"},
			{Change: diff.Change{Path: "other", Kind: diff.Added}, was: seen{dev: 1, ino: 5, mode: 0o100644}, content: "2"},
		},
		steps: []step{
			{Change: diff.Change{Path: "README", Kind: diff.Deleted}, verb: remove, was: old},
			{Change: diff.Change{Path: "NEW", Kind: diff.Deleted}, verb: remove, was: edited, content: "2"},
		},
		done: []step{
			{Change: diff.Change{Path: "readme", Kind: diff.Added}, was: old},
			{Change: diff.Change{Path: "other", Kind: diff.Added}, was: seen{dev: 1, ino: 3, mode: 0o100644}},
		},
	}
	p.findRenamesByCase()
	if len(p.steps) != 4 || p.steps[2].Path != "readme" || p.steps[2].verb != replace {
		t.Errorf("README to readme comes out as %+v: the file would be deleted and not written", p.steps)
	}
	if _, blocked := p.blocked["new"]; blocked || len(p.blocked) != 1 || p.steps[3].Path != "new" {
		t.Errorf("NEW, edited, to new comes out as %+v, blocked %v", p.steps, p.blocked)
	}

	// The twin in upper case stands for a file system that folds names.
	dir := t.TempDir()
	ws := layouttest.OpenWS(t, dir)
	defer ws.Close()
	s := &step{Change: diff.Change{Path: "d/.GIT/hooks/x"}, temp: worktree.TempPrefix + "1"}
	layouttest.LayDown(t, dir, layouttest.Layout{s.temp: layouttest.File("")})
	if err := refuseFolded(ws.Fd(), s); err != nil && runtime.GOOS == "linux" {
		t.Errorf("case matters here: %v", err)
	}
	layouttest.LayDown(t, dir, layouttest.Layout{strings.ToUpper(s.temp): layouttest.File("")})
	if refuseFolded(ws.Fd(), s) == nil {
		t.Error(".GIT would be git's directory here")
	}
	s.Path = "d/x"
	testkit.Must(t, refuseFolded(ws.Fd(), s))
}

// A third target finds what the restore of another one left, in a directory
// that it needs for a file.
func TestLeftOversAreInNobodysWay(t *testing.T) {
	t.Parallel()
	from, to := layouttest.Layout{"d/x": layouttest.File("1")}, layouttest.Layout{"d": layouttest.File("2")}
	s := newSite(t, memory.NewStorage(), from)
	layouttest.LayDown(t, s.root, layouttest.Layout{"d/" + worktree.TempPrefix + "1-1": layouttest.File("half"), worktree.JournalName: layouttest.File("755 \x00755 d\x00")})
	plan, err := PlanRestore(s.request(from, to))
	testkit.Must(t, err)
	if len(plan.Blocked) > 0 {
		t.Errorf("blocked by %v", plan.Blocked)
	}
	_, err = s.restore(from, to)
	testkit.Must(t, err)
	layouttest.SameLayout(t, "restore", layouttest.ReadBack(t, s.root), to)
}
