//go:build unix

package restore

import (
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/storage/memory"
	"golang.org/x/sys/unix"

	"hank/checkpoint/internal/layouttest"
	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/worktree"
)

// between are renames that call the functions of a test around the n-th
// renaming of a restore that pick picks.
type between struct {
	pick          func(from, to string) bool
	n             int64
	seen          atomic.Int64
	before, after func()
	noSwap        bool // as on a file system that cannot exchange names
}

func (b *between) renames() renames {
	around := func(rename func(int, string, int, string) error) func(int, string, int, string) error {
		return func(fromFd int, from string, toFd int, to string) error {
			hit := b.pick(from, to) && b.seen.Add(1) == b.n
			if hit && b.before != nil {
				b.before()
			}
			err := rename(fromFd, from, toFd, to)
			if hit && b.after != nil {
				b.after()
			}
			return err
		}
	}
	swap := around(swapNames)
	if b.noSwap {
		swap = noSwap
	}
	return renames{around(unix.Renameat), around(renameNew), swap}
}

func noSwap(int, string, int, string) error { return unix.EINVAL }

func takesAside(_, to string) bool { return strings.HasPrefix(to, worktree.TempPrefix) }

func fills(from, _ string) bool { return strings.HasPrefix(from, worktree.TempPrefix) }

// save writes a file as editors do: a new one of the same mode, renamed over the
// old one. Its content is all that tells them apart.
func save(t *testing.T, path, text string) {
	t.Helper()
	mode := os.FileMode(0o600)
	if old, err := os.Lstat(path); err == nil {
		mode = old.Mode().Perm()
	}
	testkit.Must(t, os.WriteFile(path+"~", []byte(text), mode))
	testkit.Must(t, os.Chmod(path+"~", mode))
	testkit.Must(t, os.Rename(path+"~", path))
}

// contents are those of the files of a workspace that are no temporary ones.
func contents(t *testing.T, root string) (texts []string) {
	t.Helper()
	for path, f := range layouttest.ReadBack(t, root) {
		if strings.Contains(path, worktree.TempPrefix) {
			t.Errorf("%s is left", path)
		}
		texts = append(texts, f.Data)
	}
	return texts
}

// Somebody saves a file twice while a restore takes it away or replaces it: once
// between the look and the renaming, once when it is aside. Both are there at the end.
func TestWhatIsSavedTwiceWhileItIsTakenAsideIsKeptTwice(t *testing.T) {
	t.Parallel()
	from, to := layouttest.Layout{"d/x": layouttest.File("old")}, layouttest.Layout{"d/x": layouttest.File("new")}
	any := func(string, string) bool { return true }
	for i, to := range []layouttest.Layout{to, to, {}} {
		for _, second := range []func(path string){
			func(path string) { save(t, path, "second") },
			func(path string) { testkit.Must(t, os.WriteFile(path, []byte("second"), 0o600)) },
		} {
			s := newSite(t, memory.NewStorage(), from)
			b := &between{pick: any, n: 1, noSwap: i == 1,
				before: func() { save(t, s.path("d/x"), "first") },
				after:  func() { second(s.path("d/x")) },
			}
			_, err := restoreBy(t.Context(), s.request(from, to), b.renames())
			if !errors.Is(err, ErrMeanwhile) || !strings.Contains(err.Error(), worktree.KeptInfix) {
				t.Errorf("the restore says %v", err)
			}
			if got := contents(t, s.root); !slices.Contains(got, "first") || !slices.Contains(got, "second") {
				t.Errorf("what is left is %q", got)
			}
			if got := layouttest.ReadBack(t, s.root)["d/x"]; got.Data != "second" {
				t.Errorf("the place holds %q", got.Data)
			}
		}
	}
}

// Somebody makes a file at the place of one that is aside: the restore refuses,
// and what the checkpoint has is nowhere twice.
func TestWhatIsMadeAtAnEmptiedPlaceStays(t *testing.T) {
	t.Parallel()
	from, to := layouttest.Layout{"x": layouttest.File("old")}, layouttest.Layout{"x": layouttest.File("new")}
	for _, noSwap := range []bool{true, false} {
		s := newSite(t, memory.NewStorage(), from)
		b := &between{pick: fills, n: 1, noSwap: noSwap, before: func() { save(t, s.path("x"), "mine") }}
		_, err := restoreBy(t.Context(), s.request(from, to), b.renames())
		if !errors.Is(err, ErrMeanwhile) {
			t.Errorf("the restore says %v", err)
		}
		if got := contents(t, s.root); !slices.Equal(got, []string{"mine"}) {
			t.Errorf("what is left is %q", got)
		}
	}
}

// A directory took the place of a file between the look and the renaming.
func TestADirectoryTakenAsideComesBack(t *testing.T) {
	t.Parallel()
	from := layouttest.Layout{"x": layouttest.File("old")}
	for i, to := range []layouttest.Layout{{}, {"x": layouttest.File("new")}, {"x": layouttest.File("new")}} {
		s := newSite(t, memory.NewStorage(), from)
		b := &between{pick: func(string, string) bool { return true }, n: 1, noSwap: i == 2, before: func() {
			testkit.Must(t, os.Remove(s.path("x")))
			layouttest.LayDown(t, s.root, layouttest.Layout{"x/y": layouttest.File("mine")})
		}}
		_, err := restoreBy(t.Context(), s.request(from, to), b.renames())
		if !errors.Is(err, ErrMeanwhile) {
			t.Errorf("the restore says %v", err)
		}
		layouttest.SameLayout(t, "after it", layouttest.ReadBack(t, s.root), layouttest.Layout{"x/y": layouttest.File("mine")})
	}
}

// What may be removed and not renamed is removed; what is another inode after
// it was renamed is known by its content.
func TestARestoreGoesOnWhereRenamingIsPeculiar(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]renames{
		"cannot": {func(int, string, int, string) error { return unix.EXDEV }, renameNew, noSwap},
		"copies": {func(_ int, from string, fd int, to string) error { return copyAs(fd, from, to) }, renameNew, noSwap},
		"links":  {unix.Renameat, linkIfAbsent, noSwap},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, memory.NewStorage(), crashFrom)
			_, err := restoreBy(t.Context(), s.request(crashFrom, crashTo), by)
			testkit.Must(t, err)
			layouttest.SameLayout(t, "after it", layouttest.ReadBack(t, s.root), crashTo)
		})
	}
}

// copyAs is the rename of a file system that copies.
func copyAs(fd int, from, to string) error {
	was, err := lookAt(fd, from)
	if err != nil {
		return err
	}
	if was.isSymlink() {
		target, err := worktree.ReadLinkAt(fd, from)
		if err != nil {
			return err
		}
		return errors.Join(unix.Symlinkat(target, fd, to), unix.Unlinkat(fd, from, 0))
	}
	in, err := worktree.OpenFileAt(fd, from)
	if err != nil {
		return err
	}
	defer unix.Close(in)
	out, err := unix.Openat(fd, to, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer unix.Close(out)
	buf := make([]byte, 1<<10)
	n, read := unix.Read(in, buf)
	_, err = unix.Write(out, buf[:max(n, 0)])
	return errors.Join(read, err, unix.Fchmod(out, was.mode&0o7777), unix.Unlinkat(fd, from, 0))
}

// What a killed restore had taken aside comes back; where something else has
// its place, it goes if the store holds it, and gets a name of its own if not.
func TestWhatAKilledRestoreTookAsideIsNotLost(t *testing.T) {
	t.Parallel()
	from, to := layouttest.Layout{"d/free": layouttest.File("1"), "d/saved": layouttest.File("1"), "d/raced": layouttest.File("1")}, layouttest.Layout{"d/free": layouttest.File("2"), "d/saved": layouttest.File("2"), "d/raced": layouttest.File("2")}
	s := newSite(t, memory.NewStorage(), from)
	elsewhere := layouttest.PutObject(t, memory.NewStorage(), plumbing.BlobObject, []byte("another store's")).String()
	blob := layouttest.PutObject(t, s.st, plumbing.BlobObject, []byte("1")).String()
	testkit.Must(t, os.RemoveAll(s.path("d")))
	temp := func(n string) string { return worktree.TempPrefix + "1-" + n + "-was" }
	layouttest.LayDown(t, s.root, layouttest.Layout{
		"d/" + temp("0"): layouttest.File("1"),
		"d/" + temp("1"): layouttest.File("1"), "d/saved": layouttest.File("2"),
		"d/" + temp("2"): layouttest.File("mine"), "d/raced": layouttest.File("2"),
		"d/" + temp("3") + "/in": layouttest.File("a directory of somebody"),
		"d/" + temp("5"):         layouttest.File("another store's"), "d/theirs": layouttest.File("new"),
		"d/" + worktree.TempPrefix + "1-4": layouttest.File("staged"),
		worktree.JournalName: layouttest.File("755 \x00755 d\x00" +
			"@" + temp("0") + " " + blob + " free\x00" + "@" + temp("1") + " " + blob + " saved\x00" +
			"@" + temp("2") + " " + blob + " raced\x00" + "@" + temp("3") + " " + blob + " dir\x00" + "@" + temp("9") + " " + blob + " never\x00" +
			"@" + temp("5") + " " + elsewhere + " theirs\x00" + "@" + worktree.JournalName + " " + blob + " x\x00" + "500 d/dir"), // torn
	})
	report, err := s.restore(from, to)
	testkit.Must(t, err)
	kept, theirs := "d/raced"+worktree.KeptInfix+"1-2-was", "d/theirs"+worktree.KeptInfix+"1-5-was"
	if !slices.Equal(report.Kept, []string{kept, theirs}) {
		t.Errorf("it reports %q", report.Kept)
	}
	layouttest.SameLayout(t, "after it", layouttest.ReadBack(t, s.root), layouttest.Layout{"d/free": layouttest.File("2"), "d/saved": layouttest.File("2"), "d/raced": layouttest.File("2"), kept: layouttest.File("mine"), "d/dir/in": layouttest.File("a directory of somebody"),
		"d/theirs": layouttest.File("new"), theirs: layouttest.File("another store's")})
	if info, err := os.Stat(s.path("d/dir")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the torn record of d/dir was taken for one: %v, %v", info.Mode(), err)
	}
}

// A restore that is blocked says what it has kept before.
func TestABlockedRestoreSaysWhatItKept(t *testing.T) {
	t.Parallel()
	from, to := layouttest.Layout{"x": layouttest.File("1")}, layouttest.Layout{"x": layouttest.File("2")}
	s := newSite(t, memory.NewStorage(), layouttest.Layout{"x": layouttest.File("third"), worktree.TempPrefix + "1-0-was": layouttest.File("mine")})
	testkit.Must(t, os.WriteFile(s.path(worktree.JournalName), []byte("755 \x00@"+worktree.TempPrefix+"1-0-was "+strings.Repeat("0", 40)+" x\x00"), 0o600))
	report, err := s.restore(from, to)
	var blocked *BlockedError
	if !errors.As(err, &blocked) || !slices.Equal(report.Kept, []string{"x" + worktree.KeptInfix + "1-0-was"}) {
		t.Errorf("%v; it reports %+v", err, report)
	}
	if got := contents(t, s.root); len(got) != 2 {
		t.Errorf("what is left is %q", got)
	}
}

// What was displaced and has a long name gets a short one.
func TestAKeptFileWithALongNameGetsAShortOne(t *testing.T) {
	t.Parallel()
	s := newSite(t, memory.NewStorage(), layouttest.Layout{})
	long := strings.Repeat("n", 255)
	layouttest.LayDown(t, s.root, layouttest.Layout{long: layouttest.File("theirs"), worktree.TempPrefix + "1-0-was": layouttest.File("mine")})
	ws := layouttest.OpenWS(t, s.root)
	defer ws.Close()
	kept, err := restoreDisplaced(ws.Fd(), journaledFile{temp: worktree.TempPrefix + "1-0-was", name: long}, holdsIn(s.st))
	testkit.Must(t, err)
	layouttest.SameLayout(t, "after it", layouttest.ReadBack(t, s.root), layouttest.Layout{long: layouttest.File("theirs"), "hank-kept-1-0-was-1": layouttest.File("mine")})
	if kept != "hank-kept-1-0-was-1" {
		t.Errorf("it is said to be %q", kept)
	}
}

// A file that bears a temporary name and is no restore's is a file like any
// other that no checkpoint holds.
func TestATemporaryNameOfNoRestoreIsInTheWay(t *testing.T) {
	t.Parallel()
	from, to := layouttest.Layout{"d/x": layouttest.File("1")}, layouttest.Layout{"d": layouttest.File("2")}
	s := newSite(t, memory.NewStorage(), from)
	layouttest.LayDown(t, s.root, layouttest.Layout{"d/" + worktree.TempPrefix + "mine": layouttest.File("mine")})
	_, err := s.restore(from, to)
	var blocked *BlockedError
	if !errors.As(err, &blocked) || blocked.Blocked[0].Path != "d/"+worktree.TempPrefix+"mine" {
		t.Errorf("the restore says %v", err)
	}
}

// What cannot be removed keeps the journal, by which the next restore finds it.
func TestATemporaryFileThatStaysKeepsTheJournal(t *testing.T) {
	t.Parallel()
	from, to := layouttest.Layout{"d/x": layouttest.File("1")}, layouttest.Layout{"d/x": layouttest.File("2")}
	s := newSite(t, memory.NewStorage(), from)
	var staged string
	b := &between{n: 1, noSwap: true, before: func() { // a directory, that no unlink removes
		testkit.Must(t, os.Remove(s.path(staged)))
		layouttest.LayDown(t, s.root, layouttest.Layout{staged + "/in": layouttest.File("")})
		save(t, s.path("d/x"), "mine")
	}}
	b.pick = func(_, to string) bool {
		staged = "d/" + strings.TrimSuffix(to, "-was")
		return takesAside("", to)
	}
	_, err := restoreBy(t.Context(), s.request(from, to), b.renames())
	if !errors.Is(err, ErrMeanwhile) || !exists(s.path(worktree.JournalName)) {
		t.Errorf("the restore says %v, journal %v", err, exists(s.path(worktree.JournalName)))
	}
	report, err := s.restore(from, to)
	var blocked *BlockedError
	if !errors.As(err, &blocked) || len(report.Kept) != 1 {
		t.Fatalf("the next one says %v, and reports %+v", err, report)
	}
	save(t, s.path("d/x"), "1")
	_, err = s.restore(from, to)
	testkit.Must(t, err)
	to[report.Kept[0]+"/in"] = layouttest.File("")
	layouttest.SameLayout(t, "after it", layouttest.ReadBack(t, s.root), to)
}

// The way of file systems that cannot rename without replacing.
func TestLinkIfAbsentReplacesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ws := layouttest.OpenWS(t, dir)
	defer ws.Close()
	layouttest.LayDown(t, dir, layouttest.Layout{"a": layouttest.File("a"), "b": layouttest.File("b"), "l": layouttest.Link("a"), "d/x": layouttest.File("x"), "e/y": layouttest.File("y")})
	for _, names := range [][2]string{{"a", "b"}, {"l", "b"}, {"d", "e"}, {"a", "d"}, {"d", "a"}} {
		if err := linkIfAbsent(ws.Fd(), names[0], ws.Fd(), names[1]); !errors.Is(err, unix.EEXIST) {
			t.Errorf("%s to %s: %v", names[0], names[1], err)
		}
	}
	if err := linkIfAbsent(ws.Fd(), "none", ws.Fd(), "new"); !errors.Is(err, unix.ENOENT) {
		t.Errorf("nothing to new: %v", err)
	}
	for from, to := range map[string]string{"a": "a2", "l": "l2", "d": "d2"} {
		testkit.Must(t, linkIfAbsent(ws.Fd(), from, ws.Fd(), to))
	}
	layouttest.SameLayout(t, "after it", layouttest.ReadBack(t, dir), layouttest.Layout{"a2": layouttest.File("a"), "b": layouttest.File("b"), "l2": layouttest.Link("a"), "d2/x": layouttest.File("x"), "e/y": layouttest.File("y")})
}

// What has the name of a staged file after a kill is that file, or what was at
// its place: the one goes, the other goes if the store holds it.
func TestWhatAKilledExchangeLeft(t *testing.T) {
	t.Parallel()
	from, to := layouttest.Layout{"early": layouttest.File("1"), "late": layouttest.File("1"), "raced": layouttest.File("1"), "gone": layouttest.File("1"), "aside": layouttest.File("1")}, layouttest.Layout{"early": layouttest.File("2"), "late": layouttest.File("2"), "raced": layouttest.File("2"), "gone": layouttest.File("2"), "aside": layouttest.File("2")}
	for _, whole := range []bool{true, false} {
		s := newSite(t, memory.NewStorage(), layouttest.Layout{})
		old, staged := layouttest.PutObject(t, s.st, plumbing.BlobObject, []byte("1")).String(), layouttest.PutObject(t, s.st, plumbing.BlobObject, []byte("2")).String()
		temp := func(n string) string { return worktree.TempPrefix + "1-" + n }
		layouttest.LayDown(t, s.root, layouttest.Layout{
			"early": layouttest.File("1"), temp("0"): layouttest.File("2"),
			"late": layouttest.File("2"), temp("1"): layouttest.File("1"),
			"raced": layouttest.File("2"), temp("2"): layouttest.File("mine"),
			temp("3"): layouttest.File("1"),
			temp("4"): layouttest.File("mine"), temp("4") + "-was": layouttest.File("2"), // refused
			temp("5") + "-was": layouttest.File("1"), temp("5"): layouttest.File("2"), // no exchange of names
		})
		text := "755 \x00"
		for i, name := range []string{"early", "late", "raced", "gone", "refused", "aside"} {
			n := string(rune('0' + i))
			text += "=" + temp(n) + " " + temp(n) + "-was " + staged + " " + old + " " + name + "\x00"
		}
		if whole {
			text += "!\x00"
		}
		testkit.Must(t, os.WriteFile(s.path(worktree.JournalName), []byte(text), 0o600))
		kept, _, err := ClearUp(s.st, s.ws)
		testkit.Must(t, err)
		want := layouttest.Layout{"early": layouttest.File("1"), "late": layouttest.File("2"), "raced": layouttest.File("2")}
		if whole {
			want["gone"], want["raced"+worktree.KeptInfix+"1-2"] = layouttest.File("1"), layouttest.File("mine")
			want["refused"], want["aside"] = layouttest.File("mine"), layouttest.File("1")
		}
		layouttest.SameLayout(t, "cleared up", layouttest.ReadBack(t, s.root), want)
		if whole != (len(kept) == 1) {
			t.Errorf("it reports %q", kept)
		}
		_, err = s.restore(from, to)
		testkit.Must(t, err)
	}
}

// Nobody knows what an exchange has done that was interrupted: the next restore
// finds out. What has come out and was removed meanwhile is no reason to undo it.
func TestAnExchangeOfWhichNobodyKnows(t *testing.T) {
	t.Parallel()
	from, to := layouttest.Layout{"x": layouttest.File("1")}, layouttest.Layout{"x": layouttest.File("2")}
	for _, happened := range []bool{false, true} {
		s := newSite(t, memory.NewStorage(), from)
		_, err := restoreBy(t.Context(), s.request(from, to), renames{unix.Renameat, renameNew, func(fd int, a string, to int, b string) error {
			if happened {
				save(t, s.path("x"), "mine")
				testkit.Must(t, swapNames(fd, a, to, b))
			}
			return unix.EINTR
		}})
		if !errors.Is(err, unix.EINTR) || !exists(s.path(worktree.JournalName)) {
			t.Errorf("the restore says %v", err)
		}
		kept, _, err := ClearUp(s.st, s.ws)
		testkit.Must(t, err)
		want := from
		if happened {
			want = layouttest.Layout{"x": layouttest.File("2")}
			want[kept[0]] = layouttest.File("mine")
		}
		layouttest.SameLayout(t, "cleared up", layouttest.ReadBack(t, s.root), want)
	}
	s := newSite(t, memory.NewStorage(), from)
	_, err := restoreBy(t.Context(), s.request(from, to), renames{unix.Renameat, renameNew, func(fd int, a string, to int, b string) error {
		return errors.Join(swapNames(fd, a, to, b), unix.Unlinkat(fd, a, 0))
	}})
	testkit.Must(t, err)
	layouttest.SameLayout(t, "after it", layouttest.ReadBack(t, s.root), to)
}
