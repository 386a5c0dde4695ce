package recovery

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// asNobody runs f on a thread that acts as another user, where this process is
// root's. Other processes own nothing that root cannot use.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can act as another user")
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

// A run of root leaves files that the owner of the execution cannot use: that is
// said before anything is begun, with who owns what and what to do.
func TestFilesOfAnotherUserAreNamedBeforeAnythingIsBegun(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	a := begin(t, root, 2, CreateOptions{})
	ok(t, a.start())
	ok(t, a.upto(1))
	ok(t, a.x.Close())
	l := LayoutOf(root)
	for at := root; strings.HasPrefix(at, os.TempDir()+"/"); at = at[:strings.LastIndexByte(at, '/')] {
		ok(t, os.Chmod(at, 0o755))
	}
	ok(t, os.Chmod(l.Hankweave(), 0o777))
	ok(t, os.Chmod(l.Events(), 0o777))
	var mine, theirs error
	asNobody(t, func() { theirs = checkOwner(l) })
	mine = checkOwner(l)
	if mine != nil {
		t.Errorf("the owner is refused: %v", mine)
	}
	if !errors.Is(theirs, fs.ErrPermission) {
		t.Fatalf("another user is not refused: %v", theirs)
	}
	for _, want := range []string{"belongs to user root", "sudo chown -R 65534 '" + l.Hankweave() + "'", "nothing was begun"} {
		if !strings.Contains(theirs.Error(), want) {
			t.Errorf("%q is not in: %v", want, theirs)
		}
	}
}
