package recovery

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"hank/internal/vfs"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/layout"
	"hank/recovery/load"
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
	l := layout.LayoutOf(root)
	for at := root; strings.HasPrefix(at, os.TempDir()+"/"); at = at[:strings.LastIndexByte(at, '/')] {
		ok(t, os.Chmod(at, 0o755))
	}
	ok(t, os.Chmod(l.Hankweave(), 0o777))
	ok(t, os.Chmod(l.Events(), 0o777))
	var mine, theirs error
	asNobody(t, func() { theirs = layout.CheckOwner(l) })
	mine = layout.CheckOwner(l)
	if mine != nil {
		t.Errorf("the owner is refused: %v", mine)
	}
	var decision *finding.DecisionError
	if !errors.As(theirs, &decision) || !strings.HasSuffix(decision.Command, "' && hank doctor") {
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
	l := layout.LayoutOf(root)
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
	if v.Blocked == nil || !strings.Contains(v.Blocked.Error(), "sudo chown -R 65534 '"+l.Hankweave()+"'") {
		t.Errorf("it is not blocked by the owner: %v", v.Blocked)
	}
	for _, f := range v.Report.Findings {
		if strings.Contains(f.What, "damaged") || strings.Contains(f.What, "quarantine") {
			t.Errorf("a reader says: %s", f.What)
		}
	}
	ok(t, os.Chmod(l.Events(), 0o700))
	asNobody(t, func() { _, err = Read(root) })
	var decision *finding.DecisionError
	if !errors.As(err, &decision) || !strings.Contains(err.Error(), "belongs to user root") {
		t.Errorf("without the journal a reader says: %v", err)
	}
}

// Own files that their modes close are named, with the command that opens them, by
// readers and openings alike, before anything is begun.
func TestFilesThatTheirModeClosesAreNamedWithTheCommandThatOpensThem(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]func(layout.Layout) string{
		"state.json": layout.Layout.State, "execution-meta.json": layout.Layout.Meta, "the journal": layout.Layout.Events, "the store": layout.Layout.Store, "all": layout.Layout.Hankweave,
		"a segment":      func(l layout.Layout) string { return filepath.Join(l.Events(), "events.jsonl") },
		"a pack":         func(l layout.Layout) string { return layout.FilesIn(filepath.Join(l.Store(), "objects", "pack"))[0] },
		"the objects":    func(l layout.Layout) string { return filepath.Join(l.Store(), "objects") },
		"the references": func(l layout.Layout) string { return filepath.Join(l.Store(), "refs") },
		"a reference":    func(l layout.Layout) string { return filepath.Join(l.Store(), "refs", "heads", "main") },
		"the workspace":  func(l layout.Layout) string { return l.Workspace },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			a := begin(t, root, 2, CreateOptions{})
			ok(t, a.start())
			ok(t, a.upto(1))
			ok(t, a.x.Close())
			closed := path(layout.LayoutOf(root))
			var before, said, opening error
			asOwner(t, root, func() {
				before = layout.CheckOwner(layout.LayoutOf(root))
				fi, err := os.Lstat(closed)
				ok(t, err)
				ok(t, os.Chmod(closed, 0))
				defer func() { ok(t, os.Chmod(closed, fi.Mode().Perm())) }()
				v, err := Read(root)
				if said = err; err == nil {
					said = cmp.Or(v.Blocked, v.Barred())
					for _, f := range v.Report.Findings {
						if f.Severity == finding.Mended && strings.HasPrefix(f.What, filepath.Base(closed)) {
							t.Errorf("to be repaired: %s", f.What)
						}
					}
				}
				_, opening = Open(context.Background(), root, execution.Options{FS: fast})
			})
			ok(t, before)
			var decision, atOpen *finding.DecisionError
			if !errors.As(said, &decision) || decision == nil || !errors.As(opening, &atOpen) || atOpen.Error() != decision.Error() {
				t.Fatalf("the reader says %v, the opening %v", said, opening)
			}
			if !strings.HasPrefix(decision.Command, "chmod u+rwX "+closed+" && hank ") || !strings.Contains(decision.What, closed+" cannot be used: permission denied") {
				t.Errorf("%q: %v", decision.Command, decision)
			}
		})
	}
}

// asOwner runs f as the owner of all in a directory, who is not root.
func asOwner(t *testing.T, root string, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		f()
		return
	}
	for at := filepath.Dir(root); strings.HasPrefix(at, os.TempDir()+"/"); at = filepath.Dir(at) {
		ok(t, os.Chmod(at, 0o755))
	}
	ok(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error { return errors.Join(err, os.Lchown(path, 65534, 0)) }))
	asNobody(t, f)
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
	rep := &finding.Report{Reading: true}
	m, err := load.Load(barredFS{vfs.OS}, layout.LayoutOf(root), "", layout.Boot(), rep)
	ok(t, err)
	if !m.Barred || m.State == nil || len(rep.Findings) == 0 {
		t.Fatalf("barred %v, state %v, %+v", m.Barred, m.State, rep.Findings)
	}
	for _, f := range rep.Findings {
		if strings.Contains(f.What, "damaged") || strings.Contains(f.What, "quarantine") || !strings.Contains(f.What, "permission denied") {
			t.Errorf("a reader says: %s", f.What)
		}
	}
}
