//go:build unix

package checkpoint

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
			s := newSite(t, memory.NewStorage(), layout{"file": file("1"), "sub/file": file("2")})
			before := readBack(t, s.root)
			entry := gitobject.TreeEntry{Name: name, Mode: mode, Hash: putObject(t, s.st, plumbing.BlobObject, []byte("evil"))}
			if mode == filemode.Dir {
				entry.Hash = plumbing.NewHash(string(putTree(t, s.st, layout{"evil": file("evil")})))
			}
			evil := putRawTree(t, s.st, entry)
			deep := putRawTree(t, s.st, gitobject.TreeEntry{Name: "sub", Mode: filemode.Dir, Hash: plumbing.NewHash(string(evil))})
			plain := putTree(t, s.st, before)
			for _, pair := range [][2]SHA{{plain, evil}, {plain, deep}, {evil, plain}, {deep, plain}, {"", deep}} {
				req := RestoreRequest{Store: s.st, Workspace: s.ws, From: pair[0], To: pair[1], Removable: anything}
				_, err := Restore(t.Context(), req)
				var unsafe *UnsafeTreeError
				if !errors.As(err, &unsafe) {
					t.Fatalf("tree with %q as %v: %v", name, mode, err)
				}
				if _, err := PathsInTheWay(s.st, s.ws, pair[0], pair[1]); !errors.As(err, &unsafe) {
					t.Fatalf("PathsInTheWay of a tree with %q as %v: %v", name, mode, err)
				}
				sameLayout(t, name, readBack(t, s.root), before)
			}
		}
	}
}

// What agents have of such names comes and goes like any other file; what is of the
// execution itself is neither written nor deleted, whatever a tree says.
func TestTheExecutionsOwnFoldersAreNotRestored(t *testing.T) {
	t.Parallel()
	have := layout{".hankweave/state.json": file("own"), "sub/.hankweave/state.json": file("new"), ".hankweave-b": file("1")}
	s := newSite(t, memory.NewStorage(), have)
	s.ws.SetApart(s.path(".hankweave"), s.path("rigArchive"))
	_, err := s.restore(layout{"sub/.hankweave/state.json": file("new"), ".hankweave-b": file("1")},
		layout{"sub/.hankweave/state.json": file("old"), ".hankweave-a": file("1"), "sub/rigArchive/x": file("1")})
	must(t, err)
	want := layout{".hankweave/state.json": file("own"), "sub/.hankweave/state.json": file("old"), ".hankweave-a": file("1"), "sub/rigArchive/x": file("1")}
	sameLayout(t, "agents' files", readBack(t, s.root), want)
	for _, name := range []string{".hankweave/state.json", ".HankWeave/events/x", ".hankweave", "rigArchive/x"} {
		var blocked *BlockedError
		if _, err := s.restore(layout{}, layout{name: file("evil")}); !errors.As(err, &blocked) {
			t.Errorf("to a tree with %s: %v", name, err)
		}
	}
	_, err = s.restore(layout{".hankweave/state.json": file("own")}, layout{})
	must(t, err)
	sameLayout(t, "the execution's own", readBack(t, s.root), want)
}

func TestATreeWithOneNameTwiceIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, memory.NewStorage(), layout{})
	blob := putObject(t, s.st, plumbing.BlobObject, []byte("/etc"))
	sub := plumbing.NewHash(string(putTree(t, s.st, layout{"passwd": file("evil")})))
	for _, twin := range []string{"a", escapeName("a")} {
		to := putRawTree(t, s.st, gitobject.TreeEntry{Name: "a", Mode: filemode.Symlink, Hash: blob},
			gitobject.TreeEntry{Name: "b", Mode: filemode.Regular, Hash: blob},
			gitobject.TreeEntry{Name: twin, Mode: filemode.Dir, Hash: sub})
		_, err := Restore(t.Context(), RestoreRequest{Store: s.st, Workspace: s.ws, To: to})
		var unsafe *UnsafeTreeError
		if !errors.As(err, &unsafe) {
			t.Errorf("a tree with a and %q: %v", twin, err)
		}
		sameLayout(t, "after the refusal", readBack(t, s.root), layout{})
	}
}

// Escaped names come back as they were, where the file system knows case.
func TestRestoreBringsEscapedNamesBack(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".GIT", "git~1", ".git ", ".git:x"} {
		s := newSite(t, memory.NewStorage(), layout{})
		if must(t, os.WriteFile(s.path("case"), nil, 0o644)); exists(s.path("CASE")) {
			t.Skip("the file system ignores case")
		}
		stored := layout{"d/" + escapeName(name) + "/config": file("1"), escapeName(name + "x"): file("2")}
		_, err := s.restore(layout{}, stored)
		must(t, err)
		must(t, os.Remove(s.path("case")))
		sameLayout(t, "restore", readBack(t, s.root), layout{"d/" + name + "/config": file("1"), name + "x": file("2")})
		_, err = s.restore(stored, layout{})
		must(t, err)
		sameLayout(t, "restore back", readBack(t, s.root), layout{})
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
	layDown(t, outside, layout{"victim": file("precious"), "sub/victim": file("precious")})
	was := readBack(t, outside)
	from := layout{"dir/victim": file("precious"), "dir/sub/victim": file("precious"), "inside/victim": file("precious"), "inside/sub/victim": file("precious")}
	for _, target := range []string{outside, "inside", "../" + filepath.Base(outside), ".", "/"} {
		for _, to := range []layout{
			{"dir/victim": file("evil"), "dir/new": file("evil"), "dir/sub/new/x": file("evil"), "inside/victim": file("precious"), "inside/sub/victim": file("precious")},
			{"inside/victim": file("precious"), "inside/sub/victim": file("precious")}, // deletes below dir
		} {
			s := newSite(t, memory.NewStorage(), from)
			must(t, os.RemoveAll(s.path("dir")))
			must(t, os.Symlink(target, s.path("dir")))
			before := readBack(t, s.root)
			_, err := s.restore(from, to)
			var blocked *BlockedError
			if _, writes := to["dir/new"]; writes && !errors.As(err, &blocked) {
				t.Errorf("dir leads to %s: %v", target, err)
			}
			sameLayout(t, "workspace", readBack(t, s.root), before)
			sameLayout(t, "outside", readBack(t, outside), was)
		}
	}
}

// longEnv makes the tests that race take minutes instead of seconds.
const longEnv = "HANK_LONG"

// A process that swaps a directory for a symlink, again and again, while
// restores run cannot make them write or delete outside.
func TestRestoreUnderARacingSymlinkNeverLeavesTheRoot(t *testing.T) {
	t.Parallel()
	rounds := 30
	if os.Getenv(longEnv) != "" {
		rounds = 10_000
	}
	for _, byComponent := range []bool{false, true} {
		s := newSite(t, memory.NewStorage(), layout{"d/e/x": file("1"), "d/y": file("1")})
		outside := t.TempDir()
		layDown(t, outside, layout{"e/x": file("precious"), "y": file("precious"), "x": file("precious")})
		was := readBack(t, outside)
		a, b := layout{"d/e/x": file("1"), "d/y": file("1")}, layout{"d/e/x": file("2"), "d/e/new": file("3"), "d/e/n/ew": file("4")}
		there, back := s.request(a, b), s.request(b, a)
		stop, done := make(chan struct{}), sync.WaitGroup{}
		done.Go(func() {
			must(t, os.Symlink(outside, s.path("l")))
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
				if fd, err := openByComponent(s.ws.Fd(), "d/e"); err == nil {
					inside(t, s.ws.Fd(), fd)
					unix.Close(fd)
				}
			}
		}
		close(stop)
		done.Wait()
		sameLayout(t, "outside", readBack(t, outside), was)
	}
}

// inside fails if the directory fd has no way up to the directory root.
func inside(t *testing.T, root, fd int) {
	t.Helper()
	var want, at, last unix.Stat_t
	must(t, unix.Fstat(root, &want))
	up := fd
	for {
		next, err := unix.Openat(up, "..", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if up != fd {
			unix.Close(up)
		}
		must(t, err)
		must(t, unix.Fstat(next, &at))
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
	layDown(t, outside, layout{tempPrefix + "x": file("precious")})
	must(t, os.Chmod(outside, 0o755))
	s := newSite(t, memory.NewStorage(), layout{"a": file("1")})
	must(t, os.Symlink(outside, s.path("l")))
	text := strings.Join([]string{"0 ../" + filepath.Base(outside), "0 l", "0 " + outside, "nonsense", "99999 x", "0", "755 ", ""}, "\x00")
	must(t, os.WriteFile(s.path(journalName), []byte(text), 0o600))
	_, err := s.restore(layout{"a": file("1")}, layout{"a": file("2")})
	must(t, err)
	sameLayout(t, "workspace", readBack(t, s.root), layout{"a": file("2"), "l": link(outside)})
	info, err := os.Stat(outside)
	must(t, err)
	if info.Mode().Perm() != 0o755 || !exists(filepath.Join(outside, tempPrefix+"x")) {
		t.Error("the journal reached outside")
	}

	for _, kind := range []string{"directory", "fifo", "symlink"} {
		s := newSite(t, memory.NewStorage(), layout{"a": file("1")})
		switch kind {
		case "directory":
			must(t, os.Mkdir(s.path(journalName), 0o755))
		case "fifo":
			must(t, unix.Mkfifo(s.path(journalName), 0o644))
		default:
			must(t, os.Symlink(filepath.Join(outside, tempPrefix+"x"), s.path(journalName)))
		}
		if _, err := s.restore(layout{"a": file("1")}, layout{"a": file("2")}); err == nil || !strings.Contains(err.Error(), journalName) {
			t.Errorf("a %s in the journal's place: %v", kind, err)
		}
		if got, _ := os.ReadFile(s.path("a")); string(got) != "1" {
			t.Errorf("a %s in the journal's place: the workspace was touched", kind)
		}
	}
}

func TestRestoreRefusesDamagedBlobsBeforeAnythingIsTouched(t *testing.T) {
	t.Parallel()
	from := layout{"a": file("1"), "b": file("1"), "c": link("1")}
	to := layout{"a": file("2"), "b": exe("other"), "c": link("elsewhere")}
	for _, path := range []string{"b", "c"} {
		h := plumbing.ComputeHash(plumbing.BlobObject, []byte(to[path].data))
		damages := map[string]func(*memory.Storage){
			"is missing": func(st *memory.Storage) {
				delete(st.ObjectStorage.Objects, h)
				delete(st.ObjectStorage.Blobs, h)
			},
			"has other content": func(st *memory.Storage) {
				o := st.NewEncodedObject()
				o.SetType(plumbing.BlobObject)
				w, err := o.Writer()
				must(t, err)
				_, err = w.Write([]byte("damaged"))
				must(t, err)
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
			sameLayout(t, "after the refusal", readBack(t, s.root), from)
		}
	}
}
