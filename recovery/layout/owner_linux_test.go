package layout

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"hank/recovery/finding"
)

// asNobody runs f on a thread that acts as another user where this process is root's, and who
// may not write to directories of root's.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		f()
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	keep := ^uintptr(0)
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, keep, 65534, keep); errno != 0 {
		t.Fatal(errno)
	}
	f()
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, keep, 0, keep); errno != 0 {
		panic(errno)
	}
}

// Each place of an execution that is not made yet is one that this user may write to, or the
// nearest directory above it is: else it is said before anything is begun.
func TestAClosedPlaceIsNamedBeforeAnythingIsBegun(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for at := root; strings.HasPrefix(at, os.TempDir()+"/"); at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	open, shut := filepath.Join(root, "open"), filepath.Join(root, "shut")
	for dir, mode := range map[string]os.FileMode{open: 0o777, shut: 0o555} {
		if err := errors.Join(os.Mkdir(dir, mode), os.Chmod(dir, mode)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		about                   string
		root, workspace, output string
		want                    string
	}{
		{"open places", open, open + "/agentRoot", open + "/out", ""},
		{"no output directory", open, open + "/agentRoot", "", ""},
		{"the execution", shut, open, "", shut + ", where the execution is to be"},
		{"below a closed directory", shut + "/a/b", open, "", shut + ", where the execution is to be"},
		{"the workspace", open, shut, "", shut + ", where the workspace is to be"},
		{"the output directory", open, open, shut + "/out", shut + ", where the output directory is to be"},
	} {
		var err error
		asNobody(t, func() { err = ClosedPlace(Layout{Root: c.root, Workspace: c.workspace}, c.output) })
		var ask *finding.DecisionError
		if c.want == "" && err != nil || c.want != "" && (!errors.As(err, &ask) || !strings.Contains(err.Error(), "hank may not write to "+c.want+": permission denied; nothing was begun")) {
			t.Errorf("%s: %v", c.about, err)
		}
	}
}
