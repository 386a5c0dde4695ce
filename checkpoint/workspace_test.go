//go:build unix

package checkpoint

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestOpenWorkspaceRefusesWhatIsNoDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o644))
	must(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o644)) // must not wait for a writer
	for _, name := range []string{"file", "fifo", "missing"} {
		if ws, err := OpenWorkspace(filepath.Join(dir, name)); err == nil {
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
	must(t, os.Mkdir(at, 0o755))
	must(t, os.Symlink("real", via)) // the way to the root may be a symlink
	ws := openWS(t, via)
	defer ws.Close()
	if ws.Path() != via {
		t.Errorf("Path is %s", ws.Path())
	}
	must(t, ws.StillThere())
	must(t, os.Rename(at, at+"2"))
	if err := ws.StillThere(); !errors.Is(err, ErrWorkspaceMoved) {
		t.Errorf("renamed away: %v", err)
	}
	must(t, os.Mkdir(at, 0o755))
	if err := ws.StillThere(); !errors.Is(err, ErrWorkspaceMoved) {
		t.Errorf("another directory in its place: %v", err)
	}
	must(t, os.Remove(via))
	must(t, os.Symlink("real2", via))
	must(t, ws.StillThere())
}

func TestOpenBeneathFollowsNoSymlinkAndStaysInside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	layDown(t, dir, layout{"root/a/b/c": file(""), "outside/x": file(""), "root/up": link(".."), "root/a/self": link("b"), "root/a/out": link("../../outside"), "root/abs": link("/")})
	ws := openWS(t, filepath.Join(dir, "root"))
	defer ws.Close()
	ways := map[string]func(int, string) (int, error){"openBeneath": openBeneath, "openByComponent": openByComponent}
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
	fd, err := openBeneath(ws.Fd(), "")
	must(t, err)
	unix.Close(fd)
}
