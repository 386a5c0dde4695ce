package runtime

import (
	"context"
	"time"

	"hank/checkpoint"
	"hank/plan"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/runtime/harness"
	"hank/runtime/usergit"
	"hank/state"
)

// hostExecution is what an attempt needs of its execution; *recovery.Execution is one.
// Record returns when the transitions are durable; RecordLater does not wait.
type hostExecution interface {
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

// hostStore is what an attempt needs of the store of checkpoints.
type hostStore interface {
	CommitInfo(checkpoint.SHA) (checkpoint.Info, error)
	Abort()
}

// host is what a run gives to each attempt at a codon.
type host struct {
	x     hostExecution
	store hostStore
	// finish makes the final checkpoint of an attempt, and with it its final record.
	finish    func(ctx context.Context, run state.RunID, name string, final *state.Codon, sel checkpoint.Selection) error
	layout    layout.Layout
	workspace func() *checkpoint.Workspace // that a recording changes: the one that is there by then
	output    string                       // where results are copied to; empty: nowhere
	hasData   bool
	leftOut   func() []string // what is left out of every checkpoint
	// explainModel says in the reason of a refused model of a codon where the model is set.
	explainModel func(*state.FailureReason, *plan.Codon)

	run         state.RunID
	program     *plan.Program
	settings    plan.Settings
	agents      agents
	accounts    *accounts
	requests    <-chan Request
	replay      *recording   // nil: the agents themselves are at work
	environ     []string     // of every agent and rig
	confinement *Confinement // nil: processes may write anywhere
	ignoreRigs  bool
	overwrite   bool // replace what is in the output folder instead of renaming
	monitor     *Monitor
	say         func(format string, args ...any)
	selection   func(index int) checkpoint.Selection // what the checkpoint of the codon at an index takes
}

// note writes an event that changes nothing. Failing to is not worth stopping
// for: whatever gates something fails by itself.
func (h *host) note(eventType string, data any) { _ = h.x.Note(eventType, data) }

func (h *host) branch() string { return h.x.State().Run(h.run).GitBranch }

func (h *host) parents() []state.SHA { return []state.SHA{h.x.Head()} }

// carried is what goes with a run from one attempt to the next.
type carried struct {
	rigDone       bool         // the tree is the one after the next codon's rig
	resumeSession string       // the session that the next codon goes on with
	resumed       *state.Codon // the attempt that the run goes on with; nil: it goes on with none
	stop          *Request     // the run is to end
}

// attempt is one try at a codon.
type attempt struct {
	*host
	*carried
	entry  plan.Entry
	index  int // in the plan
	number int // 1 for the first in this run
	id     string
	limits limits
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
func (a *attempt) live() *state.Codon { return a.x.State().Run(a.run).Live() }

// perform takes a codon from its rig to its checkpoint and returns the final
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
func (a *attempt) perform(ctx context.Context) (*state.Codon, error) {
	a.began = time.Now()
	record := &state.Codon{
		CodonID: a.entry.CodonID, StartTime: a.x.Now(), Status: state.Preparing, LoopContext: a.entry.LoopContext,
		Attempt: a.number, Harness: a.harnessName(), Model: a.entry.Codon.Model.String(), BaseCheckpoint: a.base(),
		ProjectHead: usergit.Head(a.layout.Workspace),
	}
	a.id = recovery.Attempt(a.x.State().Lineage, a.run, record)
	begin := a.x.RecordLater // the next transition is synced before the agent is there
	if a.hasRig() {
		begin = a.x.Record
	}
	if err := begin(state.CodonStarted{RunID: a.run, Record: record}); err != nil {
		return nil, err
	}
	defer a.dropTemp()
	a.note("codon.started", map[string]any{"codonId": record.CodonID, "codonName": a.entry.Codon.Name, "startTime": record.StartTime})
	if failure, err := a.rig(ctx); err != nil || failure != nil {
		return a.failBeforeWork(ctx, failure, err)
	}
	failure, err := a.work(ctx)
	if err != nil || failure != nil {
		return a.failBeforeWork(ctx, failure, err)
	}
	return a.checkpoint(ctx, a.live().Conclude(a.x.Now()))
}

// base is the checkpoint from before the codon. Of an attempt that goes on with
// another one it is that one's: the tree has unfinished work in it. So it is of one
// that begins behind the rig of another: the tree has what the rig has done.
func (a *attempt) base() state.SHA {
	from := a.resumed
	if from == nil && a.rigDone {
		from = a.rigged()
	}
	if from != nil && from.CodonID == a.entry.CodonID && from.BaseCheckpoint != "" {
		return from.BaseCheckpoint
	}
	return a.x.State().Base
}

// rigged is the record whose rig has made the checkpoint that the codon begins from,
// or the nearest one below it of what a person or a move has added; nil: there is
// none.
func (a *attempt) rigged() *state.Codon {
	at := a.x.State().Base
	for {
		info, err := a.store.CommitInfo(checkpoint.SHA(at))
		if err != nil {
			return nil
		}
		switch kind := describe(info).Kind; {
		case kind == state.KindRigSetup:
			for _, r := range a.x.State().Runs {
				for _, c := range r.Codons() {
					if c.RigSetupCheckpoint == at && c.CodonID == a.entry.CodonID {
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
func (a *attempt) rigCheckpoint() state.SHA {
	if a.resumed != nil {
		return a.resumed.RigSetupCheckpoint
	}
	if from := a.rigged(); from != nil {
		return from.RigSetupCheckpoint
	}
	return a.x.State().Base
}

// failBeforeWork closes a record whose agent never had a session.
func (a *attempt) failBeforeWork(ctx context.Context, failure *state.FailureReason, err error) (*state.Codon, error) {
	if err != nil {
		return nil, err
	}
	if a.isRefusal(failure) {
		a.explainModel(failure, a.entry.Codon)
	}
	final := a.live().Fail(a.x.Now(), -1, *failure)
	if a.stopping() {
		final.Interrupted = a.interruption()
	}
	if a.skip {
		final = a.live().Skip(a.x.Now())
	}
	if final.Status == state.Failed && final.Interrupted == "" && a.isRefusal(final.FailureReason) {
		final.Interrupted = state.InterruptedByRefusal
	}
	final.FailureIgnored = final.Status == state.Failed && final.Interrupted == "" && a.entry.Codon.Failure() == plan.Ignore
	return a.checkpoint(ctx, final)
}

// checkpoint makes the final checkpoint and with it the final record. A
// codon that failed is closed even if its tree cannot be captured.
func (a *attempt) checkpoint(ctx context.Context, final *state.Codon) (*state.Codon, error) {
	a.monitor.step("making the checkpoint")
	if final.Settling == nil && len(final.Notes) == 0 {
		final.Notes = a.notes
	}
	if err := a.finish(ctx, a.run, a.entry.Codon.Name, final, a.selection(a.index)); err != nil {
		return nil, err
	}
	done := a.x.State().Run(a.run)
	return done.Codon(done.Len() - 1), nil
}

func (a *attempt) title(kind state.CheckpointKind) githistory.Title {
	return githistory.Title{Status: kind, CodonID: a.entry.CodonID, RunID: a.run, Name: a.entry.Codon.Name}
}

func (a *attempt) vars() plan.Vars {
	return plan.Vars{Workspace: a.layout.Workspace, Data: a.layout.Data()}
}
