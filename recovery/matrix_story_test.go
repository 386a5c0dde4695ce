package recovery

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hank/checkpoint"
	"hank/checkpoint/remote"
	"hank/internal/vfs"
	"hank/plan"
	"hank/recovery/execution"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/state"
	"hank/state/consistency"
	"hank/state/journal"
)

// sagaCodons is how long the plan of a saga is, its loop laid out.
const sagaCodons = 24

// saga is the life of an execution as the matrices of crashes and errors attack
// it: two processes and three runs, rigs, a loop, a failure with its retry, one that is
// ignored, a skip, a checkpoint by hand, a rollback and its undo, the rollback
// again, the end, a collection and an export. It ends with the first error.
type saga struct {
	t       testing.TB
	root    string
	fsys    vfs.FS
	export  string // where to; real, and not under attack
	program *plan.Program

	a      *author
	ticks  atomic.Int64
	begun  time.Time
	acked  atomic.Pointer[state.State] // the newest that is durable
	mu     sync.Mutex
	states map[uint64]*state.State // each that was ever the present one, by its last event
	last   *state.State
	events int      // transitions
	failed bool     // it ended with an error
	ends   []string // the plan of one that was not disturbed
}

func newSaga(t testing.TB, root string, fsys vfs.FS) *saga {
	return &saga{t: t, root: root, fsys: fsys, export: filepath.Join(t.TempDir(), "exported"), program: program(t, sagaCodons),
		begun: time.Now(), states: map[uint64]*state.State{}}
}

// now is a clock that goes on by seconds, so that what waits for its time
// (a merge's old packs, a collection's) comes in a story of a moment.
func (g *saga) now() time.Time { return g.begun.Add(time.Duration(g.ticks.Add(1)) * 10 * time.Second) }

func (g *saga) options() execution.Options {
	return execution.Options{FS: g.fsys, Now: g.now, Appended: g.observe, Command: "a test's"}
}

func (g *saga) observe(e journal.Event, s *state.State) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if e.Type != state.TransitionEvent {
		return
	}
	g.events++
	g.states[s.Seq], g.last = s, s
	if !bytes.Contains(e.Data, []byte(`"transitionType":"CostsUpdated"`)) { // these ride on the next sync
		g.acked.Store(s)
	}
}

// seen returns the state that had an event as its last one; nil: there was
// none.
func (g *saga) seen(seq uint64) *state.State {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.states[seq]
}

// take makes an opened execution the story's.
func (g *saga) take(x *execution.Execution, err error) error {
	if err != nil {
		return err
	}
	g.a.x = x
	x.StateWriter.Mu.Lock()
	x.StateWriter.MinInterval, x.StateWriter.IdleFactor = 0, 0
	x.StateWriter.Mu.Unlock()
	return nil
}

// tell plays the whole story and closes the execution, whatever happens.
func (g *saga) tell() (err error) {
	g.a = &author{t: g.t, ctx: context.Background(), program: g.program}
	defer func() {
		if g.a.x != nil {
			if cerr := g.a.x.Close(); err == nil {
				err = cerr
			}
		}
	}()
	if err := g.take(Create(g.a.ctx, g.root, CreateOptions{Options: g.options()})); err != nil {
		return err
	}
	a := g.a
	n := sagaCodons
	for _, step := range []func() error{
		a.outset,
		func() error { return a.start() },
		func() error { return a.play(attempt{rig: true}) },
		func() error { return a.play(attempt{end: state.Failed, fail: "once"}) },
		a.retry,
		func() error { return g.upto(n/2 - 2) },
		func() error { return a.exit(state.EndStopped) },
		g.again,
		a.byHand,
		func() error { return a.start() },
		func() error { return g.upto(n/2 + 1) },
		func() error { return a.play(attempt{end: state.Skipped}) },
		func() error { return a.play(attempt{end: state.Failed, fail: "never mind", on: true}) },
		func() error { return g.upto(n - 5) },
		func() error { return a.exit(state.EndStopped) },
		func() error { return a.back(n/2 + 1) },
		a.replan,
		a.undo,
		a.replan,
		g.again,
		func() error { return a.back(4) },
		a.replan,
		func() error { return a.start() },
		func() error { return g.upto(n) },
		func() error { return a.exit("") },
		a.collect,
		func() error {
			_, err := remote.Export(a.ctx, a.x.Store.DB, remote.Remote{Address: g.export, Prefix: "saga"})
			return err
		},
	} {
		if err := step(); err != nil {
			return err
		}
	}
	g.ends = codons(a.x.State())
	return nil
}

// again ends the process and begins another.
func (g *saga) again() error {
	err := g.a.x.Close()
	g.a.x = nil
	if err != nil {
		return err
	}
	forked()
	return g.take(Open(g.a.ctx, g.root, g.options()))
}

func (g *saga) upto(n int) error { return g.a.upto(n) }

// upto plays codons until the plan has come to an index.
func (a *author) upto(n int) error {
	for i := a.x.State().Next(); i < min(n, len(a.x.State().ExecutionPlan())); i = a.x.State().Next() {
		if err := a.play(attempt{rig: i%4 == 1}); err != nil {
			return err
		}
	}
	return nil
}

func (a *author) retry() error {
	r := a.x.State().Run(a.run)
	_, err := a.x.MoveTree(a.ctx, execution.Move{Kind: "retry", To: r.Codon(r.Len() - 1).BaseCheckpoint, Tracked: checkpoint.Selection{All: true}})
	return err
}

// byHand is a person who changes a file, and keeps it.
func (a *author) byHand() error {
	a.write("by-hand.txt", "a person's\n")
	run := a.x.State().Newest()
	snap, err := a.x.Snapshot(a.ctx, execution.Tracked(a.x.State(), ""), a.x.Head())
	if err != nil {
		return err
	}
	_, err = a.x.Commit(a.ctx, execution.Commit{Title: githistory.Title{Status: state.KindManual, RunID: run.RunID, Name: "by hand"}, Snapshot: snap, Parents: []state.SHA{a.x.Head()}, Branch: run.GitBranch,
		Transition: state.CheckpointCreated{Kind: state.KindManual, RunID: run.RunID, Branch: run.GitBranch, Base: true, Note: "by hand"}})
	return err
}

// undo takes the last rollback back.
func (a *author) undo() error {
	s := a.x.State()
	p, here := *s.Position.Before, s.CurrentPosition()
	p.Reason, p.Before = state.ReasonRollback, &here
	_, err := a.x.MoveTree(a.ctx, execution.Move{Kind: "undo", To: p.CheckpointSHA, Tracked: execution.Tracked(s, ""), Position: &p})
	return err
}

// replan brings the plan into line with what is settled, as a runtime does.
func (a *author) replan() error {
	s := a.x.State()
	want := a.program.Derive(githistory.Outcomes(a.program.Hank.Items, s))
	if slices.EqualFunc(want, s.ExecutionPlan(), func(e plan.Entry, have *state.PlanEntry) bool { return e.CodonID == have.CodonID }) {
		return nil
	}
	return a.x.Record(state.PlanSet{Program: s.Program, HankHash: s.HankHash, Entries: a.entries(want)})
}

// collect removes every branch that nothing needs, and frees what they held.
func (a *author) collect() error {
	found, err := FindAbandoned(a.x.State(), a.x.Store)
	if err != nil {
		return err
	}
	if err := RemoveBranches(a.ctx, a.x, found); err != nil {
		return err
	}
	_, err = Collect(a.ctx, a.x)
	return err
}

// tree is what a workspace holds: its files, by their paths.
type tree map[string]string

// treeOf reads a workspace. What vanishes meanwhile is not in it.
func treeOf(t testing.TB, dir string) tree {
	t.Helper()
	found := tree{}
	var read func(rel string)
	read = func(rel string) {
		entries, _ := os.ReadDir(filepath.Join(dir, rel))
		for _, e := range entries {
			path := filepath.Join(rel, e.Name())
			if e.IsDir() {
				found[path+"/"] = ""
				read(path)
			} else if text, err := os.ReadFile(filepath.Join(dir, path)); err == nil {
				found[path] = string(text)
			}
		}
	}
	read("")
	return found
}

// put makes a workspace hold exactly these.
func (w tree) put(t testing.TB, dir string) {
	t.Helper()
	if have := treeOf(t, dir); maps.Equal(have, w) {
		return
	}
	entries, err := os.ReadDir(dir)
	ok(t, err)
	for _, e := range entries {
		remove(t, filepath.Join(dir, e.Name()))
	}
	for path, text := range w {
		full := filepath.Join(dir, path)
		if path[len(path)-1] == '/' {
			ok(t, os.MkdirAll(full, 0o755))
			continue
		}
		ok(t, os.MkdirAll(filepath.Dir(full), 0o755))
		ok(t, os.WriteFile(full, []byte(text), 0o644))
	}
}

// real makes the directories of an execution that are not in memory: those that are
// locked, and the workspace.
func real(t testing.TB, root string) layout.Layout {
	t.Helper()
	l := layout.Layout{Root: root, Workspace: layout.DefaultWorkspace(root)}
	remove(t, l.Hankweave())
	remove(t, l.Workspace)
	ok(t, os.MkdirAll(l.Hankweave(), 0o700))
	ok(t, os.MkdirAll(l.Workspace, 0o755))
	return l
}

// plays goes on with an execution to the end of its plan, in a run of its own,
// and checks that it ends rightly.
func (g *saga) plays(t testing.TB, x *execution.Execution, what string) {
	t.Helper()
	a := &author{t: t, ctx: context.Background(), x: x, program: g.program, runs: 50}
	p := must(x.LoadProgram(x.State().Program))(t)
	a.program = p
	ok(t, a.replan())
	ok(t, a.start())
	ok(t, a.upto(1<<20))
	ok(t, a.exit(""))
	s := x.State()
	if next := s.Next(); next < len(s.ExecutionPlan()) {
		t.Errorf("%s: a further run ended without codon %s", what, s.ExecutionPlan()[next].CodonID)
	}
	if got, want := codons(s), g.ends; !slices.Equal(got, want) {
		t.Errorf("%s: a further run ended with the plan %v instead of %v", what, got, want)
	}
	if r := s.Newest(); r.Status != state.StatusCompleted || s.CurrentRunID != "" {
		t.Errorf("%s: a further run ended as %s", what, r.Status)
	}
	if v := consistency.Validate(s, consistency.World{}); !v.Valid {
		t.Errorf("%s, after a further run: %+v", what, v.Errors)
	}
}

func codons(s *state.State) (ids []string) {
	for _, e := range s.ExecutionPlan() {
		ids = append(ids, string(e.CodonID))
	}
	return ids
}

// derives checks that the program that the store has makes the plan that the
// state has, or the one that the undisturbed story had at the same event.
func (g *saga) derives(t testing.TB, x *execution.Execution, before *state.State, what string) {
	t.Helper()
	s := x.State()
	if s.Program == "" {
		return
	}
	p, err := x.LoadProgram(s.Program)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	got, want := ids(p.Derive(githistory.Outcomes(p.Hank.Items, s))), ids(g.program.Derive(githistory.Outcomes(g.program.Hank.Items, s)))
	if !slices.Equal(got, want) {
		t.Errorf("%s: the frozen program makes the plan %v instead of %v", what, got, want)
	}
	then := ids(g.program.Derive(githistory.Outcomes(g.program.Hank.Items, before)))
	if have := codons(s); !slices.Equal(have, got) && slices.Equal(codons(before), then) && slices.Equal(then, got) {
		t.Errorf("%s: the plan is %v, and derived anew %v", what, have, got)
	}
}

func ids(entries []plan.Entry) (all []string) {
	for _, e := range entries {
		all = append(all, string(e.CodonID))
	}
	return all
}
