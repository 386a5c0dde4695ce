package recovery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hank/checkpoint"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/state"
)

// branchPlan is what becomes of the references of a store.
type branchPlan struct {
	store   *checkpoint.Store
	state   *state.State              // as it will be
	refs    map[string]checkpoint.SHA // by branch, as they will be
	others  map[string]checkpoint.SHA // references that are no branches, by name, as they will be
	repairs []Repair
	forward string // the branch of the checkpoint that is acknowledged
}

// planBranches compares the references of the store with the state:
//
//  1. A file that is no reference goes to quarantine.
//  2. A branch that leads to nothing is put back to where the state, or its own
//     commits, have it. If nothing has it, its newest checkpoint is lost.
//  3. A tip that nobody knows moves to a recovery branch.
//  4. A checkpoint whose acknowledgement was interrupted is acknowledged.
//  5. Every branch that is missing, or has fallen back, is put back to where the state
//     has it. Without its branch a checkpoint would be garbage.
//  6. So are the references to the agents' sessions that are missing.
//
// It only reads.
func planBranches(s *subject) ([]Repair, error) {
	if s.store == nil {
		return nil, nil
	}
	p := &branchPlan{store: s.store, state: s.state}
	err := p.plan(s.history)
	if err != nil {
		err = fmt.Errorf("comparing the branches with the state: %w", err)
	}
	lead := maps.Clone(p.others)
	for branch, sha := range p.refs {
		lead[githistory.Heads+branch] = sha
	}
	for i := range p.repairs {
		p.repairs[i].refs = lead
	}
	return p.repairs, err
}

func (p *branchPlan) plan(a githistory.Comparison) error {
	if err := p.readRefs(); err != nil {
		return err
	}
	for _, l := range a.Lost {
		p.dropTip(a, l)
	}
	p.restoreRecoveryBranches(a.Unreferenced)
	for _, w := range a.Unacknowledged {
		if err := p.quarantineTip(w); err != nil {
			return err
		}
	}
	if a.Forward != nil {
		if err := p.rollForward(*a.Forward); err != nil {
			return err
		}
	}
	if err := p.restoreKnownBranches(a.Behind); err != nil {
		return err
	}
	p.repairs = append(p.repairs, restoreSessions(p.state, p.store, p.others)...)
	return nil
}

// readRefs reads the references. Files that hold none go to quarantine.
func (p *branchPlan) readRefs() error {
	refs, damaged, err := p.store.ReadableRefs("refs/")
	if err != nil {
		return err
	}
	p.refs, p.others = map[string]checkpoint.SHA{}, map[string]checkpoint.SHA{}
	for ref, sha := range refs {
		if branch, is := strings.CutPrefix(ref, githistory.Heads); is {
			p.refs[branch] = sha
		} else {
			p.others[ref] = sha
		}
	}
	for _, d := range damaged {
		p.repairs = append(p.repairs, setAside(p.store, d))
	}
	return nil
}

// move plans that a branch leads to a checkpoint; empty: that it is removed. What r has
// to do comes before.
func (p *branchPlan) move(branch string, to state.SHA, r Repair) {
	from, first := p.refs[branch], r.do
	r.do = func(ctx context.Context, x *execution.Execution, r *Repair) error {
		if first != nil {
			if err := first(ctx, x, r); err != nil {
				return err
			}
		}
		return x.Store.SetRef(githistory.Heads+branch, from, checkpoint.SHA(to))
	}
	if p.refs[branch] = checkpoint.SHA(to); to == "" {
		delete(p.refs, branch)
	}
	p.repairs = append(p.repairs, r)
}

// dropTip plans what becomes of a branch whose newest checkpoint cannot be read. What
// it led to is written down; when the objects come back, so does the branch.
func (p *branchPlan) dropTip(a githistory.Comparison, l githistory.LostTip) {
	note := func(_ context.Context, x *execution.Execution, _ *Repair) error {
		return noteReference(x, githistory.Heads+l.Branch, checkpoint.SHA(l.SHA), l.Why)
	}
	switch to := p.elsewhere(a, l); {
	case to != "" && p.state.RemovedAt(l.Branch) != nil:
		p.move(l.Branch, "", Repair{Severity: finding.Mended, Found: fmt.Sprintf("branch %s, which was removed, leads to checkpoint %.12s, which is not there", l.Branch, l.SHA),
			Will: "the next command removes it again", Did: "it is removed again", do: note})
	case to != "":
		p.move(l.Branch, to, Repair{Severity: finding.Mended, Found: fmt.Sprintf("branch %s leads to checkpoint %.12s, which is not there", l.Branch, l.SHA),
			Will: fmt.Sprintf("the next command puts it back to checkpoint %.12s", to), Did: fmt.Sprintf("it leads to checkpoint %.12s again", to), do: note})
	case githistory.OfHistory(l.Branch):
		p.move(l.Branch, "", Repair{Severity: finding.Lost, Found: fmt.Sprintf("checkpoint %.12s, the newest of branch %s, cannot be read (%s)", l.SHA, l.Branch, cause(l.Why)), do: note})
		l.Why = fmt.Errorf("%w (%v)", githistory.ErrLostTip, l.Why)
	default: // when its objects come back, nothing but the reference leads to them
	}
}

// elsewhere is where a branch that leads to nothing is known to belong; empty: nothing
// knows. Of a branch of the history a state knows it that is not behind; the others go
// to the newest that is left of them.
func (p *branchPlan) elsewhere(a githistory.Comparison, l githistory.LostTip) state.SHA {
	to := a.Unreferenced[l.Branch]
	if at, known := githistory.KnownHeads(p.state)[l.Branch]; known {
		if a.Behind && githistory.OfHistory(l.Branch) {
			return ""
		}
		to = at
	}
	if to == l.SHA || to == "" || !githistory.IsWhole(p.store, to) {
		return ""
	}
	return to
}

// restoreRecoveryBranches plans to put back the recovery branches whose references are
// gone; those of the history follow from the state.
func (p *branchPlan) restoreRecoveryBranches(tips map[string]state.SHA) {
	for _, branch := range slices.Sorted(maps.Keys(tips)) {
		tip := tips[branch]
		if !githistory.OfHistory(branch) && p.refs[branch] == "" && p.mayRestore(branch, tip) {
			p.restoreBranch(branch, tip, newestLeft)
		}
	}
}

func (p *branchPlan) restoreBranch(branch string, to state.SHA, more string) {
	p.move(branch, to, Repair{Severity: finding.Mended, Found: fmt.Sprintf("branch %s is gone", branch),
		Will: fmt.Sprintf("the next command puts it back to checkpoint %.12s%s", to, more), Did: fmt.Sprintf("it leads to checkpoint %.12s again%s", to, more)})
}

// quarantineTip plans to keep a tip on a recovery branch and to put its own branch
// back. A tip that the branch has only fallen back to needs no keeping.
func (p *branchPlan) quarantineTip(w githistory.CommitRecord) error {
	back := githistory.KnownHeads(p.state)[w.Branch]
	if !p.isWhole(back) {
		return nil // nothing to put it back to
	}
	if fallen, err := execution.LeadsTo(p.store, back, w.SHA); err != nil {
		return err
	} else if fallen {
		p.raise(w.Branch, w.SHA, back)
		return nil
	}
	p.move(w.Branch, back, Repair{Severity: finding.Mended, Found: fmt.Sprintf("checkpoint %.12s on %s was never acknowledged", w.SHA, w.Branch),
		Will: "the next command keeps it on a recovery branch", Did: "it is kept on a recovery branch",
		do: func(_ context.Context, x *execution.Execution, _ *Repair) error {
			return x.Store.SetRef(githistory.Heads+x.RecoveryBranch(), "", checkpoint.SHA(w.SHA))
		}})
	return nil
}

// raise plans to put back a branch that has fallen back.
func (p *branchPlan) raise(branch string, at, to state.SHA) {
	p.move(branch, to, Repair{Severity: finding.Mended, Found: fmt.Sprintf("branch %s has fallen back to checkpoint %.12s", branch, at),
		Will: fmt.Sprintf("the next command puts it back to checkpoint %.12s", to), Did: fmt.Sprintf("it leads to checkpoint %.12s again", to)})
}

// rollForward plans to append the event that a crash has left unwritten. A checkpoint
// that does not follow from the state is not acknowledged after all.
func (p *branchPlan) rollForward(w githistory.CommitRecord) error {
	t, err := w.Record.Transition(w.SHA)
	if err != nil {
		return p.quarantineTip(w)
	}
	next, err := state.Apply(p.state, w.Record.Seq, t)
	var illegal *state.IllegalMoveError
	if errors.As(err, &illegal) {
		return p.quarantineTip(w)
	} else if err != nil {
		return err
	}
	p.state, p.forward = next, w.Branch
	p.repairs = append(p.repairs, Repair{Severity: finding.Mended, Found: fmt.Sprintf("checkpoint %.12s was complete when hank ended", w.SHA),
		Will: "the next command acknowledges it", Did: "it is acknowledged now", next: next,
		do: func(_ context.Context, x *execution.Execution, _ *Repair) error { return x.Record(t) }})
	return nil
}

// restoreKnownBranches plans to put back every branch that is gone, or has fallen back,
// although the state knows its tip and the store has it. Of a state that may be behind
// nobody knows whether a newer one was lost with the branch. A branch that led to nothing
// has been put back to where the state was before its newest checkpoint was acknowledged.
func (p *branchPlan) restoreKnownBranches(behind bool) error {
	heads := githistory.KnownHeads(p.state)
	for _, branch := range slices.Sorted(maps.Keys(heads)) {
		at, head := p.refs[branch], heads[branch]
		switch {
		case head == "" || at == checkpoint.SHA(head):
		case at == "" && p.mayRestore(branch, head):
			more := ""
			if behind {
				more = newestLeft
			}
			if p.restoreBranch(branch, head, more); !begun(p.store, branch, head) {
				p.repairs[len(p.repairs)-1].Found = "" // it was never there
			}
		case at != "" && (behind || branch == p.forward) && p.mayRestore(branch, head): // the history may have been rebuilt beyond it
			if fallen, err := execution.LeadsTo(p.store, head, state.SHA(at)); err != nil {
				return err
			} else if fallen {
				p.raise(branch, state.SHA(at), head)
			}
		}
	}
	return nil
}

// mayRestore reports whether a branch may lead to a checkpoint again.
func (p *branchPlan) mayRestore(branch string, to state.SHA) bool {
	return p.state.RemovedAt(branch) == nil && p.isWhole(to)
}

// begun reports whether a branch that leads to a checkpoint was ever there: that
// of a run is made with the run's first checkpoint, and until then the state may
// have for it the rig checkpoint of the attempt that the run continues.
func begun(store execution.Commits, branch string, head state.SHA) bool {
	run, ofRun := strings.CutPrefix(branch, "run-")
	info, err := store.CommitInfo(checkpoint.SHA(head))
	title, _, _ := strings.Cut(info.Message, "\n")
	return !ofRun || err != nil || strings.Contains(title, " [run:"+run+"]")
}

// isWhole reports whether a checkpoint, if there is one, and all that is in it can be read.
func (p *branchPlan) isWhole(sha state.SHA) bool {
	return sha == "" || githistory.IsWhole(p.store, sha)
}
