// Package consistency checks a state against itself, and against the run
// directories, the checkpoint store and the cost index.
//
// An Issue is one finding; a Validation has all of one state. The package finds and
// changes nothing: what is done about an issue is decided above.
package consistency

import (
	"fmt"
	"slices"

	"hank/state"
)

// IssueType is the kind of a finding of Validate.
type IssueType string

// The documented kinds, then hank's own. The first three are errors: a state
// with one of them must be repaired before anything continues.
const (
	CorruptedData IssueType = "corrupted_data" // not JSON, or not of the shape
	MissingRun    IssueType = "missing_run"    // something names a run that is not there
	InvalidCodon  IssueType = "invalid_codon"  // a record does not fit its status

	OrphanedFolder    IssueType = "orphaned_folder"    // a run's directory without the run
	MissingCheckpoint IssueType = "missing_checkpoint" // a commit that the store does not have
	CostMismatch      IssueType = "cost_mismatch"      // the cost index does not agree with the records
	UnclosedRun       IssueType = "unclosed_run"       // a run says running, but is not the current one
	UnplannedCodon    IssueType = "unplanned_codon"    // a record of a codon that the plan does not have
)

// Issue is one finding.
type Issue struct {
	Type    IssueType     `json:"type"`
	Message string        `json:"message"`
	RunID   state.RunID   `json:"runId,omitempty"`
	CodonID state.CodonID `json:"codonId,omitempty"`
}

// Validation is the result of Validate.
type Validation struct {
	Valid    bool    `json:"valid"`
	Errors   []Issue `json:"errors"`
	Warnings []Issue `json:"warnings"`
}

// World is what Validate compares a state with. A nil member is not compared.
type World struct {
	RunDirs []string                  // names of the directories under runs/
	Lacks   func(state.SHA) string    // what the store does not have of a commit; empty: nothing
	Costs   map[state.RunID]state.USD // what the cost index says
}

// Validate checks what a state says against itself and against the world. It
// finds all issues and changes nothing.
func Validate(s *state.State, w World) Validation {
	v := &validator{world: w, runs: map[state.RunID]*state.Run{}}
	for _, r := range s.Runs {
		v.runs[r.RunID] = r
	}
	if s.CurrentRunID != "" && v.runs[s.CurrentRunID] == nil {
		v.fail(Issue{MissingRun, fmt.Sprintf("currentRunId names run %s, which is not in the list", s.CurrentRunID), s.CurrentRunID, ""})
	}
	v.commit(s.InitialCheckpoint, "the initial checkpoint", "", "")
	v.commit(s.Base, "the base of the next codon", "", "")
	for _, r := range s.Runs {
		v.run(s, r)
	}
	v.dirs()
	return Validation{Valid: len(v.errors) == 0, Errors: v.errors, Warnings: v.warnings}
}

// Corrupted is the validation of a text that cannot be read as a state.
func Corrupted(err error) Validation {
	return Validation{Errors: []Issue{{Type: CorruptedData, Message: err.Error()}}}
}

type validator struct {
	world            World
	runs             map[state.RunID]*state.Run
	errors, warnings []Issue
}

func (v *validator) fail(i Issue) { v.errors = append(v.errors, i) }
func (v *validator) warn(i Issue) { v.warnings = append(v.warnings, i) }

func (v *validator) commit(sha state.SHA, what string, run state.RunID, codon state.CodonID) {
	if r := v.runs[run]; r != nil && r.Removed != nil {
		return // on purpose
	}
	if sha == "" || v.world.Lacks == nil {
		return
	}
	if lost := v.world.Lacks(sha); lost != "" {
		v.warn(Issue{MissingCheckpoint, fmt.Sprintf("%s is commit %s; the store does not have %s", what, sha, lost), run, codon})
	}
}

func (v *validator) run(s *state.State, r *state.Run) {
	if r.RunID == "" {
		v.fail(Issue{Type: CorruptedData, Message: "a run has no runId"})
	}
	if !slices.Contains([]state.RunStatus{state.StatusRunning, state.StatusCompleted, state.StatusFailed, state.StatusCrashed}, r.Status) {
		v.fail(Issue{CorruptedData, fmt.Sprintf("run %s has the status %q", r.RunID, r.Status), r.RunID, ""})
	}
	if r.Status == state.StatusRunning && s.CurrentRunID != r.RunID {
		v.warn(Issue{UnclosedRun, fmt.Sprintf("run %s is running, but currentRunId does not name it", r.RunID), r.RunID, ""})
	}
	if src := r.StartingConditions.Source; src != nil {
		if v.runs[src.RunID] == nil {
			v.fail(Issue{MissingRun, fmt.Sprintf("run %s continues run %s, which is not in the list", r.RunID, src.RunID), r.RunID, ""})
		}
		v.commit(src.CheckpointSHA, fmt.Sprintf("the start of run %s", r.RunID), r.RunID, "")
	}
	for i := range r.Len() {
		v.codon(s, r, r.Codon(i), i == r.Len()-1)
	}
	if cost, ok := v.world.Costs[r.RunID]; ok && cost != r.Bill().Cost {
		v.warn(Issue{CostMismatch, fmt.Sprintf("run %s cost $%s by its records and $%s by the cost index", r.RunID, r.Bill().Cost, cost), r.RunID, ""})
	}
}

func (v *validator) codon(s *state.State, r *state.Run, c *state.Codon, last bool) {
	bad := func(format string, args ...any) {
		v.fail(Issue{InvalidCodon, fmt.Sprintf("codon %s of run %s ", c.CodonID, r.RunID) + fmt.Sprintf(format, args...), r.RunID, c.CodonID})
	}
	if c.CodonID == "" {
		bad("has no codonId")
		return
	}
	if !c.Status.IsKnown() {
		bad("has the status %q", c.Status)
		return
	}
	if missing := c.Missing(); missing != "" {
		bad("is %s and needs %s", c.Status, missing)
	}
	if !c.Status.Terminal() && !last {
		bad("is %s although others came after it", c.Status)
	}
	if !c.Status.Terminal() && r.Status != state.StatusRunning {
		bad("is %s although the run is %s", c.Status, r.Status)
	}
	if len(s.ExecutionPlan()) > 0 && s.PlanIndex(c.CodonID) < 0 && !v.abandoned(s, r) {
		v.warn(Issue{UnplannedCodon, fmt.Sprintf("codon %s of run %s is not in the plan", c.CodonID, r.RunID), r.RunID, c.CodonID})
	}
	for what, sha := range map[string]state.SHA{"rig": c.RigSetupCheckpoint, "completion": c.CompletionCheckpoint, "error": c.ErrorCheckpoint, "skip": c.SkipCheckpoint} {
		v.commit(sha, fmt.Sprintf("the %s checkpoint of codon %s", what, c.CodonID), r.RunID, c.CodonID)
	}
}

// abandoned tells that a run lies on a lineage path that was left: its codons may
// have gone from the plan. Only the newest run must agree with the plan.
func (v *validator) abandoned(s *state.State, r *state.Run) bool {
	return r != s.Newest() || s.Position != nil
}

func (v *validator) dirs() {
	for _, name := range v.world.RunDirs {
		if v.runs[state.RunID(name)] == nil {
			v.warn(Issue{OrphanedFolder, fmt.Sprintf("directory runs/%s belongs to no run", name), state.RunID(name), ""})
		}
	}
}
