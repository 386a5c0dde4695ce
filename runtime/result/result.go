// Package result has how a command that runs codons ended, for people and for programs.
//
//   - A Result is filled in by who has run them. Its JSON is published.
//   - Notify tells the user's command of a Result. Nothing that the command does changes it.
//
// It decides nothing: the verdicts are package verdict's.
package result

import (
	"os"
	"time"

	"hank/internal/advice"
	"hank/plan"
	"hank/runtime/agents"
	"hank/runtime/exitcode"
	"hank/runtime/gate"
	"hank/runtime/progress"
	"hank/runtime/verdict"
	"hank/state"
)

// Schema is the version of what --json prints. It has nothing to do with that of the
// state.
const Schema = 1

// Result says how a run ended, for people and, as JSON, for programs.
type Result struct {
	Schema    int             `json:"schema"`
	Code      exitcode.Code   `json:"exitCode"`
	RunID     state.RunID     `json:"runId,omitempty"`
	Status    state.RunStatus `json:"status,omitempty"`
	EndReason state.EndReason `json:"endReason,omitempty"`
	Verdict   verdict.Verdict `json:"verdict,omitempty"` // on the run, for people
	Message   string          `json:"message"`
	Done      int             `json:"codonsDone"`
	Planned   int             `json:"codonsPlanned"`     // in the plan by now: a loop adds an iteration when the one before it has ended
	Expected  string          `json:"codonsExpected"`    // how many codons the plan comes to, as text: 9, ≤12, or ? where it is not known
	Codon     state.CodonID   `json:"codonId,omitempty"` // the one that ended the run
	state.Bill
	Limits    state.Limits        `json:"limits,omitzero"` // of the execution
	Execution string              `json:"execution"`
	Workspace string              `json:"workspace"`
	Output    string              `json:"output,omitempty"`
	Sandbox   *agents.Confinement `json:"sandbox,omitempty"` // what confined its processes, if anything
	Next      string              `json:"next,omitempty"`    // the command to continue with
	Finish    string              `json:"finish,omitempty"`  // the one that does again what a budget has interrupted

	FinishFirst string `json:"finishFirst,omitempty"` // what the user must do before that
	NextFirst   string `json:"nextFirst,omitempty"`   // what the user must do before the command to continue with

	Gate *gate.View  `json:"gate,omitempty"` // what waits for the user
	Hold *state.Hold `json:"hold,omitempty"` // why nothing runs

	state.Caveats // of the codons that are done

	// Repeats is the operation whose answer this is, once more.
	Repeats *state.Operation `json:"-"`

	// Err is the error that Message tells; nil: none. Option is what For was given.
	Err    error  `json:"-"`
	Option string `json:"-"`

	Extent  plan.Extent   `json:"-"` // what Planned will come to
	Changed bool          `json:"-"` // the files, since the first checkpoint
	Took    time.Duration `json:"-"` // this run; 0: there was nothing to run
	Runs    int           `json:"-"` // that there were
	All     time.Duration `json:"-"` // the work in all of them
}

// filled is a directory if something is in it.
func filled(dir string) string {
	if there, err := os.ReadDir(dir); err != nil || len(there) == 0 {
		return ""
	}
	return dir
}

// Ended is the end of the run as it is shown.
func (r *Result) Ended() progress.Ended {
	e := progress.Ended{
		Verdict: r.Verdict, Message: r.Message, Progress: verdict.ProgressText(r.Done, r.Extent, r.Caveats), Bill: r.Bill,
		Took: r.Took, Runs: r.Runs, All: r.All, Limits: verdict.DescribeLimits(r.Limits, r.Paid(), -1), But: !r.Caveats.Empty(),
		Results: filled(r.Output), Workspace: r.Workspace, Changed: r.Changed, Next: r.Next,
	}
	if r.Verdict != verdict.Completed {
		e.Caveats = verdict.CaveatText(r.Caveats)
	}
	if r.Gate != nil {
		e.Gate = r.Gate.Rows()
	}
	if r.Next == "" {
		e.Finish = r.Finish
	}
	if e.Finish != "" && r.FinishFirst != "" {
		e.Finish += "; before that: " + r.FinishFirst
	}
	return e
}

// For is the result with commands that have the option, " -e DIR", with which they find
// the execution.
func (r *Result) For(option string) *Result {
	shown := *r
	shown.Option = option
	shown.Next, shown.Finish, shown.Message = advice.Command(r.Next, option), advice.Command(r.Finish, option), advice.Render(r.Message, option)
	shown.Gate = r.Gate.In(option)
	return &shown
}
