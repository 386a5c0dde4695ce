//go:build unix

package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"hank/internal/vfs"
	"hank/internal/vfs/vfstest"
)

func (r *rig) merge() {
	r.t.Helper()
	if err := r.store.Merge(context.Background()); err != nil {
		r.t.Fatal(err)
	}
}

// grow makes n checkpoints of one changed file each.
func (r *rig) grow(n int) (made []SHA) {
	r.t.Helper()
	for range n {
		r.write(fmt.Sprintf("d%d/f%d", len(made)%5, len(made)%7), fmt.Sprintf("version %d of %s", len(made), r.tip))
		made = append(made, r.commit(r.snapshot(Selection{All: true})))
	}
	return made
}

func (r *rig) packFiles() []string {
	r.t.Helper()
	names, err := filepath.Glob(filepath.Join(r.opts.Dir, "objects/pack/*"))
	if err != nil {
		r.t.Fatal(err)
	}
	return names
}

func (r *rig) checkWhole() {
	r.t.Helper()
	if report, err := r.store.Check(context.Background()); err != nil || !report.Whole() {
		r.t.Fatalf("the store is not whole: %v %v", err, report)
	}
	stock(r.t, "--git-dir="+r.opts.Dir, "fsck", "--strict", "--no-dangling")
}

func TestMergesBoundThePacksAndLoseNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var made []SHA
	for range 20 {
		made = append(made, r.grow(10)...)
		r.merge()
		if n := len(r.packFiles()); n > 2*3*mergeWidth+2*mergeWidth {
			t.Fatalf("after %d checkpoints there are %d files of packs", len(made), n)
		}
	}
	trees := map[SHA]SHA{}
	for _, sha := range made {
		info, err := r.store.CommitInfo(sha)
		if err != nil {
			t.Fatal(err)
		}
		trees[sha] = info.Tree
	}
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
	var err error
	if r.store, err = Open(r.opts); err != nil {
		t.Fatal(err)
	}
	r.checkWhole()
	n := 0
	err = r.store.Log(r.tip, func(i Info) (bool, error) {
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
	r := newRig(t)
	r.grow(3 * mergeWidth)
	old := time.Unix(1_700_000_000, 0)
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
	reopen := func() (read int) {
		var err error
		if r.store, err = Open(r.opts); err != nil {
			t.Fatal(err)
		}
		r.store.reading = func(string) { read++ }
		r.snapshot(Selection{All: true})
		r.store.Abort()
		return read
	}
	before := reopen()
	r.merge() // the cache is in memory
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
	if read := reopen(); read > before {
		t.Errorf("after a merge %d files were read, before %d", read, before)
	}
	r.store.Close()
	// A process that merges without ever having looked at the workspace.
	var err error
	if r.store, err = Open(r.opts); err != nil {
		t.Fatal(err)
	}
	r.tip, err = r.store.Ref("refs/heads/main")
	if err != nil {
		t.Fatal(err)
	}
	for i := range mergeWidth {
		if _, err := r.store.Commit(context.Background(), CommitRequest{Tree: emptyTree, Message: fmt.Sprint(i), When: old}); err != nil {
			t.Fatal(err)
		}
	}
	r.store.merged(t)
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
	if read := reopen(); read > before {
		t.Errorf("after a merge by another process %d files were read, before %d", read, before)
	}
}

func (s *Store) merged(t *testing.T) {
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
	w, err := OpenWorkspace(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	crashStore(t, w, func(s *Store, write func(string)) {
		for i := range mergeWidth {
			write(fmt.Sprint(i))
		}
		s.merged(t)
		write("behind")
		if err := s.removeReplaced(); err != nil {
			t.Fatal(err)
		}
		write("last")
	})
}

func TestAMergeThatFailsAtAnyCallLeavesTheStoreGoingOn(t *testing.T) {
	t.Parallel()
	w, err := OpenWorkspace(t.TempDir())
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
		tip := playStore(t, fsys, w, func(s *Store, write func(string)) {
			for i := range mergeWidth {
				write(fmt.Sprint(i))
			}
			armed = true
			failed = s.Merge(context.Background())
			armed = false
			write("behind")
		}, func() bool { return false })
		verifyImage(t, mem, tip)
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
	r := newRig(t)
	r.write("large", strings.Repeat("0123456789abcdef", inMemory/8))
	made := r.grow(mergeWidth)
	reader, err := Open(Options{Dir: r.opts.Dir, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	info, err := reader.CommitInfo(made[0])
	if err != nil {
		t.Fatal(err)
	}
	entry, err := reader.find(info.Tree, "large")
	if err != nil {
		t.Fatal(err)
	}
	large, err := reader.object(entry.Hash)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range reader.packs { // it keeps no file open
		p.close()
	}
	var all sync.WaitGroup
	stop := make(chan struct{})
	for _, reader := range []*Store{reader, reader, r.store} {
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
						err = reader.Walk(info.Tree, func(_ string, _ fsMode, blob SHA) error {
							_, err := reader.object(plumbing.NewHash(string(blob)))
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
		r.grow(mergeWidth)
		r.merge()
		if err := r.store.removeReplaced(); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	all.Wait()
	content, err := large.Reader()
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, content); err != nil || n != large.size {
		t.Errorf("a large blob that was moved: %d of %d bytes, %v", n, large.size, err)
	}
	if report, err := reader.Check(context.Background()); err != nil || !report.Whole() {
		t.Errorf("a reader's check: %v %v", err, report)
	}
	if found, err := reader.Resolve(string(made[0])[:12]); err != nil || len(found) != 1 {
		t.Errorf("a reader's prefix: %v %v", found, err)
	}
}

func TestDamageDoesNotTravelIntoAMergedPack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.grow(mergeWidth)
	packs := r.packFiles()
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
	var damaged *DamagedError
	if err := r.store.Merge(context.Background()); !errors.As(err, &damaged) {
		t.Errorf("merging a damaged pack: %v", err)
	}
	if left := r.packFiles(); len(left) != len(packs) {
		t.Errorf("%d files of packs are left of %d", len(left), len(packs))
	}
}

func TestPacksWithDeltasStayAsTheyAre(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("long", strings.Repeat("a line of text\n", 400))
	r.grow(3)
	for range mergeWidth {
		r.grow(2)
		r.write("long", strings.Repeat("a line of text\n", 400)+string(r.tip))
		r.commit(r.snapshot(Selection{All: true}))
		r.store.Close()
		stock(t, "--git-dir="+r.opts.Dir, "repack", "-dq", "--window=10")
		var err error
		if r.store, err = Open(r.opts); err != nil {
			t.Fatal(err)
		}
	}
	stock(t, "--git-dir="+r.opts.Dir, "repack", "-adq", "--window=10")
	r.store.Close()
	var err error
	if r.store, err = Open(r.opts); err != nil {
		t.Fatal(err)
	}
	r.grow(2 * mergeWidth)
	r.merge()
	r.checkWhole()
}

// A checkpoint that becomes durable while a merge names its packs in the stat
// cache: both want the packs and the cache, and took them in opposite orders.
func TestACheckpointAndAMergeDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a", "one")
	r.commit(r.snapshot(Selection{All: true}))
	must(t, r.store.KeepCache())
	// On its own goroutine, because closing the store would wait as well.
	defer time.AfterFunc(time.Minute, func() { panic("they wait for each other") }).Stop()
	done := make(chan error, 1)
	go func() {
		var err error
		for i := 0; i < 500 && err == nil; i++ {
			err = r.store.RewriteCache()
		}
		done <- err
	}()
	for {
		select {
		case err := <-done:
			must(t, err)
			return
		default:
			must(t, r.store.Flush(t.Context()))
		}
	}
}

// A check beside a merge finds nothing at any moment at which the merge removes what
// it has replaced, also in packs that the checker has not read before.
func TestACheckBesideAMergeFindsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.grow(2 * mergeWidth)
	beside := map[string]*Store{}
	for _, name := range r.packFiles() {
		s, err := Open(r.opts)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		beside[name] = s
	}
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
	checked := 0
	o := r.opts
	o.FS = vfstest.Inject(vfs.OS, func(c vfstest.Call) error {
		if s := beside[c.Name]; c.Op == vfstest.OpRemove && s != nil {
			checked++
			if report, err := s.Check(context.Background()); err != nil || !report.Whole() {
				t.Errorf("before %s goes: %v %v", filepath.Base(c.Name), err, report)
			}
		}
		return nil
	})
	var err error
	if r.store, err = Open(o); err != nil {
		t.Fatal(err)
	}
	r.merge()
	if checked == 0 {
		t.Error("the merge has removed no pack")
	}
}

// A store that looks for new packs while a merge removes those that it has replaced
// takes none of them for a stranger.
func TestALookBesideAMergeTakesUpNoReplacedPack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.grow(mergeWidth * mergeWidth)
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
	looked := 0
	o := r.opts
	o.FS = vfstest.Inject(vfs.OS, func(c vfstest.Call) error {
		if c.Op == vfstest.OpRemove && r.store != nil && strings.Contains(c.Name, "pack-") {
			looked++
			r.store.reread()
		}
		return nil
	})
	r.store = nil
	store, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	r.store = store
	r.merge()
	if looked == 0 {
		t.Fatal("the merge has removed no pack")
	}
	_, packs := store.sources()
	for _, p := range packs {
		if _, err := os.Lstat(p.String()); err != nil {
			t.Errorf("a pack that is gone counts: %v", err)
		}
	}
}
