package cost

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hank/internal/programtest"
	"hank/internal/short"
	"hank/internal/vfs"
	"hank/plan"
	"hank/recovery"
	"hank/recovery/layout"
	"hank/state"
	"hank/state/costindex"
	"hank/state/journal"
)

// costJournal is a journal that is made by hand, of codons that cost something,
// with the state that it folds to.
type costJournal struct {
	rt     *rapid.T
	j      *journal.Journal
	s      *state.State
	layout layout.Layout
	spent  state.USD // as it was said when it was spent
}

// newCostJournal is the journal of an execution in a directory, with its plan.
func newCostJournal(rt *rapid.T, root string) *costJournal {
	c := &costJournal{rt: rt, s: &state.State{Lineage: "lineage"}, layout: layout.Layout{Root: root}}
	if err := vfs.MkdirAll(vfs.OS, c.layout.Events(), 0o700); err != nil {
		rt.Fatal(err)
	}
	if err := vfs.ReplaceFile(vfs.OS, c.layout.Meta(), []byte(`{"version":"1","createdAt":"2026-01-01T00:00:00Z","lastUsed":"2026-01-01T00:00:00Z","environment":{},"lineage":"lineage"}`), 0o600, vfs.Durable); err != nil {
		rt.Fatal(err)
	}
	c.rebase()
	c.record(state.PlanSet{Program: "2222222222222222222222222222222222222222", Entries: []byte(`[{"codon":{},"codonId":"a"},{"codon":{},"codonId":"b#0"}]`)})
	return c
}

func (c *costJournal) record(t state.Transition) {
	next, err := state.Apply(c.s, c.s.Seq+1, t)
	if err != nil {
		c.rt.Fatal(err)
	}
	data, err := state.Encode(t)
	if err != nil {
		c.rt.Fatal(err)
	}
	e := journal.Event{Seq: next.Seq, ID: "e", Timestamp: time.Unix(1_700_000_000, 0), Type: state.TransitionEvent, Data: data}
	if _, rebase := t.(state.Rebased); rebase && c.j != nil {
		err = c.j.NewSegment(e)
	} else if c.j == nil {
		c.j, err = journal.Create(vfs.OS, c.layout.Events(), e.Seq-1, e)
	} else {
		err = c.j.Append(e)
	}
	if err != nil {
		c.rt.Fatal(err)
	}
	c.s = next
}

func (c *costJournal) rebase() {
	t, err := c.s.Rebase("because")
	if err != nil {
		c.rt.Fatal(err)
	}
	c.record(t)
}

// codon runs one codon, to its end or into the middle of it.
func (c *costJournal) codon(run state.RunID, id state.CodonID, at state.Time, finish bool) {
	draw := func(label string) int64 { return rapid.Int64Range(0, 1_000_000_000).Draw(c.rt, label) }
	r := &state.Codon{CodonID: id, StartTime: at, Status: state.Preparing, Attempt: 1, Model: rapid.SampledFrom([]string{"shell", "sonnet"}).Draw(c.rt, "model"),
		Harness: rapid.SampledFrom([]string{"shell", state.HarnessReplay}).Draw(c.rt, "harness")}
	if id != "a" {
		r.LoopContext = &plan.LoopContext{LoopID: "loop"}
	}
	c.record(state.CodonStarted{RunID: run, Record: r})
	for _, next := range []func(*state.Codon) *state.Codon{
		(*state.Codon).Start,
		func(k *state.Codon) *state.Codon { return k.Spawn(7, "log", "") },
		func(k *state.Codon) *state.Codon { return k.Work("session") },
	} {
		r = next(r)
		c.record(state.CodonTransitioned{RunID: run, Record: r})
	}
	cost := state.USD(draw("cost"))
	c.spent += cost
	c.record(state.CostsUpdated{RunID: run, CodonID: id, Cost: cost, Tokens: state.Tokens{Input: draw("in"), CacheRead: draw("read")}})
	if !finish {
		return
	}
	live := c.s.Run(run).Live()
	final := live.Skip(at)
	if rapid.Bool().Draw(c.rt, "completed") {
		final = live.Complete(at, true)
		final.CompletionCheckpoint = "1111111111111111111111111111111111111111"
	}
	if rapid.Bool().Draw(c.rt, "observed") {
		named := state.USD(draw("named"))
		unnamed := state.USD(draw("unnamed"))
		c.spent += named + unnamed
		final.Sentinels = &state.Sentinels{TotalCost: named + unnamed, Executed: []state.Sentinel{{ID: "s", Model: "haiku", TotalCost: named}}}
	}
	c.record(state.CodonTransitioned{RunID: run, Record: final})
}

// TestTheCostIndexAgreesWithTheRecords makes journals in pieces, with reports
// in between: by every way the index, the records and the state's own total
// say the same. Not parallel: a process that another test starts holds the
// index's lock until it has become what it is to be. HANK_LONG=1 tries many
// more journals.
func TestTheCostIndexAgreesWithTheRecords(t *testing.T) {
	short.Skip(t)
	dir := t.TempDir()
	n := 0
	property := func(rt *rapid.T) {
		n++
		c := newCostJournal(rt, fmt.Sprintf("%s/%d", dir, n))
		for run := range rapid.IntRange(1, 3).Draw(rt, "runs") {
			id := state.RunID(fmt.Sprintf("run-%d", run))
			at := state.At(time.Unix(1_700_000_000+rapid.Int64Range(0, 300_000).Draw(rt, "at"), 0))
			c.record(state.RunStarted{Run: &state.Run{RunID: id, GitBranch: "x", Status: state.StatusRunning, StartTime: at}})
			for k := range rapid.IntRange(0, 3).Draw(rt, "codons") {
				c.codon(id, []state.CodonID{"a", "b#0"}[k%2], at, true)
				if rapid.IntRange(0, 3).Draw(rt, "look") == 0 {
					c.check()
				}
			}
			if rapid.IntRange(0, 3).Draw(rt, "rebase") == 0 {
				c.rebase()
			}
			if rapid.Bool().Draw(rt, "new prices") { // what was spent costs what it did
				price := rapid.IntRange(0, 1000).Draw(rt, "price")
				c.record(state.PlanSet{Program: "2222222222222222222222222222222222222222", Entries: fmt.Appendf(nil,
					`[{"codon":{"model":{"providerId":"p","modelId":"shell","cost":{"input":%d,"output":%d}}},"codonId":"a"},{"codon":{},"codonId":"b#0"}]`, price, 2*price)})
			}
			if rapid.Bool().Draw(rt, "live") {
				c.codon(id, "a", at, false)
				c.check()
				live := c.s.Run(id).Live()
				c.record(state.CodonTransitioned{RunID: id, Record: live.Skip(at)})
			}
			c.record(state.RunCompleted{RunID: id, EndTime: at})
		}
		c.check()
		if err := c.j.Close(); err != nil {
			rt.Fatal(err)
		}
	}
	if os.Getenv("HANK_LONG") != "" {
		rapid.Check(t, property)
		return
	}
	some := rapid.Custom(func(rt *rapid.T) int { property(rt); return n })
	for seed := range 20 {
		some.Example(seed)
	}
}

func (c *costJournal) check() {
	v := &recovery.View{Layout: c.layout, State: c.s}
	by := rapid.SampledFrom([]costindex.By{costindex.ByRun, costindex.ByCodon, costindex.ByLoop, costindex.ByModel, costindex.ByHarness, costindex.ByQuarter}).Draw(c.rt, "by")
	got := Of(v, by, readIndex)
	if got.NoIndex != "" {
		c.rt.Fatalf("no index: %s", got.NoIndex)
	}
	want := addCosts(nil, by, costsOfState(c.s, 0, true))
	slices.SortFunc(want, func(a, b costindex.Total) int { return cmp.Compare(a.Key, b.Key) })
	same := slices.EqualFunc(got.Totals, want, func(a, b costindex.Total) bool {
		return a.Key == b.Key && a.Entries == b.Entries && a.Bill == b.Bill && a.Tokens.Input == b.Tokens.Input && a.Tokens.CacheRead == b.Tokens.CacheRead
	})
	if !same || got.All.Bill != c.s.Bill() || got.All.Cost != c.spent {
		c.rt.Fatalf("by %c:\n%+v\nwant\n%+v\ntotal %s, want %s", by, got.Totals, want, got.All.Text(), c.s.Bill().Text())
	}
}

// A journal that is not there is an error and no panic, and a program that
// cannot be started is not waited for.
func TestACatchUpThatFailsIsAnError(t *testing.T) {
	t.Parallel()
	if err := CatchUp(t.TempDir()); err == nil {
		t.Error("no journal, and no error")
	}
	began := time.Now()
	StartCatchUp("/not/there", t.TempDir())
	if took := time.Since(began); took > catchUpPatience {
		t.Errorf("waited %s for a program that is not there", took)
	}
}

// At the end of a run another process is started for the cost index only where reading
// the journal takes longer than that process. Not parallel: a script that was just written
// cannot be started while another test starts a process.
func TestAShortJournalIsLeftToWhoAsks(t *testing.T) {
	self := filepath.Join(t.TempDir(), "self")
	programtest.Write(t, self, "#!/bin/sh\n: >\"$2/started\"\n")
	for size, want := range map[int]bool{0: false, shortJournal: false, shortJournal + 1: true} {
		root := t.TempDir()
		events := layout.Layout{Root: root}.Events()
		if err := os.MkdirAll(events, 0o700); err != nil {
			t.Fatal(err)
		}
		for name, part := range map[string]int{"closed.jsonl": size / 2, "events.jsonl": size - size/2} {
			if err := os.WriteFile(filepath.Join(events, name), make([]byte, part), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		StartCatchUp(self, root)
		if _, err := os.Stat(filepath.Join(root, "started")); (err == nil) != want {
			t.Errorf("a journal of %d bytes: started %v, want %v", size, err == nil, want)
		}
	}
}

// TestWhatMayCostIsReadWhatCannotIsNot: the choice by the text of an event
// leaves none out that has costs, of any transition there is.
func TestWhatMayCostIsReadWhatCannotIsNot(t *testing.T) {
	t.Parallel()
	at, cost := state.At(time.Unix(1_700_000_000, 0)), state.USD(7)
	first := &state.Codon{CodonID: `odd "status":"running"`, StartTime: at, Status: state.Preparing}
	running := first.Start().Spawn(7, "log", "").Work("session")
	running.CurrentCost = &cost
	settling := running.Settle(state.Settling{Status: state.Completed, ResultSeen: true})
	rebased, err := (&state.State{Lineage: "l"}).Rebase("why")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		t    state.Transition
		read bool
	}{
		{state.CodonStarted{Record: first}, false},
		{state.CodonTransitioned{Record: running}, false},
		{state.CodonTransitioned{Record: settling}, false},
		{state.CodonTransitioned{Record: settling.Conclude(at)}, true},
		{state.CodonTransitioned{Record: running.Skip(at)}, true},
		{state.CodonTransitioned{Record: running.Interrupt(at, state.InterruptedByCrash, "why")}, true},
		{state.CostsUpdated{Cost: 9}, false},
		{state.PlanGrown{}, false},
		{rebased, true},
	} {
		data, err := state.Encode(c.t)
		if err != nil {
			t.Fatal(err)
		}
		if got := mayCost([]byte(`"state.transition"`), data); got != c.read {
			t.Errorf("read %t: %s", got, data)
		}
		costs, err := costsIn(journal.Event{Seq: 1, Type: state.TransitionEvent, Data: data})
		if err != nil || len(costs) > 0 && !c.read {
			t.Errorf("%d costs, %v in %s", len(costs), err, data)
		}
	}
	if mayCost([]byte(`"codon.completed"`), []byte(`{}`)) {
		t.Error("a note is read")
	}
	for _, odd := range []string{`{}`, `{"transitionType":"Unheard"}`, `{"transitionType":"CodonTransitioned"}`, `{"transitionType":"`} {
		if !mayCost([]byte(`"state.transition"`), []byte(odd)) {
			t.Errorf("%s is not read", odd)
		}
	}
}
