package recovery

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hank/internal/race"
	"hank/internal/short"
	"hank/internal/vfs"
	"hank/internal/vfs/vfstest"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/layout"
	"hank/recovery/load"
	"hank/state"
	"hank/state/consistency"
)

// moment is what a disk may hold after a power cut.
type moment struct {
	image *vfstest.Mem
	files tree         // of the workspace
	acked *state.State // what was acknowledged, at the last moment that left this image
	call  vfstest.Call // before which it was taken
	how   string
}

// moments plays a saga in memory and cuts its power before every call that
// changes the disk, if the call is one of mine. Images that are alike are one.
func (g *saga) moments(t *testing.T, mem *vfstest.Mem, mine func(vfstest.Call) bool, seeds uint64) (found []*moment, taken int) {
	t.Helper()
	same := map[uint64]*moment{}
	hashes := maphash.MakeSeed()
	workspace := layout.DefaultWorkspace(g.root)
	var mu sync.Mutex // states are saved, and packs merged, beside what the story does
	mem.SetHook(func(c vfstest.Call) {
		if !mine(c) {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		files := treeOf(t, workspace)
		for _, percent := range []int{0, 10, 50, 100} {
			for i := range seeds {
				if i > 0 && percent%100 == 0 {
					break // nothing is left to chance
				}
				acked := g.acked.Load() // before the image is taken
				image := mem.Crash(rand.New(rand.NewPCG(uint64(c.N), seed+i)), percent)
				taken++
				sum := image.Sum(hashes)
				if m := same[sum]; m != nil {
					m.acked = acked
					continue
				}
				m := &moment{image, files, acked, c, fmt.Sprintf("%d %%, seed %d", percent, seed+i)}
				same[sum], found = m, append(found, m)
			}
		}
	})
	defer mem.SetHook(nil)
	ok(t, g.tell())
	return found, taken
}

// survives opens what a power cut has left, and checks it. It reports whether
// there was an execution. deep is for a share of the moments: stock git looks
// at the store, too, and a further run ends rightly.
func (g *saga) survives(t *testing.T, m *moment, fsck *strictFsck, deep bool) bool {
	t.Helper()
	what := fmt.Sprintf("before %v, %s", m.call, m.how)
	l := layout.Layout{Root: g.root, Workspace: layout.DefaultWorkspace(g.root)}
	if !layout.ExistsIn(m.image, g.root) {
		if m.acked != nil {
			t.Errorf("%s: there is no execution", what)
		}
		return false
	}
	m.files.put(t, l.Workspace)
	var rep finding.Report
	known, err := load.Load(m.image, l, "", "", &rep)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return true
	}
	// What is known is a state that there was: nothing is missing in the middle,
	// nothing is invented. And it is not older than what was acknowledged.
	before := &state.State{}
	if known.State != nil && known.State.Seq > 1 {
		before = g.seen(known.State.Seq)
		switch {
		case before != nil:
		case g.last != nil && known.State.Seq > g.last.Seq && g.failed: // what failed may have been written all the same
			before = known.State
		default:
			t.Errorf("%s: event %d was never the last one", what, known.State.Seq)
			return true
		}
		if d := differences(told(t, before), told(t, known.State)); d != "" {
			t.Errorf("%s: there never was such a state: %s", what, d)
		}
	}
	if m.acked != nil && (known.State == nil || known.State.Seq < m.acked.Seq) {
		t.Errorf("%s: %d was acknowledged, and what is known is %+v", what, m.acked.Seq, known.State)
	}
	forked()
	foreseen := foresee(m.image, g.root)
	x, err := Open(context.Background(), g.root, execution.Options{FS: m.image})
	foreseen.came(t, what, x, err)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return true
	}
	if before.Intent != nil { // finished by now, where it leads to counts
		still := *before
		still.Position = nil
		before = &still
	}
	if err := contains(before, x.State()); err != nil && before.Seq > 0 {
		t.Errorf("%s: %v", what, err)
	}
	if x.Report.Source == "new" && m.acked != nil || x.Report.Has(finding.Lost) || x.Report.Has(finding.Blocked) {
		t.Errorf("%s: %+v", what, x.Report)
	}
	if v := consistency.Validate(x.State(), consistency.World{}); !v.Valid {
		t.Errorf("%s: %+v", what, v.Errors)
	}
	g.derives(t, x, before, what)
	ok(t, x.Close())
	for _, why := range fsck.check(m.image, l.Store()) {
		t.Errorf("%s: the store: %s", what, why)
	}
	forked()
	x = must(Open(context.Background(), g.root, execution.Options{FS: m.image}))(t)
	if len(x.Report.Findings) > 0 {
		t.Errorf("%s: the second opening still finds %+v", what, x.Report)
	}
	if deep && x.State().Program != "" {
		g.plays(t, x, what)
	}
	ok(t, x.Close())
	if deep {
		stockFsck(t, m.image, l.Store(), what)
		for _, why := range fsck.check(m.image, l.Store()) {
			t.Errorf("%s: the store, later: %s", what, why)
		}
	}
	return true
}

// forked waits for programs that other tests are starting: until they are, they
// have this process's locks.
func forked() {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
}

// stockFsck lets git look at a store that is in memory.
func stockFsck(t testing.TB, fsys vfs.FS, dir, what string) {
	t.Helper()
	to := t.TempDir()
	var bring func(rel string)
	bring = func(rel string) {
		for _, e := range must(fsys.ReadDir(filepath.Join(dir, rel)))(t) {
			path := filepath.Join(rel, e.Name())
			if e.IsDir() {
				ok(t, os.Mkdir(filepath.Join(to, path), 0o700))
				bring(path)
				continue
			}
			put(t, filepath.Join(to, path), must(vfs.ReadFile(fsys, filepath.Join(dir, path)))(t))
		}
	}
	bring("")
	cmd := exec.Command("git", "--git-dir="+to, "fsck", "--strict", "--full", "--no-dangling")
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "error") {
		t.Errorf("%s: git fsck: %v, %s", what, err, out)
	}
	remove(t, to)
}

// The machine loses its power before any call that changes the disk, in a life
// of 300 transitions, and any part of what was not synced is lost: the
// execution opens with a state that there was, not older than what was
// acknowledged; the store is whole; the program makes the same plan; and the
// hank can be brought to its end.
//
// By default one call in 41 with two seeds; the long form takes every call with eight, in
// shares of a story each, so that few images are in memory at a time.
func TestASagaSurvivesAPowerCutAtEveryCall(t *testing.T) {
	t.Parallel()
	race.Without(t)
	short.Skip(t)
	shares, seeds, of, deep := 1, uint64(2), 41, 40
	if long {
		shares, seeds, of, deep = 16, 8, 16, 40
	}
	fsck := &strictFsck{}
	var mu sync.Mutex
	calls, transitions, taken, distinct, opened, deeply := 0, 0, 0, 0, 0, 0
	share := func(t *testing.T, k int) {
		root := filepath.Join(t.TempDir(), "x")
		real(t, root)
		mem := vfstest.NewMem()
		ok(t, vfs.MkdirAll(mem, root, 0o755))
		g := newSaga(t, root, mem)
		found, n := g.moments(t, mem, func(c vfstest.Call) bool { return (c.N+int(seed))%of == k }, seeds)
		rng := rand.New(rand.NewPCG(seed, uint64(k)))
		tried, there, deepHere := 0, 0, 0
		for _, m := range found {
			if nearlyOver(t) {
				break
			}
			tried++
			d := rng.IntN(deep) == 0
			if d {
				deepHere++
			}
			if g.survives(t, m, fsck, d) {
				there++
			}
			m.image = nil
		}
		mu.Lock()
		defer mu.Unlock()
		calls, transitions = max(calls, mem.Calls()), max(transitions, g.events)
		taken, distinct, opened, deeply = taken+n, distinct+tried, opened+there, deeply+deepHere
	}
	inTurn(t, shares, share)
	if transitions < 200 {
		t.Errorf("the story has only %d transitions", transitions)
	}
	t.Logf("seed %d: %d transitions, %d calls, %d power cuts, %d different images, %d with an execution; %d played to the end and judged by git", seed, transitions, calls, taken, distinct, opened, deeply)
}

// inTurn does n shares of a test, as many at a time as there are processors.
func inTurn(t *testing.T, n int, do func(t *testing.T, k int)) {
	var next atomic.Int64
	t.Run("shares", func(t *testing.T) {
		for range min(n, goruntime.GOMAXPROCS(0)) {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				for k := int(next.Add(1)) - 1; k < n; k = int(next.Add(1)) - 1 {
					do(t, k)
				}
			})
		}
	})
}

// The kinds of errors that calls fail with.
var failures = []struct {
	name      string
	err, seen error
	write     bool // only a write can fail in this way
}{
	{"EIO", syscall.EIO, syscall.EIO, false},
	{"ENOSPC", syscall.ENOSPC, syscall.ENOSPC, false},
	{"EINTR", syscall.EINTR, syscall.EINTR, false},
	{"half a write, then ENOSPC", vfstest.Short(syscall.ENOSPC), syscall.ENOSPC, true},
	{"a short write", vfstest.Short(io.ErrShortWrite), io.ErrShortWrite, true},
}

// The n-th call that changes the disk fails, for every n and with every error:
// the error says what and where, and what was acknowledged is there
// afterwards, for the next process and, in a share, after a power cut besides.
//
// By default one call in 101; a short write is one of writes only.
func TestASagaSurvivesAnErrorOfEveryCall(t *testing.T) {
	t.Parallel()
	race.Without(t)
	short.Skip(t)
	root := filepath.Join(t.TempDir(), "x")
	real(t, root)
	mem := vfstest.NewMem()
	ok(t, vfs.MkdirAll(mem, root, 0o755))
	undisturbed := newSaga(t, root, mem)
	writes := 0
	var mu sync.Mutex
	mem.SetHook(func(c vfstest.Call) {
		mu.Lock()
		defer mu.Unlock()
		if c.Op == vfstest.OpWrite {
			writes++
		}
	})
	ok(t, undisturbed.tell())
	step := 101
	if long {
		step = 1
	}
	fsck := &strictFsck{}
	var todo []attack
	for kind, f := range failures {
		calls := mem.Calls()
		if f.write {
			calls = writes
		}
		for n := 1; n <= calls; n++ {
			if (n+kind*step/len(failures)+int(seed))%step == 0 {
				todo = append(todo, attack{n, kind})
			}
		}
	}
	rand.New(rand.NewPCG(seed, 3)).Shuffle(len(todo), func(i, j int) { todo[i], todo[j] = todo[j], todo[i] })
	var stories, failed, borne, next atomic.Int64
	inTurn(t, goruntime.GOMAXPROCS(0), func(t *testing.T, _ int) {
		root := filepath.Join(t.TempDir(), "x")
		for i := int(next.Add(1)) - 1; i < len(todo) && !nearlyOver(t); i = int(next.Add(1)) - 1 {
			stories.Add(1)
			switch failing(t, root, undisturbed.ends, todo[i], fsck) {
			case "failed":
				failed.Add(1)
			case "borne":
				borne.Add(1)
			}
		}
	})
	if failed.Load() == 0 {
		t.Error("no story failed")
	}
	t.Logf("seed %d: %d calls, %d of %d stories with an error; %d of them failed, and %d went on without what the error denied them",
		seed, mem.Calls(), stories.Load(), len(todo), failed.Load(), borne.Load())
}

// attack is the n-th call, of all that change the disk or of writes, and how it
// fails.
type attack struct{ n, kind int }

// nearlyOver reports whether a long form must come to its end, so that what it has
// found so far is told.
func nearlyOver(t *testing.T) bool {
	end, limited := t.Deadline()
	return limited && time.Until(end) < 90*time.Second
}

// failing plays a saga in which the n-th call that changes the disk fails, and
// opens what it has left.
func failing(t *testing.T, root string, ends []string, at attack, fsck *strictFsck) (how string) {
	n, f := at.n, failures[at.kind]
	l := real(t, root)
	mem := vfstest.NewMem()
	ok(t, vfs.MkdirAll(mem, root, 0o755))
	once := vfstest.Nth(n, f.err, func(c vfstest.Call) bool { return c.Mutates() && (!f.write || c.Op == vfstest.OpWrite) })
	var hit atomic.Pointer[vfstest.Call]
	g := newSaga(t, root, vfstest.Inject(mem, func(c vfstest.Call) error {
		err := once(c)
		if err != nil {
			hit.Store(&c)
		}
		return err
	}))
	defer remove(t, filepath.Dir(g.export))
	err := g.tell()
	call := hit.Load()
	if call == nil { // the calls are not quite the same each time
		if err != nil {
			t.Errorf("call %d: %v", n, err)
		}
		return "not reached"
	}
	g.ends = ends
	what := fmt.Sprintf("mutating call %d, %s %s: %s", n, call.Op, strings.TrimPrefix(call.Name, root), f.name)
	how = "borne"
	g.failed = err != nil
	if err != nil {
		how = "failed"
		if !errors.Is(err, f.seen) || !strings.Contains(err.Error(), root) {
			t.Errorf("%s: the error does not say what and where: %v", what, err)
		}
	}
	files := treeOf(t, l.Workspace)
	deep := (n+at.kind)%40 == 0
	for _, percent := range []int{100, 0} {
		if percent == 0 && (n+at.kind)%4 > 0 {
			continue
		}
		image := mem.Crash(rand.New(rand.NewPCG(seed, uint64(n))), percent)
		g.survives(t, &moment{image, files, g.acked.Load(), *call, fmt.Sprintf("%s, %d %%", what, percent)}, fsck, deep)
	}
	return how
}
