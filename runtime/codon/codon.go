package codon

import (
	"context"
	"time"

	"hank/checkpoint"
	"hank/plan"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/runtime/agents"
	"hank/runtime/budget"
	"hank/runtime/harness"
	"hank/runtime/history"
	"hank/runtime/usergit"
	"hank/state"
)

// Execution is what an attempt needs of its execution; *execution.Execution is one.
// Record returns when the transitions are durable; RecordLater does not wait.
type Execution interface {
	State() *state.State
	Head() state.SHA
	Now() state.Time
	Note(eventType string, data any) error
	Record(transitions ...state.Transition) error
	RecordLater(transitions ...state.Transition) error
	Snapshot(ctx context.Context, sel checkpoint.Selection, parent state.SHA, include ...string) (*checkpoint.Snapshot, error)
	Commit(ctx context.Context, c execution.Commit) (state.SHA, error)
	Tree(sha state.SHA) (checkpoint.SHA, error)
	Preserve(ctx context.Context, snap *checkpoint.Snapshot, branch string, parent state.SHA, note string) (state.SHA, error)
	RecoveryBranch() string
	LeaveOut(paths []string) error
}

// Store is what an attempt needs of the store of checkpoints.
type Store interface {
	CommitInfo(checkpoint.SHA) (checkpoint.Info, error)
	Abort()
}

// Host is what a run gives to each attempt at a codon.
type Host struct {
	X     Execution
	Store Store
	// finish makes the final checkpoint of an attempt, and with it its final record.
	Finish    func(ctx context.Context, run state.RunID, name string, final *state.Codon, sel checkpoint.Selection) error
	Layout    layout.Layout
	Workspace func() *checkpoint.Workspace // that a recording changes: the one that is there by then
	Output    string                       // where results are copied to; empty: nowhere
	HasData   bool
	LeftOut   func() []string // what is left out of every checkpoint
	// ExplainModel says in the reason of a refused model of a codon where the model is set.
	ExplainModel func(*state.FailureReason, *plan.Codon)

	Run         state.RunID
	Program     *plan.Program
	Settings    plan.Settings
	Agents      agents.Found
	Accounts    *budget.Accounts
	Requests    <-chan Request
	Replay      *Recording          // nil: the agents themselves are at work
	Environ     []string            // of every agent and rig
	Confinement *agents.Confinement // nil: processes may write anywhere
	IgnoreRigs  bool
	Overwrite   bool // replace what is in the output folder instead of renaming
	Monitor     *Monitor
	Say         func(format string, args ...any)
	Selection   func(index int) checkpoint.Selection // what the checkpoint of the codon at an index takes
}

// note writes an event that changes nothing. Failing to is not worth stopping
// for: whatever gates something fails by itself.
func (h *Host) note(eventType string, data any) { _ = h.X.Note(eventType, data) }

func (h *Host) branch() string { return h.X.State().Run(h.Run).GitBranch }

func (h *Host) parents() []state.SHA { return []state.SHA{h.X.Head()} }

// Carried is what goes with a run from one attempt to the next.
type Carried struct {
	RigDone       bool         // the tree is the one after the next codon's rig
	ResumeSession string       // the session that the next codon goes on with
	Resumed       *state.Codon // the attempt that the run goes on with; nil: it goes on with none
	Stop          *Request     // the run is to end
}

// Attempt is one try at a codon.
type Attempt struct {
	*Host
	*Carried
	Entry  plan.Entry
	Index  int // in the plan
	Number int // 1 for the first in this run
	id     string
	Limits budget.Limits
	notes  []string

	usage     harness.Usage // of the turn at work
	spent     harness.Usage // of the turns before it
	messages  int
	actions   actions
	extension int
	began     time.Time
	context   bool // the context window was full
	exceeded  *state.BudgetExceeded
	refused   *state.FailureReason // the provider's, which ended the agent
	skip      bool
	costs     pace // of recording what is used
}

// live is the record at work.
func (a *Attempt) live() *state.Codon { return a.X.State().Run(a.Run).Live() }

// Perform takes a codon from its rig to its checkpoint and returns the final
// record. An error is one of hank itself: nothing more can be acknowledged, or
// a person must decide; the record is then closed by the next opening.
//
//  1. preparing: the rig runs, and gets a checkpoint.
//  2. starting: the agent's command is put together. Durable, before anything
//     that cannot be done twice.
//  3. initializing: the agent's process is there.
//  4. running: it has a session. What it uses is recorded as it goes.
//  5. The agent and all that it started are gone. Outputs are copied. How it
//     ended is recorded, so that from here on the agent does not run again.
//  6. The checkpoint, and with it the final record.
func (a *Attempt) Perform(ctx context.Context) (*state.Codon, error) {
	a.began = time.Now()
	record := &state.Codon{
		CodonID: a.Entry.CodonID, StartTime: a.X.Now(), Status: state.Preparing, LoopContext: a.Entry.LoopContext,
		Attempt: a.Number, Harness: a.harnessName(), Model: a.Entry.Codon.Model.String(), BaseCheckpoint: a.base(),
		ProjectHead: usergit.Head(a.Layout.Workspace),
	}
	a.id = recovery.Attempt(a.X.State().Lineage, a.Run, record)
	begin := a.X.RecordLater // the next transition is synced before the agent is there
	if a.hasRig() {
		begin = a.X.Record
	}
	if err := begin(state.CodonStarted{RunID: a.Run, Record: record}); err != nil {
		return nil, err
	}
	defer a.dropTemp()
	a.note("codon.started", map[string]any{"codonId": record.CodonID, "codonName": a.Entry.Codon.Name, "startTime": record.StartTime})
	if failure, err := a.rig(ctx); err != nil || failure != nil {
		return a.failBeforeWork(ctx, failure, err)
	}
	failure, err := a.work(ctx)
	if err != nil || failure != nil {
		return a.failBeforeWork(ctx, failure, err)
	}
	return a.checkpoint(ctx, a.live().Conclude(a.X.Now()))
}

// base is the checkpoint from before the codon. Of an attempt that goes on with
// another one it is that one's: the tree has unfinished work in it. So it is of one
// that begins behind the rig of another: the tree has what the rig has done.
func (a *Attempt) base() state.SHA {
	from := a.Resumed
	if from == nil && a.RigDone {
		from = a.rigged()
	}
	if from != nil && from.CodonID == a.Entry.CodonID && from.BaseCheckpoint != "" {
		return from.BaseCheckpoint
	}
	return a.X.State().Base
}

// rigged is the record whose rig has made the checkpoint that the codon begins from,
// or the nearest one below it of what a person or a move has added; nil: there is
// none.
func (a *Attempt) rigged() *state.Codon {
	at := a.X.State().Base
	for {
		info, err := a.Store.CommitInfo(checkpoint.SHA(at))
		if err != nil {
			return nil
		}
		switch kind := history.Describe(info).Kind; {
		case kind == state.KindRigSetup:
			for _, r := range a.X.State().Runs {
				for _, c := range r.Codons() {
					if c.RigSetupCheckpoint == at && c.CodonID == a.Entry.CodonID {
						return c
					}
				}
			}
			return nil
		case kind != state.KindManual && kind != state.KindTracked && kind != state.KindRecovery || len(info.Parents) == 0:
			return nil
		}
		at = state.SHA(info.Parents[0])
	}
}

// rigCheckpoint is the checkpoint of a rig that is not run again. A codon that
// goes on without a rig has none.
func (a *Attempt) rigCheckpoint() state.SHA {
	if a.Resumed != nil {
		return a.Resumed.RigSetupCheckpoint
	}
	if from := a.rigged(); from != nil {
		return from.RigSetupCheckpoint
	}
	return a.X.State().Base
}

// failBeforeWork closes a record whose agent never had a session.
func (a *Attempt) failBeforeWork(ctx context.Context, failure *state.FailureReason, err error) (*state.Codon, error) {
	if err != nil {
		return nil, err
	}
	if a.isRefusal(failure) {
		a.ExplainModel(failure, a.Entry.Codon)
	}
	final := a.live().Fail(a.X.Now(), -1, *failure)
	if a.stopping() {
		final.Interrupted = a.interruption()
	}
	if a.skip {
		final = a.live().Skip(a.X.Now())
	}
	if final.Status == state.Failed && final.Interrupted == "" && a.isRefusal(final.FailureReason) {
		final.Interrupted = state.InterruptedByRefusal
	}
	final.FailureIgnored = final.Status == state.Failed && final.Interrupted == "" && a.Entry.Codon.Failure() == plan.Ignore
	return a.checkpoint(ctx, final)
}

// checkpoint makes the final checkpoint and with it the final record. A
// codon that failed is closed even if its tree cannot be captured.
func (a *Attempt) checkpoint(ctx context.Context, final *state.Codon) (*state.Codon, error) {
	a.Monitor.Step("making the checkpoint")
	if final.Settling == nil && len(final.Notes) == 0 {
		final.Notes = a.notes
	}
	if err := a.Finish(ctx, a.Run, a.Entry.Codon.Name, final, a.Selection(a.Index)); err != nil {
		return nil, err
	}
	done := a.X.State().Run(a.Run)
	return done.Codon(done.Len() - 1), nil
}

func (a *Attempt) title(kind state.CheckpointKind) githistory.Title {
	return githistory.Title{Status: kind, CodonID: a.Entry.CodonID, RunID: a.Run, Name: a.Entry.Codon.Name}
}

func (a *Attempt) vars() plan.Vars {
	return plan.Vars{Workspace: a.Layout.Workspace, Data: a.Layout.Data()}
}
