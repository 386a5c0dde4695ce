// Package cost sums up what an execution has cost, from the cost index, a
// projection of the journal, or, where that cannot be asked, from the records
// themselves, with the same sums.
//
// The index is the only file that it writes, in another process if the caller
// wants that.
package cost

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hank/internal/vfs"
	"hank/recovery"
	"hank/recovery/hankweave"
	"hank/recovery/layout"
	"hank/state"
	"hank/state/costindex"
	"hank/state/journal"
)

// Subcommand is the argument with which hank starts itself to bring a cost index
// up to date, and to ask it: the directory of the execution follows, and the way to
// sum up. Badger may end its process, so it is open in no other.
const Subcommand = "__costs"

// catchUpPatience is how long the end of a run waits for its cost index. What
// takes longer continues by itself.
const catchUpPatience = 3 * time.Second

// shortJournal is the size in bytes up to which a journal is read within milliseconds.
const shortJournal = 1 << 20

// StartCatchUp has another process, of the program self, bring the cost index
// of an execution up to date. It is best effort: hank cost does the same, and
// where the journal is short, it alone: the process takes longer than reading it.
func StartCatchUp(self, execution string) {
	if hasShortJournal(layout.Layout{Root: execution}) {
		return
	}
	cmd := exec.Command(self, Subcommand, execution)
	if cmd.Start() != nil {
		return
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(catchUpPatience):
	}
}

// hasShortJournal reports whether all of a journal is short. One that cannot be read is not.
func hasShortJournal(l layout.Layout) bool {
	segments, err := os.ReadDir(l.Events())
	size := int64(0)
	for _, s := range segments {
		fi, serr := s.Info()
		if serr != nil {
			return false
		}
		size += fi.Size()
	}
	return err == nil && size <= shortJournal
}

// Answer is what a cost index says, one way.
type Answer struct {
	Position uint64            `json:"position"` // the last event that is counted
	Totals   []costindex.Total `json:"totals"`
	Error    string            `json:"error,omitempty"` // why there are none
}

// readIndex brings the cost index of an execution up to date and asks it, in
// this process.
func readIndex(execution string, by costindex.By) (Answer, error) {
	x, err := openCosts(layout.Layout{Root: execution})
	if err != nil {
		return Answer{}, err
	}
	totals, err := x.Totals(by)
	return Answer{Position: x.Position(), Totals: totals}, errors.Join(err, x.Close())
}

// WriteAnswer writes what readIndex returns as JSON, without holding all of it: a hundred
// thousand totals in memory cost more time than reading them. What goes wrong in the middle
// is in the Error of the answer; the error is that of writing.
func WriteAnswer(out io.Writer, execution string, by costindex.By) error {
	e := jsontext.NewEncoder(out)
	x, failed := openCosts(layout.Layout{Root: execution})
	tokens := []jsontext.Token{jsontext.BeginObject}
	if failed == nil {
		tokens = append(tokens, jsontext.String("position"), jsontext.Uint(x.Position()))
	}
	for _, t := range append(tokens, jsontext.String("totals"), jsontext.BeginArray) {
		if err := e.WriteToken(t); err != nil {
			return err
		}
	}
	if failed == nil {
		failed = errors.Join(x.Each(by, func(t costindex.Total) error { return json.MarshalEncode(e, t) }), x.Close())
	}
	tokens = []jsontext.Token{jsontext.EndArray}
	if failed != nil {
		tokens = append(tokens, jsontext.String("error"), jsontext.String(failed.Error()))
	}
	for _, t := range append(tokens, jsontext.EndObject) {
		if err := e.WriteToken(t); err != nil {
			return err
		}
	}
	return nil
}

// AskIndex is readIndex in another process, of the program self.
func AskIndex(self string) func(execution string, by costindex.By) (Answer, error) {
	return func(execution string, by costindex.By) (Answer, error) {
		text, err := exec.Command(self, Subcommand, execution, string(rune(by))).Output()
		if err != nil {
			return Answer{}, fmt.Errorf("asking the cost index in another process: %w", err)
		}
		var a Answer
		if err := json.Unmarshal(text, &a); err != nil {
			return Answer{}, fmt.Errorf("asking the cost index in another process: its answer cannot be read: %w", err)
		}
		if a.Error != "" {
			return Answer{}, errors.New(a.Error)
		}
		return a, nil
	}
}

// CatchUp brings the cost index of an execution up to date.
func CatchUp(execution string) error {
	x, err := openCosts(layout.Layout{Root: execution})
	if err != nil {
		return err
	}
	return x.Close()
}

// openCosts opens the cost index and counts what the journal has had since.
// The index is one of this journal since it was last rebuilt.
func openCosts(l layout.Layout) (*costindex.Index, error) {
	if hankweave.ForeignJournal(l) {
		return nil, errors.New("the journal is Hankweave's until hank continues the execution")
	}
	found, err := layout.InspectJournal(l)
	if err != nil {
		return nil, err
	}
	if !found.Whole() {
		return nil, errors.New("the journal is damaged; the next `hank run` repairs it")
	}
	meta, err := layout.ReadMeta(l.Root)
	if err != nil {
		return nil, err
	}
	source := fmt.Sprintf("%s@%d", meta.Lineage, found.Base)
	x, _, err := costindex.Open(l.CostIndex(), source)
	if err != nil {
		return nil, err
	}
	err = x.CatchUp(costsSince(l, max(x.Position()+1, found.Base)))
	if err == nil {
		return x, nil
	}
	// What is doubtful about a projection is answered by rebuilding it.
	err = x.Reset(source)
	if err == nil {
		err = x.CatchUp(costsSince(l, found.Base))
	}
	if err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

// costsSince reads the costs in a journal: those of each record that became
// final, and those in the state that the journal begins with.
func costsSince(l layout.Layout, from uint64) iter.Seq2[costindex.Entry, error] {
	return func(yield func(costindex.Entry, error) bool) {
		enough := errors.New("enough")
		err := journal.ReadWanted(vfs.OS, l.Events(), from, mayCost, func(e journal.Event) error {
			costs, err := costsIn(e)
			for _, c := range costs {
				if !yield(c, nil) {
					return enough
				}
			}
			return err
		})
		if err != nil && !errors.Is(err, enough) {
			yield(costindex.Entry{}, err)
		}
	}
}

// mayCost reports whether an event may be one that costsIn finds costs in, by its
// text: of what happens to a codon, only its end. It may say yes too often.
func mayCost(quotedType, data []byte) bool {
	if string(quotedType) != `"`+state.TransitionEvent+`"` {
		return false
	}
	of, known := state.TypeIn(data)
	if !known {
		return true
	}
	switch of {
	case state.CodonStarted{}.Type(), state.CostsUpdated{}.Type(), state.PlanGrown{}.Type(), state.PlanSet{}.Type(), state.CheckpointCreated{}.Type():
		return false
	case state.CodonTransitioned{}.Type():
		// The first status is the record's own.
		_, status, found := bytes.Cut(data, []byte(`"status":"`))
		status, _, _ = bytes.Cut(status, []byte(`"`))
		return !found || state.CodonStatus(status).Terminal()
	}
	return true
}

// costsIn returns the costs that an event tells of.
func costsIn(e journal.Event) ([]costindex.Entry, error) {
	if e.Type != state.TransitionEvent {
		return nil, nil
	}
	t, err := state.Decode(e.Data)
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case state.CodonTransitioned:
		if t.Record.Status.Terminal() {
			return costsOf(e.Seq, t.RunID, t.Record), nil
		}
	case state.Rebased:
		s, err := state.Apply(&state.State{}, e.Seq, t)
		if err != nil {
			return nil, err
		}
		return costsOfState(s, e.Seq, false), nil
	}
	return nil, nil
}

// costsOfState returns the costs of all records, or of all final ones.
func costsOfState(s *state.State, seq uint64, live bool) []costindex.Entry {
	var out []costindex.Entry
	var planned map[state.CodonID]string // models, for records of another runtime, which have none
	for _, r := range slices.Backward(s.Runs) {
		for _, c := range r.Codons() {
			if !live && !c.Status.Terminal() {
				continue
			}
			costs := costsOf(seq, r.RunID, c)
			if c.Model == "" && len(costs) > 0 {
				if planned == nil {
					planned = plannedModels(s)
				}
				costs[0].Model = planned[c.CodonID]
			}
			out = append(out, costs...)
		}
	}
	return out
}

// plannedModels are the models of the plan's codons.
func plannedModels(s *state.State) map[state.CodonID]string {
	models := map[state.CodonID]string{}
	for _, e := range s.ExecutionPlan() {
		models[e.CodonID] = e.Codon.Model.String()
	}
	return models
}

// costsOf returns the costs of a record: its agent's and each observer's. The record that a
// gate has made is no attempt, and has none.
func costsOf(seq uint64, run state.RunID, c *state.Codon) []costindex.Entry {
	if c.FailedAtGate() {
		return nil
	}
	out := reported(seq, run, c)
	for i := range out {
		if c.Replayed() {
			out[i].Replayed = out[i].Cost
		}
	}
	return out
}

// sentinels is the key under which the cost of sentinels is, where costs are by harness.
const sentinels = "sentinels"

// reported returns the costs of a record as they were reported, paid or not.
func reported(seq uint64, run state.RunID, c *state.Codon) []costindex.Entry {
	e := costindex.Entry{Seq: seq, Time: c.StartTime.Time, RunID: string(run), CodonID: string(c.CodonID), Model: c.Model, Harness: c.Harness, Bill: state.Bill{Cost: c.Cost()}, Tokens: c.TokenCount()}
	if c.EndTime != nil {
		e.Time = c.EndTime.Time
	}
	if c.LoopContext != nil {
		e.Loop = string(c.LoopContext.LoopID)
	}
	out := []costindex.Entry{e}
	if c.Sentinels == nil {
		return out
	}
	e.Observer, e.Harness = true, sentinels
	rest := c.Sentinels.TotalCost
	for _, s := range c.Sentinels.All() {
		e.Model, e.Bill, e.Tokens = s.Model, state.Bill{Cost: s.TotalCost}, s.Tokens
		out, rest = append(out, e), rest-s.TotalCost
	}
	if rest != 0 { // of observers that are not named
		e.Model, e.Bill, e.Tokens = "", state.Bill{Cost: rest}, state.Tokens{}
		out = append(out, e)
	}
	return out
}

// Report is what an execution has cost, summed up one way.
type Report struct {
	Totals []costindex.Total // sorted by key
	All    costindex.Total
	// NoIndex says why the records were summed up instead of asking the index;
	// the sums are the same.
	NoIndex string
}

// Of sums up what an execution has cost, abandoned lineage paths and the codon
// running included: money spent stays spent. ask brings the cost index up to date
// and asks it: readIndex or AskIndex. Where the index is in use, cannot be written
// or ends its process, the records of the state are summed up instead.
func Of(v *recovery.View, by costindex.By, ask func(string, costindex.By) (Answer, error)) Report {
	totals, err := indexed(v, by, ask)
	r := Report{}
	if err != nil {
		r.NoIndex = err.Error()
		totals = addCosts(nil, by, costsOfState(v.State, v.State.Seq, true))
	}
	r.take(totals)
	return r
}

// ofRun sums up what the attempts of a run have cost, from their records: the index does
// not tell the runs apart in other ways.
func ofRun(v *recovery.View, by costindex.By, run state.RunID) (r Report) {
	entries := slices.DeleteFunc(costsOfState(v.State, v.State.Seq, true), func(e costindex.Entry) bool { return e.RunID != string(run) })
	r.take(addCosts(nil, by, entries))
	return r
}

// take takes in totals, with their sum.
func (r *Report) take(totals []costindex.Total) {
	slices.SortFunc(totals, func(a, b costindex.Total) int { return cmp.Compare(a.Key, b.Key) })
	r.Totals = totals
	for _, t := range totals {
		r.All.Entries, r.All.Bill, r.All.Tokens = r.All.Entries+t.Entries, r.All.Plus(t.Bill), r.All.Tokens.Add(t.Tokens)
	}
}

// indexed asks the index, and adds the record that is not final yet. If the
// index knows of an event that the state has not seen, that record may have
// become final meanwhile and be counted already.
func indexed(v *recovery.View, by costindex.By, ask func(string, costindex.By) (Answer, error)) ([]costindex.Total, error) {
	a, err := ask(v.Layout.Root, by)
	if err != nil {
		return nil, err
	}
	if a.Position < v.State.Seq { // a checkpoint has what a kill has kept from the journal
		return addCosts(nil, by, costsOfState(v.State, v.State.Seq, true)), nil
	}
	totals := a.Totals
	if run := v.State.Newest(); run != nil && run.Live() != nil && a.Position <= v.State.Seq {
		totals = addCosts(totals, by, costsOf(v.State.Seq, run.RunID, run.Live()))
	}
	return totals, nil
}

// addCosts adds entries to totals.
func addCosts(totals []costindex.Total, by costindex.By, entries []costindex.Entry) []costindex.Total {
	place := map[string]int{}
	for i, t := range totals {
		place[t.Key] = i
	}
	for _, e := range entries {
		key := costKey(by, e)
		i, ok := place[key]
		if !ok {
			i = len(totals)
			place[key], totals = i, append(totals, costindex.Total{Key: key})
		}
		t := &totals[i]
		t.Entries, t.Bill, t.Tokens = t.Entries+e.Attempts(), t.Plus(e.Bill), t.Tokens.Add(e.Tokens)
	}
	return totals
}

func costKey(by costindex.By, e costindex.Entry) string {
	switch by {
	case costindex.ByRun:
		return e.RunID
	case costindex.ByCodon:
		return e.CodonID
	case costindex.ByLoop:
		return e.Loop
	case costindex.ByModel:
		return e.Model
	case costindex.ByHarness:
		return e.Harness
	}
	return costindex.Quarter(e.Time)
}
