//go:build unix

package worktree_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"hank/checkpoint/internal/layouttest"
	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/worktree"
)

func TestOpenWorkspaceRefusesWhatIsNoDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testkit.Must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o644))
	testkit.Must(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o644)) // must not wait for a writer
	for _, name := range []string{"file", "fifo", "missing"} {
		if ws, err := worktree.OpenWorkspace(filepath.Join(dir, name)); err == nil {
			ws.Close()
			t.Errorf("opened a %s", name)
		} else if !strings.Contains(err.Error(), filepath.Join(dir, name)) {
			t.Errorf("the error does not name the place: %v", err)
		}
	}
}

func TestWorkspaceKnowsWhetherItIsStillThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at, via := filepath.Join(dir, "real"), filepath.Join(dir, "via")
	testkit.Must(t, os.Mkdir(at, 0o755))
	testkit.Must(t, os.Symlink("real", via)) // the way to the root may be a symlink
	ws := layouttest.OpenWS(t, via)
	defer ws.Close()
	if ws.Path() != via {
		t.Errorf("Path is %s", ws.Path())
	}
	testkit.Must(t, ws.StillThere())
	testkit.Must(t, os.Rename(at, at+"2"))
	if err := ws.StillThere(); !errors.Is(err, worktree.ErrWorkspaceMoved) {
		t.Errorf("renamed away: %v", err)
	}
	testkit.Must(t, os.Mkdir(at, 0o755))
	if err := ws.StillThere(); !errors.Is(err, worktree.ErrWorkspaceMoved) {
		t.Errorf("another directory in its place: %v", err)
	}
	testkit.Must(t, os.Remove(via))
	testkit.Must(t, os.Symlink("real2", via))
	testkit.Must(t, ws.StillThere())
}

func TestOpenBeneathFollowsNoSymlinkAndStaysInside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	layouttest.LayDown(t, dir, layouttest.Layout{"root/a/b/c": layouttest.File(""), "outside/x": layouttest.File(""), "root/up": layouttest.Link(".."), "root/a/self": layouttest.Link("b"), "root/a/out": layouttest.Link("../../outside"), "root/abs": layouttest.Link("/")})
	ws := layouttest.OpenWS(t, filepath.Join(dir, "root"))
	defer ws.Close()
	ways := map[string]func(int, string) (int, error){"openBeneath": worktree.OpenBeneath, "openByComponent": worktree.OpenByComponent}
	for way, open := range ways {
		for _, good := range []string{"a", "a/b"} {
			fd, err := open(ws.Fd(), good)
			if err != nil {
				t.Errorf("%s %q: %v", way, good, err)
				continue
			}
			if st := (unix.Stat_t{}); unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
				t.Errorf("%s %q: not a directory", way, good)
			}
			unix.Close(fd)
		}
		for _, bad := range []string{"up", "up/outside", "a/self", "a/out", "a/out/x", "abs", "abs/etc", "..", "a/../..", "/etc", "a/b/c", "missing"} {
			if fd, err := open(ws.Fd(), bad); err == nil {
				unix.Close(fd)
				t.Errorf("%s opened %q", way, bad)
			}
		}
	}
	fd, err := worktree.OpenBeneath(ws.Fd(), "")
	testkit.Must(t, err)
	unix.Close(fd)
}
