package restore

import (
	"os"
	"slices"
	"syscall"
	"testing"

	"github.com/go-git/go-git/v5/storage/memory"
	"golang.org/x/sys/unix"

	"hank/checkpoint/internal/layouttest"
	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/worktree"
)

const mountsEnv = "HANK_TEST_MOUNTS"

func TestRestoreMeetsMounts(t *testing.T) {
	t.Parallel()
	ids := func(host int) []syscall.SysProcIDMap {
		return []syscall.SysProcIDMap{{ContainerID: 0, HostID: host, Size: 1}}
	}
	runAgain(t, "TestRestoreMeetsMountsChild", &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: ids(os.Geteuid()), GidMappings: ids(os.Getegid()),
	}, mountsEnv+"=1")
}

// Mounts of the kernel's own: a volume that a restore empties, a file that is
// mounted over one that goes and over one that changes, a volume that is
// read-only, one where the target has a file.
func TestRestoreMeetsMountsChild(t *testing.T) {
	if os.Getenv(mountsEnv) == "" {
		t.Skip("run by TestRestoreMeetsMounts")
	}
	from := layouttest.Layout{"a": layouttest.File("1"), "m/d/f": layouttest.File("1"), "b": layouttest.File("1"), "c": layouttest.File("1"), "ro/x": layouttest.File("1"), "v/x": layouttest.File("1")}
	to := layouttest.Layout{"a": layouttest.File("2"), "c": layouttest.File("2"), "ro/x": layouttest.File("2"), "ro/y": layouttest.File("2"), "v": layouttest.File("2")}
	s := newSite(t, memory.NewStorage(), layouttest.Layout{"a": layouttest.File("1"), "b": layouttest.File("under"), "c": layouttest.File("under"), "m/.keep": layouttest.File(""), "ro/.keep": layouttest.File(""), "v/.keep": layouttest.File("")})
	elsewhere := t.TempDir()
	layouttest.LayDown(t, elsewhere, layouttest.Layout{"b": layouttest.File("1"), "c": layouttest.File("1")})
	for _, name := range []string{"m", "ro", "v"} {
		testkit.Must(t, unix.Mount("tmpfs", s.path(name), "tmpfs", 0, "size=1m"))
		defer unix.Unmount(s.path(name), unix.MNT_DETACH)
	}
	for _, name := range []string{"b", "c"} {
		testkit.Must(t, unix.Mount(elsewhere+"/"+name, s.path(name), "", unix.MS_BIND, ""))
		defer unix.Unmount(s.path(name), unix.MNT_DETACH)
	}
	layouttest.LayDown(t, s.root, layouttest.Layout{"m/d/f": layouttest.File("1"), "ro/x": layouttest.File("1"), "v/x": layouttest.File("1")})
	testkit.Must(t, unix.Mount("", s.path("ro"), "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	req := s.request(from, to)
	plan, err := PlanRestore(req)
	testkit.Must(t, err)
	report, err := Restore(t.Context(), req)
	testkit.Must(t, err)
	named := []string{"b", "c", "m", "ro/x", "ro/y", "v"}
	for what, list := range map[string][]Refused{"preview": plan.Refused, "restore": report.Refused} {
		if got := pathsOf(list); !slices.Equal(got, named) {
			t.Errorf("the %s names %q", what, list)
		}
	}
	layouttest.SameLayout(t, "after it", layouttest.ReadBack(t, s.root), layouttest.Layout{"a": layouttest.File("2"), "b": layouttest.File("1"), "c": layouttest.File("1"), "m": {Mode: 0o40000}, "ro/x": layouttest.File("1"), "v": {Mode: 0o40000}})
	if exists(s.path(worktree.JournalName)) {
		t.Error("the journal stays")
	}
}
