//go:build unix

package checkpoint

import (
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/go-git/go-git/v5/storage/memory"
	"golang.org/x/sys/unix"

	"hank/internal/failpoint"
)

// What the system does not let be removed or written stays, and is named; all
// else is as the target has it, the preview says the same, and the same restore
// does nothing more.
func TestWhatCannotBeRemovedStaysAndIsNamed(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		refuse   map[string]syscall.Errno
		from, to layout
		stays    layout   // what is not as in to; a deleted leaf is not there
		named    []string // refused
	}{
		"an emptied mount point": {
			map[string]syscall.Errno{"m": unix.EBUSY}, layout{"a": file("2"), "m/f": file("1")}, layout{"a": file("1"), "new": file("1")},
			layout{"m": {}}, []string{"m"}},
		"a folder of another user": {
			map[string]syscall.Errno{"build/": unix.EACCES}, layout{"a": file("b"), "new": file("n"), "build/o": file("o"), "build/p": file("p")}, layout{"a": file("a"), "z": file("x"), "build/p": file("q"), "build/q": file("q")},
			layout{"build/o": file("o"), "build/p": file("p"), "build/q": {}}, []string{"build/o", "build/p", "build/q"}},
		"an immutable file that goes": {
			map[string]syscall.Errno{"d/i": unix.EPERM}, layout{"d/i": file("1"), "d/j": file("1")}, layout{"a": file("1")},
			layout{"d/i": file("1")}, []string{"d/i"}},
		"an immutable file that changes": {
			map[string]syscall.Errno{"i": unix.EPERM}, layout{"i": file("1"), "j": file("1")}, layout{"i": file("2"), "j": file("2")},
			layout{"i": file("1")}, []string{"i"}},
		"a file in the place of a folder": {
			map[string]syscall.Errno{"d": unix.EPERM}, layout{"d": file("1")}, layout{"d/x/y": file("2"), "d/z": file("2"), "e": file("2")},
			layout{"d": file("1"), "d/x/y": {}, "d/z": {}}, []string{"d", "d/x/y", "d/z"}},
		"a read-only file system": {
			map[string]syscall.Errno{"ro/": unix.EROFS}, layout{"ro/a": file("1"), "b": file("1")}, layout{"ro/c": file("2"), "b": file("2")},
			layout{"ro/a": file("1"), "ro/c": {}}, []string{"ro/a", "ro/c"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, memory.NewStorage(), c.from)
			for path, errno := range c.refuse {
				defer failpoint.Refuse(s.ws.Path(), path, errno)()
			}
			plan, err := PlanRestore(s.request(c.from, c.to))
			must(t, err)
			sameLayout(t, "after the preview", readBack(t, s.root), c.from)
			report, err := s.restore(c.from, c.to)
			must(t, err)
			for what, list := range map[string][]Refused{"preview": plan.Refused, "restore": report.Refused} {
				if got := pathsOf(list); !slices.Equal(got, c.named) {
					t.Errorf("the %s names %q", what, list)
				}
			}
			if exists(s.path(journalName)) {
				t.Error("the journal stays")
			}
			want := layout{}
			for path, l := range c.to {
				want[path] = l
			}
			for path, l := range c.stays {
				if want[path] = l; l == (leaf{}) {
					delete(want, path)
				}
			}
			if name == "an emptied mount point" {
				want["m"] = leaf{mode: 0o40000}
			}
			sameLayout(t, "after it", readBack(t, s.root), want)
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
	from := layout{"a": file("1"), "d/g": file("1"), "d/ignored": file("1")}
	to := layout{"a": file("2"), "d": file("2"), "e/.env": file("2"), "k/x/y": file("2"), "same/.env": file("S")}
	leftOut := layout{"d/sub/.env": file("S"), "e/.env": file("S"), "k/x": file("S"), "same/.env": file("S")}
	for _, aside := range []bool{false, true} {
		s := newSite(t, memory.NewStorage(), from)
		layDown(t, s.root, leftOut)
		req := s.request(from, to)
		req.LeftOut, req.MoveAside = []string{"d/sub", "e/.env", "k/x", "same/.env"}, aside
		req.Removable = func(path string) bool { return path != "d/ignored" }
		plan, err := PlanRestore(req)
		must(t, err)
		report, err := Restore(t.Context(), req)
		must(t, err)
		for what, list := range map[string][]Refused{"preview": plan.Refused, "restore": report.Refused} {
			if got := pathsOf(list); !slices.Equal(got, []string{"d", "e/.env", "k/x/y"}) {
				t.Errorf("the %s names %q", what, list)
			}
		}
		want := layout{"a": file("2"), "d/ignored": file("1")}
		for path, l := range leftOut {
			want[path] = l
		}
		sameLayout(t, "after it", readBack(t, s.root), want)
		if _, err := Restore(t.Context(), req); err != nil {
			t.Errorf("the same again: %v", err)
		}
		sameLayout(t, "after it was done again", readBack(t, s.root), want)
	}
}

// A folder that cannot be emptied, and whose place the target needs for a file,
// gets a name beside its own.
func TestAFolderThatCannotBeEmptiedIsMovedAside(t *testing.T) {
	t.Parallel()
	from, to := layout{"build/o": file("o"), "build/p": file("p"), "a": file("1")}, layout{"build": file("b"), "a": file("2")}
	s := newSite(t, memory.NewStorage(), from)
	defer failpoint.Refuse(s.ws.Path(), "build/o", unix.EACCES)()
	report, err := s.restore(from, to)
	must(t, err)
	if len(report.Refused) != 2 || !strings.HasPrefix(report.Refused[0].Path, "build.hank-kept-") || report.Refused[1].Path != "build/o" {
		t.Fatalf("it names %q", report.Refused)
	}
	to[report.Refused[0].Path+"/o"] = file("o")
	sameLayout(t, "after it", readBack(t, s.root), to)
}

// With MoveAside nothing that was not saved stops a restore, and nothing of it
// is lost.
func TestWhatWasNotSavedIsMovedAsideWhereThatIsAskedFor(t *testing.T) {
	t.Parallel()
	from := layout{"a": file("1"), "gone": file("1"), "f/x": file("1")}
	to := layout{"a": file("2"), "pipe": file("2"), "dir/x": file("2"), "f": file("2"), "g": file("2")}
	s := newSite(t, memory.NewStorage(), from)
	layDown(t, s.root, layout{"dir": file("unsaved"), "f/unsaved": file("u"), "g/.git/HEAD": file("ref")})
	must(t, unix.Mkfifo(s.path("pipe"), 0o600))
	save(t, s.path("gone"), "changed")
	req := s.request(from, to)
	_, err := Restore(t.Context(), req)
	var blocked *BlockedError
	if !errors.As(err, &blocked) {
		t.Fatalf("without: %v", err)
	}
	req.MoveAside = true
	report, err := Restore(t.Context(), req)
	must(t, err)
	byName := map[string]string{}
	for _, r := range report.Refused {
		name, _, _ := strings.Cut(r.Path, keptInfix)
		byName[name] = r.Path
	}
	if len(byName) != 5 || byName["gone"] != "gone" {
		t.Fatalf("it names %q", report.Refused)
	}
	if fi, err := os.Lstat(s.path(byName["pipe"])); err != nil || fi.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("the pipe: %v, %v", fi, err)
	}
	must(t, os.Remove(s.path(byName["pipe"])))
	to["gone"], to[byName["dir"]], to[byName["f"]+"/unsaved"], to[byName["g"]+"/.git/HEAD"] = file("changed"), file("unsaved"), file("u"), file("ref")
	sameLayout(t, "after it", readBack(t, s.root), to)
}

// Where not even the root can be written to, nothing is touched.
func TestAClosedRootLeavesAllAsItWas(t *testing.T) {
	t.Parallel()
	from, to := layout{"a": file("1")}, layout{"a": file("2")}
	s := newSite(t, memory.NewStorage(), from)
	defer failpoint.Refuse(s.ws.Path(), "", unix.EROFS)()
	_, err := s.restore(from, to)
	var incomplete *IncompleteError
	if !errors.As(err, &incomplete) || incomplete.Touched || !errors.Is(err, unix.EROFS) {
		t.Errorf("it says %v", err)
	}
	sameLayout(t, "after it", readBack(t, s.root), from)
	plan, err := PlanRestore(s.request(from, to))
	must(t, err)
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
	must(t, c.tolerate(d, "x", "cannot be removed", os.NewSyscallError("unlinkat", unix.EPERM)))
	if err := c.tolerate(d, "x", "", unix.EIO); !errors.Is(err, unix.EIO) || len(c.refused) != 1 || c.refused[0].Path != "d/x" {
		t.Errorf("%v, %q", err, c.refused)
	}
}
