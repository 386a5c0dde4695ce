//go:build unix

package checkpoint

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/storage/memory"
	"pgregory.net/rapid"
)

// drawLayout draws a small workspace whose names often collide with those of
// another one: files, symlinks and directories swap places.
func drawLayout(t *rapid.T, label string) layout {
	name := rapid.SampledFrom([]string{"a", "b", "c", "a.b", "B", "-n", "new\nline", "\xff\xfe", "ü"})
	path := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(name, 1, 4).Draw(t, "components"), "/")
	})
	content := rapid.Custom(func(t *rapid.T) leaf {
		data := rapid.SampledFrom([]string{"", "x", "y\n", "x\x00", strings.Repeat("long ", 40000)}).Draw(t, "data")
		switch rapid.IntRange(0, 4).Draw(t, "type") {
		case 0:
			return exe(data)
		case 1:
			return link(rapid.SampledFrom([]string{"a", "../b", "/nowhere", "b/c"}).Draw(t, "target"))
		}
		return file(data)
	})
	l := layout{}
	for p, f := range rapid.MapOfN(path, content, 0, 12).Draw(t, label) {
		l[p] = f
	}
	return withoutConflicts(l)
}

// withoutConflicts drops files that stand where another one needs a directory.
func withoutConflicts(l layout) layout {
	for p := range l {
		for dir := filepath.Dir(p); dir != "."; dir = filepath.Dir(dir) {
			delete(l, dir)
		}
	}
	return l
}

func TestRestoreReachesTheTargetByteForByteAndBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		from, to := drawLayout(t, "from"), drawLayout(t, "to")
		root, err := os.MkdirTemp("", "hank-restore-")
		must(t, err)
		defer os.RemoveAll(root)
		layDown(t, root, from)
		ws := openWS(t, root)
		defer ws.Close()
		st := memory.NewStorage()
		req := RestoreRequest{Store: st, Workspace: ws, From: putTree(t, st, from), To: putTree(t, st, to), Removable: anything}
		plan, err := PlanRestore(req)
		must(t, err)
		sameLayout(t, "after planning", readBack(t, root), from)
		report, err := Restore(t.Context(), req)
		must(t, err)
		sameLayout(t, "after restoring", readBack(t, root), to)
		if len(plan.Add) != len(report.Plan.Add) || len(plan.Change) != len(report.Plan.Change) || len(plan.Delete) != len(report.Plan.Delete) {
			t.Fatalf("planned %v, did %v", plan, report.Plan)
		}
		again, err := PlanRestore(req)
		must(t, err)
		if !again.Empty() {
			t.Fatalf("a finished restore has still to do: %+v", again)
		}
		req.From, req.To = req.To, req.From
		_, err = Restore(t.Context(), req)
		must(t, err)
		sameLayout(t, "after undoing", readBack(t, root), from)
	})
}

// What From does not hold is either left alone or refused, never destroyed;
// what PathsInTheWay names makes the refused restore possible.
func TestRestoreNeverDestroysWhatWasNotSaved(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		from, to, extra := drawLayout(t, "from"), drawLayout(t, "to"), drawLayout(t, "extra")
		disk := maps.Clone(from)
		for p, f := range extra {
			if !conflicts(from, p) {
				disk[p] = f
			}
		}
		root, err := os.MkdirTemp("", "hank-restore-")
		must(t, err)
		defer os.RemoveAll(root)
		layDown(t, root, disk)
		ws := openWS(t, root)
		defer ws.Close()
		st := memory.NewStorage()
		req := RestoreRequest{Store: st, Workspace: ws, From: putTree(t, st, from), To: putTree(t, st, to), Removable: anything}

		want, inTheWay := maps.Clone(to), layout{}
		for p, f := range disk {
			if _, saved := from[p]; saved {
				continue
			}
			if !conflicts(to, p) {
				want[p] = f
			} else if !sameContent(to[p], f) {
				inTheWay[p] = f
			}
		}
		_, err = Restore(t.Context(), req)
		var blocked *BlockedError
		if len(inTheWay) == 0 {
			must(t, err)
			sameLayout(t, "with files of others around", readBack(t, root), want)
			return
		}
		if !errors.As(err, &blocked) {
			t.Fatalf("restored over %v: %v", inTheWay, err)
		}
		sameLayout(t, "after a refusal", readBack(t, root), disk)
		if len(blocked.Blocked) > len(inTheWay) {
			t.Fatalf("refused for %v, in the way are only %v", blocked.Blocked, inTheWay)
		}
		found, err := PathsInTheWay(st, ws, "", req.To)
		must(t, err)
		safety := maps.Clone(from)
		for _, p := range found {
			safety[p] = disk[p]
		}
		for p := range inTheWay {
			if !slices.Contains(found, p) {
				t.Fatalf("%q is in the way, and not among %q", p, found)
			}
		}
		req.From = putTree(t, st, safety)
		_, err = Restore(t.Context(), req)
		must(t, err)
		sameLayout(t, "after saving what was in the way", readBack(t, root), want)
	})
}

// sameContent leaves the exec bit aside.
func sameContent(a, b leaf) bool {
	return a.data == b.data && (a.mode == filemode.Symlink) == (b.mode == filemode.Symlink) && (a.mode == 0) == (b.mode == 0)
}

// conflicts reports whether path cannot stand beside l's files, or is one.
func conflicts(l layout, path string) bool {
	for p := range l {
		if p == path || strings.HasPrefix(p, path+"/") || strings.HasPrefix(path, p+"/") {
			return true
		}
	}
	return false
}

func TestRestoreLeavesWhatIsNotRemovable(t *testing.T) {
	t.Parallel()
	from := layout{"keep/mine": file("1"), "keep/gone": file("2"), "mine": file("3"), "way": file("4"), "dir/x": file("5")}
	to := layout{"way/new": file("6"), "dir": file("7")}
	s := newSite(t, memory.NewStorage(), from)
	req := s.request(from, to)
	req.Removable = func(path string) bool { return path == "keep/gone" }
	report, err := Restore(t.Context(), req)
	must(t, err)
	sameLayout(t, "restore", readBack(t, s.root), layout{"keep/mine": file("1"), "mine": file("3"), "way/new": file("6"), "dir": file("7")})
	if !slices.Equal(report.Plan.Keep, []string{"keep/mine", "mine"}) {
		t.Errorf("kept %q", report.Plan.Keep)
	}
}

func TestRestoreOfPathsLeavesTheRestAlone(t *testing.T) {
	t.Parallel()
	from := layout{"a/x": file("1"), "a/y": file("2"), "ab": file("3"), "b": file("4"), "c": file("5"), "gone/z": file("6")}
	to := layout{"a/x": file("1new"), "ab": file("3new"), "b/deep/er": file("4new"), "new": file("7")}
	s := newSite(t, memory.NewStorage(), from)
	req := s.request(from, to)
	req.Paths = []string{"a", "./b/deep/"}
	_, err := Restore(t.Context(), req)
	must(t, err)
	want := layout{"a/x": file("1new"), "ab": file("3"), "b/deep/er": file("4new"), "c": file("5"), "gone/z": file("6")}
	sameLayout(t, "restore of a and b/deep", readBack(t, s.root), want)
	counting := &countingStore{EncodedObjectStorer: s.st}
	if _, err := newScope(counting, req.From, req.To, []string{"a"}); err != nil || counting.reads != 4 {
		t.Errorf("read %d trees (%v), want the two roots and the two of a", counting.reads, err)
	}
	for _, bad := range []string{"", "/etc", "..", "a/../../b", "x\x00y"} {
		req.Paths = []string{bad}
		if _, err := Restore(t.Context(), req); err == nil {
			t.Errorf("path %q was accepted", bad)
		}
	}
}

// A file that was changed after the safety checkpoint is not lost, whether it
// would have been replaced or deleted.
func TestRestoreRefusesWhatChangedAfterItWasSaved(t *testing.T) {
	t.Parallel()
	from := layout{"replaced": file("old"), "deleted": file("old"), "other": file("old")}
	to := layout{"replaced": file("new"), "other": file("new")}
	for _, name := range []string{"replaced", "deleted"} {
		s := newSite(t, memory.NewStorage(), from)
		must(t, os.WriteFile(s.path(name), []byte("mine"), 0o644))
		before := readBack(t, s.root)
		_, err := s.restore(from, to)
		var blocked *BlockedError
		if !errors.As(err, &blocked) || blocked.Blocked[0].Path != name {
			t.Fatalf("restore over a changed file: %v", err)
		}
		sameLayout(t, "after the refusal", readBack(t, s.root), before)
	}
}

func TestRestoreKeepsHardLinksAndOpenFilesWhole(t *testing.T) {
	t.Parallel()
	from := layout{"changed": file("old"), "deleted": file("old too"), "mode": file("same")}
	to := layout{"changed": file("new"), "mode": exe("same")}
	s := newSite(t, memory.NewStorage(), from)
	outside := t.TempDir()
	for name := range from {
		must(t, os.Link(s.path(name), filepath.Join(outside, name)))
	}
	open, err := os.Open(s.path("changed"))
	must(t, err)
	defer open.Close()
	_, err = s.restore(from, to)
	must(t, err)
	sameLayout(t, "workspace", readBack(t, s.root), to)
	sameLayout(t, "hard links outside", readBack(t, outside), from)
	buf := make([]byte, 10)
	if n, _ := open.Read(buf); string(buf[:n]) != "old" {
		t.Errorf("the open file now reads %q", buf[:n])
	}
}

// Two names of one inode inside the workspace, one replaced and one deleted.
func TestRestoreOfHardLinkedTwins(t *testing.T) {
	t.Parallel()
	from := layout{"a": file("same"), "z": file("same"), "m": file("same")}
	to := layout{"a": file("other"), "m": file("same"), "n": file("same")}
	s := newSite(t, memory.NewStorage(), layout{"a": file("same")})
	for _, name := range []string{"z", "m", "n"} {
		must(t, os.Link(s.path("a"), s.path(name)))
	}
	_, err := s.restore(from, to)
	must(t, err)
	sameLayout(t, "restore", readBack(t, s.root), to)
}

func TestRestoreHandlesPermissions(t *testing.T) {
	t.Parallel()
	from := layout{"ro/file": file("1"), "ro/gone": file("2"), "secret": file("3"), "script": exe("4"), "ro/sub/deep": file("5"), "locked": file("6"), "shut/only": file("7")}
	to := layout{"ro/file": file("1new"), "ro/new": exe("8"), "secret": exe("3new"), "script": file("4"), "ro/sub/deep": file("5new"), "locked": file("6new")}
	s := newSite(t, memory.NewStorage(), from)
	must(t, os.Chmod(s.path("secret"), 0o640))
	must(t, os.Chmod(s.path("script"), 0o700))
	must(t, os.Chmod(s.path("locked"), 0o444))
	must(t, os.Chmod(s.path("ro/sub"), 0o555))
	must(t, os.Chmod(s.path("ro"), 0o555))
	must(t, os.Chmod(s.path("shut"), 0o555))
	must(t, os.Chmod(s.root, 0o555))
	_, err := s.restore(from, to)
	must(t, err)
	sameLayout(t, "restore", readBack(t, s.root), to)
	for name, want := range map[string]os.FileMode{"": 0o555, "ro": 0o555, "ro/sub": 0o555, "secret": 0o750, "script": 0o600, "locked": 0o444} {
		info, err := os.Stat(s.path(name))
		must(t, err)
		if info.Mode().Perm() != want {
			t.Errorf("%q has permissions %o, want %o", name, info.Mode().Perm(), want)
		}
	}
}

func TestRestoreRemovesOnlyDirectoriesThatItEmptied(t *testing.T) {
	t.Parallel()
	from := layout{"d/e/f/x": file("1"), "g/y": file("2"), "h/z": file("3")}
	s := newSite(t, memory.NewStorage(), from)
	must(t, os.MkdirAll(s.path("g/empty"), 0o755))
	must(t, os.MkdirAll(s.path("alone"), 0o755))
	must(t, os.WriteFile(s.path("h/ignored"), nil, 0o644))
	report, err := s.restore(from, layout{})
	must(t, err)
	sameLayout(t, "restore", readBack(t, s.root), layout{"g/empty": {mode: filemode.Dir}, "alone": {mode: filemode.Dir}, "h/ignored": file("")})
	if report.RemovedDirs != 3 {
		t.Errorf("removed %d directories, want 3", report.RemovedDirs)
	}
}

func TestRestoreTakesAnyName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 255)
	deep := strings.TrimSuffix(strings.Repeat(strings.Repeat("d", 200)+"/", 30), "/") // longer than PATH_MAX
	names := []string{"-rf", "new\nline", "\xff\xfe", " ", "a\\b", "tab\t", `q"uote`, long, long + "x/../" + "y", "COM1", "a:b", ".gitignore", ".gitx", "é", "e\u0301"}
	names = slices.DeleteFunc(names, func(n string) bool { return strings.Contains(n, "/") })
	from, to := layout{}, layout{}
	for _, n := range names {
		from[n], to["to/"+n+"/"+n] = file(n), file(n)
	}
	s := newSite(t, memory.NewStorage(), from)
	_, err := s.restore(from, to)
	must(t, err)
	sameLayout(t, "restore", readBack(t, s.root), to)

	far := layout{deep + "/bottom": exe("deep"), deep + "/link": link("bottom")}
	_, err = s.restore(layout{}, far)
	must(t, err)
	plan, err := PlanRestore(s.request(layout{}, far))
	must(t, err)
	if !plan.Empty() {
		t.Errorf("the deep files are not there: %+v", plan)
	}
	_, err = s.restore(far, layout{})
	must(t, err)
	sameLayout(t, "after removing the deep files", readBack(t, s.root), to)
}

func TestRestoreOfSubmodulesLeavesThemAlone(t *testing.T) {
	t.Parallel()
	commit := leaf{filemode.Submodule, strings.Repeat("ab", 20)}
	from := layout{"sub": commit, "was": commit, "file": file("1")}
	to := layout{"sub": {filemode.Submodule, strings.Repeat("cd", 20)}, "new": commit, "file": file("2")}
	disk := layout{"sub/code": file("c"), "was/code": file("d"), "file": file("1")}
	s := newSite(t, memory.NewStorage(), disk)
	report, err := s.restore(from, to)
	must(t, err)
	disk["file"] = file("2")
	sameLayout(t, "restore", readBack(t, s.root), disk)
	if !slices.Equal(report.Plan.Keep, []string{"new", "sub", "was"}) {
		t.Errorf("left alone %q", report.Plan.Keep)
	}
}

func TestRestoreBlocksOnWhatGitCannotHold(t *testing.T) {
	t.Parallel()
	s := newSite(t, memory.NewStorage(), layout{"repo/.git/HEAD": file("ref"), "dir/keep": file("1")})
	must(t, syscall.Mkfifo(s.path("fifo"), 0o644))
	must(t, syscall.Mkfifo(s.path("dir/fifo"), 0o644))
	from := layout{"dir/keep": file("1")}
	to := layout{"repo": file("r"), "fifo": file("f"), "dir": file("d"), "fifo2": file("x")}
	_, err := s.restore(from, to)
	var blocked *BlockedError
	if !errors.As(err, &blocked) {
		t.Fatalf("restored over a repository and two FIFOs: %v", err)
	}
	var paths []string
	for _, b := range blocked.Blocked {
		paths = append(paths, b.Path)
	}
	if found, err := PathsInTheWay(s.st, s.ws, "", putTree(t, s.st, to)); err != nil || !slices.Equal(found, []string{"dir/keep"}) {
		t.Errorf("to be saved are %q (%v), want only dir/keep", found, err)
	}
	if want := []string{"dir/fifo", "fifo", "repo/.git/HEAD"}; !slices.Equal(paths, want) {
		t.Errorf("blocked by %q, want %q", paths, want)
	}
}

func TestRestoreNoticesThatTheWorkspaceMoved(t *testing.T) {
	t.Parallel()
	from, to := layout{"a": file("1")}, layout{"a": file("2")}
	s := newSite(t, memory.NewStorage(), layout{})
	root := filepath.Join(s.root, "ws")
	layDown(t, root, from)
	s.ws = openWS(t, root)
	defer s.ws.Close()
	must(t, os.Rename(root, root+".moved"))
	layDown(t, root, from)
	if _, err := s.restore(from, to); !errors.Is(err, ErrWorkspaceMoved) {
		t.Errorf("restore into a workspace that moved: %v", err)
	}
	sameLayout(t, "both", readBack(t, s.root), layout{"ws/a": file("1"), "ws.moved/a": file("1")})
}
