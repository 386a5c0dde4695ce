package checkpoint

import (
	"os"
	"slices"
	"syscall"
	"testing"

	"github.com/go-git/go-git/v5/storage/memory"
	"golang.org/x/sys/unix"
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
	from := layout{"a": file("1"), "m/d/f": file("1"), "b": file("1"), "c": file("1"), "ro/x": file("1"), "v/x": file("1")}
	to := layout{"a": file("2"), "c": file("2"), "ro/x": file("2"), "ro/y": file("2"), "v": file("2")}
	s := newSite(t, memory.NewStorage(), layout{"a": file("1"), "b": file("under"), "c": file("under"), "m/.keep": file(""), "ro/.keep": file(""), "v/.keep": file("")})
	elsewhere := t.TempDir()
	layDown(t, elsewhere, layout{"b": file("1"), "c": file("1")})
	for _, name := range []string{"m", "ro", "v"} {
		must(t, unix.Mount("tmpfs", s.path(name), "tmpfs", 0, "size=1m"))
		defer unix.Unmount(s.path(name), unix.MNT_DETACH)
	}
	for _, name := range []string{"b", "c"} {
		must(t, unix.Mount(elsewhere+"/"+name, s.path(name), "", unix.MS_BIND, ""))
		defer unix.Unmount(s.path(name), unix.MNT_DETACH)
	}
	layDown(t, s.root, layout{"m/d/f": file("1"), "ro/x": file("1"), "v/x": file("1")})
	must(t, unix.Mount("", s.path("ro"), "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	req := s.request(from, to)
	plan, err := PlanRestore(req)
	must(t, err)
	report, err := Restore(t.Context(), req)
	must(t, err)
	named := []string{"b", "c", "m", "ro/x", "ro/y", "v"}
	for what, list := range map[string][]Refused{"preview": plan.Refused, "restore": report.Refused} {
		if got := pathsOf(list); !slices.Equal(got, named) {
			t.Errorf("the %s names %q", what, list)
		}
	}
	sameLayout(t, "after it", readBack(t, s.root), layout{"a": file("2"), "b": file("1"), "c": file("1"), "m": {mode: 0o40000}, "ro/x": file("1"), "v": {mode: 0o40000}})
	if exists(s.path(journalName)) {
		t.Error("the journal stays")
	}
}
