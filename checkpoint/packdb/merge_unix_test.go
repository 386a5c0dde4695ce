//go:build unix

package packdb_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"hank/checkpoint"
	"hank/checkpoint/internal/checkpointtest"
	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/match"
	"hank/checkpoint/packdb"
	"hank/checkpoint/repair"
	"hank/checkpoint/worktree"
	"hank/internal/race"
	"hank/internal/short"
	"hank/internal/vfs"
	"hank/internal/vfs/vfstest"
)

func TestMergesBoundThePacksAndLoseNothing(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	r := checkpointtest.NewRig(t)
	var made []packdb.SHA
	for range 20 {
		made = append(made, r.Grow(10)...)
		r.Merge()
		if n := len(r.PackFiles()); n > 2*3*packdb.MergeWidth+2*packdb.MergeWidth {
			t.Fatalf("after %d checkpoints there are %d files of packs", len(made), n)
		}
	}
	trees := map[packdb.SHA]packdb.SHA{}
	for _, sha := range made {
		info, err := r.Store.CommitInfo(sha)
		if err != nil {
			t.Fatal(err)
		}
		trees[sha] = info.Tree
	}
	if err := r.Store.Close(); err != nil {
		t.Fatal(err)
	}
	var err error
	if r.Store, err = checkpoint.Open(r.Opts); err != nil {
		t.Fatal(err)
	}
	r.CheckWhole()
	n := 0
	err = r.Store.Log(r.Tip, func(i packdb.Info) (bool, error) {
		n++
		if trees[i.SHA] != i.Tree {
			t.Errorf("commit %s has tree %s, had %s", i.SHA, i.Tree, trees[i.SHA])
		}
		return true, nil
	})
	if err != nil || n != len(made) {
		t.Errorf("%d of %d commits are left: %v", n, len(made), err)
	}
}

func TestTheKeptStatCacheSurvivesMerges(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	if checkpointtest.MergeWidth != packdb.MergeWidth {
		t.Fatalf("checkpointtest says that %d packs are merged, and %d are", checkpointtest.MergeWidth, packdb.MergeWidth)
	}
	r.Grow(3 * packdb.MergeWidth)
	old := time.Unix(1_700_000_000, 0)
	if err := r.Store.Close(); err != nil {
		t.Fatal(err)
	}
	reopen := func() (read int) {
		var err error
		if r.Store, err = checkpoint.Open(r.Opts); err != nil {
			t.Fatal(err)
		}
		r.Store.Reading = func(string) { read++ }
		r.Snapshot(match.Selection{All: true})
		r.Store.Abort()
		return read
	}
	before := reopen()
	r.Merge() // the cache is in memory
	if err := r.Store.Close(); err != nil {
		t.Fatal(err)
	}
	if read := reopen(); read > before {
		t.Errorf("after a merge %d files were read, before %d", read, before)
	}
	r.Store.Close()
	// A process that merges without ever having looked at the workspace.
	var err error
	if r.Store, err = checkpoint.Open(r.Opts); err != nil {
		t.Fatal(err)
	}
	r.Tip, err = r.Store.Ref("refs/heads/main")
	if err != nil {
		t.Fatal(err)
	}
	for i := range packdb.MergeWidth {
		if _, err := r.Store.Commit(context.Background(), packdb.CommitRequest{Tree: packdb.EmptyTree, Message: fmt.Sprint(i), When: old}); err != nil {
			t.Fatal(err)
		}
	}
	merged(r.Store, t)
	if err := r.Store.Close(); err != nil {
		t.Fatal(err)
	}
	if read := reopen(); read > before {
		t.Errorf("after a merge by another process %d files were read, before %d", read, before)
	}
}

func merged(s *checkpoint.Store, t *testing.T) {
	t.Helper()
	if !s.MergeDue() {
		t.Fatal("there is nothing to merge")
	}
	if err := s.Merge(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// A power cut after every call of a merge leaves a store that is whole, has
// every commit, and merges on.
func TestACrashDuringAMergeLosesNothing(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	w, err := worktree.OpenWorkspace(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	checkpointtest.CrashStore(t, w, func(s *checkpoint.Store, write func(string)) {
		for i := range packdb.MergeWidth {
			write(fmt.Sprint(i))
		}
		merged(s, t)
		write("behind")
		if err := s.RemoveReplaced(); err != nil {
			t.Fatal(err)
		}
		write("last")
	})
}

// A process is killed when it has merged packs and not yet removed them. The next one
// merges all of them again, and may make the same pack once more: that must not go with
// the old ones. It depends on the names of the packs, so many stores are tried.
func TestAMergeOfWhatAKilledMergeHasLeftLosesNothing(t *testing.T) {
	t.Parallel()
	same := 0
	for try := range 24 {
		mem := vfstest.NewMem()
		if err := vfs.MkdirAll(mem, "/x", 0o700); err != nil {
			t.Fatal(err)
		}
		opts := packdb.Options{FS: mem, Dir: "/x/store"}
		s, err := checkpoint.Init(opts)
		if err != nil {
			t.Fatal(err)
		}
		var made []packdb.SHA
		for i := range packdb.MergeWidth {
			sha, err := s.Commit(context.Background(), packdb.CommitRequest{Tree: packdb.EmptyTree, Message: fmt.Sprint(try, i), When: time.Unix(1, 0)})
			if err != nil {
				t.Fatal(err)
			}
			made = append(made, sha)
		}
		reopen := func(fsys vfs.FS) {
			t.Helper()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			opts.FS = fsys
			if s, err = checkpoint.Open(opts); err != nil {
				t.Fatal(err)
			}
		}
		packs := func() (names []string) {
			s.WithPackNames(func(packs, _ []string) { names = packs })
			return names
		}
		reopen(mem)             // its packs are in the order of their names now, as for every process
		var killed *vfstest.Mem // before the first of the old packs goes
		mem.SetHook(func(c vfstest.Call) {
			if killed == nil && c.Op == vfstest.OpRemove && strings.HasSuffix(c.Name, ".idx") {
				killed = mem.Crash(rand.New(rand.NewPCG(1, 1)), 100)
			}
		})
		merged(s, t)
		one := packs()
		if killed == nil || len(one) != 1 {
			t.Fatalf("it was not killed, or has made %v", one)
		}
		reopen(killed)
		merged(s, t)
		if again := packs(); again[0] == one[0] {
			same++
		}
		reopen(killed)
		for _, sha := range made {
			if !s.Has(sha) {
				t.Fatalf("store %d: commit %s is lost; its packs are %v", try, sha, packs())
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if same == 0 {
		t.Error("no merge made the pack that was there; this test looks at nothing")
	}
}

func TestAMergeThatFailsAtAnyCallLeavesTheStoreGoingOn(t *testing.T) {
	t.Parallel()
	race.Without(t)
	short.Skip(t)
	w, err := worktree.OpenWorkspace(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for n := 1; ; n++ {
		mem := vfstest.NewMem()
		if err := vfs.MkdirAll(mem, "/x", 0o700); err != nil {
			t.Fatal(err)
		}
		armed, calls := false, 0
		fsys := vfstest.Inject(mem, func(c vfstest.Call) error {
			if armed {
				if calls++; calls == n {
					return syscall.ENOSPC
				}
			}
			return nil
		})
		var failed error
		tip := checkpointtest.PlayStore(t, fsys, w, func(s *checkpoint.Store, write func(string)) {
			for i := range packdb.MergeWidth {
				write(fmt.Sprint(i))
			}
			armed = true
			failed = s.Merge(context.Background())
			armed = false
			write("behind")
		}, func() bool { return false })
		checkpointtest.VerifyImage(t, mem, tip)
		if calls < n {
			return
		}
		if failed != nil && !errors.Is(failed, syscall.ENOSPC) {
			t.Fatalf("call %d: %v", n, failed)
		}
	}
}

func TestReadersLiveThroughMerges(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	r := checkpointtest.NewRig(t)
	r.Write("large", strings.Repeat("0123456789abcdef", packdb.InMemory/8))
	made := r.Grow(packdb.MergeWidth)
	reader, err := checkpoint.Open(packdb.Options{Dir: r.Opts.Dir, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	info, err := reader.CommitInfo(made[0])
	if err != nil {
		t.Fatal(err)
	}
	entry, err := reader.Find(info.Tree, "large")
	if err != nil {
		t.Fatal(err)
	}
	large, err := reader.Object(entry.Hash)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range reader.Packs { // it keeps no file open
		p.Close()
	}
	var all sync.WaitGroup
	stop := make(chan struct{})
	for _, reader := range []*checkpoint.Store{reader, reader, r.Store} {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				for _, sha := range made {
					info, err := reader.CommitInfo(sha)
					if err == nil {
						err = reader.Walk(info.Tree, func(_ string, _ testkit.FSMode, blob packdb.SHA) error {
							_, err := reader.Object(plumbing.NewHash(string(blob)))
							return err
						})
					}
					if err != nil {
						t.Errorf("a reader: %v", err)
						return
					}
				}
			}
		})
	}
	for range 4 {
		r.Grow(packdb.MergeWidth)
		r.Merge()
		if err := r.Store.RemoveReplaced(); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	all.Wait()
	content, err := large.Reader()
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, content); err != nil || n != large.Bytes {
		t.Errorf("a large blob that was moved: %d of %d bytes, %v", n, large.Bytes, err)
	}
	if report, err := repair.Check(context.Background(), reader.DB); err != nil || !report.IsComplete() {
		t.Errorf("a reader's check: %v %v", err, report)
	}
	if found, err := reader.Resolve(string(made[0])[:12]); err != nil || len(found) != 1 {
		t.Errorf("a reader's prefix: %v %v", found, err)
	}
}

func TestDamageDoesNotTravelIntoAMergedPack(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	r.Grow(packdb.MergeWidth)
	packs := r.PackFiles()
	var victim string
	for _, name := range packs {
		if strings.HasSuffix(name, ".pack") {
			victim = name
		}
	}
	data, err := os.ReadFile(victim)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 4
	os.Chmod(victim, 0o600)
	if err := os.WriteFile(victim, data, 0o600); err != nil {
		t.Fatal(err)
	}
	var damaged *packdb.DamagedError
	if err := r.Store.Merge(context.Background()); !errors.As(err, &damaged) {
		t.Errorf("merging a damaged pack: %v", err)
	}
	if left := r.PackFiles(); len(left) != len(packs) {
		t.Errorf("%d files of packs are left of %d", len(left), len(packs))
	}
}

func TestPacksWithDeltasStayAsTheyAre(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	r := checkpointtest.NewRig(t)
	r.Write("long", strings.Repeat("a line of text\n", 400))
	r.Grow(3)
	for range packdb.MergeWidth {
		r.Grow(2)
		r.Write("long", strings.Repeat("a line of text\n", 400)+string(r.Tip))
		r.Commit(r.Snapshot(match.Selection{All: true}))
		r.Store.Close()
		testkit.Stock(t, "--git-dir="+r.Opts.Dir, "repack", "-dq", "--window=10")
		var err error
		if r.Store, err = checkpoint.Open(r.Opts); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Stock(t, "--git-dir="+r.Opts.Dir, "repack", "-adq", "--window=10")
	r.Store.Close()
	var err error
	if r.Store, err = checkpoint.Open(r.Opts); err != nil {
		t.Fatal(err)
	}
	r.Grow(2 * packdb.MergeWidth)
	r.Merge()
	r.CheckWhole()
}

// A checkpoint that becomes durable while a merge names its packs in the stat
// cache: both want the packs and the cache, and took them in opposite orders.
func TestACheckpointAndAMergeDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	r.Write("a", "one")
	r.Commit(r.Snapshot(match.Selection{All: true}))
	testkit.Must(t, r.Store.KeepCache())
	// On its own goroutine, because closing the store would wait as well.
	defer time.AfterFunc(time.Minute, func() { panic("they wait for each other") }).Stop()
	done := make(chan error, 1)
	go func() {
		var err error
		for i := 0; i < 500 && err == nil; i++ {
			err = r.Store.RewriteCache()
		}
		done <- err
	}()
	for {
		select {
		case err := <-done:
			testkit.Must(t, err)
			return
		default:
			testkit.Must(t, r.Store.Flush(t.Context()))
		}
	}
}

// A check beside a merge finds nothing at any moment at which the merge removes what
// it has replaced, also in packs that the checker has not read before.
func TestACheckBesideAMergeFindsNothing(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	r.Grow(2 * packdb.MergeWidth)
	beside := map[string]*checkpoint.Store{}
	for _, name := range r.PackFiles() {
		s, err := checkpoint.Open(r.Opts)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		beside[name] = s
	}
	if err := r.Store.Close(); err != nil {
		t.Fatal(err)
	}
	checked := 0
	o := r.Opts
	o.FS = vfstest.Inject(vfs.OS, func(c vfstest.Call) error {
		if s := beside[c.Name]; c.Op == vfstest.OpRemove && s != nil {
			checked++
			if report, err := repair.Check(context.Background(), s.DB); err != nil || !report.IsComplete() {
				t.Errorf("before %s goes: %v %v", filepath.Base(c.Name), err, report)
			}
		}
		return nil
	})
	var err error
	if r.Store, err = checkpoint.Open(o); err != nil {
		t.Fatal(err)
	}
	r.Merge()
	if checked == 0 {
		t.Error("the merge has removed no pack")
	}
}

// A store that looks for new packs while a merge removes those that it has replaced
// takes none of them for a stranger.
func TestALookBesideAMergeTakesUpNoReplacedPack(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	r := checkpointtest.NewRig(t)
	r.Grow(packdb.MergeWidth * packdb.MergeWidth)
	if err := r.Store.Close(); err != nil {
		t.Fatal(err)
	}
	looked := 0
	o := r.Opts
	o.FS = vfstest.Inject(vfs.OS, func(c vfstest.Call) error {
		if c.Op == vfstest.OpRemove && r.Store != nil && strings.Contains(c.Name, "pack-") {
			looked++
			r.Store.Reread()
		}
		return nil
	})
	r.Store = nil
	store, err := checkpoint.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	r.Store = store
	r.Merge()
	if looked == 0 {
		t.Fatal("the merge has removed no pack")
	}
	_, packs := store.Sources()
	for _, p := range packs {
		if _, err := os.Lstat(p.String()); err != nil {
			t.Errorf("a pack that is gone counts: %v", err)
		}
	}
}
