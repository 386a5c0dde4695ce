//go:build unix

package checkpoint_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"hank/checkpoint"
	"hank/checkpoint/internal/checkpointtest"
	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/packdb"
	"hank/checkpoint/repair"
	"hank/checkpoint/scan"
	"hank/checkpoint/worktree"
	"hank/internal/race"
	"hank/internal/short"
)

func TestEveryCheckpointEqualsATreeMadeByReadingEveryByte(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	names := []string{"a", "b c", "d/e", "d/f", "d/g/h", "-x", "new\nline", "\xff\xfe", strings.Repeat("n", 255), "émoji☃", "d/-", "z/y/x/w/v/u", "empty", "a.b", "a/b", "a0"}
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := checkpointtest.NewRig(t)
			rng := rand.New(rand.NewPCG(seed, 1))
			for range 25 {
				for range 1 + rng.IntN(4) {
					checkpointtest.Mutate(r, rng, names)
				}
				snap := r.Snapshot(checkpoint.Selection{All: true})
				if want := r.Oracle(); snap.Tree != want {
					t.Fatalf("tree %s, stock git says %s", snap.Tree, want)
				}
				r.Commit(snap)
				if rng.IntN(4) == 0 { // a new process
					if err := r.Store.Close(); err != nil {
						t.Fatal(err)
					}
					var err error
					if r.Store, err = checkpoint.Open(r.Opts); err != nil {
						t.Fatal(err)
					}
				}
			}
			r.CheckWithStockGit(25)
		})
	}
}

func TestStockGitChecksOutWhatWasRecorded(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	r.Write("a/b", "text\r\n")
	r.Write("run", "#!/bin/sh\n")
	if err := errors.Join(os.Chmod(r.Path("run"), 0o755), os.Symlink("a/b", r.Path("link"))); err != nil {
		t.Fatal(err)
	}
	large := bytes.Repeat([]byte("0123456789abcdef"), 200_000) // streamed
	if err := os.WriteFile(r.Path("large"), large, 0o644); err != nil {
		t.Fatal(err)
	}
	r.Commit(r.Snapshot(checkpoint.Selection{All: true}))
	out := filepath.Join(t.TempDir(), "out")
	testkit.Stock(t, "clone", "-q", r.Opts.Dir, out)
	got, err := os.ReadFile(filepath.Join(out, "large"))
	if err != nil || !bytes.Equal(got, large) {
		t.Errorf("the large file differs (%v)", err)
	}
	if text, _ := os.ReadFile(filepath.Join(out, "a/b")); string(text) != "text\r\n" {
		t.Errorf("%q", text)
	}
	if link, _ := os.Readlink(filepath.Join(out, "link")); link != "a/b" {
		t.Errorf("link to %q", link)
	}
	if fi, err := os.Stat(filepath.Join(out, "run")); err != nil || fi.Mode()&0o100 == 0 {
		t.Error("the exec bit is lost")
	}
}

func TestWhatIsIgnoredWasRecordedOrIsWantedDecides(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	r.Write("kept.log", "1")
	r.Write("dir/deep.log", "1")
	r.Commit(r.Snapshot(checkpoint.Selection{All: true}))
	r.Write(".gitignore", "*.log\nout/\n")
	r.Write("new.log", "2")
	r.Write("out/x", "3")
	r.Write("kept.log", "changed")
	files := func(s *checkpoint.Snapshot) string {
		var names []string
		if err := r.Store.Walk(s.Tree, func(p string, _ testkit.FSMode, _ checkpoint.SHA) error { names = append(names, p); return nil }); err != nil {
			t.Fatal(err)
		}
		return strings.Join(names, " ")
	}
	if got, want := files(r.Snapshot(checkpoint.Selection{All: true})), ".gitignore dir/deep.log kept.log"; got != want {
		t.Errorf("%s, want %s: a recorded file stays recorded", got, want)
	}
	if got, want := files(r.Snapshot(checkpoint.Selection{All: true}, "out/x", "new.log")), ".gitignore dir/deep.log kept.log new.log out/x"; got != want {
		t.Errorf("%s, want %s: what must be included is", got, want)
	}
	if got, want := files(r.Snapshot(checkpoint.Selection{Patterns: []string{"dir"}})), "dir/deep.log"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := files(r.Snapshot(checkpoint.Selection{Patterns: []string{"*", "!kept.log"}})), ".gitignore"; !strings.HasPrefix(got, want) || strings.Contains(got, "kept") {
		t.Errorf("%s, want %s", got, want)
	}
	if got := files(r.Snapshot(checkpoint.Selection{})); got != "" {
		t.Errorf("nothing selected, and %s recorded", got)
	}
	if got, want := files(r.Snapshot(checkpoint.Selection{All: true, Never: []string{"dir"}})), ".gitignore kept.log"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestTheProjectsOwnRepositoryIsNeitherRecordedNorTouched(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	testkit.Stock(t, "init", "-q", r.Ws.Path())
	r.Write("tracked.log", "x")
	r.Write(".gitignore", "*.log\n")
	testkit.Stock(t, "-C", r.Ws.Path(), "add", "-f", ".")
	r.Write("sub/.git/HEAD", "ref: refs/heads/x\n")
	r.Write("sub/file", "in a nested repository")
	before := testkit.Stock(t, "-C", r.Ws.Path(), "hash-object", "--no-filters", ".git/index", ".git/HEAD", ".git/config")
	snap := r.Snapshot(checkpoint.Selection{All: true})
	var names []string
	if err := r.Store.Walk(snap.Tree, func(p string, _ testkit.FSMode, _ checkpoint.SHA) error { names = append(names, p); return nil }); err != nil {
		t.Fatal(err)
	}
	if want := []string{".gitignore", "sub/file", "tracked.log"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	if !slices.Equal(snap.Nested, []string{"sub"}) {
		t.Errorf("nested: %q", snap.Nested)
	}
	if after := testkit.Stock(t, "-C", r.Ws.Path(), "hash-object", "--no-filters", ".git/index", ".git/HEAD", ".git/config"); after != before {
		t.Error("the project's own .git was changed")
	}
}

func TestForbiddenNamesAreKeptEscapedAndNamed(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	for _, name := range []string{".GIT/x", "git~1", ".git ", ".gitmodules"} {
		r.Write(name, "[submodule \"../x\"]\n\tpath = -x\n")
	}
	snap := r.Snapshot(checkpoint.Selection{All: true})
	r.Commit(snap)
	if len(snap.Escaped) != 4 {
		t.Errorf("escaped: %v", snap.Escaped)
	}
	r.CheckWithStockGit(1)
	got := map[string]bool{}
	if err := r.Store.Walk(snap.Tree, func(p string, _ testkit.FSMode, _ checkpoint.SHA) error { got[p] = true; return nil }); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{".GIT/x", "git~1", ".git ", ".gitmodules"} {
		if !got[want] {
			t.Errorf("%q is lost: %v", want, got)
		}
	}
}

func TestSocketsAndFIFOsAreNamedAndNothingHangs(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	r.Write("f", "x")
	testkit.Mkfifo(t, r.Path("pipe"))
	short, err := os.MkdirTemp("", "s") // the path of a socket is short
	testkit.Must(t, err)
	defer os.RemoveAll(short)
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(short, "socket"), Net: "unix"})
	testkit.Must(t, err)
	defer socket.Close()
	testkit.Must(t, os.Rename(filepath.Join(short, "socket"), r.Path("socket")))
	snap := r.Snapshot(checkpoint.Selection{All: true})
	slices.SortFunc(snap.Skipped, func(a, b scan.Skipped) int { return strings.Compare(a.Path, b.Path) })
	if want := []scan.Skipped{{Path: "pipe", Why: "a FIFO"}, {Path: "socket", Why: "a socket"}}; !slices.Equal(snap.Skipped, want) || snap.Files != 1 {
		t.Errorf("%+v", snap)
	}
}

func TestAFileThatKeepsChangingIsAnErrorAndNothingIsRecorded(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(t *testing.T, name string){
		"grows":   func(t *testing.T, name string) { appendTo(t, name, "x") },
		"shrinks": func(t *testing.T, name string) { testkit.Must(t, os.Truncate(name, max(0, sizeOf(t, name)-1))) },
		"is rewritten": func(t *testing.T, name string) {
			testkit.Must(t, os.WriteFile(name, bytes.Repeat([]byte("y"), int(sizeOf(t, name))), 0o644))
		},
		"has its mode changed": func(t *testing.T, name string) { testkit.Must(t, os.Chmod(name, 0o600)) },
	} {
		for _, size := range []int{5, packdb.InMemory + 5} {
			t.Run(fmt.Sprintf("%s, %d bytes", what, size), func(t *testing.T) {
				t.Parallel()
				r := checkpointtest.NewRig(t)
				r.Write("ok", "x")
				r.Write("d/changing", strings.Repeat("a", size))
				r.Age()
				reads := 0
				r.Store.Reading = func(name string) {
					if name == "changing" {
						reads++
						r.Age() // so that the change time moves
						change(t, r.Path("d/changing"))
					}
				}
				_, err := r.Store.Snapshot(context.Background(), checkpoint.SnapshotRequest{Workspace: r.Ws, Selection: checkpoint.Selection{All: true}})
				var unstable *checkpoint.UnstableError
				if !errors.As(err, &unstable) || unstable.Path != "d/changing" || reads != scan.Attempts {
					t.Fatalf("got %v after %d reads", err, reads)
				}
				r.Store.Abort()
				if left, _ := filepath.Glob(filepath.Join(r.Opts.Dir, "objects/pack/*")); len(left) != 0 {
					t.Errorf("left behind: %v", left)
				}
				r.Store.Reading = nil
				if got, want := r.Snapshot(checkpoint.Selection{All: true}).Tree, r.Oracle(); got != want {
					t.Errorf("once it is quiet: %s, want %s", got, want)
				}
			})
		}
	}
}

func TestAFileThatBecomesSomethingElseWhileItIsReadIsNotRecordedAsItWas(t *testing.T) {
	t.Parallel()
	for what, become := range map[string]func(string) error{
		"folder": func(name string) error { return os.Mkdir(name, 0o755) },
		"link":   func(name string) error { return os.Symlink("/etc/passwd", name) },
		"FIFO":   func(name string) error { testkit.Mkfifo(t, name); return nil },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			r := checkpointtest.NewRig(t)
			r.Write("f", "text")
			once := sync.OnceFunc(func() {
				testkit.Must(t, os.Remove(r.Path("f")))
				testkit.Must(t, become(r.Path("f")))
			})
			r.Store.Reading = func(string) { once() }
			snap, err := r.Store.Snapshot(context.Background(), checkpoint.SnapshotRequest{Workspace: r.Ws, Selection: checkpoint.Selection{All: true}})
			var unstable *checkpoint.UnstableError
			switch {
			case errors.As(err, &unstable):
			case err != nil:
				t.Fatal(err)
			case what != "link" || snap.Tree != r.Oracle():
				t.Errorf("recorded %+v", snap)
			}
		})
	}
}

func sizeOf(t *testing.T, name string) int64 {
	t.Helper()
	fi, err := os.Stat(name)
	testkit.Must(t, err)
	return fi.Size()
}

func appendTo(t *testing.T, name, text string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	testkit.Must(t, err)
	_, err = f.WriteString(text)
	testkit.Must(t, errors.Join(err, f.Close()))
}

func TestReferencesMoveOnlyFromWhereTheyAre(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	r.Write("a", "1")
	one := r.Commit(r.Snapshot(checkpoint.Selection{All: true}))
	r.Write("a", "2")
	two := r.Commit(r.Snapshot(checkpoint.Selection{All: true}))
	var conflict *checkpoint.RefConflictError
	if err := r.Store.SetRef("refs/heads/main", one, two); !errors.As(err, &conflict) || conflict.Have != two {
		t.Errorf("got %v", err)
	}
	var wins, losses int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 20 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			err := r.Store.SetRef("refs/heads/main", two, one)
			var locked *checkpoint.LockedError
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				wins++
			case errors.As(err, &conflict), errors.As(err, &locked):
				losses++
			default:
				t.Error(err)
			}
		}()
	}
	wg.Wait()
	if wins != 1 || losses != 19 {
		t.Errorf("%d wins, %d losses", wins, losses)
	}
	testkit.Stock(t, "--git-dir="+r.Opts.Dir, "pack-refs", "--all")
	if got, err := r.Store.Ref("refs/heads/main"); err != nil || got != one {
		t.Errorf("packed by git: %s %v", got, err)
	}
	if err := r.Store.SetRef("refs/heads/main", one, ""); err != nil {
		t.Error(err)
	}
	if got, err := r.Store.Ref("refs/heads/main"); err != nil || got != "" {
		t.Errorf("removed, and still %q %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(r.Opts.Dir, "refs/heads/zero"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var damaged *checkpoint.DamagedError
	if _, err := r.Store.Ref("refs/heads/zero"); !errors.As(err, &damaged) {
		t.Errorf("an empty reference: %v", err)
	}
	for _, bad := range []string{"refs/heads/../x", "HEAD", "refs/heads/a b", "/x", "refs/heads/x.lock"} {
		if err := r.Store.SetRef(bad, "", one); err == nil {
			t.Errorf("%q was made", bad)
		}
	}
}

// A power cut after every call that changes the disk leaves the store whole,
// with the reference where it was or where it was going.
func TestACrashAtAnyCallLosesNoCommitThatWasReturned(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	ws := t.TempDir()
	w, err := worktree.OpenWorkspace(ws)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	checkpointtest.CrashStore(t, w, func(_ *checkpoint.Store, write func(string)) { write("one"); write("two"); write("three") })
}

func TestAnyFlippedByteOfAPackIsNoticed(t *testing.T) {
	t.Parallel()
	race.Without(t)
	short.Skip(t)
	r := checkpointtest.NewRig(t)
	r.Write("a", "some text that is deflated")
	r.Commit(r.Snapshot(checkpoint.Selection{All: true}))
	packs, err := filepath.Glob(filepath.Join(r.Opts.Dir, "objects/pack/pack-*"))
	if err != nil || len(packs) != 3 {
		t.Fatalf("there are a pack, its index and its mark: %q, %v", packs, err)
	}
	for _, name := range packs {
		good, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		put := func(text []byte) {
			if err := errors.Join(os.Chmod(name, 0o600), os.WriteFile(name, text, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		for i := range good {
			bad := bytes.Clone(good)
			bad[i] ^= 1 << (i % 8)
			put(bad)
			s, err := checkpoint.Open(checkpoint.Options{Dir: r.Opts.Dir, ReadOnly: true})
			if err != nil {
				continue
			}
			unfit := len(s.Unindexed()) // an index is made again, from its pack
			if report, err := repair.Check(context.Background(), s.DB); err == nil && report.IsComplete() != (unfit > 0) || (unfit > 0) != strings.HasSuffix(name, ".idx") {
				t.Fatalf("%s: flipping byte %d: %d indexes are damaged, %v, %v", filepath.Base(name), i, unfit, report.Problems, err)
			}
			s.Close()
		}
		put(good)
	}
}
