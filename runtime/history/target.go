package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"hank/checkpoint"
	"hank/internal/typo"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/layout"
	"hank/runtime/exitcode"
	"hank/state"
)

// Target is a place in the history that the user has named.
type Target struct {
	SHA      state.SHA            `json:"sha"`
	Kind     state.CheckpointKind `json:"kind"`
	RunID    state.RunID          `json:"runId,omitempty"`
	CodonID  state.CodonID        `json:"codonId,omitempty"`
	Position state.Position       `json:"-"` // where to go on from there
}

func (t Target) String() string {
	name := string(t.Kind)
	if !slices.Contains(kinds, t.Kind) && t.Kind != state.KindInitial { // only its SHA names it
		return fmt.Sprintf("the %s checkpoint %.12s", name, t.SHA)
	}
	if t.CodonID != "" {
		name = string(t.CodonID) + ":" + name
	}
	return fmt.Sprintf("%s (%.12s)", name, t.SHA)
}

// TargetError says that a target names nothing, or several things.
type TargetError struct {
	Text       string
	Candidates []Target // what the text may stand for
	Known      []string // if it is for nothing: names that stand for something
	// Removed is when hank gc removed what it is for, and What that was.
	Removed *state.Time
	What    string
	Lost    state.SHA // the checkpoint that it is for and that cannot be read
}

func (e *TargetError) Error() string {
	if e.Removed != nil {
		return fmt.Sprintf("%q is a checkpoint of %s, which was removed by hank gc on %s; from where it was exported to, `hank checkpoints import` brings it back", e.Text, e.What, e.Removed.Local().Format("2006-01-02 15:04"))
	}
	if e.Lost != "" {
		return fmt.Sprintf("%q is checkpoint %.12s, which was lost with damaged files of the checkpoint store; see: `hank doctor`", e.Text, e.Lost)
	}
	if len(e.Candidates) == 0 {
		known := ""
		if len(e.Known) > 0 {
			known = " (" + strings.Join(e.Known, ", ") + " do)"
		}
		return fmt.Sprintf("%q names no checkpoint%s; see: `hank checkpoints`", e.Text, known)
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
	IsComplete(context.Context, checkpoint.SHA) (bool, error)
}

// ResolveTarget finds the checkpoint that text names:
//
//	initial, last-success
//	CODON, CODON:rig-setup, CODON:completed, CODON:error, CODON:skipped
//	a SHA or a prefix of at least four digits
//
// The prefixes codon:, sha: and run: (its last checkpoint) always work. Codons
// are looked for on the timeline first, then in all runs, newest first. The
// error is a *TargetError.
func ResolveTarget(s *state.State, store Resolver, text string) (Target, error) {
	t, err := resolve(s, store, text)
	if run := s.Run(t.RunID); err == nil && run != nil && run.Removed != nil {
		if _, gone := store.CommitInfo(checkpoint.SHA(t.SHA)); gone != nil {
			return Target{}, &TargetError{Text: text, Removed: run.Removed, What: "run " + string(run.RunID)}
		}
	}
	if err == nil {
		if whole, werr := store.IsComplete(context.Background(), checkpoint.SHA(t.SHA)); werr == nil && !whole {
			return Target{}, &TargetError{Text: text, Lost: t.SHA}
		}
	}
	var none *TargetError
	if errors.As(err, &none) && len(none.Candidates) == 0 && none.Removed == nil {
		if none.Lost = known(s, strings.TrimPrefix(text, "sha:")); none.Lost != "" {
			return t, err
		}
		if none.What, none.Removed = removed(s, strings.TrimPrefix(text, "sha:")); none.Removed == nil {
			none.Known = names(s)
		}
	}
	return t, err
}

// known finds a checkpoint of the state by the beginning of its name, for one
// that the store does not have.
func known(s *state.State, prefix string) state.SHA {
	if len(prefix) < 4 {
		return ""
	}
	for _, k := range recovery.KnownCheckpoints(s) {
		if strings.HasPrefix(string(k.SHA), prefix) {
			return k.SHA
		}
	}
	return ""
}

// removed finds what hank gc has removed by the beginning of a commit's name.
func removed(s *state.State, prefix string) (what string, at *state.Time) {
	if len(prefix) < 4 {
		return "", nil
	}
	is := func(sha state.SHA) bool { return strings.HasPrefix(string(sha), prefix) }
	for i, r := range s.Removed {
		if is(r.Head) {
			return "branch " + r.Branch, &s.Removed[i].Time
		}
	}
	for _, r := range s.Runs {
		if r.Removed == nil {
			continue
		}
		if is(r.Head) {
			return "run " + string(r.RunID), r.Removed
		}
		for i := range r.Len() {
			if slices.ContainsFunc(kinds, func(k state.CheckpointKind) bool { return is(CheckpointOf(r.Codon(i), k)) }) {
				return "run " + string(r.RunID), r.Removed
			}
		}
	}
	return "", nil
}

// names are some of the names that stand for a checkpoint: those of the last
// codons of the timeline, and the fixed ones.
func names(s *state.State) []string {
	const most = 5
	var out []string
	if s.InitialCheckpoint != "" {
		out = append(out, "initial")
	}
	if _, err := lastSuccess(s); err == nil {
		out = append(out, "last-success")
	}
	thread := s.Timeline()
	for i := len(thread) - 1; i >= 0 && len(out) < most+2; i-- {
		name := string(thread[i].Codon.CodonID)
		if _, ok := EndOf(s, thread[i], ""); ok && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

func resolve(s *state.State, store Resolver, text string) (Target, error) {
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
	thread := s.Timeline()
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
		if t, ok := EndOf(s, state.TimelineEntry{Run: r, Codon: r.Codon(i)}, ""); ok {
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
	thread := s.Timeline()
	for i := len(thread) - 1; i >= 0; i-- {
		if t, ok := EndOf(s, thread[i], kind); ok && thread[i].Codon.CodonID == id {
			return t, nil
		}
	}
	for _, r := range s.Runs {
		for i := r.Len() - 1; i >= 0; i-- {
			if r.Codon(i).CodonID != id {
				continue
			}
			if t, ok := EndOf(s, state.TimelineEntry{Run: r, Codon: r.Codon(i)}, kind); ok {
				return t, nil
			}
		}
	}
	return Target{}, &TargetError{Text: text}
}

// EndOf is the last checkpoint of a record, or the one of a kind.
func EndOf(s *state.State, step state.TimelineEntry, kind state.CheckpointKind) (Target, bool) {
	for _, k := range kinds {
		if (kind == "" || kind == k) && CheckpointOf(step.Codon, k) != "" {
			return recordTarget(s, step, k), true
		}
	}
	return Target{}, false
}

// CheckpointOf returns the checkpoint of a kind that a record has; empty: none.
func CheckpointOf(c *state.Codon, kind state.CheckpointKind) state.SHA {
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

// recordTarget is a checkpoint of a record, with the place to continue from: the
// next codon after a settled one; the codon itself, on the tree of the
// checkpoint, where it failed or where only its rig is done.
func recordTarget(s *state.State, step state.TimelineEntry, kind state.CheckpointKind) Target {
	c := step.Codon
	sha := CheckpointOf(c, kind)
	t := Target{SHA: sha, Kind: kind, RunID: step.Run.RunID, CodonID: c.CodonID}
	if c.Settled() && kind != state.KindRigSetup {
		t.Position = state.Position{RunID: step.Run.RunID, AfterCodon: &c.CodonID}
	} else {
		t.Position = PositionBefore(s, step)
		t.Position.RigDone = kind == state.KindRigSetup
	}
	t.Position.CheckpointSHA = sha
	return t
}

// PositionBefore is the place right before a record, on its own thread.
func PositionBefore(s *state.State, step state.TimelineEntry) state.Position {
	p := state.Position{RunID: step.Run.RunID, RestartAt: step.Codon.CodonID}
	thread := s.TimelineTo(step.Run, step.Codon)
	for i := len(thread) - 2; i >= 0; i-- {
		if c := thread[i].Codon; c.Settled() && c.CodonID != step.Codon.CodonID {
			p.RunID, p.AfterCodon = thread[i].Run.RunID, &c.CodonID
			break
		}
	}
	return p
}

// FindOnThread returns the newest record of a codon on the present timeline, or else that
// of the run at the position, if it ends with this codon.
func FindOnThread(s *state.State, id state.CodonID) (state.TimelineEntry, error) {
	thread := s.Timeline()
	for i := len(thread) - 1; i >= 0; i-- {
		if thread[i].Codon.CodonID == id {
			return thread[i], nil
		}
	}
	if r := s.RunAtPosition(); r != nil && r.Len() > 0 && r.Codon(r.Len()-1).CodonID == id {
		return state.TimelineEntry{Run: r, Codon: r.Codon(r.Len() - 1)}, nil
	}
	if s.PlanIndex(id) >= 0 || slices.ContainsFunc(s.Runs, func(r *state.Run) bool {
		return slices.ContainsFunc(r.Codons(), func(c *state.Codon) bool { return c.CodonID == id })
	}) {
		return state.TimelineEntry{}, &exitcode.UsageError{Why: fmt.Sprintf("codon %s has not run on the way to where the execution is; see: `hank plan`", id)}
	}
	return state.TimelineEntry{}, UnknownCodon(s, id)
}

// UnknownCodon is the error about a codon that is neither in the plan nor in any
// run, with the name that was perhaps meant.
func UnknownCodon(s *state.State, id state.CodonID) error {
	return &exitcode.UsageError{Why: fmt.Sprintf("there is no codon %s%s to see their names: `hank plan`", id, cmp.Or(MeantCodon(s, id), ";"))}
}

// MeantCodon asks for the codon of the plan whose name is nearest to a mistyped
// one; empty if none is near.
func MeantCodon(s *state.State, id state.CodonID) string {
	var names []string
	for _, e := range s.ExecutionPlan() {
		names = append(names, string(e.CodonID))
	}
	if near := typo.Nearest(string(id), names); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
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
		if isOfWorkspace(store, sha) {
			none.Candidates = append(none.Candidates, TargetOf(s, store, state.SHA(sha)))
		}
	}
	if len(none.Candidates) != 1 {
		return Target{}, none
	}
	return none.Candidates[0], nil
}

// isOfWorkspace reports whether a commit holds a workspace. The store has frozen
// programs too, and notes of what gc has removed.
func isOfWorkspace(store Resolver, sha checkpoint.SHA) bool {
	info, err := store.CommitInfo(sha)
	if err != nil {
		return true // it says so itself when it is read
	}
	kind := Describe(info).Kind
	return kind != execution.ProgramTitle && kind != state.KindRemoved
}

// TargetOf is the target that a commit is. What the user has changed is after the step
// that led there. One that belongs to no record, nor to the end of one or of a run,
// brings back its tree; the place in the plan stays as it is.
func TargetOf(s *state.State, store Resolver, sha state.SHA) Target {
	if sha == s.InitialCheckpoint {
		t, _ := initialTarget(s)
		return t
	}
	for _, k := range kinds { // an older hank has noted the end of the codon before as that of a rig
		for _, r := range s.Runs {
			for i := range r.Len() {
				if CheckpointOf(r.Codon(i), k) == sha {
					return recordTarget(s, state.TimelineEntry{Run: r, Codon: r.Codon(i)}, k)
				}
			}
		}
	}
	t := Target{SHA: sha, Kind: state.KindRecovery, Position: s.CurrentPosition()}
	if info, err := store.CommitInfo(checkpoint.SHA(sha)); err == nil {
		if l := Describe(info); l.Kind != "" {
			t.Kind, t.CodonID, t.RunID = l.Kind, l.CodonID, l.RunID
		}
	}
	if run := s.Run(t.RunID); run != nil && t.Kind != state.KindRecovery {
		t.Position = positionAt(s, run, t)
	} else if ended := execution.EndedAt(store, sha); t.Kind == state.KindManual && ended != sha {
		t.Position = TargetOf(s, store, ended).Position
	}
	t.Position.CheckpointSHA = sha
	return t
}

// positionAt is the place of a checkpoint that a run has made beside those of
// its records: after the codon whose files were archived, else where the run
// ended.
func positionAt(s *state.State, run *state.Run, t Target) state.Position {
	for i := range run.Len() {
		if step := (state.TimelineEntry{Run: run, Codon: run.Codon(i)}); step.Codon.BaseCheckpoint == t.SHA {
			return PositionBefore(s, step)
		}
	}
	last := run.Len() - 1
	for i := last; t.Kind == state.KindArchive && i >= 0; i-- {
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
	step := state.TimelineEntry{Run: run, Codon: run.Codon(last)}
	if step.Codon.Settled() {
		return state.Position{RunID: run.RunID, AfterCodon: &step.Codon.CodonID}
	}
	return PositionBefore(s, step)
}

// Locate returns the directory of an execution: the one that is named, or the
// one that the current directory is in.
func Locate(named string) (string, error) {
	if named != "" {
		return filepath.Abs(named)
	}
	return layout.Find(".")
}
