//go:build unix

package restore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	gitobject "github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/memory"
	"golang.org/x/sys/unix"

	"hank/checkpoint/internal/layouttest"
	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/packdb"
	"hank/checkpoint/worktree"
	"hank/internal/short"
)

// Trees that no honest program writes are refused before anything is touched,
// on whichever side of the comparison and however deep they stand.
func TestCraftedTreesAreRefusedBeforeAnythingIsTouched(t *testing.T) {
	t.Parallel()
	names := []string{
		".", "..", "../evil", "/etc/evil", "a/b", "../../evil",
		".git", ".GIT", ".Git", ".git ", ".git.", ".git. .", ".git:x", ".git::$INDEX_ALLOCATION", `.git\config`,
		"git~1", "GIT~1", "Git~1.", ".g\u200cit", "\ufeff.git", ".gi\u206at",
		".hankweave-restore-x", ".HANKWEAVE-Rig-new",
	}
	for _, name := range names {
		for _, mode := range []filemode.FileMode{filemode.Regular, filemode.Symlink, filemode.Dir} {
			s := newSite(t, memory.NewStorage(), layouttest.Layout{"file": layouttest.File("1"), "sub/file": layouttest.File("2")})
			before := layouttest.ReadBack(t, s.root)
			entry := gitobject.TreeEntry{Name: name, Mode: mode, Hash: layouttest.PutObject(t, s.st, plumbing.BlobObject, []byte("evil"))}
			if mode == filemode.Dir {
				entry.Hash = plumbing.NewHash(string(layouttest.PutTree(t, s.st, layouttest.Layout{"evil": layouttest.File("evil")})))
			}
			evil := layouttest.PutRawTree(t, s.st, entry)
			deep := layouttest.PutRawTree(t, s.st, gitobject.TreeEntry{Name: "sub", Mode: filemode.Dir, Hash: plumbing.NewHash(string(evil))})
			plain := layouttest.PutTree(t, s.st, before)
			for _, pair := range [][2]packdb.SHA{{plain, evil}, {plain, deep}, {evil, plain}, {deep, plain}, {"", deep}} {
				req := RestoreRequest{Store: s.st, Workspace: s.ws, From: pair[0], To: pair[1], Removable: testkit.Anything}
				_, err := Restore(t.Context(), req)
				var unsafe *packdb.UnsafeTreeError
				if !errors.As(err, &unsafe) {
					t.Fatalf("tree with %q as %v: %v", name, mode, err)
				}
				if _, err := Conflicts(s.st, s.ws, pair[0], pair[1]); !errors.As(err, &unsafe) {
					t.Fatalf("Conflicts of a tree with %q as %v: %v", name, mode, err)
				}
				layouttest.SameLayout(t, name, layouttest.ReadBack(t, s.root), before)
			}
		}
	}
}

// What agents have of such names comes and goes like any other file; what is of the
// execution itself is neither written nor deleted, whatever a tree says.
func TestTheExecutionsOwnFoldersAreNotRestored(t *testing.T) {
	t.Parallel()
	have := layouttest.Layout{".hankweave/state.json": layouttest.File("own"), "sub/.hankweave/state.json": layouttest.File("new"), ".hankweave-b": layouttest.File("1")}
	s := newSite(t, memory.NewStorage(), have)
	s.ws.SetApart(s.path(".hankweave"), s.path("rigArchive"))
	_, err := s.restore(layouttest.Layout{"sub/.hankweave/state.json": layouttest.File("new"), ".hankweave-b": layouttest.File("1")},
		layouttest.Layout{"sub/.hankweave/state.json": layouttest.File("old"), ".hankweave-a": layouttest.File("1"), "sub/rigArchive/x": layouttest.File("1")})
	testkit.Must(t, err)
	want := layouttest.Layout{".hankweave/state.json": layouttest.File("own"), "sub/.hankweave/state.json": layouttest.File("old"), ".hankweave-a": layouttest.File("1"), "sub/rigArchive/x": layouttest.File("1")}
	layouttest.SameLayout(t, "agents' files", layouttest.ReadBack(t, s.root), want)
	for _, name := range []string{".hankweave/state.json", ".HankWeave/events/x", ".hankweave", "rigArchive/x"} {
		var blocked *BlockedError
		if _, err := s.restore(layouttest.Layout{}, layouttest.Layout{name: layouttest.File("evil")}); !errors.As(err, &blocked) {
			t.Errorf("to a tree with %s: %v", name, err)
		}
	}
	_, err = s.restore(layouttest.Layout{".hankweave/state.json": layouttest.File("own")}, layouttest.Layout{})
	testkit.Must(t, err)
	layouttest.SameLayout(t, "the execution's own", layouttest.ReadBack(t, s.root), want)
}

func TestATreeWithOneNameTwiceIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, memory.NewStorage(), layouttest.Layout{})
	blob := layouttest.PutObject(t, s.st, plumbing.BlobObject, []byte("/etc"))
	sub := plumbing.NewHash(string(layouttest.PutTree(t, s.st, layouttest.Layout{"passwd": layouttest.File("evil")})))
	for _, twin := range []string{"a", worktree.EscapeName("a")} {
		to := layouttest.PutRawTree(t, s.st, gitobject.TreeEntry{Name: "a", Mode: filemode.Symlink, Hash: blob},
			gitobject.TreeEntry{Name: "b", Mode: filemode.Regular, Hash: blob},
			gitobject.TreeEntry{Name: twin, Mode: filemode.Dir, Hash: sub})
		_, err := Restore(t.Context(), RestoreRequest{Store: s.st, Workspace: s.ws, To: to})
		var unsafe *packdb.UnsafeTreeError
		if !errors.As(err, &unsafe) {
			t.Errorf("a tree with a and %q: %v", twin, err)
		}
		layouttest.SameLayout(t, "after the refusal", layouttest.ReadBack(t, s.root), layouttest.Layout{})
	}
}

// Escaped names come back as they were, where the file system knows case.
func TestRestoreBringsEscapedNamesBack(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".GIT", "git~1", ".git ", ".git:x"} {
		s := newSite(t, memory.NewStorage(), layouttest.Layout{})
		if testkit.Must(t, os.WriteFile(s.path("case"), nil, 0o644)); exists(s.path("CASE")) {
			t.Skip("the file system ignores case")
		}
		stored := layouttest.Layout{"d/" + worktree.EscapeName(name) + "/config": layouttest.File("1"), worktree.EscapeName(name + "x"): layouttest.File("2")}
		_, err := s.restore(layouttest.Layout{}, stored)
		testkit.Must(t, err)
		testkit.Must(t, os.Remove(s.path("case")))
		layouttest.SameLayout(t, "restore", layouttest.ReadBack(t, s.root), layouttest.Layout{"d/" + name + "/config": layouttest.File("1"), name + "x": layouttest.File("2")})
		_, err = s.restore(stored, layouttest.Layout{})
		testkit.Must(t, err)
		layouttest.SameLayout(t, "restore back", layouttest.ReadBack(t, s.root), layouttest.Layout{})
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// A symlink in the place of a directory is never followed, wherever it leads.
func TestRestoreNeverFollowsASymlink(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	layouttest.LayDown(t, outside, layouttest.Layout{"victim": layouttest.File("precious"), "sub/victim": layouttest.File("precious")})
	was := layouttest.ReadBack(t, outside)
	from := layouttest.Layout{"dir/victim": layouttest.File("precious"), "dir/sub/victim": layouttest.File("precious"), "inside/victim": layouttest.File("precious"), "inside/sub/victim": layouttest.File("precious")}
	for _, target := range []string{outside, "inside", "../" + filepath.Base(outside), ".", "/"} {
		for _, to := range []layouttest.Layout{
			{"dir/victim": layouttest.File("evil"), "dir/new": layouttest.File("evil"), "dir/sub/new/x": layouttest.File("evil"), "inside/victim": layouttest.File("precious"), "inside/sub/victim": layouttest.File("precious")},
			{"inside/victim": layouttest.File("precious"), "inside/sub/victim": layouttest.File("precious")}, // deletes below dir
		} {
			s := newSite(t, memory.NewStorage(), from)
			testkit.Must(t, os.RemoveAll(s.path("dir")))
			testkit.Must(t, os.Symlink(target, s.path("dir")))
			before := layouttest.ReadBack(t, s.root)
			_, err := s.restore(from, to)
			var blocked *BlockedError
			if _, writes := to["dir/new"]; writes && !errors.As(err, &blocked) {
				t.Errorf("dir leads to %s: %v", target, err)
			}
			layouttest.SameLayout(t, "workspace", layouttest.ReadBack(t, s.root), before)
			layouttest.SameLayout(t, "outside", layouttest.ReadBack(t, outside), was)
		}
	}
}

// A process that swaps a directory for a symlink, again and again, while
// restores run cannot make them write or delete outside.
func TestRestoreUnderARacingSymlinkNeverLeavesTheRoot(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	rounds := 30
	if os.Getenv(testkit.LongEnv) != "" {
		rounds = 10_000
	}
	for _, byComponent := range []bool{false, true} {
		s := newSite(t, memory.NewStorage(), layouttest.Layout{"d/e/x": layouttest.File("1"), "d/y": layouttest.File("1")})
		outside := t.TempDir()
		layouttest.LayDown(t, outside, layouttest.Layout{"e/x": layouttest.File("precious"), "y": layouttest.File("precious"), "x": layouttest.File("precious")})
		was := layouttest.ReadBack(t, outside)
		a, b := layouttest.Layout{"d/e/x": layouttest.File("1"), "d/y": layouttest.File("1")}, layouttest.Layout{"d/e/x": layouttest.File("2"), "d/e/new": layouttest.File("3"), "d/e/n/ew": layouttest.File("4")}
		there, back := s.request(a, b), s.request(b, a)
		stop, done := make(chan struct{}), sync.WaitGroup{}
		done.Go(func() {
			testkit.Must(t, os.Symlink(outside, s.path("l")))
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				dir := []string{"d", "d/e"}[i%2]
				swapAndBack(s.ws.Fd(), dir)
			}
		})
		for range rounds {
			// The outcome is free: success, refusal or incomplete.
			_, _ = Restore(t.Context(), there)
			_, _ = Restore(t.Context(), back)
			if byComponent {
				if fd, err := worktree.OpenByComponent(s.ws.Fd(), "d/e"); err == nil {
					inside(t, s.ws.Fd(), fd)
					unix.Close(fd)
				}
			}
		}
		close(stop)
		done.Wait()
		layouttest.SameLayout(t, "outside", layouttest.ReadBack(t, outside), was)
	}
}

// inside fails if the directory fd has no way up to the directory root.
func inside(t *testing.T, root, fd int) {
	t.Helper()
	var want, at, last unix.Stat_t
	testkit.Must(t, unix.Fstat(root, &want))
	up := fd
	for {
		next, err := unix.Openat(up, "..", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if up != fd {
			unix.Close(up)
		}
		testkit.Must(t, err)
		testkit.Must(t, unix.Fstat(next, &at))
		if up = next; at.Ino == want.Ino && at.Dev == want.Dev {
			break
		}
		if at.Ino == last.Ino && at.Dev == last.Dev {
			t.Fatal("opened a directory outside the root")
		}
		last = at
	}
	unix.Close(up)
}

// swapAndBack puts the symlink l in the place of dir for a moment.
func swapAndBack(root int, dir string) {
	if unix.Renameat(root, dir, root, "aside") != nil {
		return
	}
	_ = unix.Renameat(root, "l", root, dir)
	_ = unix.Renameat(root, dir, root, "l")
	_ = unix.Renameat(root, "aside", root, dir)
}

// A journal that an agent left lying around is no way out of the root either.
func TestAForgedJournalStaysInsideTheRoot(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	layouttest.LayDown(t, outside, layouttest.Layout{worktree.TempPrefix + "x": layouttest.File("precious")})
	testkit.Must(t, os.Chmod(outside, 0o755))
	s := newSite(t, memory.NewStorage(), layouttest.Layout{"a": layouttest.File("1")})
	testkit.Must(t, os.Symlink(outside, s.path("l")))
	text := strings.Join([]string{"0 ../" + filepath.Base(outside), "0 l", "0 " + outside, "nonsense", "99999 x", "0", "755 ", ""}, "\x00")
	testkit.Must(t, os.WriteFile(s.path(worktree.JournalName), []byte(text), 0o600))
	_, err := s.restore(layouttest.Layout{"a": layouttest.File("1")}, layouttest.Layout{"a": layouttest.File("2")})
	testkit.Must(t, err)
	layouttest.SameLayout(t, "workspace", layouttest.ReadBack(t, s.root), layouttest.Layout{"a": layouttest.File("2"), "l": layouttest.Link(outside)})
	info, err := os.Stat(outside)
	testkit.Must(t, err)
	if info.Mode().Perm() != 0o755 || !exists(filepath.Join(outside, worktree.TempPrefix+"x")) {
		t.Error("the journal reached outside")
	}

	for _, kind := range []string{"directory", "fifo", "symlink"} {
		s := newSite(t, memory.NewStorage(), layouttest.Layout{"a": layouttest.File("1")})
		switch kind {
		case "directory":
			testkit.Must(t, os.Mkdir(s.path(worktree.JournalName), 0o755))
		case "fifo":
			testkit.Must(t, unix.Mkfifo(s.path(worktree.JournalName), 0o644))
		default:
			testkit.Must(t, os.Symlink(filepath.Join(outside, worktree.TempPrefix+"x"), s.path(worktree.JournalName)))
		}
		if _, err := s.restore(layouttest.Layout{"a": layouttest.File("1")}, layouttest.Layout{"a": layouttest.File("2")}); err == nil || !strings.Contains(err.Error(), worktree.JournalName) {
			t.Errorf("a %s in the journal's place: %v", kind, err)
		}
		if got, _ := os.ReadFile(s.path("a")); string(got) != "1" {
			t.Errorf("a %s in the journal's place: the workspace was touched", kind)
		}
	}
}

func TestRestoreRefusesDamagedBlobsBeforeAnythingIsTouched(t *testing.T) {
	t.Parallel()
	from := layouttest.Layout{"a": layouttest.File("1"), "b": layouttest.File("1"), "c": layouttest.Link("1")}
	to := layouttest.Layout{"a": layouttest.File("2"), "b": layouttest.Exe("other"), "c": layouttest.Link("elsewhere")}
	for _, path := range []string{"b", "c"} {
		h := plumbing.ComputeHash(plumbing.BlobObject, []byte(to[path].Data))
		damages := map[string]func(*memory.Storage){
			"is missing": func(st *memory.Storage) {
				delete(st.ObjectStorage.Objects, h)
				delete(st.ObjectStorage.Blobs, h)
			},
			"has other content": func(st *memory.Storage) {
				o := st.NewEncodedObject()
				o.SetType(plumbing.BlobObject)
				w, err := o.Writer()
				testkit.Must(t, err)
				_, err = w.Write([]byte("damaged"))
				testkit.Must(t, err)
				st.ObjectStorage.Objects[h], st.ObjectStorage.Blobs[h] = o, o
			},
		}
		for how, damage := range damages {
			st := memory.NewStorage()
			s := newSite(t, st, from)
			req := s.request(from, to)
			damage(st)
			_, err := Restore(t.Context(), req)
			var incomplete *IncompleteError
			if !errors.As(err, &incomplete) || incomplete.Touched {
				t.Fatalf("the blob of %s %s: %v", path, how, err)
			}
			layouttest.SameLayout(t, "after the refusal", layouttest.ReadBack(t, s.root), from)
		}
	}
}
