package main

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"os/exec"
	"reflect"
	"time"

	"hank/recovery"
	"hank/recovery/layout"
	"hank/runtime/report/cost"
	"hank/scripts/bench/system"
	"hank/state"
	"hank/state/costindex"
)

// costUse is what the cost index costs.
type costUse struct {
	Events  int               `json:"events"`
	Codons  int               `json:"codons"` // distinct, as there are totals by codon
	Rebuild float64           `json:"rebuildEventsPerSecond"`
	Open    figure            `json:"open"`
	Totals  map[string]figure `json:"totals"`
	Bytes   int64             `json:"indexBytes"`
	Peak    int64             `json:"peakBytes"` // of the bench, which holds the answers
	Journal journalRebuild    `json:"journal"`
}

// journalRebuild is an index made from a journal with all that is in one.
type journalRebuild struct {
	Events uint64        `json:"events"` // of every kind
	Costs  int           `json:"costs"`  // that have a cost
	Took   time.Duration `json:"tookNs"`
	Rate   float64       `json:"eventsPerSecond"`
}

var costWays = map[string]costindex.By{"run": costindex.ByRun, "codon": costindex.ByCodon, "loop": costindex.ByLoop, "model": costindex.ByModel, "day": costindex.ByQuarter}

// costEvents are n events: ten attempts at each codon, a hundred codons in a
// run, eight models, a month.
func costEvents(n int) iter.Seq2[costindex.Entry, error] {
	return func(yield func(costindex.Entry, error) bool) {
		for i := range n {
			codon := i / 10
			e := costindex.Entry{Seq: uint64(i + 1), Time: began.Add(time.Duration(i) * 2592 * time.Millisecond * time.Duration(1_000_000/n)),
				RunID: fmt.Sprint("1736000000000-", codon/100), CodonID: fmt.Sprint("work#", codon), Loop: "rounds", Model: fmt.Sprint("model-", i%8),
				Bill: state.Bill{Cost: state.USD(i)}, Tokens: state.Tokens{Input: int64(i), Output: 1}}
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (b *bench) measureCosts(h *history) (*costUse, error) {
	n := pick(b.quick, 2000, 1_000_000)
	u := &costUse{Events: n, Codons: n / 10, Totals: map[string]figure{}}
	dir := b.folder("costs")
	x, _, err := costindex.Open(dir, "bench")
	if err != nil {
		return nil, err
	}
	start := time.Now()
	err = errors.Join(x.CatchUp(costEvents(n)), x.Close())
	u.Rebuild = float64(n) / time.Since(start).Seconds()
	if err != nil {
		return nil, err
	}
	whole, err := u.ask(dir, pick(b.quick, 2, stateRuns))
	if err != nil {
		return nil, err
	}
	u.Bytes, u.Peak = sizeOf(dir), system.OwnStatus("VmHWM:")
	if err := b.sameInPieces(whole, n); err != nil {
		return nil, err
	}
	return u, b.fromJournal(u, h)
}

// ask opens the index and asks for all totals, again and again.
func (u *costUse) ask(dir string, runs int) (map[string][]costindex.Total, error) {
	all, took, opens := map[string][]costindex.Total{}, map[string][]time.Duration{}, []time.Duration(nil)
	for range runs {
		start := time.Now()
		x, discarded, err := costindex.Open(dir, "bench")
		if err == nil && discarded != "" {
			err = fmt.Errorf("the index was thrown away: %s", discarded)
		}
		if err != nil {
			return nil, err
		}
		opens = append(opens, time.Since(start))
		for name, by := range costWays {
			start := time.Now() // as WriteAnswer asks
			if err = x.Each(by, func(costindex.Total) error { return nil }); err == nil {
				took[name] = append(took[name], time.Since(start))
				all[name], err = x.Totals(by)
			}
			if err != nil {
				return nil, errors.Join(err, x.Close())
			}
		}
		if err := x.Close(); err != nil {
			return nil, err
		}
	}
	u.Open = figureOf(opens)
	for name, list := range took {
		u.Totals[name] = figureOf(list)
	}
	return all, nil
}

// sameInPieces makes the index once more, in pieces with openings in between,
// and compares.
func (b *bench) sameInPieces(want map[string][]costindex.Total, n int) error {
	dir := b.folder("pieces")
	for i := range 5 {
		x, _, err := costindex.Open(dir, "bench")
		if err != nil {
			return err
		}
		until := uint64(n * (i + 1) / 5)
		err = x.CatchUp(func(yield func(costindex.Entry, error) bool) {
			for e := range costEvents(n) {
				if e.Seq > until || !yield(e, nil) {
					return
				}
			}
		})
		got := map[string][]costindex.Total{}
		for name, by := range costWays {
			if i == 4 && err == nil {
				got[name], err = x.Totals(by)
			}
		}
		if err := errors.Join(err, x.Close()); err != nil {
			return err
		}
		if i == 4 && !maps.EqualFunc(got, want, func(a, b []costindex.Total) bool { return reflect.DeepEqual(a, b) }) {
			return errors.New("an index that is made in pieces has other totals")
		}
	}
	return nil
}

// fromJournal has the index of a history made from its journal.
func (b *bench) fromJournal(u *costUse, h *history) error {
	layout := layout.Layout{Root: h.root}
	if err := os.RemoveAll(layout.CostIndex()); err != nil {
		return err
	}
	hank, err := b.buildHank()
	if err != nil {
		return err
	}
	start := time.Now() // as at the end of a run, in a process of its own
	if out, err := exec.Command(hank, cost.Subcommand, h.root).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	u.Journal = journalRebuild{Events: h.seq, Costs: h.codons, Took: time.Since(start)}
	u.Journal.Rate = float64(h.seq) / u.Journal.Took.Seconds()
	v, err := recovery.Read(h.root)
	if err != nil {
		return err
	}
	sum := cost.Of(v, costindex.ByRun, cost.AskIndex(hank))
	if sum.NoIndex != "" || sum.All.Cost != v.State.TotalCost() || sum.All.Entries != int64(h.codons) {
		return fmt.Errorf("by the index %d codons cost $%s, by the state %d cost $%s (%s)", sum.All.Entries, sum.All.Cost, h.codons, v.State.TotalCost(), sum.NoIndex)
	}
	return nil
}
