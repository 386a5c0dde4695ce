//go:build unix

package checkpoint

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-git/go-git/v5/storage/memory"
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
	from := layout{"replaced": file("old"), "deleted": file("old"), "d/x": file("old"), "swapped": file("old")}
	to := layout{"replaced": file("new"), "added": file("new"), "d/new": file("new"), "swapped/in": file("new")}
	for _, name := range []string{"replaced", "deleted", "added", "d/x", "d/new", "swapped"} {
		for n := int64(1); ; n++ {
			s := newSite(t, memory.NewStorage(), from)
			wrote := false
			ctx := &actsAt{Context: t.Context(), n: n, act: func() {
				must(t, os.RemoveAll(s.path("aside")))
				// A new inode, so that a file is not written while it is renamed.
				must(t, os.WriteFile(s.path("aside"), []byte("precious"), 0o600))
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
			for path := range readBack(t, s.root) {
				if len(path) >= len(tempPrefix) && path[:len(tempPrefix)] == tempPrefix {
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
			{Change: Change{Path: "new", Kind: Added}, was: edited, content: "2"},
			{Change: Change{Path: "other", Kind: Added}, was: seen{dev: 1, ino: 5, mode: 0o100644}, content: "2"},
		},
		steps: []step{
			{Change: Change{Path: "README", Kind: Deleted}, verb: remove, was: old},
			{Change: Change{Path: "NEW", Kind: Deleted}, verb: remove, was: edited, content: "2"},
		},
		done: []step{
			{Change: Change{Path: "readme", Kind: Added}, was: old},
			{Change: Change{Path: "other", Kind: Added}, was: seen{dev: 1, ino: 3, mode: 0o100644}},
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
	ws := openWS(t, dir)
	defer ws.Close()
	s := &step{Change: Change{Path: "d/.GIT/hooks/x"}, temp: tempPrefix + "1"}
	layDown(t, dir, layout{s.temp: file("")})
	if err := refuseFolded(ws.Fd(), s); err != nil && runtime.GOOS == "linux" {
		t.Errorf("case matters here: %v", err)
	}
	layDown(t, dir, layout{strings.ToUpper(s.temp): file("")})
	if refuseFolded(ws.Fd(), s) == nil {
		t.Error(".GIT would be git's directory here")
	}
	s.Path = "d/x"
	must(t, refuseFolded(ws.Fd(), s))
}

// A third target finds what the restore of another one left, in a directory
// that it needs for a file.
func TestLeftOversAreInNobodysWay(t *testing.T) {
	t.Parallel()
	from, to := layout{"d/x": file("1")}, layout{"d": file("2")}
	s := newSite(t, memory.NewStorage(), from)
	layDown(t, s.root, layout{"d/" + tempPrefix + "1-1": file("half"), journalName: file("755 \x00755 d\x00")})
	plan, err := PlanRestore(s.request(from, to))
	must(t, err)
	if len(plan.Blocked) > 0 {
		t.Errorf("blocked by %v", plan.Blocked)
	}
	_, err = s.restore(from, to)
	must(t, err)
	sameLayout(t, "restore", readBack(t, s.root), to)
}
