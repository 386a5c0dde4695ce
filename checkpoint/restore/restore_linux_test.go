package restore

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/go-git/go-git/v5/storage/memory"
	"golang.org/x/sys/unix"

	"hank/checkpoint/internal/layouttest"
	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/worktree"
	"hank/internal/race"
	"hank/internal/short"
)

// These tests run themselves again as a child under conditions that a test
// cannot set for its own process alone.
const (
	noOpenat2Env = "HANK_TEST_NO_OPENAT2"
	ordinaryEnv  = "HANK_TEST_ORDINARY_USER"
	smallDiskEnv = "HANK_TEST_SMALL_DISK"
)

func init() {
	if os.Getenv(noOpenat2Env) != "" {
		worktree.Openat2Missing.Store(true)
	}
}

func runAgain(t *testing.T, tests string, attr *syscall.SysProcAttr, env ...string) {
	t.Helper()
	self := copySelf(t)
	cmd := exec.Command(self, "-test.v", "-test.run=^("+tests+")$", "-rapid.checks=25")
	cmd.Dir = filepath.Dir(self)
	cmd.Env = append(os.Environ(), append(env, "TMPDIR="+filepath.Dir(self))...)
	cmd.SysProcAttr = attr
	out, err := cmd.CombinedOutput()
	if err != nil && attr != nil && attr.Cloneflags != 0 && (errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EINVAL)) {
		t.Skipf("no user namespaces here: %v", err)
	}
	if err != nil {
		t.Fatalf("again with %v: %v\n%s", env, err, out)
	}
	if n := strings.Count(string(out), "--- PASS: "); n == 0 || strings.Contains(string(out), "--- SKIP") {
		t.Fatalf("again with %v: not all of %s ran\n%s", env, tests, out)
	}
}

// copySelf puts the test binary into a directory that any user may enter.
func copySelf(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "hank-test-")
	testkit.Must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	testkit.Must(t, os.Chmod(dir, 0o777))
	self, err := os.Executable()
	testkit.Must(t, err)
	// By another process: what one of this process's children begins with is open
	// in it until it executes, and a file that is open for writing cannot be run.
	to := filepath.Join(dir, "self.test")
	if out, err := exec.Command("cp", self, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	testkit.Must(t, os.Chmod(to, 0o755))
	return to
}

// Everything holds without openat2 too: on old kernels, and where a sandbox
// refuses it.
func TestRestoreWithoutOpenat2(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	runAgain(t, "TestRestoreNever.*|TestRestoreUnder.*|TestRestoreTakesAnyName|TestAForgedJournal.*|TestOpenBeneath.*", nil, noOpenat2Env+"=1")
}

// Read-only directories matter only to someone who is not root.
func TestRestoreAsAnOrdinaryUser(t *testing.T) {
	t.Parallel()
	race.Without(t)
	short.Skip(t)
	if os.Geteuid() != 0 {
		t.Skip("the other tests run as an ordinary user already")
	}
	nobody := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	runAgain(t, "TestRestoreReaches.*|TestRestoreHandlesPermissions|TestRestoreKilledAtEvery.*|TestRestoreMeetsAWallChild", nobody, ordinaryEnv+"=1")
}

// What an ordinary user may not read or write gives an error that names it,
// before anything is touched.
func TestRestoreMeetsAWallChild(t *testing.T) {
	if os.Getenv(ordinaryEnv) == "" && os.Geteuid() == 0 {
		t.Skip("run by TestRestoreAsAnOrdinaryUser")
	}
	from := layouttest.Layout{"a": layouttest.File("1"), "dir/b": layouttest.File("1")}
	to := layouttest.Layout{"a": layouttest.File("2"), "dir/b": layouttest.File("2")}
	s := newSite(t, memory.NewStorage(), from)
	testkit.Must(t, os.Chmod(s.path("a"), 0))
	_, err := s.restore(from, to)
	var blocked *BlockedError
	if !errors.As(err, &blocked) || blocked.Blocked[0].Path != "a" {
		t.Errorf("an unreadable file: %v", err)
	}
	testkit.Must(t, os.Chmod(s.path("a"), 0o644))
	testkit.Must(t, os.Chmod(s.path("dir"), 0))
	if _, err := s.restore(from, to); !errors.Is(err, unix.EACCES) || !strings.Contains(err.Error(), "dir") {
		t.Errorf("a directory that may not be entered: %v", err)
	}
	testkit.Must(t, os.Chmod(s.path("dir"), 0o755))
	layouttest.SameLayout(t, "after two refusals", layouttest.ReadBack(t, s.root), from)
}

func TestRestoreOntoAFullDisk(t *testing.T) {
	t.Parallel()
	ids := func(host int) []syscall.SysProcIDMap {
		return []syscall.SysProcIDMap{{ContainerID: 0, HostID: host, Size: 1}}
	}
	runAgain(t, "TestRestoreOntoAFullDiskChild", &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: ids(os.Geteuid()), GidMappings: ids(os.Getegid()),
	}, smallDiskEnv+"=1")
}

// A disk that fills while files are staged leaves the workspace as it was; one
// that cannot take another directory leaves each file whole. Both are finished
// by the same call when there is room again.
func TestRestoreOntoAFullDiskChild(t *testing.T) {
	if os.Getenv(smallDiskEnv) == "" {
		t.Skip("run by TestRestoreOntoAFullDisk")
	}
	root := t.TempDir()
	remount := func(flags uintptr, options string) {
		t.Helper()
		testkit.Must(t, unix.Mount("tmpfs", root, "tmpfs", flags, options))
	}
	remount(0, "size=4m,nr_inodes=1000")
	defer unix.Unmount(root, unix.MNT_DETACH)
	from, to := layouttest.Layout{"gone": layouttest.File("old")}, layouttest.Layout{}
	for i := range 30 {
		from[fmt.Sprintf("f%d", i)] = layouttest.File(strings.Repeat("o", 50_000))
		to[fmt.Sprintf("f%d", i)] = layouttest.File(strings.Repeat("n", 50_000))
	}
	to["new/dir/x"] = layouttest.File("new")
	layouttest.LayDown(t, root, from)
	ws := layouttest.OpenWS(t, root)
	defer ws.Close()
	st := memory.NewStorage()
	req := RestoreRequest{Store: st, Workspace: ws, From: layouttest.PutTree(t, st, from), To: layouttest.PutTree(t, st, to), Removable: testkit.Anything}

	remount(unix.MS_REMOUNT, "size=2m,nr_inodes=1000")
	_, err := Restore(t.Context(), req)
	var incomplete *IncompleteError
	if !errors.As(err, &incomplete) || !errors.Is(err, unix.ENOSPC) || incomplete.Touched {
		t.Fatalf("restore onto a full disk: %v", err)
	}
	layouttest.SameLayout(t, "after a full disk", layouttest.ReadBack(t, root), from)

	// Room for 31 staged files and the journal, minus what is deleted, but
	// not for two directories more.
	var fs unix.Statfs_t
	testkit.Must(t, unix.Statfs(root, &fs))
	used := fs.Files - fs.Ffree
	remount(unix.MS_REMOUNT, fmt.Sprintf("size=8m,nr_inodes=%d", used+32))
	_, err = Restore(t.Context(), req)
	if !errors.As(err, &incomplete) || !errors.Is(err, unix.ENOSPC) || !incomplete.Touched {
		t.Fatalf("restore without room for directories: %v", err)
	}
	half := layouttest.ReadBack(t, root)
	onlyFromOrTo(t, "without room for directories", half, from, to)
	if _, ok := half["gone"]; ok {
		t.Fatal("nothing was deleted before the disk was full: the test does not show what it should")
	}
	remount(unix.MS_REMOUNT, "size=8m,nr_inodes=1000")
	_, err = Restore(t.Context(), req)
	testkit.Must(t, err)
	layouttest.SameLayout(t, "finished", layouttest.ReadBack(t, root), to)
}
