package execution

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"hank/checkpoint"
	"hank/internal/failpoint"
	"hank/internal/secret"
	"hank/internal/vfs"
	"hank/recovery/finding"
	"hank/recovery/integrity"
	"hank/recovery/layout"
	"hank/recovery/load"
	"hank/recovery/lock"
	"hank/state"
	"hank/state/journal"
)

// Execution is an execution that this process holds: its lock, its journal,
// its store, and the one State that all of them reflect. One goroutine may use
// it at a time; State alone may be called by any.
type Execution struct {
	Layout    layout.Layout
	Store     *checkpoint.Store
	Workspace *checkpoint.Workspace
	Report    finding.Report // what opening it found and did
	// Undone: opening has undone an interrupted change of the workspace; Finished: it has
	// finished one. GivenUp: why it could only be closed, see Options.Unfinished.
	Undone, Finished bool
	GivenUp          *finding.DecisionError

	Opts          Options
	FS            vfs.FS
	Metadata      layout.Meta
	Lock          *lock.Lock
	Journal       *journal.Journal
	StateWriter   *StateWriter
	Merger        *merger
	warned        map[string]bool // files for secrets that warnOfPrivate has named
	agents        layout.AgentScale
	Current       atomic.Pointer[state.State]
	Files         []load.StateFile   // state.json and its backup as opening has found them
	OnDisk        *state.State       // what state.json says, if nothing is to be repaired about either
	Monitor       *integrity.Monitor // of hank's own files, during a run
	Origin        string             // the lineage that this opening has found to be that of a copy's original
	AllowedBefore *Allowances        // what held before allow has changed it
	AllowanceDue  bool               // the next transition is one that the opening records of its own: allow comes before it
	Broken        error              // a lost lock, or a failure of the journal: nothing is acknowledged after it, unless nothing was written (untampered, lastLook)
}

// State returns the present state. It must not be changed.
func (x *Execution) State() *state.State { return x.Current.Load() }

// Meta returns what the execution was made from.
func (x *Execution) Meta() layout.Meta { return x.Metadata }

// Held returns an error when the execution's directory is no longer the one that this
// process locked.
func (x *Execution) Held() error { return x.Lock.Held() }

// Record makes transitions happen, all of them or none:
//
//  1. Each is checked against the state before it. An illegal one is an
//     *state.IllegalMoveError, and none of them is written. What an opening stores
//     before its first (allow), and a journal that is recreated (checkJournal), stay.
//  2. Their events are appended to the journal and synced; several begin a segment, so
//     that a crash keeps all or none. From here on they are acknowledged. A failure is
//     never retried in place, except where nothing was written (untampered): the
//     execution refuses everything after it and must be opened again.
//  3. The state in memory is replaced.
//  4. A save of state.json is asked for.
//  5. Those who follow the journal are told: see Options.Appended.
func (x *Execution) Record(transitions ...state.Transition) error {
	return x.record(true, transitions...)
}

// RecordLater is Record for what gates nothing that cannot be done again: its events are
// appended, and synced together with the next that are. Until then the state in memory,
// those who follow the journal and perhaps state.json have what a power cut can still
// undo; nothing is acknowledged.
func (x *Execution) RecordLater(transitions ...state.Transition) error {
	return x.record(false, transitions...)
}

func (x *Execution) record(durable bool, transitions ...state.Transition) error {
	if err := x.allow(); err != nil {
		return err
	}
	return x.untampered(func() error { return x.apply(durable, transitions) })
}

func (x *Execution) apply(durable bool, transitions []state.Transition) error {
	next, seq := x.State(), x.Journal.Last()
	events := make([]journal.Event, len(transitions))
	for i, t := range transitions {
		var err error
		t = state.Redact(t, x.Opts.Mask)
		if next, err = state.Apply(next, seq+uint64(i)+1, t); err != nil {
			return err
		}
		data, err := next.Event(t)
		if err != nil {
			return err
		}
		events[i] = x.event(seq+uint64(i)+1, state.TransitionEvent, data)
	}
	if err := x.append(durable, events...); err != nil {
		return err
	}
	failpoint.Hit("transition.acknowledged") // by RecordLater it is only appended
	x.Current.Store(next)
	x.StateWriter.Request(next, x.Journal.End(), durable)
	for _, e := range events {
		x.Opts.Appended(e, next)
	}
	if durable {
		x.Opts.Synced(x.Journal.Last())
	}
	return nil
}

// Note appends an event that changes no state. It rides on the next sync.
func (x *Execution) Note(eventType string, data any) error {
	text, err := json.Marshal(data, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encoding a %s event: %w", eventType, err)
	}
	return x.untampered(func() error {
		e := x.event(x.Journal.Last()+1, eventType, secret.JSON(text, x.Opts.Mask))
		if err := x.append(false, e); err != nil {
			return err
		}
		x.Opts.Appended(e, x.State())
		return nil
	})
}

func (x *Execution) event(seq uint64, eventType string, data []byte) journal.Event {
	return journal.Event{Seq: seq, ID: layout.NewID(8), Timestamp: x.Opts.Now().UTC().Truncate(time.Millisecond), Type: eventType, Data: data}
}

func (x *Execution) append(durable bool, events ...journal.Event) error {
	if err := x.Held(); err != nil {
		x.Broken = err
		return err
	}
	add := x.Journal.Append
	if durable && len(events) > 1 {
		add = x.Journal.AppendWhole
	}
	err := add(events...)
	if err == nil && durable {
		err = x.Journal.Sync()
	}
	if err != nil {
		x.Broken = err
	}
	return err
}

// Sync makes everything durable that RecordLater and Note have written.
func (x *Execution) Sync() error {
	if x.Broken != nil {
		return x.Broken
	}
	if err := x.Journal.Sync(); err != nil {
		x.Broken = err
		return err
	}
	x.Opts.Synced(x.Journal.Last())
	return nil
}
