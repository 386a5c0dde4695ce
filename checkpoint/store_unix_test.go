//go:build unix

package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hank/internal/vfs"
	"hank/internal/vfs/vfstest"
)

// stock runs git without anybody's configuration.
func stock(t testing.TB, args ...string) string {
	t.Helper()
	out, err := stockCommand(args...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func stockCommand(args ...string) *exec.Cmd {
	cmd := exec.Command("git", args...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CEILING_DIRECTORIES=/",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	return cmd
}

type rig struct {
	t     testing.TB
	ws    *Workspace
	store *Store
	opts  Options
	tip   SHA
}

func newRig(t testing.TB) *rig {
	t.Helper()
	return newRigIn(t, t.TempDir())
}

// newRigIn makes workspace and store in a folder of the caller's.
func newRigIn(t testing.TB, dir string) *rig {
	t.Helper()
	ws := filepath.Join(dir, "ws")
	if err := os.Mkdir(ws, 0o755); err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, opts: Options{Dir: filepath.Join(dir, "store"), CacheFile: filepath.Join(dir, "cache"), BootID: "boot"}}
	var err error
	if r.store, err = Init(r.opts); err != nil {
		t.Fatal(err)
	}
	if r.ws, err = OpenWorkspace(ws); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.store.Close(); r.ws.Close() })
	return r
}

func (r *rig) path(name string) string { return filepath.Join(r.ws.Path(), name) }

func (r *rig) write(name, text string) {
	r.t.Helper()
	if err := os.MkdirAll(filepath.Dir(r.path(name)), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(r.path(name), []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) snapshot(sel Selection, include ...string) *Snapshot {
	r.t.Helper()
	snap, err := r.store.Snapshot(context.Background(), SnapshotRequest{Workspace: r.ws, Selection: sel, Base: r.tip, MustInclude: include})
	if err != nil {
		r.t.Fatal(err)
	}
	return snap
}

func (r *rig) commit(snap *Snapshot) SHA {
	r.t.Helper()
	req := CommitRequest{Tree: snap.Tree, Message: "m\n", When: time.Unix(1_700_000_000, 0)}
	if r.tip != "" {
		req.Parents = []SHA{r.tip}
	}
	sha, err := r.store.Commit(context.Background(), req)
	if err == nil {
		err = r.store.SetRef("refs/heads/main", r.tip, sha)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.tip = sha
	return sha
}

// oracle builds the tree with stock git, which reads every byte into an index
// of its own.
func (r *rig) oracle() SHA {
	r.t.Helper()
	dir := filepath.Join(r.t.TempDir(), "oracle")
	stock(r.t, "init", "-q", "--bare", dir)
	base := []string{"--git-dir=" + dir, "--work-tree=" + r.ws.Path(), "-c", "core.autocrlf=false", "-c", "core.bare=false", "-c", "core.protectHFS=false", "-c", "core.protectNTFS=false"}
	stock(r.t, append(base, "add", "-A", ".")...)
	return SHA(strings.TrimSpace(stock(r.t, append(base, "write-tree")...)))
}

// mutate changes the workspace in a way that a careless scan might miss.
func mutate(r *rig, rng *rand.Rand, names []string) {
	name := names[rng.IntN(len(names))]
	full := r.path(name)
	switch rng.IntN(8) {
	case 0, 1:
		os.RemoveAll(full)
		r.write(name, fmt.Sprint(rng.Int64()))
	case 2: // same size, old modification time
		if fi, err := os.Lstat(full); err == nil && fi.Mode().IsRegular() && fi.Size() > 0 {
			text := bytes.Repeat([]byte{byte('a' + rng.IntN(26))}, int(fi.Size()))
			os.WriteFile(full, text, 0o644)
			os.Chtimes(full, fi.ModTime(), fi.ModTime())
		}
	case 3:
		os.Chmod(full, []fs.FileMode{0o644, 0o755, 0o600}[rng.IntN(3)])
	case 4:
		os.RemoveAll(full)
		os.Symlink(fmt.Sprintf("target%d", rng.IntN(5)), full)
	case 5:
		os.RemoveAll(full)
	case 6: // file becomes folder
		os.RemoveAll(full)
		r.write(name+"/inside", fmt.Sprint(rng.IntN(100)))
	case 7:
		os.Rename(full, r.path(names[rng.IntN(len(names))]+".moved"))
	}
}

func TestEveryCheckpointEqualsATreeMadeByReadingEveryByte(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b c", "d/e", "d/f", "d/g/h", "-x", "new\nline", "\xff\xfe", strings.Repeat("n", 255), "émoji☃", "d/-", "z/y/x/w/v/u", "empty", "a.b", "a/b", "a0"}
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			rng := rand.New(rand.NewPCG(seed, 1))
			for range 25 {
				for range 1 + rng.IntN(4) {
					mutate(r, rng, names)
				}
				snap := r.snapshot(Selection{All: true})
				if want := r.oracle(); snap.Tree != want {
					t.Fatalf("tree %s, stock git says %s", snap.Tree, want)
				}
				r.commit(snap)
				if rng.IntN(4) == 0 { // a new process
					if err := r.store.Close(); err != nil {
						t.Fatal(err)
					}
					var err error
					if r.store, err = Open(r.opts); err != nil {
						t.Fatal(err)
					}
				}
			}
			r.checkWithStockGit(25)
		})
	}
}

func (r *rig) checkWithStockGit(commits int) {
	r.t.Helper()
	report, err := r.store.Check(context.Background())
	if err != nil || !report.Whole() {
		r.t.Fatalf("check: %v %v", err, report)
	}
	if out := stock(r.t, "--git-dir="+r.opts.Dir, "fsck", "--strict", "--full", "--no-dangling"); strings.TrimSpace(out) != "" {
		r.t.Fatalf("git fsck says: %s", out)
	}
	if n := strings.Count(stock(r.t, "--git-dir="+r.opts.Dir, "log", "--graph", "--all", "--oneline"), "\n"); n != commits {
		r.t.Fatalf("git log shows %d commits of %d", n, commits)
	}
	if string(r.tip) != strings.TrimSpace(stock(r.t, "--git-dir="+r.opts.Dir, "rev-parse", "main")) {
		r.t.Fatal("git sees another tip")
	}
}

func TestStockGitChecksOutWhatWasRecorded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a/b", "text\r\n")
	r.write("run", "#!/bin/sh\n")
	if err := errors.Join(os.Chmod(r.path("run"), 0o755), os.Symlink("a/b", r.path("link"))); err != nil {
		t.Fatal(err)
	}
	large := bytes.Repeat([]byte("0123456789abcdef"), 200_000) // streamed
	if err := os.WriteFile(r.path("large"), large, 0o644); err != nil {
		t.Fatal(err)
	}
	r.commit(r.snapshot(Selection{All: true}))
	out := filepath.Join(t.TempDir(), "out")
	stock(t, "clone", "-q", r.opts.Dir, out)
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
	r := newRig(t)
	r.write("kept.log", "1")
	r.write("dir/deep.log", "1")
	r.commit(r.snapshot(Selection{All: true}))
	r.write(".gitignore", "*.log\nout/\n")
	r.write("new.log", "2")
	r.write("out/x", "3")
	r.write("kept.log", "changed")
	files := func(s *Snapshot) string {
		var names []string
		if err := r.store.Walk(s.Tree, func(p string, _ fsMode, _ SHA) error { names = append(names, p); return nil }); err != nil {
			t.Fatal(err)
		}
		return strings.Join(names, " ")
	}
	if got, want := files(r.snapshot(Selection{All: true})), ".gitignore dir/deep.log kept.log"; got != want {
		t.Errorf("%s, want %s: a recorded file stays recorded", got, want)
	}
	if got, want := files(r.snapshot(Selection{All: true}, "out/x", "new.log")), ".gitignore dir/deep.log kept.log new.log out/x"; got != want {
		t.Errorf("%s, want %s: what must be included is", got, want)
	}
	if got, want := files(r.snapshot(Selection{Patterns: []string{"dir"}})), "dir/deep.log"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := files(r.snapshot(Selection{Patterns: []string{"*", "!kept.log"}})), ".gitignore"; !strings.HasPrefix(got, want) || strings.Contains(got, "kept") {
		t.Errorf("%s, want %s", got, want)
	}
	if got := files(r.snapshot(Selection{})); got != "" {
		t.Errorf("nothing selected, and %s recorded", got)
	}
	if got, want := files(r.snapshot(Selection{All: true, Never: []string{"dir"}})), ".gitignore kept.log"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestTheProjectsOwnRepositoryIsNeitherRecordedNorTouched(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	stock(t, "init", "-q", r.ws.Path())
	r.write("tracked.log", "x")
	r.write(".gitignore", "*.log\n")
	stock(t, "-C", r.ws.Path(), "add", "-f", ".")
	r.write("sub/.git/HEAD", "ref: refs/heads/x\n")
	r.write("sub/file", "in a nested repository")
	before := stock(t, "-C", r.ws.Path(), "hash-object", "--no-filters", ".git/index", ".git/HEAD", ".git/config")
	snap := r.snapshot(Selection{All: true})
	var names []string
	if err := r.store.Walk(snap.Tree, func(p string, _ fsMode, _ SHA) error { names = append(names, p); return nil }); err != nil {
		t.Fatal(err)
	}
	if want := []string{".gitignore", "sub/file", "tracked.log"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	if !slices.Equal(snap.Nested, []string{"sub"}) {
		t.Errorf("nested: %q", snap.Nested)
	}
	if after := stock(t, "-C", r.ws.Path(), "hash-object", "--no-filters", ".git/index", ".git/HEAD", ".git/config"); after != before {
		t.Error("the project's own .git was changed")
	}
}

func TestForbiddenNamesAreKeptEscapedAndNamed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, name := range []string{".GIT/x", "git~1", ".git ", ".gitmodules"} {
		r.write(name, "[submodule \"../x\"]\n\tpath = -x\n")
	}
	snap := r.snapshot(Selection{All: true})
	r.commit(snap)
	if len(snap.Escaped) != 4 {
		t.Errorf("escaped: %v", snap.Escaped)
	}
	r.checkWithStockGit(1)
	got := map[string]bool{}
	if err := r.store.Walk(snap.Tree, func(p string, _ fsMode, _ SHA) error { got[p] = true; return nil }); err != nil {
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
	r := newRig(t)
	r.write("f", "x")
	mkfifo(t, r.path("pipe"))
	snap := r.snapshot(Selection{All: true})
	if len(snap.Skipped) != 1 || snap.Skipped[0] != (Skipped{"pipe", "a FIFO"}) || snap.Files != 1 {
		t.Errorf("%+v", snap)
	}
}

func TestAFileThatKeepsChangingIsAnErrorAndNothingIsRecorded(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(t *testing.T, name string){
		"grows":   func(t *testing.T, name string) { appendTo(t, name, "x") },
		"shrinks": func(t *testing.T, name string) { must(t, os.Truncate(name, max(0, sizeOf(t, name)-1))) },
		"is rewritten": func(t *testing.T, name string) {
			must(t, os.WriteFile(name, bytes.Repeat([]byte("y"), int(sizeOf(t, name))), 0o644))
		},
		"has its mode changed": func(t *testing.T, name string) { must(t, os.Chmod(name, 0o600)) },
	} {
		for _, size := range []int{5, inMemory + 5} {
			t.Run(fmt.Sprintf("%s, %d bytes", what, size), func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				r.write("ok", "x")
				r.write("d/changing", strings.Repeat("a", size))
				r.age()
				reads := 0
				r.store.reading = func(name string) {
					if name == "changing" {
						reads++
						r.age() // so that the change time moves
						change(t, r.path("d/changing"))
					}
				}
				_, err := r.store.Snapshot(context.Background(), SnapshotRequest{Workspace: r.ws, Selection: Selection{All: true}})
				var unstable *UnstableError
				if !errors.As(err, &unstable) || unstable.Path != "d/changing" || reads != attempts {
					t.Fatalf("got %v after %d reads", err, reads)
				}
				r.store.Abort()
				if left, _ := filepath.Glob(filepath.Join(r.opts.Dir, "objects/pack/*")); len(left) != 0 {
					t.Errorf("left behind: %v", left)
				}
				r.store.reading = nil
				if got, want := r.snapshot(Selection{All: true}).Tree, r.oracle(); got != want {
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
		"FIFO":   func(name string) error { mkfifo(t, name); return nil },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.write("f", "text")
			once := sync.OnceFunc(func() {
				must(t, os.Remove(r.path("f")))
				must(t, become(r.path("f")))
			})
			r.store.reading = func(string) { once() }
			snap, err := r.store.Snapshot(context.Background(), SnapshotRequest{Workspace: r.ws, Selection: Selection{All: true}})
			var unstable *UnstableError
			switch {
			case errors.As(err, &unstable):
			case err != nil:
				t.Fatal(err)
			case what != "link" || snap.Tree != r.oracle():
				t.Errorf("recorded %+v", snap)
			}
		})
	}
}

func sizeOf(t *testing.T, name string) int64 {
	t.Helper()
	fi, err := os.Stat(name)
	must(t, err)
	return fi.Size()
}

func appendTo(t *testing.T, name, text string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	_, err = f.WriteString(text)
	must(t, errors.Join(err, f.Close()))
}

func TestReferencesMoveOnlyFromWhereTheyAre(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a", "1")
	one := r.commit(r.snapshot(Selection{All: true}))
	r.write("a", "2")
	two := r.commit(r.snapshot(Selection{All: true}))
	var conflict *RefConflictError
	if err := r.store.SetRef("refs/heads/main", one, two); !errors.As(err, &conflict) || conflict.Have != two {
		t.Errorf("got %v", err)
	}
	var wins, losses int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 20 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			err := r.store.SetRef("refs/heads/main", two, one)
			var locked *LockedError
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
	stock(t, "--git-dir="+r.opts.Dir, "pack-refs", "--all")
	if got, err := r.store.Ref("refs/heads/main"); err != nil || got != one {
		t.Errorf("packed by git: %s %v", got, err)
	}
	if err := r.store.SetRef("refs/heads/main", one, ""); err != nil {
		t.Error(err)
	}
	if got, err := r.store.Ref("refs/heads/main"); err != nil || got != "" {
		t.Errorf("removed, and still %q %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(r.opts.Dir, "refs/heads/zero"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var damaged *DamagedError
	if _, err := r.store.Ref("refs/heads/zero"); !errors.As(err, &damaged) {
		t.Errorf("an empty reference: %v", err)
	}
	for _, bad := range []string{"refs/heads/../x", "HEAD", "refs/heads/a b", "/x", "refs/heads/x.lock"} {
		if err := r.store.SetRef(bad, "", one); err == nil {
			t.Errorf("%q was made", bad)
		}
	}
}

// A power cut after every call that changes the disk leaves the store whole,
// with the reference where it was or where it was going.
func TestACrashAtAnyCallLosesNoCommitThatWasReturned(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	w, err := OpenWorkspace(ws)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	crashStore(t, w, func(_ *Store, write func(string)) { write("one"); write("two"); write("three") })
}

func crashStore(t *testing.T, w *Workspace, script func(*Store, func(string))) {
	for n := 1; ; n++ {
		mem := vfstest.NewMem()
		if err := vfs.MkdirAll(mem, "/x", 0o700); err != nil {
			t.Fatal(err)
		}
		calls, crashed := 0, false
		var images []*vfstest.Mem
		mem.SetHook(func(vfstest.Call) {
			if calls++; calls == n && !crashed {
				crashed = true
				for seed := range uint64(3) {
					images = append(images, mem.Crash(rand.New(rand.NewPCG(seed, 7)), []int{0, 50, 100}[seed]))
				}
			}
		})
		acked := playStore(t, mem, w, script, func() bool { return crashed })
		for _, image := range images {
			verifyImage(t, image, acked)
		}
		if !crashed {
			return
		}
	}
}

// playStore runs the script and returns the tip that was acknowledged before
// the crash.
func playStore(t *testing.T, mem vfs.FS, w *Workspace, script func(*Store, func(string)), crashed func() bool) SHA {
	s, err := Init(Options{FS: mem, Dir: "/x/store"})
	if err != nil {
		t.Fatal(err)
	}
	acked, tip := SHA(""), SHA("")
	script(s, func(text string) {
		if err := os.WriteFile(filepath.Join(w.Path(), "f"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		snap, err := s.Snapshot(context.Background(), SnapshotRequest{Workspace: w, Selection: Selection{All: true}})
		if err != nil {
			t.Fatal(err)
		}
		var parents []SHA
		if tip != "" {
			parents = append(parents, tip)
		}
		next, err := s.Commit(context.Background(), CommitRequest{Tree: snap.Tree, Parents: parents, Message: text, When: time.Unix(1, 0)})
		if err == nil {
			err = s.SetRef("refs/heads/main", tip, next)
		}
		if err != nil {
			t.Fatal(err)
		}
		if tip = next; !crashed() {
			acked = next
		}
	})
	return acked
}

func verifyImage(t *testing.T, image *vfstest.Mem, acked SHA) {
	s, err := Open(Options{FS: image, Dir: "/x/store"})
	if errors.Is(err, fs.ErrNotExist) && acked == "" {
		return
	}
	if err != nil {
		t.Fatalf("after a crash: %v", err)
	}
	report, err := s.Check(context.Background())
	if err != nil || !report.Whole() {
		t.Fatalf("after a crash: %v %v", err, report)
	}
	files, err := image.ReadDir("/x/store/objects/pack")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range files { // it would tell of a loss
		if base, isIndex := strings.CutSuffix(e.Name(), ".idx"); isIndex && !slices.ContainsFunc(files, func(f fs.DirEntry) bool { return f.Name() == base+".pack" }) {
			t.Fatalf("after a crash: %s has no pack", e.Name())
		}
	}
	tip, err := s.Ref("refs/heads/main")
	if err != nil {
		t.Fatal(err)
	}
	found := acked == ""
	if tip != "" {
		if err := s.Log(tip, func(i Info) (bool, error) { found = found || i.SHA == acked; return true, nil }); err != nil {
			t.Fatal(err)
		}
	}
	if !found {
		t.Fatalf("commit %s was acknowledged and is lost (tip %s)", acked, tip)
	}
	next, err := s.Commit(context.Background(), CommitRequest{Tree: emptyTree, Message: "goes on", When: time.Unix(2, 0)})
	if err == nil {
		err = s.SetRef("refs/heads/main", tip, next)
	}
	if err != nil {
		t.Fatalf("after a crash the store does not go on: %v", err)
	}
}

func TestAnyFlippedByteOfAPackIsNoticed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a", "some text that is deflated")
	r.commit(r.snapshot(Selection{All: true}))
	packs, _ := filepath.Glob(filepath.Join(r.opts.Dir, "objects/pack/pack-*"))
	for _, name := range packs {
		good, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		os.Chmod(name, 0o600)
		for i := range good {
			bad := bytes.Clone(good)
			bad[i] ^= 1 << (i % 8)
			os.WriteFile(name, bad, 0o600)
			s, err := Open(Options{Dir: r.opts.Dir, ReadOnly: true})
			if err != nil {
				continue
			}
			if report, err := s.Check(context.Background()); err == nil && report.Whole() {
				t.Fatalf("%s: flipping byte %d went unnoticed", filepath.Base(name), i)
			}
			s.Close()
		}
		os.WriteFile(name, good, 0o600)
	}
}
