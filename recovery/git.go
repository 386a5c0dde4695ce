package recovery

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/go-json-experiment/json"

	"hank/checkpoint"
	"hank/plan"
	"hank/state"
)

const heads = "refs/heads/"

// witness is a checkpoint with what its record tells.
type witness struct {
	branch string
	sha    state.SHA
	record Record
}

func (w witness) evidence() (state.Evidence, error) {
	t, err := w.record.transition(w.sha)
	return state.Evidence{Seq: w.record.Seq, Run: w.record.Run, Program: w.record.Program, Transition: t}, err
}

// consultGit compares the state with the branches of the store:
//
//  1. A tip that the state knows says nothing new.
//  2. One unknown tip whose record carries exactly the journal's next number
//     is a checkpoint whose acknowledgement a crash cut off: its event is
//     appended.
//  3. Records further than that mean that state and journal have lost their
//     end: the history is rebuilt from the commits, and the journal begins
//     anew from it.
//  4. Any other unknown tip moves to recovery/, and its branch back to where
//     the state has it.
func (x *Execution) consultGit(ctx context.Context) error {
	unknown, err := x.unknownTips()
	if err != nil || len(unknown) == 0 {
		return err
	}
	next := x.journal.Last() + 1
	var behind []witness
	for _, w := range unknown {
		if w.record.Lineage != x.State().Lineage || w.record.Seq < next {
			if err := x.evict(w); err != nil {
				return err
			}
			continue
		}
		behind = append(behind, w)
	}
	if len(behind) == 1 && behind[0].record.Seq == next {
		return x.rollForward(behind[0])
	}
	if len(behind) > 0 {
		return x.rebuildFromGit(ctx)
	}
	return nil
}

// unknownTips lists the branches whose tips are not where the state has them.
// Recovery branches are not looked at: nothing depends on them.
func (x *Execution) unknownTips() ([]witness, error) {
	refs, err := x.Store.Refs(heads)
	if err != nil {
		return nil, err
	}
	s, known := x.State(), map[string]state.SHA{}
	known["main"] = s.InitialCheckpoint
	for _, r := range s.Runs {
		known[r.GitBranch] = r.Head
	}
	var out []witness
	for ref, sha := range refs {
		branch := strings.TrimPrefix(ref, heads)
		if known[branch] == state.SHA(sha) || branch != "main" && !strings.HasPrefix(branch, "run-") {
			continue
		}
		info, err := x.Store.CommitInfo(sha)
		if err != nil {
			return nil, fmt.Errorf("branch %s: %w", branch, err)
		}
		record, _ := readRecord(info)
		out = append(out, witness{branch, state.SHA(sha), record})
	}
	return out, nil
}

// rollForward appends the event that a crash cut off. A checkpoint that does
// not follow from the state is not acknowledged after all.
func (x *Execution) rollForward(w witness) error {
	t, err := w.record.transition(w.sha)
	if err != nil {
		return x.evict(w)
	}
	var illegal *state.IllegalMoveError
	if err := x.Record(t); errors.As(err, &illegal) {
		return x.evict(w)
	} else if err != nil {
		return err
	}
	x.Report.add(Mended, "checkpoint %.12s was complete when hank ended, and is acknowledged now", w.sha)
	return nil
}

// evict keeps a tip on a recovery branch and puts its own branch back.
func (x *Execution) evict(w witness) error {
	if err := x.Store.SetRef(heads+x.RecoveryBranch(), "", checkpoint.SHA(w.sha)); err != nil {
		return err
	}
	back := state.SHA("")
	if w.branch == "main" {
		back = x.State().InitialCheckpoint
	}
	for _, r := range x.State().Runs {
		if r.GitBranch == w.branch {
			back = r.Head
		}
	}
	x.Report.add(Mended, "checkpoint %.12s on %s was never acknowledged; it is kept on a recovery branch", w.sha, w.branch)
	return x.Store.SetRef(heads+w.branch, checkpoint.SHA(w.sha), checkpoint.SHA(back))
}

// rebuildFromGit brings the state forward by what the commits tell.
func (x *Execution) rebuildFromGit(ctx context.Context) error {
	before := x.State()
	s, err := x.rebuilt(ctx, before)
	if err != nil {
		return err
	}
	x.Report.add(Mended, "the checkpoints knew more (up to event %d) than state and journal (up to %d); the history was rebuilt from them", s.Seq, before.Seq)
	return x.rebase(s, max(s.Seq, x.journal.Last())+1, "rebuilt from the checkpoints")
}

// stateFromGit rebuilds a state from the store alone; nil if it has nothing.
func (x *Execution) stateFromGit(ctx context.Context) (*state.State, error) {
	store, err := checkpoint.Open(x.storeOptions())
	var damaged *checkpoint.DamagedError
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, &damaged) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	x.Store = store
	defer func() { x.Store = nil }()
	s, err := x.rebuilt(ctx, &state.State{Lineage: x.meta.Lineage})
	if err == nil && s.Seq == 0 {
		s = nil
	}
	return s, errors.Join(err, store.Close())
}

// rebuilt returns base brought forward by every record of its lineage. With no
// lineage to go by, that of the furthest record counts.
func (x *Execution) rebuilt(ctx context.Context, base *state.State) (*state.State, error) {
	records, err := x.witnesses()
	if err != nil {
		return nil, err
	}
	if base.Lineage == "" {
		best := uint64(0)
		for _, w := range records {
			if w.record.Seq > best {
				best, base.Lineage = w.record.Seq, w.record.Lineage
			}
		}
	}
	var evidence []state.Evidence
	for _, w := range records {
		if w.record.Lineage != base.Lineage {
			continue
		}
		if e, err := w.evidence(); err == nil {
			evidence = append(evidence, e)
		}
	}
	s := state.Rebuild(base, evidence)
	return x.replan(ctx, s)
}

// witnesses reads the record of every commit that a branch leads to.
func (x *Execution) witnesses() ([]witness, error) {
	refs, err := x.Store.Refs(heads)
	if err != nil {
		return nil, err
	}
	seen := map[checkpoint.SHA]bool{}
	var out []witness
	for ref, tip := range refs {
		err := x.Store.Log(tip, func(info checkpoint.Info) (bool, error) {
			if seen[info.SHA] {
				return false, nil
			}
			seen[info.SHA] = true
			if record, ok := readRecord(info); ok {
				out = append(out, witness{strings.TrimPrefix(ref, heads), state.SHA(info.SHA), record})
			}
			return true, nil
		})
		if err != nil {
			x.Report.add(Lost, "branch %s cannot be read to its end: %v", strings.TrimPrefix(ref, heads), err)
		}
	}
	return out, nil
}

// replan derives the plan of a rebuilt state from its frozen program.
func (x *Execution) replan(_ context.Context, s *state.State) (*state.State, error) {
	if s.Program == "" {
		return s, nil
	}
	program, err := x.LoadProgram(s.Program)
	if err != nil {
		x.Report.add(Lost, "the frozen program %.12s cannot be read (%v); the plan stays as it is", s.Program, err)
		return s, nil
	}
	entries, err := json.Marshal(stored(program.Derive(Outcomes(s))))
	if err != nil {
		return nil, err
	}
	return s.WithPlan(entries)
}

func stored(entries []plan.Entry) []plan.Entry {
	out := make([]plan.Entry, len(entries))
	for i, e := range entries {
		out[i] = e.Stored()
	}
	return out
}

// Outcomes tells a plan how the codons on the thread ended.
func Outcomes(s *state.State) func(plan.CodonID) (plan.Outcome, bool) {
	settled, _ := s.Settled()
	return func(id plan.CodonID) (plan.Outcome, bool) {
		c := settled[id]
		if c == nil {
			return plan.Outcome{}, false
		}
		return Outcome(c), true
	}
}

// Outcome is a record as a plan sees it.
func Outcome(c *state.Codon) plan.Outcome {
	return plan.Outcome{
		Status:          plan.Status(c.Status),
		FailureIgnored:  c.FailureIgnored,
		ContextExceeded: c.ContextExceeded,
		BudgetExceeded:  c.BudgetExceeded != nil,
	}
}
