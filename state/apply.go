package state

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"hank/plan"
)

// moves is the transition table of a codon's record: what may follow what.
var moves = map[CodonStatus][]CodonStatus{
	Preparing:           {Starting, Failed, Skipped},
	Starting:            {Initializing, Failed, Skipped},
	Initializing:        {Running, Failed, Skipped},
	Running:             {CompletingSentinels, Completed, Failed, Skipped},
	CompletingSentinels: {Completed, Failed, Skipped},
	Completed:           nil,
	Failed:              nil,
	Skipped:             nil,
}

// Apply returns the state after a transition at journal position seq, which is above that of
// s, but for a Rebased: that begins anew. It is pure: s stays valid and unchanged, and shares
// with the result everything that did not change. The cost is that of the change and of the
// list of runs; that of a Rebased is the whole state's. The error is an *IllegalMoveError, or
// a *NewerError if the state that a Rebased carries is a newer hank's.
func Apply(s *State, seq uint64, t Transition) (*State, error) {
	if seq <= s.Seq && t.Type() != (Rebased{}).Type() {
		return nil, illegal(t, "event %d is not after event %d", seq, s.Seq)
	}
	next := *s
	next.Seq = seq
	if !next.spent.known {
		next.spent = next.addUp()
	}
	if err := t.apply(&next); err != nil {
		return nil, err
	}
	return &next, nil
}

// All transitions: each type names the function that says when the transition is legal, and
// what it does. Those of gate.go, iteration.go, answer.go and sentinels.go are beside their types.

func (t Rebased) apply(s *State) error              { return s.rebase(t) }
func (t InitialCheckpointSet) apply(s *State) error { return s.setInitialCheckpoint(t) }
func (t PlanSet) apply(s *State) error              { return s.setPlan(t) }
func (t PlanGrown) apply(s *State) error            { return s.growPlan(t) }
func (t RunStarted) apply(s *State) error           { return s.startRun(t) }
func (t RunPaused) apply(s *State) error            { return s.pauseRun(t) }
func (t RunCompleted) apply(s *State) error         { return s.endRun(t, t.RunID, t.end) }
func (t RunFailed) apply(s *State) error            { return s.endRun(t, t.RunID, t.end) }
func (t RunCrashed) apply(s *State) error           { return s.endRun(t, t.RunID, t.end) }
func (t CodonStarted) apply(s *State) error         { return s.startCodon(t) }
func (t CodonTransitioned) apply(s *State) error    { return s.moveCodon(t) }
func (t CostsUpdated) apply(s *State) error         { return s.updateCosts(t) }
func (t CheckpointCreated) apply(s *State) error    { return s.noteCheckpoint(t) }
func (t IntentOpened) apply(s *State) error         { return s.openIntent(t) }
func (t IntentClosed) apply(s *State) error         { return s.closeIntent(t) }
func (t BranchesRemoved) apply(s *State) error      { return s.removeBranches(t) }
func (t LimitsSet) apply(s *State) error            { return s.setLimits(t) }

func (t RunCompleted) end(r *Run) { r.Status, r.EndTime = StatusCompleted, &t.EndTime }

func (t RunFailed) end(r *Run) {
	r.Status, r.EndTime, r.EndReason, r.EndDetail = StatusFailed, &t.EndTime, t.Reason, t.Detail
}

func (t RunCrashed) end(r *Run) {
	r.Status, r.EndTime, r.EndReason, r.EndDetail = StatusCrashed, &t.EndTime, EndCrash, t.Detail
}

func (s *State) setInitialCheckpoint(t InitialCheckpointSet) error {
	if s.InitialCheckpoint != "" {
		return illegal(t, "the initial checkpoint is %s already", s.InitialCheckpoint)
	}
	s.InitialCheckpoint, s.Base = t.SHA, t.SHA
	return nil
}

func (s *State) rebase(t Rebased) error {
	seq := s.Seq
	doc, err := parse(t.State)
	var newer *NewerError
	if errors.As(err, &newer) {
		return newer
	}
	if err != nil {
		return illegal(t, "%v", err)
	}
	base, err := doc.state()
	if err != nil {
		return illegal(t, "%v", err)
	}
	*s = *base
	s.Seq = seq
	s.spent = s.addUp()
	return nil
}

func (s *State) setPlan(t PlanSet) error {
	if cur := s.Current(); cur != nil && cur.live != nil {
		return illegal(t, "codon %s is in progress", cur.live.CodonID)
	}
	entries, err := decodeEntries(t.Entries)
	if err != nil {
		return illegal(t, "%v", err)
	}
	if id, twice := duplicate(entries); twice {
		return illegal(t, "%s occurs twice in the plan", id)
	}
	s.plan, s.Program, s.HankHash = newList(entries), t.Program, t.HankHash
	return nil
}

func (s *State) growPlan(t PlanGrown) error {
	at := s.PlanIndex(t.After)
	if at < 0 {
		return illegal(t, "%s is not in the plan", t.After)
	}
	keep := at + 1
	if t.Drop < 0 || keep+t.Drop > s.plan.len() {
		return illegal(t, "cannot drop %d of the %d entries after %s", t.Drop, s.plan.len()-keep, t.After)
	}
	add, err := decodeEntries(t.Add)
	if err != nil {
		return illegal(t, "%v", err)
	}
	// Ids stay unique: what comes is the next iteration of After's own loop.
	here := s.plan.items[at].LoopContext
	for _, e := range add {
		if here == nil || e.LoopContext == nil || e.LoopContext.LoopID != here.LoopID || e.LoopContext.Iteration != here.Iteration+1 {
			return illegal(t, "%s is not of the iteration after %s", e.CodonID, t.After)
		}
	}
	rest := s.plan.items[keep+t.Drop:]
	s.plan = s.plan.prefix(keep).append(add...).append(rest...)
	return nil
}

// setLimits takes new limits at any time: they change nothing that was done.
func (s *State) setLimits(t LimitsSet) error {
	if t.Limits.MaxDollars < 0 || t.Limits.MaxTimeSeconds < 0 {
		return illegal(t, "a limit cannot be negative")
	}
	s.Limits = t.Limits
	return nil
}

func decodeEntries(data []byte) ([]*PlanEntry, error) {
	if len(data) == 0 {
		return nil, nil
	}
	var entries []plan.Entry
	if err := json.Unmarshal(data, &entries); err != nil {
		return nil, fmt.Errorf("its plan entries cannot be read: %w", err)
	}
	return frozen(entries)
}

func duplicate(entries []*PlanEntry) (CodonID, bool) {
	seen := make(map[CodonID]bool, len(entries))
	for _, e := range entries {
		if seen[e.CodonID] {
			return e.CodonID, true
		}
		seen[e.CodonID] = true
	}
	return "", false
}

func (s *State) startRun(t RunStarted) error {
	if s.CurrentRunID != "" {
		return illegal(t, "run %s is running", s.CurrentRunID)
	}
	if s.Run(t.Run.RunID) != nil {
		return illegal(t, "there is a run %s already", t.Run.RunID)
	}
	if s.Intent != nil {
		return illegal(t, "a %s of the workspace is unfinished", s.Intent.Kind)
	}
	if t.Run.RunID == "" {
		return illegal(t, "a run needs runId")
	}
	if t.Run.Status != StatusRunning || t.Run.Len() != 0 {
		return illegal(t, "a run begins running and without records")
	}
	if err := s.admit(t, t.Run.Operation); err != nil {
		return err
	}
	run := *t.Run
	s.Runs = append([]*Run{&run}, s.Runs...)
	s.CurrentRunID = run.RunID
	s.spent.run = 0
	s.Position = nil
	if src := run.StartingConditions.Source; src != nil {
		s.Base = src.CheckpointSHA
	}
	return nil
}

func (s *State) endRun(t Transition, id RunID, change func(*Run)) error {
	run := s.Run(id)
	switch {
	case run == nil:
		return illegal(t, "there is no run %s", id)
	case run.Status != StatusRunning:
		return illegal(t, "run %s is %s", id, run.Status)
	case run.live != nil:
		return illegal(t, "codon %s of run %s is %s", run.live.CodonID, id, run.live.Status)
	}
	s.replaceRun(id, func(r *Run) { r.Paused = nil; change(r) })
	if s.CurrentRunID == id {
		s.CurrentRunID = ""
	}
	return nil
}

// pauseRun keeps a run open whose live record is still to get its end. Without
// such a record the run just ends.
func (s *State) pauseRun(t RunPaused) error {
	run := s.Run(t.RunID)
	switch {
	case run == nil || t.RunID != s.CurrentRunID:
		return illegal(t, "run %q is not the current one", t.RunID)
	case run.live == nil:
		return illegal(t, "no codon of run %s is in progress", t.RunID)
	case run.Paused != nil:
		return illegal(t, "run %s is paused already", t.RunID)
	}
	s.replaceRun(t.RunID, func(r *Run) {
		r.Paused = &Pause{Time: t.Time, Reason: t.Reason, Detail: t.Detail, Changing: t.Changing}
	})
	return nil
}

// replaceRun swaps a changed copy of a run into a copy of the list.
func (s *State) replaceRun(id RunID, change func(*Run)) {
	s.Runs = slices.Clone(s.Runs)
	for i, r := range s.Runs {
		if r.RunID == id {
			changed := *r
			change(&changed)
			s.Runs[i] = &changed
			return
		}
	}
}

func (s *State) startCodon(t CodonStarted) error {
	run := s.Run(t.RunID)
	switch {
	case t.RunID != s.CurrentRunID || run == nil:
		return illegal(t, "run %q is not the current one", t.RunID)
	case run.live != nil:
		return illegal(t, "codon %s is %s", run.live.CodonID, run.live.Status)
	case run.Paused != nil:
		return illegal(t, "run %s is paused", t.RunID)
	case t.Record.Status != Preparing:
		return illegal(t, "a record begins preparing, not %s", t.Record.Status)
	}
	if missing := t.Record.missing(); missing != "" {
		return illegal(t, "a record that is %s needs %s", t.Record.Status, missing)
	}
	at := s.PlanIndex(t.Record.CodonID)
	if at < 0 {
		return illegal(t, "%s is not in the plan", t.Record.CodonID)
	}
	s.cursor = at
	record := *t.Record
	s.spend(t.RunID, nil, &record)
	s.replaceRun(t.RunID, func(r *Run) { r.live = &record })
	return nil
}

func (s *State) moveCodon(t CodonTransitioned) error {
	run := s.Run(t.RunID)
	if run == nil || run.live == nil || run.live.CodonID != t.Record.CodonID {
		return illegal(t, "codon %s is not in progress in run %s", t.Record.CodonID, t.RunID)
	}
	from, to := run.live, *t.Record
	if !slices.Contains(moves[from.Status], to.Status) {
		return illegal(t, "codon %s cannot go from %s to %s", to.CodonID, from.Status, to.Status)
	}
	if run.Paused != nil && !to.Status.Terminal() {
		return illegal(t, "run %s is paused: codon %s can only end", t.RunID, to.CodonID)
	}
	if missing := to.missing(); missing != "" {
		return illegal(t, "a record that is %s needs %s", to.Status, missing)
	}
	if to.RigSetupCheckpoint != from.RigSetupCheckpoint && from.RigSetupCheckpoint != "" {
		return illegal(t, "the rig checkpoint of %s cannot change", to.CodonID)
	}
	record := &to
	if to.Status.Terminal() {
		if err := record.freeze(); err != nil {
			return illegal(t, "%v", err)
		}
	}
	s.spend(t.RunID, from, record)
	s.replaceRun(t.RunID, func(r *Run) {
		if sha := record.Checkpoint(); sha != "" {
			r.Head = sha
		}
		if !record.Status.Terminal() {
			r.live = record
			return
		}
		r.done, r.live = r.done.append(record), nil
	})
	s.Base = s.baseAfter(&to)
	return nil
}

func (s *State) updateCosts(t CostsUpdated) error {
	run := s.Run(t.RunID)
	if run == nil || run.Paused != nil || run.live == nil || run.live.CodonID != t.CodonID ||
		(run.live.Status != Running && run.live.Status != CompletingSentinels) {
		return illegal(t, "codon %s is not in progress in run %s", t.CodonID, t.RunID)
	}
	record := *run.live
	record.CurrentCost, record.CurrentTokens, record.UnpricedTokens = &t.Cost, &t.Tokens, t.UnpricedTokens
	record.AssistantMessageCount, record.ExtensionCount = &t.Messages, &t.Extensions
	s.spend(t.RunID, run.live, &record)
	s.replaceRun(t.RunID, func(r *Run) { r.live = &record })
	return nil
}

func (s *State) noteCheckpoint(t CheckpointCreated) error {
	if t.SHA == "" {
		return illegal(t, "it has no commit")
	}
	if t.RunID != "" {
		run := s.Run(t.RunID)
		if run == nil {
			return illegal(t, "there is no run %s", t.RunID)
		}
		if t.Branch == run.GitBranch {
			s.replaceRun(t.RunID, func(r *Run) { r.Head = t.SHA })
		}
	}
	if t.Base {
		s.Base = t.SHA
		if s.Position != nil {
			at := *s.Position
			at.CheckpointSHA, at.Kept = t.SHA, nil // it holds them
			s.Position = &at
		}
	}
	return nil
}

func (s *State) openIntent(t IntentOpened) error {
	if s.Intent != nil {
		return illegal(t, "a %s is under way (%s)", s.Intent.Kind, s.Intent.ID)
	}
	if err := s.admit(t, t.Intent.Operation); err != nil {
		return err
	}
	intent := t.Intent
	s.Intent = &intent
	return nil
}

func (s *State) closeIntent(t IntentClosed) error {
	if s.Intent == nil || s.Intent.ID != t.ID {
		return illegal(t, "no such change is under way")
	}
	if p := s.Intent.Position; p != nil && !t.Cancelled {
		at := *p
		at.Kept = t.Kept
		s.Position, s.Base = &at, at.CheckpointSHA
	}
	if o := s.Intent.Operation; o != nil && !t.Cancelled {
		done := *o
		done.Safety = s.Intent.Safety
		s.remember(done)
	}
	s.Intent = nil
	return nil
}

// PlanIndex returns where a codon is in the plan, or -1. It looks first
// where the last codon started and right after it, then everywhere.
func (s *State) PlanIndex(id CodonID) int {
	for i := s.cursor; i <= s.cursor+1 && i < s.plan.len(); i++ {
		if s.plan.items[i].CodonID == id {
			return i
		}
	}
	return slices.IndexFunc(s.plan.items, func(e *PlanEntry) bool { return e.CodonID == id })
}
