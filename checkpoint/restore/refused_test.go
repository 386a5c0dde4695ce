//go:build unix

package restore

import (
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/go-git/go-git/v5/storage/memory"
	"golang.org/x/sys/unix"

	"hank/checkpoint/internal/layouttest"
	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/worktree"
	"hank/internal/failpoint"
)

// What the system does not let be removed or written stays, and is named; all
// else is as the target has it, the preview says the same, and the same restore
// does nothing more.
func TestWhatCannotBeRemovedStaysAndIsNamed(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		refuse   map[string]syscall.Errno
		from, to layouttest.Layout
		stays    layouttest.Layout // what is not as in to; a deleted leaf is not there
		named    []string          // refused
	}{
		"an emptied mount point": {
			map[string]syscall.Errno{"m": unix.EBUSY}, layouttest.Layout{"a": layouttest.File("2"), "m/f": layouttest.File("1")}, layouttest.Layout{"a": layouttest.File("1"), "new": layouttest.File("1")},
			layouttest.Layout{"m": {}}, []string{"m"}},
		"a folder of another user": {
			map[string]syscall.Errno{"build/": unix.EACCES}, layouttest.Layout{"a": layouttest.File("b"), "new": layouttest.File("n"), "build/o": layouttest.File("o"), "build/p": layouttest.File("p")}, layouttest.Layout{"a": layouttest.File("a"), "z": layouttest.File("x"), "build/p": layouttest.File("q"), "build/q": layouttest.File("q")},
			layouttest.Layout{"build/o": layouttest.File("o"), "build/p": layouttest.File("p"), "build/q": {}}, []string{"build/o", "build/p", "build/q"}},
		"an immutable file that goes": {
			map[string]syscall.Errno{"d/i": unix.EPERM}, layouttest.Layout{"d/i": layouttest.File("1"), "d/j": layouttest.File("1")}, layouttest.Layout{"a": layouttest.File("1")},
			layouttest.Layout{"d/i": layouttest.File("1")}, []string{"d/i"}},
		"an immutable file that changes": {
			map[string]syscall.Errno{"i": unix.EPERM}, layouttest.Layout{"i": layouttest.File("1"), "j": layouttest.File("1")}, layouttest.Layout{"i": layouttest.File("2"), "j": layouttest.File("2")},
			layouttest.Layout{"i": layouttest.File("1")}, []string{"i"}},
		"a file in the place of a folder": {
			map[string]syscall.Errno{"d": unix.EPERM}, layouttest.Layout{"d": layouttest.File("1")}, layouttest.Layout{"d/x/y": layouttest.File("2"), "d/z": layouttest.File("2"), "e": layouttest.File("2")},
			layouttest.Layout{"d": layouttest.File("1"), "d/x/y": {}, "d/z": {}}, []string{"d", "d/x/y", "d/z"}},
		"a read-only file system": {
			map[string]syscall.Errno{"ro/": unix.EROFS}, layouttest.Layout{"ro/a": layouttest.File("1"), "b": layouttest.File("1")}, layouttest.Layout{"ro/c": layouttest.File("2"), "b": layouttest.File("2")},
			layouttest.Layout{"ro/a": layouttest.File("1"), "ro/c": {}}, []string{"ro/a", "ro/c"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, memory.NewStorage(), c.from)
			for path, errno := range c.refuse {
				defer failpoint.Refuse(s.ws.Path(), path, errno)()
			}
			plan, err := PlanRestore(s.request(c.from, c.to))
			testkit.Must(t, err)
			layouttest.SameLayout(t, "after the preview", layouttest.ReadBack(t, s.root), c.from)
			report, err := s.restore(c.from, c.to)
			testkit.Must(t, err)
			for what, list := range map[string][]Refused{"preview": plan.Refused, "restore": report.Refused} {
				if got := pathsOf(list); !slices.Equal(got, c.named) {
					t.Errorf("the %s names %q", what, list)
				}
			}
			if exists(s.path(worktree.JournalName)) {
				t.Error("the journal stays")
			}
			want := layouttest.Layout{}
			for path, l := range c.to {
				want[path] = l
			}
			for path, l := range c.stays {
				if want[path] = l; l == (layouttest.Leaf{}) {
					delete(want, path)
				}
			}
			if name == "an emptied mount point" {
				want["m"] = layouttest.Leaf{Mode: 0o40000}
			}
			layouttest.SameLayout(t, "after it", layouttest.ReadBack(t, s.root), want)
		})
	}
}

func pathsOf(list []Refused) (paths []string) {
	for _, r := range list {
		paths = append(paths, r.Path)
	}
	return paths
}

// A file that is left out of every checkpoint is not touched, and not blocked on:
// what it is in the way of is named, and all else is as the target has it.
func TestWhatIsLeftOutStaysAndIsNamed(t *testing.T) {
	t.Parallel()
	from := layouttest.Layout{"a": layouttest.File("1"), "d/g": layouttest.File("1"), "d/ignored": layouttest.File("1")}
	to := layouttest.Layout{"a": layouttest.File("2"), "d": layouttest.File("2"), "e/.env": layouttest.File("2"), "k/x/y": layouttest.File("2"), "same/.env": layouttest.File("S")}
	leftOut := layouttest.Layout{"d/sub/.env": layouttest.File("S"), "e/.env": layouttest.File("S"), "k/x": layouttest.File("S"), "same/.env": layouttest.File("S")}
	for _, aside := range []bool{false, true} {
		s := newSite(t, memory.NewStorage(), from)
		layouttest.LayDown(t, s.root, leftOut)
		req := s.request(from, to)
		req.LeftOut, req.KeepConflicts = []string{"d/sub", "e/.env", "k/x", "same/.env"}, aside
		req.Removable = func(path string) bool { return path != "d/ignored" }
		plan, err := PlanRestore(req)
		testkit.Must(t, err)
		report, err := Restore(t.Context(), req)
		testkit.Must(t, err)
		for what, list := range map[string][]Refused{"preview": plan.Refused, "restore": report.Refused} {
			if got := pathsOf(list); !slices.Equal(got, []string{"d", "e/.env", "k/x/y"}) {
				t.Errorf("the %s names %q", what, list)
			}
		}
		want := layouttest.Layout{"a": layouttest.File("2"), "d/ignored": layouttest.File("1")}
		for path, l := range leftOut {
			want[path] = l
		}
		layouttest.SameLayout(t, "after it", layouttest.ReadBack(t, s.root), want)
		if _, err := Restore(t.Context(), req); err != nil {
			t.Errorf("the same again: %v", err)
		}
		layouttest.SameLayout(t, "after it was done again", layouttest.ReadBack(t, s.root), want)
	}
}

// A directory that cannot be emptied, and whose place the target needs for a file,
// gets a name beside its own.
func TestAFolderThatCannotBeEmptiedIsMovedAside(t *testing.T) {
	t.Parallel()
	from, to := layouttest.Layout{"build/o": layouttest.File("o"), "build/p": layouttest.File("p"), "a": layouttest.File("1")}, layouttest.Layout{"build": layouttest.File("b"), "a": layouttest.File("2")}
	s := newSite(t, memory.NewStorage(), from)
	defer failpoint.Refuse(s.ws.Path(), "build/o", unix.EACCES)()
	report, err := s.restore(from, to)
	testkit.Must(t, err)
	if len(report.Refused) != 2 || !strings.HasPrefix(report.Refused[0].Path, "build.hank-kept-") || report.Refused[1].Path != "build/o" {
		t.Fatalf("it names %q", report.Refused)
	}
	to[report.Refused[0].Path+"/o"] = layouttest.File("o")
	layouttest.SameLayout(t, "after it", layouttest.ReadBack(t, s.root), to)
}

// With KeepConflicts nothing that was not saved stops a restore, and nothing of it
// is lost.
func TestWhatWasNotSavedIsMovedAsideWhereThatIsAskedFor(t *testing.T) {
	t.Parallel()
	from := layouttest.Layout{"a": layouttest.File("1"), "gone": layouttest.File("1"), "f/x": layouttest.File("1")}
	to := layouttest.Layout{"a": layouttest.File("2"), "pipe": layouttest.File("2"), "dir/x": layouttest.File("2"), "f": layouttest.File("2"), "g": layouttest.File("2")}
	s := newSite(t, memory.NewStorage(), from)
	layouttest.LayDown(t, s.root, layouttest.Layout{"dir": layouttest.File("unsaved"), "f/unsaved": layouttest.File("u"), "g/.git/HEAD": layouttest.File("ref")})
	testkit.Must(t, unix.Mkfifo(s.path("pipe"), 0o600))
	save(t, s.path("gone"), "changed")
	req := s.request(from, to)
	_, err := Restore(t.Context(), req)
	var blocked *BlockedError
	if !errors.As(err, &blocked) {
		t.Fatalf("without: %v", err)
	}
	req.KeepConflicts = true
	report, err := Restore(t.Context(), req)
	testkit.Must(t, err)
	byName := map[string]string{}
	for _, r := range report.Refused {
		name, _, _ := strings.Cut(r.Path, worktree.KeptInfix)
		byName[name] = r.Path
	}
	if len(byName) != 5 || byName["gone"] != "gone" {
		t.Fatalf("it names %q", report.Refused)
	}
	if fi, err := os.Lstat(s.path(byName["pipe"])); err != nil || fi.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("the pipe: %v, %v", fi, err)
	}
	testkit.Must(t, os.Remove(s.path(byName["pipe"])))
	to["gone"], to[byName["dir"]], to[byName["f"]+"/unsaved"], to[byName["g"]+"/.git/HEAD"] = layouttest.File("changed"), layouttest.File("unsaved"), layouttest.File("u"), layouttest.File("ref")
	layouttest.SameLayout(t, "after it", layouttest.ReadBack(t, s.root), to)
}

// Where not even the root can be written to, nothing is touched.
func TestAClosedRootLeavesAllAsItWas(t *testing.T) {
	t.Parallel()
	from, to := layouttest.Layout{"a": layouttest.File("1")}, layouttest.Layout{"a": layouttest.File("2")}
	s := newSite(t, memory.NewStorage(), from)
	defer failpoint.Refuse(s.ws.Path(), "", unix.EROFS)()
	_, err := s.restore(from, to)
	var incomplete *IncompleteError
	if !errors.As(err, &incomplete) || incomplete.Touched || !errors.Is(err, unix.EROFS) {
		t.Errorf("it says %v", err)
	}
	layouttest.SameLayout(t, "after it", layouttest.ReadBack(t, s.root), from)
	plan, err := PlanRestore(s.request(from, to))
	testkit.Must(t, err)
	if len(plan.Blocked) != 1 || plan.Blocked[0].Path != "." {
		t.Errorf("the preview says %+v", plan)
	}
}

// Temporary files of a killed restore that the system does not let go cost the
// next one nothing.
func TestTemporaryFilesThatCannotGoAreNamedOnce(t *testing.T) {
	t.Parallel()
	c := clearer{}
	d := &journaledDir{path: "d"}
	testkit.Must(t, c.tolerate(d, "x", "cannot be removed", os.NewSyscallError("unlinkat", unix.EPERM)))
	if err := c.tolerate(d, "x", "", unix.EIO); !errors.Is(err, unix.EIO) || len(c.refused) != 1 || c.refused[0].Path != "d/x" {
		t.Errorf("%v, %q", err, c.refused)
	}
}
