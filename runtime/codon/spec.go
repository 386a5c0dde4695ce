package codon

import (
	"context"
	"time"

	"hank/plan"
	"hank/plan/config"
	"hank/plan/loop"
	"hank/recovery/layout"
	"hank/runtime/alert"
	"hank/runtime/breaker"
	"hank/runtime/budget"
	"hank/runtime/control"
	"hank/runtime/exitcode"
	"hank/runtime/harness"
	"hank/runtime/sentinel"
	"hank/runtime/session"
	"hank/runtime/usagelimit"
	"hank/state"
	"hank/state/agentend"
	"hank/state/journal"
)

// Spec is what one attempt at a codon is to do, and where. It is fixed before the
// attempt starts, and only read by it.
type Spec struct {
	Run         state.RunID
	ID          string // names the attempt in the environment of all that it starts
	Entry       plan.Entry
	FallbackOf  string    // the codon's own model, where the entry has one that it falls back to
	OwnProblem  string    // why the codon's own model cannot be used here; empty: it can
	Number      int       // of the attempt, 1 for the first in this run
	Base        state.SHA // the checkpoint that the attempt starts from
	ProjectHead string    // what the user's own repository is at

	Begun         bool      // the workspace has work of the codon already, so that its skipIf is not asked
	SkipRig       bool      // the workspace has its work, or it has none here
	RigCheckpoint state.SHA // that of a rig whose work the workspace has
	Session       string    // the agent's session to continue; empty: a new one
	SessionCost   state.USD // what the agent has reported for it before
	Extended      int       // how often exhaustWithPrompt was sent by the attempts that this one continues
	// SessionCheckpoint is what the session's files are to be; empty: what they are.
	SessionCheckpoint state.SHA
	Reply             string // what the user has said at a gate, for the prompt
	LastFailure       string // why the attempt before this one failed; empty: none has
	LastOutcome       string // how the codon before it in the plan ended; empty: there is none

	Harness    harness.Harness
	Agent      harness.Check // what was found of it
	Program    *plan.Program
	Settings   config.Settings
	Limits     budget.Limits
	LoopLimits budget.Limits // what is left to the codon's loop of its own
	Watch      *alert.Watch  // nil: nobody is warned of limits
	// Warn tells people of a warning, which has its event.
	Warn func(alert.Warning)

	Layout     layout.Layout
	Output     string // where results are copied to; empty: nowhere
	Overwrite  bool   // replace what is there instead of renaming
	HasData    bool
	Environ    []string // of every agent and rig
	Confined   bool     // what is started may write only in its directories
	Writable   []string // what it may write besides, if it is confined
	IgnoreRigs bool     // a rig that fails is no failure of the codon
	// Known returns a line that an agent has printed without the secrets whose values are known;
	// nil: lines are read as they are.
	Known func(line []byte) []byte

	// Follow follows the journal for the sentinels, as (*events.Bus).FollowEarly does, and
	// Journaled is its newest durable event; nil: there is none, and no sentinel runs. From is
	// the first event of the attempt.
	Follow          func(context.Context, uint64, func(journal.Event) error) error
	Journaled       func() uint64
	From            uint64
	SentinelEnviron []string

	// Limit decides whether the run waits for the provider after a failure; nil: never.
	Limit func(*state.FailureReason, time.Time) usagelimit.Decision
	// Breaker is what the runs of the user know of the provider; nil: nothing is asked.
	Breaker *breaker.Account

	// Apply does to the workspace what an agent that is played back did; nil: the agent
	// does it. Where the playing was cut off, at a budget or else, it does all of that or
	// nothing, and reports false for nothing.
	Apply func(ctx context.Context, cut bool, at *state.BudgetExceeded) (done bool, err error)
	// Idle: nothing is done, by --noop: no rig, no condition, no check, no copy.
	Idle bool
	// Decided is what it said about its loop.
	Decided *loop.Ballot
}

// Host is the border of a codon: all that an attempt needs of the execution that it
// belongs to. The record of the attempt is kept there. Run calls it from its own
// goroutine; but for Requests, which is also called from one that listens while a rig or
// the checks of outputs run.
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
	// checkpoint in the field of its status: RigSetupCheckpoint (starting),
	// CompletionCheckpoint, ErrorCheckpoint or SkipCheckpoint. A codon that failed or was
	// skipped is closed even if files keep changing and it can have none. For one that
	// has completed that is an error, and its record stays as Record has it: settling.
	Checkpoint(ctx context.Context, next *state.Codon) (*state.Codon, error)
	// Preserve keeps what is at some paths if the last checkpoint does not have it.
	Preserve(ctx context.Context, paths []string, why string) error
	// KeepSession makes a checkpoint of the files of an agent's session, and
	// BringBackSession makes them what they are in one: see package session.
	KeepSession(ctx context.Context, f session.Files) (state.SHA, error)
	BringBackSession(ctx context.Context, f session.Files, to state.SHA) (changed bool, err error)
	// LeftOut are the paths that no checkpoint has; LeaveOut adds one.
	LeftOut() []string
	LeaveOut(path string) error

	// Requests are those to stop or to skip; the channel is never closed. Stopping is told
	// of one that ends the run, and Dropped of one that is for something else than the
	// attempt.
	Requests() <-chan Request
	Stopping(Request)
	Dropped(Request)
	// ExplainRefusal adds to the reason of a refused model where the model is set.
	ExplainRefusal(*state.FailureReason)
	// Say remarks something about the attempt, and Monitor is where the activity is
	// shown; it may be nil.
	Say(format string, args ...any)
	// Stuck tells that the silence limit of the agent is over.
	Stuck(Stuck)
	Monitor() *Monitor
}

// observers are the sentinels of an attempt.
type observers struct {
	watch *sentinel.Set   // nil: there are none, or they do not run yet, or any more
	lost  []sentinel.Lost // that could not be loaded
	ready []sentinel.Loaded
	ends  bool // one of them ends the codon

	hearing rest // of recording what they report
}

// attempt is one try at a codon.
type attempt struct {
	Spec
	host  Host
	notes []string

	usage     harness.Usage // of the running turn
	spent     harness.Usage // of the turns before it
	agentEnd  agentend.Report
	messages  int
	actions   actions
	calls     map[string]call // of tools, that have not been answered
	noted     harness.Usage   // what token.usage events have said
	extension int
	waits     harness.Retrying // what the agent has told last, if it waits for its provider
	waitsAt   time.Time        // when it told that
	began     time.Time
	working   time.Time // since the first turn; zero: there was none
	context   bool      // the context window was full
	exceeded  *state.BudgetExceeded
	refused   *state.FailureReason // the provider's, which ended the agent
	stuck     string               // what was known when the silence limit was over
	givenUp   *state.FailureReason // what the agent would have waited for without end
	judged    *state.Settling      // how an agent without a session has ended; nil: none has
	skip      bool
	stop      *Request // the run is to end
	costs     pace     // of recording what is used
	observers          // its sentinels
}

// pace is how often something that changes is written down: at once where that was
// last done a second ago, and else when the second is over.
type pace struct {
	last time.Time
	owed bool // it has changed since
}

func (p *pace) due(now time.Time) bool { return p.owed && now.Sub(p.last) >= time.Second }

func (p *pace) done(now time.Time) { *p = pace{last: now} }

// rest keeps what is done again and again to a fifth of the time, however long it takes.
type rest struct{ until time.Time }

func (r *rest) due(now time.Time) bool { return !now.Before(r.until) }

func (r *rest) done(began, ended time.Time) { r.until = ended.Add(4 * ended.Sub(began)) }

// Signal is a request to a live run from outside.
type Signal int

// The requests.
const (
	StopAfterCodon Signal = iota // finish the codon, then stop
	StopNow                      // stop the agent in order, then stop
	StopForce                    // kill
	SkipCodon                    // end the codon as skipped and continue
)

// Request is a Signal with where it comes from.
type Request struct {
	Signal Signal
	Reason state.EndReason // EndStopped or EndSignal
	Code   exitcode.Code   // with which the run then ends
	// Operation is a request that is not to be carried out twice, with its answer.
	Operation *state.Operation
	Target    control.Target // what a stop or a skip is for
	Do        *func()        // instead of a signal: the run is to call it between two things that it does
}
