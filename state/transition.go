package state

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// TransitionType names what happened to the state.
type TransitionType string

// The event type under which all transitions are in the journal. Events of
// any other type do not change the state.
const TransitionEvent = "state.transition"

// Transition is one legal move of the state: the data of its TransitionType in the journal.
// The concrete types are below, and in gate.go, iteration.go, answer.go and sentinels.go.
type Transition interface {
	Type() TransitionType
	// scope names the run and codon that the event is about, for filters.
	scope() (RunID, CodonID)
	// apply changes a copy of the state, or says why the transition is not legal: see Apply.
	apply(*State) error
}

type (
	// Rebased replaces the whole state. A journal begins with it, and so does a segment that
	// follows damage: a journal says what happened since the state that it starts from.
	Rebased struct {
		State  jsontext.Value `json:"state"` // a state.json document
		Reason string         `json:"reason"`
	}

	// InitialCheckpointSet records the commit of the untouched workspace.
	InitialCheckpointSet struct {
		SHA SHA `json:"checkpointSha"`
	}

	// PlanSet freezes a program and lays out its plan. It comes with the
	// first run, and again when the user adopts a changed hank.
	PlanSet struct {
		Program  SHA            `json:"program"`
		HankHash string         `json:"hankHash"`
		Entries  jsontext.Value `json:"entries"` // []plan.Entry
	}

	// PlanGrown is the lazy expansion after a codon that ended: Drop entries
	// after it go, Add come.
	PlanGrown struct {
		After CodonID        `json:"after"`
		Drop  int            `json:"drop,omitzero"`
		Add   jsontext.Value `json:"add,omitempty"` // []plan.Entry
	}

	// RunStarted opens a run. Run has no records yet.
	RunStarted struct {
		Run *Run `json:"run"`
	}

	// RunCompleted closes a run whose plan is done.
	RunCompleted struct {
		RunID   RunID `json:"runId"`
		EndTime Time  `json:"endTime"`
	}

	// RunFailed closes a run that ended in order with work left.
	RunFailed struct {
		RunID   RunID     `json:"runId"`
		EndTime Time      `json:"endTime"`
		Reason  EndReason `json:"reason"`
		Detail  string    `json:"detail,omitempty"`
		Waits   bool      `json:"waits,omitempty"` // for a budget to be raised, and no codon has failed
	}

	// RunPaused says that the runtime leaves a run open, because it cannot
	// make the checkpoint that the live record needs. The next opening makes it
	// and closes the run.
	RunPaused struct {
		RunID  RunID     `json:"runId"`
		Time   Time      `json:"time"`
		Reason EndReason `json:"reason"`
		Detail string    `json:"detail"`
		// Changing is the file that kept changing, if that is why.
		Changing string `json:"changing,omitempty"`
	}

	// RunCrashed closes a run that is over: its process is gone, or unknown and without its lock.
	RunCrashed struct {
		RunID   RunID  `json:"runId"`
		EndTime Time   `json:"endTime"`
		Detail  string `json:"detail,omitempty"`
	}

	// CodonStarted appends a record in status preparing.
	CodonStarted struct {
		RunID  RunID  `json:"runId"`
		Record *Codon `json:"record"`
	}

	// CodonTransitioned replaces the live record by its next form. The whole
	// record is carried, so that a commit that holds the event holds the
	// record.
	CodonTransitioned struct {
		RunID  RunID  `json:"runId"`
		Record *Codon `json:"record"`
	}

	// CostsUpdated carries the totals of the live record so far.
	CostsUpdated struct {
		RunID      RunID   `json:"runId"`
		CodonID    CodonID `json:"codonId"`
		Cost       USD     `json:"currentCost"`
		Tokens     Tokens  `json:"currentTokens"`
		Messages   int     `json:"assistantMessageCount"`
		Extensions int     `json:"extensionCount,omitzero"`
		// UnpricedTokens are those of Tokens for which no price is known; an older hank omits them.
		UnpricedTokens int64 `json:"unpricedTokens,omitzero"`
	}

	// CheckpointCreated records a commit that belongs to no codon's record.
	CheckpointCreated struct {
		Kind    CheckpointKind `json:"checkpointType"`
		SHA     SHA            `json:"checkpointSha"`
		RunID   RunID          `json:"runId,omitempty"`
		CodonID CodonID        `json:"codonId,omitempty"`
		Branch  string         `json:"branch"`
		// Base makes the commit the one that the next codon starts from.
		Base bool   `json:"base,omitzero"`
		Note string `json:"note,omitempty"`
	}

	// IntentOpened announces a change of the workspace.
	IntentOpened struct {
		Intent Intent `json:"intent"`
	}

	// IntentClosed says that the announced change is complete and durable, or,
	// if Cancelled, that it was given up. Kept is for Position.Kept.
	IntentClosed struct {
		ID        string   `json:"id"`
		Cancelled bool     `json:"cancelled,omitzero"`
		Kept      []string `json:"kept,omitempty"`
	}

	// BranchesRemoved says that branches go, with the checkpoints that only they
	// lead to. The records of their runs stay.
	BranchesRemoved struct {
		SHA      SHA            `json:"checkpointSha"` // the commit on RemovedBranch
		Time     Time           `json:"time"`
		Branches []BranchRemove `json:"branches"`
	}

	// LimitsSet replaces the limits of the execution.
	LimitsSet struct {
		Limits Limits `json:"limits"`
	}

	// BranchRemove is a branch that goes, and where it led.
	BranchRemove struct {
		Branch string `json:"branch"`
		Head   SHA    `json:"head"`
	}
)

// CheckpointKind says at which moment a checkpoint was made.
type CheckpointKind string

// The kinds of checkpoints.
const (
	KindInitial   CheckpointKind = "initial"
	KindRigSetup  CheckpointKind = "rig-setup"
	KindCompleted CheckpointKind = "completed"
	KindError     CheckpointKind = "error"
	KindSkipped   CheckpointKind = "skipped"
	KindArchive   CheckpointKind = "archive"  // archiveOnSuccess has moved files away
	KindTracked   CheckpointKind = "tracked"  // before a codon that tracks more than those before it: what it finds
	KindExit      CheckpointKind = "exit"     // a run's end; carries the run's header
	KindManual    CheckpointKind = "manual"   // what the user changed between two codons
	KindRecovery  CheckpointKind = "recovery" // what a rollback or a crash would otherwise lose
	KindRemoved   CheckpointKind = "removed"  // no workspace: what hank gc has removed
)

// Type returns the name under which the transition is in the journal.
func (Rebased) Type() TransitionType              { return "Rebased" }
func (InitialCheckpointSet) Type() TransitionType { return "InitialCheckpointSet" }
func (PlanSet) Type() TransitionType              { return "PlanSet" }
func (PlanGrown) Type() TransitionType            { return "PlanGrown" }
func (RunStarted) Type() TransitionType           { return "RunStarted" }
func (RunCompleted) Type() TransitionType         { return "RunCompleted" }
func (RunFailed) Type() TransitionType            { return "RunFailed" }
func (RunPaused) Type() TransitionType            { return "RunPaused" }
func (RunCrashed) Type() TransitionType           { return "RunCrashed" }
func (CodonStarted) Type() TransitionType         { return "CodonStarted" }
func (CodonTransitioned) Type() TransitionType    { return "CodonTransitioned" }
func (CostsUpdated) Type() TransitionType         { return "CostsUpdated" }
func (CheckpointCreated) Type() TransitionType    { return "CheckpointCreated" }
func (IntentOpened) Type() TransitionType         { return "IntentOpened" }
func (IntentClosed) Type() TransitionType         { return "IntentClosed" }
func (BranchesRemoved) Type() TransitionType      { return "BranchesRemoved" }
func (LimitsSet) Type() TransitionType            { return "LimitsSet" }

func (Rebased) scope() (RunID, CodonID)              { return "", "" }
func (InitialCheckpointSet) scope() (RunID, CodonID) { return "", "" }
func (PlanSet) scope() (RunID, CodonID)              { return "", "" }
func (t PlanGrown) scope() (RunID, CodonID)          { return "", t.After }
func (t RunStarted) scope() (RunID, CodonID)         { return t.Run.RunID, "" }
func (t RunCompleted) scope() (RunID, CodonID)       { return t.RunID, "" }
func (t RunFailed) scope() (RunID, CodonID)          { return t.RunID, "" }
func (t RunPaused) scope() (RunID, CodonID)          { return t.RunID, "" }
func (t RunCrashed) scope() (RunID, CodonID)         { return t.RunID, "" }
func (t CodonStarted) scope() (RunID, CodonID)       { return t.RunID, t.Record.CodonID }
func (t CodonTransitioned) scope() (RunID, CodonID)  { return t.RunID, t.Record.CodonID }
func (t CostsUpdated) scope() (RunID, CodonID)       { return t.RunID, t.CodonID }
func (t CheckpointCreated) scope() (RunID, CodonID)  { return t.RunID, t.CodonID }
func (IntentOpened) scope() (RunID, CodonID)         { return "", "" }
func (IntentClosed) scope() (RunID, CodonID)         { return "", "" }
func (BranchesRemoved) scope() (RunID, CodonID)      { return "", "" }
func (LimitsSet) scope() (RunID, CodonID)            { return "", "" }

// envelope is the data of a state.transition event.
type envelope struct {
	TransitionType TransitionType `json:"transitionType"`
	RunID          RunID          `json:"runId,omitempty"`
	CodonID        CodonID        `json:"codonId,omitempty"`
	Transition     body           `json:"transition"`
	Resulting      *Resulting     `json:"resultingState,omitempty"`
}

type body struct {
	Type TransitionType `json:"type"`
	Data jsontext.Value `json:"data"`
}

// Encode returns the data of the transition's event, without what has come of it.
func Encode(t Transition) (jsontext.Value, error) { return encode(t, nil) }

// Event returns the data of the event of the transition that has led to the state.
func (s *State) Event(t Transition) (jsontext.Value, error) {
	r := s.resulting()
	return encode(t, &r)
}

func encode(t Transition, r *Resulting) (jsontext.Value, error) {
	data, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", t.Type(), err)
	}
	run, codon := t.scope()
	return json.Marshal(envelope{t.Type(), run, codon, body{t.Type(), data}, r})
}

// decoders makes an empty transition for each type.
var decoders = map[TransitionType]func(jsontext.Value) (Transition, error){}

func register[T Transition]() {
	var zero T
	decoders[zero.Type()] = func(data jsontext.Value) (Transition, error) {
		var t T
		err := json.Unmarshal(data, &t)
		return t, err
	}
}

func init() {
	register[Rebased]()
	register[InitialCheckpointSet]()
	register[PlanSet]()
	register[PlanGrown]()
	register[RunStarted]()
	register[RunCompleted]()
	register[RunFailed]()
	register[RunPaused]()
	register[RunCrashed]()
	register[CodonStarted]()
	register[CodonTransitioned]()
	register[CostsUpdated]()
	register[CheckpointCreated]()
	register[IntentOpened]()
	register[IntentClosed]()
	register[BranchesRemoved]()
	register[LimitsSet]()
}

// UnknownTransitionError is a transition of a newer hank. It is not damage:
// the reader is too old to continue.
type UnknownTransitionError struct{ Type TransitionType }

func (e *UnknownTransitionError) Error() string {
	return fmt.Sprintf("the journal holds a %q transition, which this hank (schema %d) does not know; use the newer hank that wrote it", e.Type, SchemaVersion)
}

// TypeIn is the type that the data of a TransitionEvent begin with, without decoding them; false
// where they do not, so that only Decode tells.
func TypeIn(data []byte) (TransitionType, bool) {
	rest, ok := bytes.CutPrefix(data, []byte(`{"transitionType":"`))
	name, _, more := bytes.Cut(rest, []byte(`"`))
	return TransitionType(name), ok && more
}

// partial is a transition that carries a run or a record, and means nothing without it.
type partial interface{ incomplete() bool }

func (t RunStarted) incomplete() bool        { return t.Run == nil }
func (t CodonStarted) incomplete() bool      { return t.Record == nil }
func (t CodonTransitioned) incomplete() bool { return t.Record == nil }

// Decode reads the data of a TransitionEvent.
func Decode(data jsontext.Value) (Transition, error) {
	var env envelope
	if err := json.Unmarshal(data, &env); err != nil {
		return nil, fmt.Errorf("decoding a transition: %w", err)
	}
	decode, ok := decoders[env.Transition.Type]
	if !ok {
		return nil, &UnknownTransitionError{env.Transition.Type}
	}
	t, err := decode(env.Transition.Data)
	if err != nil {
		return nil, fmt.Errorf("decoding %s: %w", env.Transition.Type, err)
	}
	if p, ok := t.(partial); ok && p.incomplete() {
		return nil, fmt.Errorf("decoding %s: the run or the record that it is about is missing", env.Transition.Type)
	}
	return t, nil
}
