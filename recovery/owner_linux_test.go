package recovery

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"hank/internal/vfs"
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

// A reader who may not read state.json says whose it is, and not that it is damaged.
func TestAReaderNamesTheOwnerOfWhatItMayNotRead(t *testing.T) {
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
	open := func(perm fs.FileMode) {
		ok(t, filepath.WalkDir(l.Hankweave(), func(path string, _ fs.DirEntry, err error) error { return errors.Join(err, os.Chmod(path, perm)) }))
	}
	open(0o777)
	ok(t, os.Chmod(l.State(), 0o600))
	var v *View
	var err error
	asNobody(t, func() { v, err = Read(root) })
	ok(t, err)
	if v.Blocked == nil || !strings.Contains(v.Blocked.What, "sudo chown -R 65534 '"+l.Hankweave()+"'") {
		t.Errorf("it is not blocked by the owner: %v", v.Blocked)
	}
	for _, f := range v.Report.Findings {
		if strings.Contains(f.What, "damaged") || strings.Contains(f.What, "quarantine") {
			t.Errorf("a reader says: %s", f.What)
		}
	}
	ok(t, os.Chmod(l.Events(), 0o700))
	asNobody(t, func() { _, err = Read(root) })
	var decision *DecisionError
	if !errors.As(err, &decision) || !strings.Contains(err.Error(), "belongs to user root") {
		t.Errorf("without the journal a reader says: %v", err)
	}
}

// barredFS lets nobody read state.json and its backup.
type barredFS struct{ vfs.FS }

func (b barredFS) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	if base := filepath.Base(name); base == "state.json" || base == "state.json.bak" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return b.FS.OpenFile(name, flag, perm)
}

// What may not be read is not damaged, and goes to no quarantine.
func TestAStateThatMayNotBeReadIsNotCalledDamaged(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	a := begin(t, root, 1, CreateOptions{})
	ok(t, a.x.Close())
	rep := &Report{reading: true}
	m, err := recall(barredFS{vfs.OS}, LayoutOf(root), "", boot(), rep)
	ok(t, err)
	if !m.barred || m.state == nil || len(rep.Findings) == 0 {
		t.Fatalf("barred %v, state %v, %+v", m.barred, m.state, rep.Findings)
	}
	for _, f := range rep.Findings {
		if strings.Contains(f.What, "damaged") || strings.Contains(f.What, "quarantine") || !strings.Contains(f.What, "permission denied") {
			t.Errorf("a reader says: %s", f.What)
		}
	}
}
