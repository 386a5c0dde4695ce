package codon

import (
	"context"
	"time"

	"hank/plan"
	"hank/recovery/layout"
	"hank/runtime/budget"
	"hank/runtime/harness"
	"hank/state"
)

// Spec is what one attempt at a codon is to do, and where. It is fixed before the
// attempt starts, and only read by it.
type Spec struct {
	Run         state.RunID
	ID          string // names the attempt in the environment of all that it starts
	Entry       plan.Entry
	Number      int       // of the attempt, 1 for the first in this run
	Base        state.SHA // the checkpoint that the attempt starts from
	ProjectHead string    // what the user's own repository is at

	SkipRig       bool      // the workspace has its work, or it has none here
	RigCheckpoint state.SHA // that of a rig whose work the workspace has
	Session       string    // the agent's session to continue; empty: a new one
	SessionCost   state.USD // what the agent has reported for it before

	Harness    harness.Harness
	Agent      harness.Check // what was found of it
	Program    *plan.Program
	Settings   plan.Settings
	Limits     budget.Limits
	LoopLimits budget.Limits // what is left to the codon's loop of its own

	Layout     layout.Layout
	Output     string // where results are copied to; empty: nowhere
	Overwrite  bool   // replace what is there instead of renaming
	HasData    bool
	Environ    []string // of every agent and rig
	Confined   bool     // what is started may write only in its directories
	Writable   []string // what it may write besides, if it is confined
	IgnoreRigs bool     // a rig that fails is no failure of the codon

	// Apply does to the workspace what an agent that is played back did; nil: the agent
	// does it.
	Apply func(context.Context) error
}

// Host is the border of a codon: all that an attempt needs of the execution that it
// belongs to. The record of the attempt is kept there.
type Host interface {
	// Live is the record as it was recorded last; nil before the first and after the
	// final form of it.
	Live() *state.Codon
	Now() state.Time
	// Record returns when the transitions are durable; RecordLater does not wait for
	// that. After an error of either nothing more is recorded.
	Record(...state.Transition) error
	RecordLater(...state.Transition) error
	// Note writes an event that changes nothing. It may fail unnoticed.
	Note(eventType string, data any)

	// Checkpoint makes a checkpoint of the workspace, and with it a form of the record
	// durable: starting, after its rig, or the final one. It returns the record with the
	// checkpoint in it. A codon that failed is closed even if it can have none.
	Checkpoint(ctx context.Context, next *state.Codon) (*state.Codon, error)
	// Preserve keeps what is at some paths if the last checkpoint does not have it.
	Preserve(ctx context.Context, paths []string, why string) error
	// LeftOut are the paths that no checkpoint has; LeaveOut adds one.
	LeftOut() []string
	LeaveOut(path string) error

	// Requests are those to stop or to skip. Stopping is told of one that ends the run.
	Requests() <-chan Request
	Stopping(Request)
	// ExplainRefusal adds to the reason of a refused model where the model is set.
	ExplainRefusal(*state.FailureReason)
	// Say reports progress, and Monitor is where the activity is shown; it may be nil.
	Say(format string, args ...any)
	Monitor() *Monitor
}

// attempt is one try at a codon.
type attempt struct {
	Spec
	host  Host
	notes []string

	usage     harness.Usage // of the running turn
	spent     harness.Usage // of the turns before it
	messages  int
	actions   actions
	extension int
	began     time.Time
	context   bool // the context window was full
	exceeded  *state.BudgetExceeded
	refused   *state.FailureReason // the provider's, which ended the agent
	skip      bool
	stop      *Request // the run is to end
	costs     pace     // of recording what is used
}

// Run takes a codon from its rig to its checkpoint and returns the final record. An
// error is one of hank itself: nothing more can be acknowledged, or the user must
// decide; the record is then closed by the next opening.
//
//  1. preparing: the rig runs, and gets a checkpoint.
//  2. starting: the agent's command is put together. Durable, before anything
//     that cannot be done twice.
//  3. initializing: the agent's process is there.
//  4. running: it has a session. What it uses is recorded as it goes.
//  5. The agent and all that it started are gone. Outputs are copied. How it
//     ended is recorded, so that from here on the agent does not run again.
//  6. The checkpoint, and with it the final record.
func Run(ctx context.Context, spec Spec, host Host) (*state.Codon, error) {
	a := &attempt{Spec: spec, host: host, began: time.Now()}
	record := &state.Codon{
		CodonID: a.Entry.CodonID, StartTime: host.Now(), Status: state.Preparing, LoopContext: a.Entry.LoopContext,
		Attempt: a.Number, Harness: a.Harness.Name(), Model: a.Entry.Codon.Model.String(), BaseCheckpoint: a.Base,
		ProjectHead: a.ProjectHead,
	}
	begin := host.RecordLater // the next transition is synced before the agent is there
	if a.hasRig() {
		begin = host.Record
	}
	if err := begin(state.CodonStarted{RunID: a.Run, Record: record}); err != nil {
		return nil, err
	}
	defer a.dropTemp()
	host.Note("codon.started", map[string]any{"codonId": record.CodonID, "codonName": a.Entry.Codon.Name, "startTime": record.StartTime})
	if failure, err := a.rig(ctx); err != nil || failure != nil {
		return a.failBeforeWork(ctx, failure, err)
	}
	failure, err := a.work(ctx)
	if err != nil || failure != nil {
		return a.failBeforeWork(ctx, failure, err)
	}
	return a.checkpoint(ctx, a.host.Live().Conclude(a.host.Now()))
}

// failBeforeWork closes a record whose agent never had a session.
func (a *attempt) failBeforeWork(ctx context.Context, failure *state.FailureReason, err error) (*state.Codon, error) {
	if err != nil {
		return nil, err
	}
	if a.isRefusal(failure) {
		a.host.ExplainRefusal(failure)
	}
	final := a.host.Live().Fail(a.host.Now(), -1, *failure)
	if a.stopping() {
		final.Interrupted = a.interruption()
	}
	if a.skip {
		final = a.host.Live().Skip(a.host.Now())
	}
	if final.Status == state.Failed && final.Interrupted == "" && a.isRefusal(final.FailureReason) {
		final.Interrupted = state.InterruptedByRefusal
	}
	final.FailureIgnored = final.Status == state.Failed && final.Interrupted == "" && a.Entry.Codon.Failure() == plan.Ignore
	return a.checkpoint(ctx, final)
}

// checkpoint makes the final checkpoint and with it the final record.
func (a *attempt) checkpoint(ctx context.Context, final *state.Codon) (*state.Codon, error) {
	a.host.Monitor().Step("making the checkpoint")
	if final.Settling == nil && len(final.Notes) == 0 {
		final.Notes = a.notes
	}
	return a.host.Checkpoint(ctx, final)
}

func (a *attempt) vars() plan.Vars {
	return plan.Vars{Workspace: a.Layout.Workspace, Data: a.Layout.Data()}
}
