// Package state holds what hank knows about an execution: its runs, the codons
// that ran in them, what they cost, and the plan of what is to come.
//
//   - A Run is one lifetime of the runtime. Its records are of type Codon: one attempt at
//     one codon of the plan each. At most one of them is live; the others are final.
//   - A Transition is one thing that has happened. The journal has it as an event.
//   - A State is the fold of the transitions up to an event. Apply is the only way from one
//     state to the next; it is pure and refuses illegal moves.
//   - An Intent is a change of the workspace, recorded before it begins and closed after it.
//   - A Position is a place in the history from which to continue.
//
// The shape in JSON is the documented shape of state.json; what hank adds is
// additive, and what hank does not know survives a round trip (fields tagged embed).
//
// The package opens no file and reads no clock: what it needs to know, it is given. Nobody
// changes a state that Apply has returned, or what it leads to: older and newer states
// share it.
//
// Where things are:
//
//   - the model: vocabulary.go (this file), with gate.go, judgement.go, operation.go, limits.go,
//     bill.go, failure.go, names.go and time.go for its parts, and list.go for its lists
//   - what can happen: transition.go, gate.go, iteration.go, answer.go, sentinels.go; what may
//     follow what: apply.go; the next form of a record: record.go, and what it needs: validate.go
//   - state.json and events: document.go, fastdecode.go, resulting.go, redact.go
//   - questions: lineagepath.go, caveats.go, money.go, summary.go, removal.go
//   - a state that is built otherwise: adopt.go (of another system), rebuild.go (from records)
//   - whether a whole state is consistent: package consistency
package state

import (
	"github.com/go-json-experiment/json/jsontext"

	"hank/plan"
	"hank/plan/loop"
	"hank/state/agentend"
)

// SchemaVersion is the version of everything that hank adds to the documented
// shape: state.json, the events, the records in commit messages. A reader that
// finds a larger number than its own must not write.
//
// Version 2 has Limits: an older hank would continue without them. Version 3 has
// Operations, Gates and Hold, which an older hank would carry out twice or pass unasked,
// and the verdicts on iterations of loops (IterationJudged), without which it would not
// know whether a loop is over. Version 4 has what sentinels did (SentinelsUpdated), sessions
// that are brought back, fall-backs and pauses at a budget: an older hank would continue a
// session with what was rolled back, and reads no journal that has a SentinelsUpdated.
const SchemaVersion = 4

// LimitsSchema is the version from which on a record without limits means that
// there are none.
const LimitsSchema = 2

// RunID names one lifetime of the runtime: <epoch milliseconds>-<5 base 36>.
type RunID string

// CodonID names a codon of the plan: the id of hank.json, or review#0 for an
// iteration of a loop.
type CodonID = plan.CodonID

// SHA is the id of a commit, 40 lower-case hexadecimal digits.
type SHA string

// RunStatus is the status of a run. The zero value is no status and is invalid.
type RunStatus string

// The statuses of a run. All but StatusRunning are final.
const (
	StatusRunning   RunStatus = "running"
	StatusCompleted RunStatus = "completed" // every codon of the plan is done
	StatusFailed    RunStatus = "failed"    // it ended with work left; EndReason says why
	StatusCrashed   RunStatus = "crashed"   // it is over without having said so; see RunCrashed
)

// EndReason says why a run ended with work left: hank's addition to one that is failed or crashed.
type EndReason string

// The reasons.
const (
	EndCodonFailed EndReason = "codon-failed"
	EndStopped     EndReason = "stopped"   // asked to stop by the user or a client
	EndUntil       EndReason = "until"     // where --until or --only has it end
	EndSignal      EndReason = "signal"    // SIGINT, SIGTERM, SIGHUP
	EndBudget      EndReason = "budget"    // a budget was used up
	EndDecision    EndReason = "decision"  // needs the user: exit 4
	EndError       EndReason = "error"     // an I/O error or a bug; work kept
	EndCrash       EndReason = "crash"     // found dead by a later command
	EndExhausted   EndReason = "exhausted" // a codon has failed, no retry is left, and its onExhausted is pause
	EndAgent       EndReason = "agent"     // its provider refuses what waiting cannot change: the key, the model
)

// CodonStatus is the status of a codon's record.
type CodonStatus string

// The statuses of a codon's record, in the order in which a codon passes them.
const (
	Preparing           CodonStatus = "preparing"            // the rig runs
	Starting            CodonStatus = "starting"             // the agent is about to be spawned
	Initializing        CodonStatus = "initializing"         // spawned, no session yet
	Running             CodonStatus = "running"              // the agent works
	CompletingSentinels CodonStatus = "completing-sentinels" // done, its observers are not
	Completed           CodonStatus = "completed"
	Failed              CodonStatus = "failed"
	Skipped             CodonStatus = "skipped"
)

// Terminal reports whether a record with this status is frozen.
func (s CodonStatus) Terminal() bool { return s == Completed || s == Failed || s == Skipped }

// Run is one lifetime of the runtime.
//
// Its records are kept apart in done, which only ever grows, and live, which
// changes: a transition then costs what it changes, however long the history.
type Run struct {
	RunID              RunID              `json:"runId"`
	RunFolder          string             `json:"runFolder"` // absolute; re-derived when an execution has moved
	GitBranch          string             `json:"gitBranch"`
	StartingConditions StartingConditions `json:"startingConditions"`
	Status             RunStatus          `json:"status"`
	StartTime          Time               `json:"startTime"`
	EndTime            *Time              `json:"endTime,omitempty"`
	ServerPid          int                `json:"serverPid"`

	// Additive.
	Process   jsontext.Value    `json:"process,omitempty"` // identity of the runtime (internal/proc), opaque here
	EndReason EndReason         `json:"endReason,omitempty"`
	EndDetail string            `json:"endDetail,omitempty"`
	StartedBy *StartedBy        `json:"startedBy,omitempty"`
	Note      string            `json:"note,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	Head      SHA               `json:"head,omitempty"`   // tip of GitBranch
	Paused    *Pause            `json:"paused,omitempty"` // its runtime has left; the next opening closes it
	// Removed is when hank gc removed the branch, with the checkpoints that only
	// it led to.
	Removed *Time `json:"removed,omitempty"`
	// Operation is the command that has begun the run, if its caller gave it an id.
	Operation *Operation `json:"operation,omitempty"`

	Unknown jsontext.Value `json:",embed"`

	done   list[*Codon]
	live   *Codon
	judged list[*Judgement]
}

// Pause is why a runtime has left a run whose codon it could not bring to its
// checkpoint. Only the record's end, and with it the run's, is still to come.
type Pause struct {
	Time   Time      `json:"time"`
	Reason EndReason `json:"reason"` // the one that the run will have ended for
	Detail string    `json:"detail"`
	// Changing is the file that kept changing while the checkpoint was made, if
	// that is the reason.
	Changing string `json:"changing,omitempty"`

	Unknown jsontext.Value `json:",embed"`
}

// StartedBy says who began a run. Unattended marks a start by a supervisor
// and not by the user: only such starts are capped after crashes.
type StartedBy struct {
	User       string         `json:"user,omitempty"`
	Host       string         `json:"host,omitempty"`
	Argv       []string       `json:"argv,omitempty"`
	Unattended bool           `json:"unattended,omitzero"`
	Unknown    jsontext.Value `json:",embed"`
}

// StartingConditions explain where a run began.
type StartingConditions struct {
	Type                 string         `json:"type"` // fresh or continuation
	InitialCheckpointSHA SHA            `json:"initialCheckpointSha,omitempty"`
	Source               *Position      `json:"source,omitempty"`
	Reason               string         `json:"reason,omitempty"` // retry, rollback or continue
	Unknown              jsontext.Value `json:",embed"`
}

// The types and reasons of starting conditions.
const (
	StartFresh        = "fresh"
	StartContinuation = "continuation"
	ReasonRetry       = "retry"
	ReasonRollback    = "rollback"
	ReasonContinue    = "continue"
)

// Position is a place in the history from which to continue.
type Position struct {
	// RunID is the run that holds AfterCodon's record.
	RunID RunID `json:"runId"`
	// AfterCodon is the last codon whose work is kept; null keeps none.
	AfterCodon *CodonID `json:"afterCodon"`
	// CheckpointSHA is the commit whose tree the workspace has.
	CheckpointSHA SHA `json:"checkpointSha"`

	// Additive: RestartAt is the codon to continue with, said in words because
	// null in AfterCodon alone means the beginning; RigDone tells that the
	// tree is the one after its rig. An adopted program may have another codon next.
	RestartAt CodonID `json:"restartAt,omitempty"`
	RigDone   bool    `json:"rigDone,omitzero"`
	Reason    string  `json:"reason,omitempty"`
	// Before is where the execution stood before a rollback, so that the
	// rollback can be undone. Its checkpoint is the safety checkpoint.
	Before *Position `json:"before,omitempty"`
	// EndOf is the run whose end this is, with its verdict and the record that
	// it ended with: an undo has brought the execution back there. Empty: no
	// verdict holds, the plan continues from here. Of the place that a run began from:
	// the run whose last attempt it resumes.
	EndOf RunID `json:"endOfRun,omitempty"`
	// Program and HankHash are, of a Before, those of the state at that time: an
	// undo brings them back.
	Program  SHA    `json:"program,omitempty"`
	HankHash string `json:"hankHash,omitempty"`
	// Kept are paths at which the workspace is not as the checkpoint has it,
	// because the system did not let the move change them, or a directory with
	// such paths; "." is the workspace.
	Kept []string `json:"kept,omitempty"`
	// Branch: hank run --from has gone there, to begin a branch.
	Branch bool `json:"branch,omitzero"`

	Unknown jsontext.Value `json:",embed"`
}

// Codon is the record of one attempt at a codon. Which fields are set depends
// on the status, see validate.go. The names that speak of claude are those of
// the documented shape and hold for every harness.
type Codon struct {
	CodonID     CodonID           `json:"codonId"`
	StartTime   Time              `json:"startTime"`
	Status      CodonStatus       `json:"status"`
	LoopContext *plan.LoopContext `json:"loopContext,omitempty"`
	EndTime     *Time             `json:"endTime,omitempty"`

	FailedDuring  CodonStatus `json:"failedDuring,omitempty"`
	SkippedDuring CodonStatus `json:"skippedDuring,omitempty"`
	SkipReason    string      `json:"skipReason,omitempty"` // additive: how its skipIf held; empty: the user has skipped it

	ClaudePid         int    `json:"claudePid,omitzero"`
	ClaudeSessionID   string `json:"claudeSessionId,omitempty"`
	ClaudeLogPath     string `json:"claudeLogPath,omitempty"` // relative to the execution
	PreviousSessionID string `json:"previousSessionId,omitempty"`
	SessionCheckpoint SHA    `json:"sessionCheckpoint,omitempty"` // additive: the files of its session, as it left them

	ExitCode              *int           `json:"exitCode,omitempty"`
	FailureReason         *FailureReason `json:"failureReason,omitempty"`
	FailureIgnored        bool           `json:"failureIgnored,omitzero"` // additive: onFailure ignore, the plan continued
	ResultMessageReceived *bool          `json:"resultMessageReceived,omitempty"`

	CurrentCost           *USD    `json:"currentCost,omitempty"`
	CurrentTokens         *Tokens `json:"currentTokens,omitempty"`
	FinalCost             *USD    `json:"finalCost,omitempty"`
	FinalTokens           *Tokens `json:"finalTokens,omitempty"`
	PartialCost           *USD    `json:"partialCost,omitempty"`
	PartialTokens         *Tokens `json:"partialTokens,omitempty"`
	AssistantMessageCount *int    `json:"assistantMessageCount,omitempty"`
	ExtensionCount        *int    `json:"extensionCount,omitempty"`

	RigSetupCheckpoint   SHA `json:"rigSetupCheckpoint,omitempty"`
	CompletionCheckpoint SHA `json:"completionCheckpoint,omitempty"`
	ErrorCheckpoint      SHA `json:"errorCheckpoint,omitempty"`
	SkipCheckpoint       SHA `json:"skipCheckpoint,omitempty"`

	BudgetExceeded  *BudgetExceeded `json:"budgetExceeded,omitempty"`
	ContextExceeded bool            `json:"contextExceeded,omitzero"` // additive: decides how a loop continues
	Sentinels       *Sentinels      `json:"sentinels,omitempty"`

	// Additive.
	Attempt        int      `json:"attempt,omitzero"` // 1 for the first record of this codon in this run
	Harness        string   `json:"harness,omitempty"`
	Model          string   `json:"model,omitempty"`
	FallbackOf     string   `json:"fallbackOf,omitempty"`     // the codon's own model, where Model is another one because its provider did not let it work, or it cannot be used here
	BaseCheckpoint SHA      `json:"baseCheckpoint,omitempty"` // the commit that the codon started from
	Interrupted    string   `json:"interrupted,omitempty"`    // crash, signal, stop, pause, refusal, usage_limit, fallback or budget
	Notes          []string `json:"notes,omitempty"`          // what the checkpoint could not hold, what had to be killed
	ProjectHead    string   `json:"projectHead,omitempty"`    // HEAD of the project's own git, which hank never moves
	Reply          string   `json:"reply,omitempty"`          // what the user has said at a gate, as the prompt of the attempt got it
	// Settling is how the agent's work ended, once it has ended and while its
	// checkpoint is not made yet: the checkpoint alone is tried again, and the
	// agent is not.
	Settling *Settling `json:"settling,omitempty"`
	// Decision is what the codon said about its loop, where it was asked; the verdict on
	// the iteration counts it.
	Decision       *loop.Ballot     `json:"decision,omitempty"`
	NotObserved    []string         `json:"sentinelsNotRun,omitempty"` // sentinels of the codon that could not be loaded
	UnpricedTokens int64            `json:"unpricedTokens,omitzero"`   // of a model without a known price; what they cost is in no figure
	AgentEnd       *agentend.Report `json:"agentEnd,omitempty"`        // what its agent reports of its own end

	Unknown jsontext.Value `json:",embed"`

	// encoded is the frozen record as it is in state.json.
	encoded []byte
}

// Settling is the end that a record is about to get.
type Settling struct {
	Status        CodonStatus    `json:"status"`
	ExitCode      int            `json:"exitCode"`
	ResultSeen    bool           `json:"resultMessageReceived"`
	FailureReason *FailureReason `json:"failureReason,omitempty"`
	Ignored       bool           `json:"failureIgnored,omitzero"`
	Interrupted   string         `json:"interrupted,omitempty"`
	At            *Time          `json:"at,omitempty"` // when nothing of the codon was alive any more
	Unknown       jsontext.Value `json:",embed"`
}

// BudgetExceeded tells which limit a codon hit: what the attempt might use, and
// what it has used.
type BudgetExceeded struct {
	Currency string  `json:"currency"`
	Limit    float64 `json:"limit"`
	Used     float64 `json:"used"`
	Scope    string  `json:"scope,omitempty"` // additive: whose budget: codon, loop, hank or execution
	// Finished, additive: the agent had ended by itself when its usage was known, so
	// that the budget has cut nothing off.
	Finished bool `json:"finished,omitzero"`
	// Share, additive: the limit was the codon's or loop's part of that budget, of which
	// more was left for others.
	Share      bool            `json:"share,omitzero"`
	OnExceeded plan.OnExceeded `json:"onExceeded,omitempty"` // additive: what was decided
	Unknown    jsontext.Value  `json:",embed"`
}

// EndsLoop reports whether a loop is over when one of its codons has hit the limit: a
// limit of the codon's or of the loop's own, a part of a larger one included. What
// limits the whole hank or execution says nothing of the loop: the run ends, and a
// later one that may spend more continues in it.
func (b *BudgetExceeded) EndsLoop() bool {
	return b != nil && b.OnExceeded != plan.Pause && (b.Share || b.Scope != "hank" && b.Scope != "execution")
}

// Intent is a change of the workspace that was announced before it began. An
// intent in the state means that a crash may have left the tree half-way; the
// next opening finishes it, see package recovery.
type Intent struct {
	ID   string `json:"id"`
	Kind string `json:"kind"` // rollback, undo, retry, restart, restore
	// Safety is the checkpoint of everything that the change may touch.
	Safety SHA `json:"safety"`
	To     SHA `json:"to"`
	// Paths limits the change; empty means the whole tree.
	Paths []string `json:"paths,omitempty"`
	// KeepAdded leaves what the target has not; else what codons have added goes.
	KeepAdded bool `json:"keepAdded,omitempty"`
	// Owned is a commit of what checkpoints track at the moment: only paths
	// in its tree may be deleted. It is Safety itself where nothing untracked
	// stood in the way.
	Owned SHA `json:"owned"`
	// Position takes effect when the change is complete; nil leaves the
	// position as it was.
	Position *Position `json:"position,omitempty"`
	// Operation is the command that makes the change, if its caller gave it an id.
	Operation *Operation     `json:"operation,omitempty"`
	Unknown   jsontext.Value `json:",embed"`
}

// State is everything that hank knows about an execution.
type State struct {
	Runs              []*Run // newest first
	CurrentRunID      RunID  // empty when no run is in progress
	InitialCheckpoint SHA

	plan list[*PlanEntry]

	// Additive, under the key hank.
	Lineage  string    // identity of the execution; a copy gets another
	Serial   uint64    // counts saves of state.json
	Seq      uint64    // the last event that is folded in
	Program  SHA       // commit of the frozen program
	HankHash string    // sha256 of the frozen hank and all it refers to
	Base     SHA       // the commit that the next codon starts from
	Adopted  bool      // begun by another runtime, whose codons track nothing unless they say so
	Position *Position // where the next run starts, if not after the newest
	Intent   *Intent   // a change of the workspace under way
	Removed  []Removal // branches of no run that hank gc has removed, oldest first
	Removal  SHA       // tip of RemovedBranch
	Limits   Limits    // of all runs together, until the user sets them again
	Gates    []Gate    // what persons were asked, oldest first, whatever was rolled back since
	Hold     *Hold     // nothing may run; nil: the execution is not held
	// Operations are those that have begun no run, oldest first; see mostOperations.
	Operations []Operation

	Unknown     jsontext.Value // unknown root fields
	HankUnknown jsontext.Value // unknown fields under hank

	cursor int // where in the plan the last codon started: a hint, never a fact
	spent  spending
}

// PlanEntry is an entry of the plan with its text in state.json, made once.
type PlanEntry struct {
	plan.Entry
	encoded []byte
}

// ExecutionPlan returns the plan as far as it is laid out. The entries must
// not be changed.
func (s *State) ExecutionPlan() []*PlanEntry { return s.plan.items }

// Current returns the run in progress, or nil.
func (s *State) Current() *Run { return s.Run(s.CurrentRunID) }

// Run returns the run with the id, or nil.
func (s *State) Run(id RunID) *Run {
	if id == "" {
		return nil
	}
	for _, r := range s.Runs {
		if r.RunID == id {
			return r
		}
	}
	return nil
}

// Newest returns the newest run, or nil.
func (s *State) Newest() *Run {
	if len(s.Runs) == 0 {
		return nil
	}
	return s.Runs[0]
}

// Live returns the record that is not final, or nil.
func (r *Run) Live() *Codon { return r.live }

// Len is the number of records.
func (r *Run) Len() int {
	if r.live != nil {
		return r.done.len() + 1
	}
	return r.done.len()
}

// Codon returns the i-th record, oldest first.
func (r *Run) Codon(i int) *Codon {
	if i == r.done.len() && r.live != nil {
		return r.live
	}
	return r.done.items[i]
}

// Codons returns all records, oldest first. The records must not be changed.
func (r *Run) Codons() []*Codon {
	all := make([]*Codon, 0, r.Len())
	all = append(all, r.done.items...)
	if r.live != nil {
		all = append(all, r.live)
	}
	return all
}

// Checkpoint returns the commit that shows the codon's end, or, if it has
// none, the one after its rig.
func (c *Codon) Checkpoint() SHA {
	for _, sha := range []SHA{c.CompletionCheckpoint, c.SkipCheckpoint, c.ErrorCheckpoint, c.RigSetupCheckpoint} {
		if sha != "" {
			return sha
		}
	}
	return ""
}

// Settled reports whether the plan continues after this record.
func (c *Codon) Settled() bool {
	return c.Status == Completed || c.Status == Skipped || c.Status == Failed && c.FailureIgnored
}
