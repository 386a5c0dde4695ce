package history

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"hank/checkpoint"
	"hank/internal/lazyregexp"
	"hank/recovery/execution"
	"hank/runtime/exitcode"
	"hank/state"
)

// Target is a place in the history that the user has named.
type Target struct {
	SHA      state.SHA            `json:"sha"`
	Kind     state.CheckpointKind `json:"kind"`
	RunID    state.RunID          `json:"runId,omitempty"`
	CodonID  state.CodonID        `json:"codonId,omitempty"`
	Position state.Position       `json:"-"` // where to continue from there
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
	Meant      string   // and the one that was perhaps meant
	Waiting    bool     // it is a codon of the plan that has no checkpoint yet
	Beyond     *beyond  // it goes back further than there is something
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
		return fmt.Sprintf("%q is checkpoint %.12s, which cannot be read whole since files of the checkpoint store are damaged or missing; see: `hank doctor`", e.Text, e.Lost)
	}
	if e.Beyond != nil {
		return fmt.Sprintf("%q names no checkpoint: %s", e.Text, e.Beyond)
	}
	if e.Waiting {
		return fmt.Sprintf("codon %s has no checkpoint yet; see: `hank plan`", e.Text)
	}
	if len(e.Candidates) == 0 {
		known := ";"
		if len(e.Known) > 0 {
			known = " (" + strings.Join(e.Known, ", ") + " do);"
			if len(e.Known) == 1 {
				known = " (" + e.Known[0] + " does);"
			}
		}
		if e.Meant != "" {
			known = "; did you mean " + e.Meant + "?"
		}
		return fmt.Sprintf("%q names no checkpoint%s see: `hank checkpoints`", e.Text, known)
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

var kinds = []state.CheckpointKind{state.KindCompleted, state.KindSkipped, state.KindError, state.KindRigSetup}

// EndOf is the last checkpoint of a record, or the one of a kind.
func EndOf(s *state.State, step state.LineageEntry, kind state.CheckpointKind) (Target, bool) {
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
func recordTarget(s *state.State, step state.LineageEntry, kind state.CheckpointKind) Target {
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

// PositionBefore is the place right before a record, on its own lineage path.
func PositionBefore(s *state.State, step state.LineageEntry) state.Position {
	p := state.Position{RunID: step.Run.RunID, RestartAt: step.Codon.CodonID}
	steps := s.LineagePathTo(step.Run, step.Codon)
	for i := len(steps) - 2; i >= 0; i-- {
		if c := steps[i].Codon; c.Settled() && c.CodonID != step.Codon.CodonID {
			p.RunID, p.AfterCodon = steps[i].Run.RunID, &c.CodonID
			break
		}
	}
	return p
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
					return recordTarget(s, state.LineageEntry{Run: r, Codon: r.Codon(i)}, k)
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
// its records: before the codon that it shows the start of, after the one whose
// files were archived, else where the run ended.
func positionAt(s *state.State, run *state.Run, t Target) state.Position {
	for i := range run.Len() {
		step := state.LineageEntry{Run: run, Codon: run.Codon(i)}
		if step.Codon.BaseCheckpoint == t.SHA || t.Kind == state.KindTracked && step.Codon.CodonID == t.CodonID { // behind a rig it is no base
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
	step := state.LineageEntry{Run: run, Codon: run.Codon(last)}
	if step.Codon.Settled() {
		return state.Position{RunID: run.RunID, AfterCodon: &step.Codon.CodonID}
	}
	return PositionBefore(s, step)
}

// beyond is a number of steps back that is too large.
type beyond struct {
	From  Target
	Steps int // that there are
}

func (b *beyond) String() string {
	switch b.Steps {
	case 0:
		return fmt.Sprintf("there is nothing before %s", b.From)
	case 1:
		return fmt.Sprintf("from %s there is one step back, to initial", b.From)
	}
	return fmt.Sprintf("from %s there are %d steps back, the last one to initial", b.From, b.Steps)
}

// Listed is a checkpoint as it is in a list.
type Listed struct {
	SHA     state.SHA            `json:"sha"`
	Kind    state.CheckpointKind `json:"kind"` // empty for a commit that hank did not make
	CodonID state.CodonID        `json:"codonId,omitempty"`
	RunID   state.RunID          `json:"runId,omitempty"`
	Branch  string               `json:"branch"`
	Time    state.Time           `json:"time"`
	Name    string               `json:"name,omitempty"`
	Current bool                 `json:"current,omitzero"` // the one that the workspace was last at
	Parents []state.SHA          `json:"parents"`
	Cut     bool                 `json:"cut,omitzero"` // what came before it is lost
}

// titleForm is the first line of a checkpoint's message. An id of Hankweave's
// may have spaces.
var titleForm = lazyregexp.New(`^([a-z-]+):(?:(.*?) \[run:([^\]]+)\]|(\S*))(?: (.*))?$`)

// Describe reads a checkpoint's message: the title, and the time to the
// millisecond, which git itself keeps in seconds.
func Describe(info checkpoint.Info) Listed {
	l := Listed{SHA: state.SHA(info.SHA), Time: state.At(info.When)}
	title, rest, _ := strings.Cut(info.Message, "\n")
	m := titleForm.FindStringSubmatch(title)
	if m == nil {
		l.Name = title
		return l
	}
	l.Kind, l.CodonID, l.RunID, l.Name = state.CheckpointKind(m[1]), state.CodonID(m[2]+m[4]), state.RunID(m[3]), m[5]
	for line := range strings.SplitSeq(rest, "\n") {
		if stamp, ok := strings.CutPrefix(line, "Timestamp: "); ok {
			_ = l.Time.UnmarshalJSON([]byte(`"` + stamp + `"`)) // one that cannot be read leaves git's
		}
	}
	return l
}

// noneYet is the error where there is nothing to go back to or to compare with.
func noneYet() error {
	return &exitcode.UsageError{Why: "there is no checkpoint yet; start with: `hank run`"}
}
