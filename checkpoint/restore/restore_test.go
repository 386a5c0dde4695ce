//go:build unix

package restore

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

	"hank/checkpoint/internal/layouttest"
	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/worktree"
	"hank/internal/short"
)

func TestRestoreReachesTheTargetByteForByteAndBack(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	rapid.Check(t, func(t *rapid.T) {
		from, to := layouttest.DrawLayout(t, "from"), layouttest.DrawLayout(t, "to")
		root, err := os.MkdirTemp("", "hank-restore-")
		testkit.Must(t, err)
		defer os.RemoveAll(root)
		layouttest.LayDown(t, root, from)
		ws := layouttest.OpenWS(t, root)
		defer ws.Close()
		st := memory.NewStorage()
		req := RestoreRequest{Store: st, Workspace: ws, From: layouttest.PutTree(t, st, from), To: layouttest.PutTree(t, st, to), Removable: testkit.Anything}
		plan, err := PlanRestore(req)
		testkit.Must(t, err)
		layouttest.SameLayout(t, "after planning", layouttest.ReadBack(t, root), from)
		report, err := Restore(t.Context(), req)
		testkit.Must(t, err)
		layouttest.SameLayout(t, "after restoring", layouttest.ReadBack(t, root), to)
		if len(plan.Add) != len(report.Plan.Add) || len(plan.Change) != len(report.Plan.Change) || len(plan.Delete) != len(report.Plan.Delete) {
			t.Fatalf("planned %v, did %v", plan, report.Plan)
		}
		again, err := PlanRestore(req)
		testkit.Must(t, err)
		if !again.Empty() {
			t.Fatalf("a finished restore has still to do: %+v", again)
		}
		req.From, req.To = req.To, req.From
		_, err = Restore(t.Context(), req)
		testkit.Must(t, err)
		layouttest.SameLayout(t, "after undoing", layouttest.ReadBack(t, root), from)
	})
}

// What From does not hold is either left alone or refused, never destroyed;
// what Conflicts names makes the refused restore possible.
func TestRestoreNeverDestroysWhatWasNotSaved(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	rapid.Check(t, func(t *rapid.T) {
		from, to, extra := layouttest.DrawLayout(t, "from"), layouttest.DrawLayout(t, "to"), layouttest.DrawLayout(t, "extra")
		disk := maps.Clone(from)
		for p, f := range extra {
			if !conflicts(from, p) {
				disk[p] = f
			}
		}
		root, err := os.MkdirTemp("", "hank-restore-")
		testkit.Must(t, err)
		defer os.RemoveAll(root)
		layouttest.LayDown(t, root, disk)
		ws := layouttest.OpenWS(t, root)
		defer ws.Close()
		st := memory.NewStorage()
		req := RestoreRequest{Store: st, Workspace: ws, From: layouttest.PutTree(t, st, from), To: layouttest.PutTree(t, st, to), Removable: testkit.Anything}

		want, inTheWay := maps.Clone(to), layouttest.Layout{}
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
			testkit.Must(t, err)
			layouttest.SameLayout(t, "with files of others around", layouttest.ReadBack(t, root), want)
			return
		}
		if !errors.As(err, &blocked) {
			t.Fatalf("restored over %v: %v", inTheWay, err)
		}
		layouttest.SameLayout(t, "after a refusal", layouttest.ReadBack(t, root), disk)
		if len(blocked.Blocked) > len(inTheWay) {
			t.Fatalf("refused for %v, in the way are only %v", blocked.Blocked, inTheWay)
		}
		found, err := Conflicts(st, ws, "", req.To)
		testkit.Must(t, err)
		safety := maps.Clone(from)
		for _, p := range found {
			safety[p] = disk[p]
		}
		for p := range inTheWay {
			if !slices.Contains(found, p) {
				t.Fatalf("%q is in the way, and not among %q", p, found)
			}
		}
		req.From = layouttest.PutTree(t, st, safety)
		_, err = Restore(t.Context(), req)
		testkit.Must(t, err)
		layouttest.SameLayout(t, "after saving what was in the way", layouttest.ReadBack(t, root), want)
	})
}

// sameContent leaves the exec bit aside.
func sameContent(a, b layouttest.Leaf) bool {
	return a.Data == b.Data && (a.Mode == filemode.Symlink) == (b.Mode == filemode.Symlink) && (a.Mode == 0) == (b.Mode == 0)
}

// conflicts reports whether path cannot stand beside l's files, or is one.
func conflicts(l layouttest.Layout, path string) bool {
	for p := range l {
		if p == path || strings.HasPrefix(p, path+"/") || strings.HasPrefix(path, p+"/") {
			return true
		}
	}
	return false
}

func TestRestoreLeavesWhatIsNotRemovable(t *testing.T) {
	t.Parallel()
	from := layouttest.Layout{"keep/mine": layouttest.File("1"), "keep/gone": layouttest.File("2"), "mine": layouttest.File("3"), "way": layouttest.File("4"), "dir/x": layouttest.File("5")}
	to := layouttest.Layout{"way/new": layouttest.File("6"), "dir": layouttest.File("7")}
	s := newSite(t, memory.NewStorage(), from)
	req := s.request(from, to)
	req.Removable = func(path string) bool { return path == "keep/gone" }
	report, err := Restore(t.Context(), req)
	testkit.Must(t, err)
	layouttest.SameLayout(t, "restore", layouttest.ReadBack(t, s.root), layouttest.Layout{"keep/mine": layouttest.File("1"), "mine": layouttest.File("3"), "way/new": layouttest.File("6"), "dir": layouttest.File("7")})
	if !slices.Equal(report.Plan.Keep, []string{"keep/mine", "mine"}) {
		t.Errorf("kept %q", report.Plan.Keep)
	}
}

func TestRestoreOfPathsLeavesTheRestAlone(t *testing.T) {
	t.Parallel()
	from := layouttest.Layout{"a/x": layouttest.File("1"), "a/y": layouttest.File("2"), "ab": layouttest.File("3"), "b": layouttest.File("4"), "c": layouttest.File("5"), "gone/z": layouttest.File("6")}
	to := layouttest.Layout{"a/x": layouttest.File("1new"), "ab": layouttest.File("3new"), "b/deep/er": layouttest.File("4new"), "new": layouttest.File("7")}
	s := newSite(t, memory.NewStorage(), from)
	req := s.request(from, to)
	req.Paths = []string{"a", "./b/deep/"}
	_, err := Restore(t.Context(), req)
	testkit.Must(t, err)
	want := layouttest.Layout{"a/x": layouttest.File("1new"), "ab": layouttest.File("3"), "b/deep/er": layouttest.File("4new"), "c": layouttest.File("5"), "gone/z": layouttest.File("6")}
	layouttest.SameLayout(t, "restore of a and b/deep", layouttest.ReadBack(t, s.root), want)
	counting := &layouttest.CountingStore{EncodedObjectStorer: s.st}
	if _, err := newScope(counting, req.From, req.To, []string{"a"}); err != nil || counting.Reads != 4 {
		t.Errorf("read %d trees (%v), want the two roots and the two of a", counting.Reads, err)
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
	from := layouttest.Layout{"replaced": layouttest.File("old"), "deleted": layouttest.File("old"), "other": layouttest.File("old")}
	to := layouttest.Layout{"replaced": layouttest.File("new"), "other": layouttest.File("new")}
	for _, name := range []string{"replaced", "deleted"} {
		s := newSite(t, memory.NewStorage(), from)
		testkit.Must(t, os.WriteFile(s.path(name), []byte("mine"), 0o644))
		before := layouttest.ReadBack(t, s.root)
		_, err := s.restore(from, to)
		var blocked *BlockedError
		if !errors.As(err, &blocked) || blocked.Blocked[0].Path != name {
			t.Fatalf("restore over a changed file: %v", err)
		}
		layouttest.SameLayout(t, "after the refusal", layouttest.ReadBack(t, s.root), before)
	}
}

func TestRestoreKeepsHardLinksAndOpenFilesWhole(t *testing.T) {
	t.Parallel()
	from := layouttest.Layout{"changed": layouttest.File("old"), "deleted": layouttest.File("old too"), "mode": layouttest.File("same")}
	to := layouttest.Layout{"changed": layouttest.File("new"), "mode": layouttest.Exe("same")}
	s := newSite(t, memory.NewStorage(), from)
	outside := t.TempDir()
	for name := range from {
		testkit.Must(t, os.Link(s.path(name), filepath.Join(outside, name)))
	}
	open, err := os.Open(s.path("changed"))
	testkit.Must(t, err)
	defer open.Close()
	_, err = s.restore(from, to)
	testkit.Must(t, err)
	layouttest.SameLayout(t, "workspace", layouttest.ReadBack(t, s.root), to)
	layouttest.SameLayout(t, "hard links outside", layouttest.ReadBack(t, outside), from)
	buf := make([]byte, 10)
	if n, _ := open.Read(buf); string(buf[:n]) != "old" {
		t.Errorf("the open file now reads %q", buf[:n])
	}
}

// Two names of one inode inside the workspace, one replaced and one deleted.
func TestRestoreOfHardLinkedTwins(t *testing.T) {
	t.Parallel()
	from := layouttest.Layout{"a": layouttest.File("same"), "z": layouttest.File("same"), "m": layouttest.File("same")}
	to := layouttest.Layout{"a": layouttest.File("other"), "m": layouttest.File("same"), "n": layouttest.File("same")}
	s := newSite(t, memory.NewStorage(), layouttest.Layout{"a": layouttest.File("same")})
	for _, name := range []string{"z", "m", "n"} {
		testkit.Must(t, os.Link(s.path("a"), s.path(name)))
	}
	_, err := s.restore(from, to)
	testkit.Must(t, err)
	layouttest.SameLayout(t, "restore", layouttest.ReadBack(t, s.root), to)
}

func TestRestoreHandlesPermissions(t *testing.T) {
	t.Parallel()
	from := layouttest.Layout{"ro/file": layouttest.File("1"), "ro/gone": layouttest.File("2"), "secret": layouttest.File("3"), "script": layouttest.Exe("4"), "ro/sub/deep": layouttest.File("5"), "locked": layouttest.File("6"), "shut/only": layouttest.File("7")}
	to := layouttest.Layout{"ro/file": layouttest.File("1new"), "ro/new": layouttest.Exe("8"), "secret": layouttest.Exe("3new"), "script": layouttest.File("4"), "ro/sub/deep": layouttest.File("5new"), "locked": layouttest.File("6new")}
	s := newSite(t, memory.NewStorage(), from)
	testkit.Must(t, os.Chmod(s.path("secret"), 0o640))
	testkit.Must(t, os.Chmod(s.path("script"), 0o700))
	testkit.Must(t, os.Chmod(s.path("locked"), 0o444))
	testkit.Must(t, os.Chmod(s.path("ro/sub"), 0o555))
	testkit.Must(t, os.Chmod(s.path("ro"), 0o555))
	testkit.Must(t, os.Chmod(s.path("shut"), 0o555))
	testkit.Must(t, os.Chmod(s.root, 0o555))
	_, err := s.restore(from, to)
	testkit.Must(t, err)
	layouttest.SameLayout(t, "restore", layouttest.ReadBack(t, s.root), to)
	for name, want := range map[string]os.FileMode{"": 0o555, "ro": 0o555, "ro/sub": 0o555, "secret": 0o750, "script": 0o600, "locked": 0o444} {
		info, err := os.Stat(s.path(name))
		testkit.Must(t, err)
		if info.Mode().Perm() != want {
			t.Errorf("%q has permissions %o, want %o", name, info.Mode().Perm(), want)
		}
	}
}

func TestRestoreRemovesOnlyDirectoriesThatItEmptied(t *testing.T) {
	t.Parallel()
	from := layouttest.Layout{"d/e/f/x": layouttest.File("1"), "g/y": layouttest.File("2"), "h/z": layouttest.File("3")}
	s := newSite(t, memory.NewStorage(), from)
	testkit.Must(t, os.MkdirAll(s.path("g/empty"), 0o755))
	testkit.Must(t, os.MkdirAll(s.path("alone"), 0o755))
	testkit.Must(t, os.WriteFile(s.path("h/ignored"), nil, 0o644))
	report, err := s.restore(from, layouttest.Layout{})
	testkit.Must(t, err)
	layouttest.SameLayout(t, "restore", layouttest.ReadBack(t, s.root), layouttest.Layout{"g/empty": {Mode: filemode.Dir}, "alone": {Mode: filemode.Dir}, "h/ignored": layouttest.File("")})
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
	from, to := layouttest.Layout{}, layouttest.Layout{}
	for _, n := range names {
		from[n], to["to/"+n+"/"+n] = layouttest.File(n), layouttest.File(n)
	}
	s := newSite(t, memory.NewStorage(), from)
	_, err := s.restore(from, to)
	testkit.Must(t, err)
	layouttest.SameLayout(t, "restore", layouttest.ReadBack(t, s.root), to)

	far := layouttest.Layout{deep + "/bottom": layouttest.Exe("deep"), deep + "/link": layouttest.Link("bottom")}
	_, err = s.restore(layouttest.Layout{}, far)
	testkit.Must(t, err)
	plan, err := PlanRestore(s.request(layouttest.Layout{}, far))
	testkit.Must(t, err)
	if !plan.Empty() {
		t.Errorf("the deep files are not there: %+v", plan)
	}
	_, err = s.restore(far, layouttest.Layout{})
	testkit.Must(t, err)
	layouttest.SameLayout(t, "after removing the deep files", layouttest.ReadBack(t, s.root), to)
}

func TestRestoreOfSubmodulesLeavesThemAlone(t *testing.T) {
	t.Parallel()
	commit := layouttest.Leaf{Mode: filemode.Submodule, Data: strings.Repeat("ab", 20)}
	from := layouttest.Layout{"sub": commit, "was": commit, "file": layouttest.File("1")}
	to := layouttest.Layout{"sub": {Mode: filemode.Submodule, Data: strings.Repeat("cd", 20)}, "new": commit, "file": layouttest.File("2")}
	disk := layouttest.Layout{"sub/code": layouttest.File("c"), "was/code": layouttest.File("d"), "file": layouttest.File("1")}
	s := newSite(t, memory.NewStorage(), disk)
	report, err := s.restore(from, to)
	testkit.Must(t, err)
	disk["file"] = layouttest.File("2")
	layouttest.SameLayout(t, "restore", layouttest.ReadBack(t, s.root), disk)
	if !slices.Equal(report.Plan.Keep, []string{"new", "sub", "was"}) {
		t.Errorf("left alone %q", report.Plan.Keep)
	}
}

func TestRestoreBlocksOnWhatGitCannotHold(t *testing.T) {
	t.Parallel()
	s := newSite(t, memory.NewStorage(), layouttest.Layout{"repo/.git/HEAD": layouttest.File("ref"), "dir/keep": layouttest.File("1")})
	testkit.Must(t, syscall.Mkfifo(s.path("fifo"), 0o644))
	testkit.Must(t, syscall.Mkfifo(s.path("dir/fifo"), 0o644))
	from := layouttest.Layout{"dir/keep": layouttest.File("1")}
	to := layouttest.Layout{"repo": layouttest.File("r"), "fifo": layouttest.File("f"), "dir": layouttest.File("d"), "fifo2": layouttest.File("x")}
	_, err := s.restore(from, to)
	var blocked *BlockedError
	if !errors.As(err, &blocked) {
		t.Fatalf("restored over a repository and two FIFOs: %v", err)
	}
	var paths []string
	for _, b := range blocked.Blocked {
		paths = append(paths, b.Path)
	}
	if found, err := Conflicts(s.st, s.ws, "", layouttest.PutTree(t, s.st, to)); err != nil || !slices.Equal(found, []string{"dir/keep"}) {
		t.Errorf("to be saved are %q (%v), want only dir/keep", found, err)
	}
	if want := []string{"dir/fifo", "fifo", "repo/.git/HEAD"}; !slices.Equal(paths, want) {
		t.Errorf("blocked by %q, want %q", paths, want)
	}
}

func TestRestoreNoticesThatTheWorkspaceMoved(t *testing.T) {
	t.Parallel()
	from, to := layouttest.Layout{"a": layouttest.File("1")}, layouttest.Layout{"a": layouttest.File("2")}
	s := newSite(t, memory.NewStorage(), layouttest.Layout{})
	root := filepath.Join(s.root, "ws")
	layouttest.LayDown(t, root, from)
	s.ws = layouttest.OpenWS(t, root)
	defer s.ws.Close()
	testkit.Must(t, os.Rename(root, root+".moved"))
	layouttest.LayDown(t, root, from)
	if _, err := s.restore(from, to); !errors.Is(err, worktree.ErrWorkspaceMoved) {
		t.Errorf("restore into a workspace that moved: %v", err)
	}
	layouttest.SameLayout(t, "both", layouttest.ReadBack(t, s.root), layouttest.Layout{"ws/a": layouttest.File("1"), "ws.moved/a": layouttest.File("1")})
}
