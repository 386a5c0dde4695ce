package recovery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"hank/checkpoint"
	"hank/internal/race"
	"hank/internal/short"
	"hank/internal/vfs"
	"hank/internal/vfs/vfstest"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/layout"
	"hank/state"
	"hank/state/consistency"
	"hank/state/journal"
)

// witnessed runs a short story on a file system and remembers what was
// acknowledged. It ends with the first error.
type witnessed struct {
	acked atomic.Pointer[state.State]
	x     *execution.Execution
}

func (w *witnessed) observe(e journal.Event, s *state.State) {
	if !bytes.Contains(e.Data, []byte(`"transitionType":"CostsUpdated"`)) { // these ride on the next sync
		w.acked.Store(s)
	}
}

// story is creation, three codons with a rig, a failure and a loop, a rollback
// and the end.
func (w *witnessed) story(t testing.TB, root string, fsys vfs.FS) error {
	a := &author{t: t, ctx: context.Background(), program: program(t, 7)}
	x, err := Create(a.ctx, root, CreateOptions{Options: execution.Options{FS: fsys, Appended: w.observe}})
	if err != nil {
		return err
	}
	a.x, w.x = x, x
	for _, step := range []func() error{
		a.outset,
		func() error { return a.start() },
		func() error { return a.play(attempt{rig: true}) },
		func() error { return a.play(attempt{end: state.Failed, fail: "once"}) },
		func() error {
			r := a.x.State().Run(a.run)
			_, err := a.x.MoveTree(a.ctx, execution.Move{Kind: "retry", To: r.Codon(r.Len() - 1).BaseCheckpoint, Tracked: checkpoint.Selection{All: true}})
			return err
		},
		func() error { return a.play(attempt{}) },
		func() error { return a.play(attempt{}) },
		func() error { return a.exit(state.EndStopped) },
		func() error { return a.back(0) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// contains checks that a recovered state holds everything that was
// acknowledged.
func contains(acked, got *state.State) error {
	if acked == nil {
		return nil
	}
	if got.Seq < acked.Seq || got.Lineage != acked.Lineage || acked.InitialCheckpoint != "" && got.InitialCheckpoint != acked.InitialCheckpoint || acked.Program != "" && got.Program != acked.Program {
		return fmt.Errorf("event %d, initial checkpoint %.8s, program %.8s instead of %d, %.8s, %.8s", got.Seq, got.InitialCheckpoint, got.Program, acked.Seq, acked.InitialCheckpoint, acked.Program)
	}
	if got.TotalCost() < acked.TotalCost() {
		return fmt.Errorf("costs of %s instead of %s", got.TotalCost(), acked.TotalCost())
	}
	for _, want := range acked.Runs {
		r := got.Run(want.RunID)
		if r == nil || r.Len() < want.Len() || want.Status != state.StatusRunning && r.Status != want.Status {
			return fmt.Errorf("run %s is %+v", want.RunID, r)
		}
		for i, c := range want.Codons() {
			have := r.Codon(i)
			if have.CodonID != c.CodonID || have.Attempt != c.Attempt || have.ClaudeSessionID != c.ClaudeSessionID && c.ClaudeSessionID != "" ||
				c.Status.Terminal() && (have.Status != c.Status || have.Checkpoint() != c.Checkpoint() || have.Cost() != c.Cost()) {
				return fmt.Errorf("record %d is %+v instead of %+v", i, have, c)
			}
		}
	}
	if acked.Position != nil && (got.Position == nil || got.Position.CheckpointSHA != acked.Position.CheckpointSHA) {
		return fmt.Errorf("the position is %+v instead of %+v", got.Position, acked.Position)
	}
	return nil
}

// The machine loses its power before any call that changes the disk, and any
// part of what was not synced is lost: the execution opens, with everything
// that was acknowledged, and with a whole store.
//
// By default each moment is tried once, at a share of surviving bytes that
// changes from one to the next; the long form tries 0, 50 and 100 % at each, with
// four seeds.
func TestAPowerCutAtAnyMomentLosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	root := t.TempDir()
	l := layout.Layout{Root: root, Workspace: layout.DefaultWorkspace(root)}
	ok(t, os.MkdirAll(l.Hankweave(), 0o700)) // for the locks; all else is in memory
	ok(t, os.MkdirAll(l.Workspace, 0o755))
	type moment struct {
		image *vfstest.Mem
		acked *state.State
		call  vfstest.Call
		how   string
	}
	var moments []moment
	percents, seeds := []int{0, 50, 100}, uint64(1)
	if long {
		seeds = 4
	}
	mem := vfstest.NewMem()
	ok(t, vfs.MkdirAll(mem, root, 0o755))
	w := &witnessed{}
	var mu sync.Mutex // states are saved beside what the story does
	mem.SetHook(func(c vfstest.Call) {
		mu.Lock()
		defer mu.Unlock()
		for i, percent := range percents {
			if seeds == 1 && c.N%len(percents) != i || c.N%race.Step > 0 {
				continue
			}
			for more := range seeds {
				acked := w.acked.Load() // before the image is taken
				rng := rand.New(rand.NewPCG(uint64(c.N), seed+more))
				moments = append(moments, moment{mem.Crash(rng, percent), acked, c, fmt.Sprintf("%d %%, seed %d", percent, seed+more)})
			}
		}
	})
	t.Cleanup(func() { mem.SetHook(nil) })
	ok(t, w.story(t, root, mem))
	mem.SetHook(nil)
	ok(t, w.x.Close())
	opened := 0
	for _, m := range moments {
		what := fmt.Sprintf("before %v, %s", m.call, m.how)
		if !layout.ExistsIn(m.image, root) {
			if m.acked != nil {
				t.Fatalf("%s: there is no execution", what)
			}
			continue
		}
		opened++
		x, err := Open(context.Background(), root, execution.Options{FS: m.image})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if err := contains(m.acked, x.State()); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if x.Report.Has(finding.Lost) || x.Report.Has(finding.Blocked) {
			t.Errorf("%s: %+v", what, x.Report)
		}
		if v := consistency.Validate(x.State(), consistency.World{}); !v.Valid {
			t.Errorf("%s: %+v", what, v.Errors)
		}
		whole(t, x, what)
		ok(t, x.Close())
		x = must(Open(context.Background(), root, execution.Options{FS: m.image}))(t)
		if len(x.Report.Findings) > 0 {
			t.Errorf("%s: the second opening still finds %+v", what, x.Report)
		}
		ok(t, x.Close())
	}
	t.Logf("seed %d: %d moments, %d of them with an execution", seed, len(moments), opened)
}

// The disk is full, or fails, at any call that changes it, once or from then
// on: the error says where, and what was acknowledged is there when the disk
// works again. By default one in seventeen ways is tried; the long form tries all.
func TestAFailingDiskLosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	var calls atomic.Int64
	w := &witnessed{}
	ok(t, w.story(t, t.TempDir(), vfstest.Inject(fast, func(c vfstest.Call) error {
		if c.Mutates() {
			calls.Add(1)
		}
		return nil
	})))
	ok(t, w.x.Close())
	count := int(calls.Load())
	step := 17 * race.Step
	if long {
		step = 1
	}
	mutates := func(c vfstest.Call) bool { return c.Mutates() }
	base := t.TempDir()
	failures := 0
	for n := 1; n <= count; n++ {
		for i, decide := range []func(vfstest.Call) error{
			vfstest.Nth(n, syscall.EIO, mutates), vfstest.Nth(n, vfstest.Short(syscall.ENOSPC), mutates), vfstest.From(n, syscall.ENOSPC, mutates),
		} {
			if (n+i)%step != 0 {
				continue
			}
			what := fmt.Sprintf("call %d of %d, way %d", n, count, i)
			root := filepath.Join(base, fmt.Sprintf("%d-%d", n, i))
			w := &witnessed{}
			err := w.story(t, root, vfstest.Inject(fast, decide))
			if w.x != nil {
				err = errors.Join(err, w.x.Close())
			}
			if err != nil {
				failures++
				if !errors.Is(err, syscall.EIO) && !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), base) {
					t.Errorf("%s: the error does not say what and where: %v", what, err)
				}
			}
			if !layout.Exists(root) {
				if w.acked.Load() != nil {
					t.Errorf("%s: there is no execution", what)
				}
				continue
			}
			x, err := Open(context.Background(), root, execution.Options{FS: fast})
			if err != nil {
				t.Errorf("%s: opening again: %v", what, err)
				continue
			}
			if err := contains(w.acked.Load(), x.State()); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			if x.Report.Has(finding.Lost) || x.Report.Has(finding.Blocked) {
				t.Errorf("%s: %+v", what, x.Report)
			}
			whole(t, x, what)
			ok(t, x.Close())
			remove(t, root)
		}
	}
	t.Logf("seed %d: %d calls, %d failed stories", seed, count, failures)
}
