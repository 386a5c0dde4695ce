package state

import (
	"fmt"
	"slices"
	"strings"
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
	Type    IssueType `json:"type"`
	Message string    `json:"message"`
	RunID   RunID     `json:"runId,omitempty"`
	CodonID CodonID   `json:"codonId,omitempty"`
}

// Validation is the result of Validate.
type Validation struct {
	Valid    bool    `json:"valid"`
	Errors   []Issue `json:"errors"`
	Warnings []Issue `json:"warnings"`
}

// World is what Validate compares a state with. A nil member is not compared.
type World struct {
	RunDirs   []string // names of the directories under runs/
	HasCommit func(SHA) bool
	Costs     map[RunID]USD // what the cost index says
}

// Validate checks what a state says against itself and against the world. It
// finds all issues and changes nothing.
func Validate(s *State, w World) Validation {
	v := &validator{world: w, runs: map[RunID]*Run{}}
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
	runs             map[RunID]*Run
	errors, warnings []Issue
}

func (v *validator) fail(i Issue) { v.errors = append(v.errors, i) }
func (v *validator) warn(i Issue) { v.warnings = append(v.warnings, i) }

func (v *validator) commit(sha SHA, what string, run RunID, codon CodonID) {
	if r := v.runs[run]; r != nil && r.Removed != nil {
		return // on purpose
	}
	if sha != "" && v.world.HasCommit != nil && !v.world.HasCommit(sha) {
		v.warn(Issue{MissingCheckpoint, fmt.Sprintf("%s is commit %s, which the store does not have", what, sha), run, codon})
	}
}

func (v *validator) run(s *State, r *Run) {
	if r.RunID == "" {
		v.fail(Issue{Type: CorruptedData, Message: "a run has no runId"})
	}
	if !slices.Contains([]RunStatus{StatusRunning, StatusCompleted, StatusFailed, StatusCrashed}, r.Status) {
		v.fail(Issue{CorruptedData, fmt.Sprintf("run %s has the status %q", r.RunID, r.Status), r.RunID, ""})
	}
	if r.Status == StatusRunning && s.CurrentRunID != r.RunID {
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

func (v *validator) codon(s *State, r *Run, c *Codon, last bool) {
	bad := func(format string, args ...any) {
		v.fail(Issue{InvalidCodon, fmt.Sprintf("codon %s of run %s ", c.CodonID, r.RunID) + fmt.Sprintf(format, args...), r.RunID, c.CodonID})
	}
	if c.CodonID == "" {
		bad("has no codonId")
		return
	}
	if _, known := moves[c.Status]; !known {
		bad("has the status %q", c.Status)
		return
	}
	if missing := c.missing(); missing != "" {
		bad("is %s and needs %s", c.Status, missing)
	}
	if !c.Status.Terminal() && !last {
		bad("is %s although others came after it", c.Status)
	}
	if !c.Status.Terminal() && r.Status != StatusRunning {
		bad("is %s although the run is %s", c.Status, r.Status)
	}
	if s.plan.len() > 0 && s.PlanIndex(c.CodonID) < 0 && !v.abandoned(s, r) {
		v.warn(Issue{UnplannedCodon, fmt.Sprintf("codon %s of run %s is not in the plan", c.CodonID, r.RunID), r.RunID, c.CodonID})
	}
	for what, sha := range map[string]SHA{"rig": c.RigSetupCheckpoint, "completion": c.CompletionCheckpoint, "error": c.ErrorCheckpoint, "skip": c.SkipCheckpoint} {
		v.commit(sha, fmt.Sprintf("the %s checkpoint of codon %s", what, c.CodonID), r.RunID, c.CodonID)
	}
}

// abandoned tells that a run lies on a lineage path that was left: its codons may
// have gone from the plan. Only the newest run must agree with the plan.
func (v *validator) abandoned(s *State, r *Run) bool { return r != s.Newest() || s.Position != nil }

func (v *validator) dirs() {
	for _, name := range v.world.RunDirs {
		if v.runs[RunID(name)] == nil {
			v.warn(Issue{OrphanedFolder, fmt.Sprintf("directory runs/%s belongs to no run", name), RunID(name), ""})
		}
	}
}

// missing names what a record lacks for its status, or nothing.
func (c *Codon) missing() string {
	var lacks []string
	need := func(name string, there bool) {
		if !there {
			lacks = append(lacks, name)
		}
	}
	need("startTime", !c.StartTime.IsZero())
	switch c.Status {
	case Initializing:
		need("claudePid", c.ClaudePid != 0)
		need("claudeLogPath", c.ClaudeLogPath != "")
	case Running, CompletingSentinels:
		need("claudeSessionId", c.ClaudeSessionID != "")
		need("currentCost", c.CurrentCost != nil)
		need("currentTokens", c.CurrentTokens != nil)
	case Completed:
		need("endTime", c.EndTime != nil)
		need("exitCode", c.ExitCode != nil)
		need("finalCost", c.FinalCost != nil)
		need("finalTokens", c.FinalTokens != nil)
		need("completionCheckpoint", strings.TrimSpace(string(c.CompletionCheckpoint)) != "")
	case Failed:
		need("endTime", c.EndTime != nil)
		need("failedDuring", c.FailedDuring != "")
		need("failureReason", c.FailureReason != nil)
		need("exitCode", c.ExitCode != nil)
	case Skipped:
		need("endTime", c.EndTime != nil)
		need("skippedDuring", c.SkippedDuring != "")
	}
	if c.Settling != nil {
		for _, name := range c.Settling.missing() {
			need("settling."+name, false)
		}
	}
	return strings.Join(lacks, ", ")
}

// missing names what an announced end lacks to become the end of a record.
func (s *Settling) missing() []string {
	switch {
	case !s.Status.Terminal():
		return []string{"status"}
	case s.Status == Failed && s.FailureReason == nil:
		return []string{"failureReason"}
	}
	return nil
}
