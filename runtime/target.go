package runtime

import (
	"fmt"
	"strings"

	"hank/checkpoint"
	"hank/state"
)

// Target is a place in the history that a person has named.
type Target struct {
	SHA      state.SHA            `json:"sha"`
	Kind     state.CheckpointKind `json:"kind"`
	RunID    state.RunID          `json:"runId,omitempty"`
	CodonID  state.CodonID        `json:"codonId,omitempty"`
	Position state.Position       `json:"-"` // where to go on from there
}

func (t Target) String() string {
	name := string(t.Kind)
	if t.CodonID != "" {
		name = string(t.CodonID) + ":" + name
	}
	return fmt.Sprintf("%s (%.12s)", name, t.SHA)
}

// TargetError says that a target names nothing, or several things.
type TargetError struct {
	Text       string
	Candidates []Target
}

func (e *TargetError) Error() string {
	if len(e.Candidates) == 0 {
		return fmt.Sprintf("%q names no checkpoint; see: hank checkpoints", e.Text)
	}
	names := make([]string, len(e.Candidates))
	for i, c := range e.Candidates {
		names[i] = fmt.Sprintf("%s of run %s", c, c.RunID)
	}
	return fmt.Sprintf("%q could be %s; name one by its SHA", e.Text, strings.Join(names, ", or "))
}

// Resolver finds commits by a prefix of their name, and reads them.
type Resolver interface {
	Resolve(prefix string) ([]checkpoint.SHA, error)
	CommitInfo(checkpoint.SHA) (checkpoint.Info, error)
}

// ResolveTarget finds the checkpoint that text names:
//
//	initial, last-success
//	CODON, CODON:rig-setup, CODON:completed, CODON:error, CODON:skipped
//	a SHA or a prefix of at least four digits
//
// The prefixes codon:, sha: and run: (its last checkpoint) always work. Codons
// are looked for on the thread first, then in all runs, newest first. The
// error is a *TargetError.
func ResolveTarget(s *state.State, store Resolver, text string) (Target, error) {
	switch {
	case text == "initial":
		return initialTarget(s)
	case text == "last-success":
		return lastSuccess(s)
	case strings.HasPrefix(text, "sha:"):
		return commitTarget(s, store, strings.TrimPrefix(text, "sha:"), text)
	case strings.HasPrefix(text, "run:"):
		return runTarget(s, strings.TrimPrefix(text, "run:"), text)
	case strings.HasPrefix(text, "codon:"):
		return codonTarget(s, strings.TrimPrefix(text, "codon:"), text)
	}
	t, err := codonTarget(s, text, text)
	if err == nil {
		return t, nil
	}
	if found, serr := commitTarget(s, store, text, text); serr == nil || len(serr.(*TargetError).Candidates) > 0 {
		return found, serr
	}
	return Target{}, err
}

func initialTarget(s *state.State) (Target, error) {
	if s.InitialCheckpoint == "" {
		return Target{}, &TargetError{Text: "initial"}
	}
	t := Target{SHA: s.InitialCheckpoint, Kind: state.KindInitial}
	t.Position = state.Position{CheckpointSHA: s.InitialCheckpoint}
	if len(s.Runs) > 0 {
		t.Position.RunID = s.Runs[len(s.Runs)-1].RunID
	}
	if plan := s.ExecutionPlan(); len(plan) > 0 {
		t.Position.RestartAt = plan[0].CodonID
	}
	return t, nil
}

func lastSuccess(s *state.State) (Target, error) {
	thread := s.Thread()
	for i := len(thread) - 1; i >= 0; i-- {
		if c := thread[i].Codon; c.Status == state.Completed {
			return recordTarget(s, thread[i], state.KindCompleted), nil
		}
	}
	return Target{}, &TargetError{Text: "last-success"}
}

func runTarget(s *state.State, id, text string) (Target, error) {
	r := s.Run(state.RunID(id))
	if r == nil || r.Head == "" {
		return Target{}, &TargetError{Text: text}
	}
	for i := r.Len() - 1; i >= 0; i-- {
		if t, ok := endOf(s, state.Step{Run: r, Codon: r.Codon(i)}, ""); ok {
			return t, nil
		}
	}
	return Target{}, &TargetError{Text: text}
}

var kinds = []state.CheckpointKind{state.KindCompleted, state.KindSkipped, state.KindError, state.KindRigSetup}

func codonTarget(s *state.State, name, text string) (Target, error) {
	id, kind := state.CodonID(name), state.CheckpointKind("")
	for _, k := range kinds {
		if before, ok := strings.CutSuffix(name, ":"+string(k)); ok {
			id, kind = state.CodonID(before), k
		}
	}
	thread := s.Thread()
	for i := len(thread) - 1; i >= 0; i-- {
		if t, ok := endOf(s, thread[i], kind); ok && thread[i].Codon.CodonID == id {
			return t, nil
		}
	}
	for _, r := range s.Runs {
		for i := r.Len() - 1; i >= 0; i-- {
			if r.Codon(i).CodonID != id {
				continue
			}
			if t, ok := endOf(s, state.Step{Run: r, Codon: r.Codon(i)}, kind); ok {
				return t, nil
			}
		}
	}
	return Target{}, &TargetError{Text: text}
}

// endOf is the last checkpoint of a record, or the one of a kind.
func endOf(s *state.State, step state.Step, kind state.CheckpointKind) (Target, bool) {
	for _, k := range kinds {
		if (kind == "" || kind == k) && checkpointOf(step.Codon, k) != "" {
			return recordTarget(s, step, k), true
		}
	}
	return Target{}, false
}

func checkpointOf(c *state.Codon, kind state.CheckpointKind) state.SHA {
	switch kind {
	case state.KindCompleted:
		return c.CompletionCheckpoint
	case state.KindSkipped:
		return c.SkipCheckpoint
	case state.KindError:
		return c.ErrorCheckpoint
	case state.KindRigSetup:
		return c.RigSetupCheckpoint
	}
	return ""
}

// recordTarget is a checkpoint of a record, with the place to go on from: the
// next codon behind a settled one; the codon itself, on the tree of the
// checkpoint, where it failed or where only its rig is done.
func recordTarget(s *state.State, step state.Step, kind state.CheckpointKind) Target {
	c := step.Codon
	sha := checkpointOf(c, kind)
	t := Target{SHA: sha, Kind: kind, RunID: step.Run.RunID, CodonID: c.CodonID}
	if c.Settled() && kind != state.KindRigSetup {
		t.Position = state.Position{RunID: step.Run.RunID, AfterCodon: &c.CodonID}
	} else {
		t.Position = positionBefore(s, step)
		t.Position.RigDone = kind == state.KindRigSetup
	}
	t.Position.CheckpointSHA = sha
	return t
}

// positionBefore is the place right before a record, on its own thread.
func positionBefore(s *state.State, step state.Step) state.Position {
	p := state.Position{RunID: step.Run.RunID, RestartAt: step.Codon.CodonID}
	thread := s.ThreadTo(step.Run, step.Codon)
	for i := len(thread) - 2; i >= 0; i-- {
		if c := thread[i].Codon; c.Settled() && c.CodonID != step.Codon.CodonID {
			p.RunID, p.AfterCodon = thread[i].Run.RunID, &c.CodonID
			break
		}
	}
	return p
}

func findOnThread(s *state.State, id state.CodonID) (state.Step, error) {
	thread := s.Thread()
	for i := len(thread) - 1; i >= 0; i-- {
		if thread[i].Codon.CodonID == id {
			return thread[i], nil
		}
	}
	if r := s.Newest(); r != nil && s.Position == nil && r.Len() > 0 && r.Codon(r.Len()-1).CodonID == id {
		return state.Step{Run: r, Codon: r.Codon(r.Len() - 1)}, nil
	}
	return state.Step{}, &UsageError{fmt.Sprintf("codon %s has not run on the present thread; see: hank status", id)}
}

// commitTarget finds a commit by its name.
func commitTarget(s *state.State, store Resolver, prefix, text string) (Target, error) {
	none := &TargetError{Text: text}
	if len(prefix) < 4 || strings.Trim(prefix, "0123456789abcdef") != "" {
		return Target{}, none
	}
	found, err := store.Resolve(prefix)
	if err != nil || len(found) == 0 {
		return Target{}, none
	}
	for _, sha := range found {
		none.Candidates = append(none.Candidates, commit(s, store, state.SHA(sha)))
	}
	if len(found) > 1 {
		return Target{}, none
	}
	return none.Candidates[0], nil
}

// commit is the target that a commit is. One that belongs to no record, nor to
// the end of one or of a run, brings back its tree; the place in the plan stays
// as it is.
func commit(s *state.State, store Resolver, sha state.SHA) Target {
	if sha == s.InitialCheckpoint {
		t, _ := initialTarget(s)
		return t
	}
	for _, r := range s.Runs {
		for i := range r.Len() {
			for _, k := range kinds {
				if checkpointOf(r.Codon(i), k) == sha {
					return recordTarget(s, state.Step{Run: r, Codon: r.Codon(i)}, k)
				}
			}
		}
	}
	t := Target{SHA: sha, Kind: state.KindRecovery, Position: s.Here()}
	if info, err := store.CommitInfo(checkpoint.SHA(sha)); err == nil {
		if l := describe(info); l.Kind != "" {
			t.Kind, t.CodonID, t.RunID = l.Kind, l.CodonID, l.RunID
		}
	}
	if run := s.Run(t.RunID); run != nil && t.Kind != state.KindRecovery {
		t.Position = positionAt(s, run, t)
	}
	t.Position.CheckpointSHA = sha
	return t
}

// positionAt is the place of a checkpoint that a run has made beside those of
// its records: behind the codon whose files were archived, else where the run
// ended.
func positionAt(s *state.State, run *state.Run, t Target) state.Position {
	last := run.Len() - 1
	for i := last; t.Kind == kindArchive && i >= 0; i-- {
		if run.Codon(i).CodonID == t.CodonID {
			last = i
			break
		}
	}
	if last < 0 { // nothing has run: it ended where it began
		if from := run.StartingConditions.Source; from != nil {
			return *from
		}
		t, _ := initialTarget(s)
		return t.Position
	}
	step := state.Step{Run: run, Codon: run.Codon(last)}
	if step.Codon.Settled() {
		return state.Position{RunID: run.RunID, AfterCodon: &step.Codon.CodonID}
	}
	return positionBefore(s, step)
}
