package runtime

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"hank/checkpoint"
	"hank/internal/secret"
	"hank/plan"
	"hank/plan/config"
	"hank/recovery/execution"
	"hank/runtime/agents"
	"hank/runtime/bounds"
	"hank/runtime/breaker"
	"hank/runtime/budget"
	"hank/runtime/codon"
	"hank/runtime/edits"
	"hank/runtime/events"
	"hank/runtime/history"
	"hank/runtime/live"
	"hank/runtime/notices"
	"hank/runtime/progress"
	"hank/runtime/recording"
	"hank/runtime/request"
	"hank/state"
)

// driver takes one run through the plan.
type driver struct {
	x        *execution.Execution
	events   *events.Bus     // what others follow
	told     *request.Outbox // what the UI is told; not nil
	files    notices.Pending // of the files that codons have changed
	request  Request
	answers  Answers
	ui       UI
	layers   config.Layers // the request's, with the model that holds
	settings config.Settings
	program  *plan.Program
	allowed  *execution.Allowances // what held before this command; nil: nothing of it is kept yet
	replaced state.Position        // its Program and HankHash are those that were frozen before this command adopted others
	hankPath string                // where the author's program is, absolute; empty: nowhere
	run      state.RunID
	agents   agents.Found
	requests chan codon.Request
	replay   *recording.Recording
	noop     bool // no codon does anything
	began    time.Time
	size     *checkpoint.Size // of the workspace, looked at by this command; nil: it was not
	accounts *budget.Accounts
	rows     []state.BudgetRow // of the attempts of this run
	notified sync.WaitGroup    // by warnings

	// still is from when on nothing that hank knows of can have changed the workspace: no
	// process of a codon, nobody who was asked, and nothing of its own. Zero: it is now.
	still time.Time

	secrets     *secret.Values
	confinement *agents.Confinement // nil: processes may write anywhere

	ignoreRigs bool

	rigDone      bool           // the workspace is the one after the rig of the next codon
	session      *state.Codon   // whose session the next codon continues; nil: none of the same codon
	resumed      *state.Codon   // the attempt that the run continues; nil: none
	stop         *codon.Request // the run is to end
	bounds       bounds.Bounds  // of this run
	replacedPath string         // the hankPath of what replaced says

	sandboxed config.Sandbox  // what --sandbox has said before this command; empty: nothing
	from      *history.Target // where a branch is to begin; nil: none is

	stopping atomic.Pointer[string]       // what others asked for, taken in or not; see liveStatus
	extent   plan.Extent                  // of the plan
	finished int                          // codons settled in this run, and in those before it of its operation
	settled  *state.Codon                 // the last finished record, in the order of the plan
	again    bool                         // a gate has led the run to another entry of the plan than the following one
	keep     bool                         // the user keeps the workspace as it is, and no attempt has begun since
	redo     *state.Codon                 // the attempt that the first one of the run does again; nil: none
	endWait  bool                         // a person has ended the wait for a provider
	past     bool                         // the next attempt asks its provider, whatever other runs have met
	account  *breaker.Account             // of the last attempt
	over     chan struct{}                // closed when nobody takes requests any more
	judges   atomic.Pointer[live.Judging] // the command of a loop that runs; nil: none does

	// moved: the tree has what the checkpoint that it is at has not recorded,
	// because a move has left it, or because the user has made empty directories.
	moved     bool
	unasked   []string // those directories, and those files too; a move at the start of the run leaves them
	tracked   execution.Tracking
	trackedTo int
}

// selection is what the checkpoint of the codon at an index takes. It is asked
// for one index after the other, and costs what was added.
func (d *driver) selection(index int) checkpoint.Selection {
	entries := d.x.State().ExecutionPlan()
	for ; d.trackedTo <= index && !d.tracked.All; d.trackedTo++ {
		d.tracked.Track(entries[d.trackedTo].Entry, d.x.State().Adopted)
	}
	return d.tracked.Selection
}

func (d *driver) branch() string { return d.x.State().Run(d.run).GitBranch }

func (d *driver) parents() []state.SHA { return []state.SHA{d.x.Head()} }

// note writes an event that changes nothing. Failing to is not worth stopping
// for: whatever gates something fails by itself.
func (d *driver) note(eventType string, data any) { _ = d.x.Note(eventType, data) }

func (d *driver) show(e progress.Event) { d.ui.Show(e.Masked(d.secrets.Text)) }

// detail is a remark on the codon that runs, or has just ended.
func (d *driver) detail(format string, args ...any) {
	d.show(progress.Detail{Text: fmt.Sprintf(format, args...)})
}

func (d *driver) say(format string, args ...any) {
	if d.ui.Say != nil {
		d.ui.Say(d.secrets.Text(fmt.Sprintf(format, args...)))
	}
}

func (d *driver) comparison() edits.Comparison {
	return edits.Comparison{State: d.x.State(), Store: d.x.Store, Layout: d.x.Layout, Workspace: d.x.Workspace}
}

// snapshot looks at the workspace, which was at a checkpoint, as far as codon
// checkpoints do.
func (d *driver) snapshot(ctx context.Context, head state.SHA) (*checkpoint.Snapshot, error) {
	return d.x.SnapshotSince(ctx, d.still, execution.Tracked(d.x.State(), d.nextID()), head)
}

// sayRefused names what a move could not change.
func (d *driver) sayRefused(moved *execution.Moved) {
	refused := moved.Report.Refused
	for i, r := range refused {
		if i == mostRefused {
			d.say("and %d more could not be changed", len(refused)-i)
			return
		}
		d.say("not as in the checkpoint: %q %s", r.Path, r.Why)
	}
}

// mostRefused is how many paths a run names that a move could not change.
const mostRefused = 20

func (d *driver) nextID() state.CodonID { return history.NextID(d.x.State()) }
