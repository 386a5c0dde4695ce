package execution

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/hashicorp/go-multierror"

	"hank/checkpoint"
	"hank/internal/failpoint"
	"hank/internal/secret"
	"hank/internal/vfs"
	"hank/recovery/finding"
	"hank/recovery/githistory"
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
	// Undone: opening has taken back an interrupted change of the workspace, and
	// GivenUp why it could only be closed: see Options.Unfinished.
	Undone  bool
	GivenUp *finding.DecisionError

	Opts          Options
	FS            vfs.FS
	Metadata      layout.Meta
	Lock          *lock.Lock
	Journal       *journal.Journal
	Saver         *Saver
	Merger        *merger
	warned        map[string]bool // files for secrets that warnOfPrivate has named
	Current       atomic.Pointer[state.State]
	Files         []load.StateFile   // state.json and its backup as opening has found them
	OnDisk        *state.State       // what state.json says, if nothing is to be mended about either
	Monitor       *integrity.Monitor // of hank's own files, during a run
	Origin        string             // the lineage that this opening has found to be that of a copy's original
	AllowedBefore *Allowances        // what held before allow has changed it
	Settled       bool               // the opening is over, or has not come to what allow is before
	Broken        error              // the first failure of the journal: nothing is acknowledged after it
}

// Options say how an execution is opened.
type Options struct {
	FS        vfs.FS           // nil is the real one
	Now       func() time.Time // nil is time.Now
	Command   string           // what to tell others that find the lock
	BreakLock string           // lockId of a holder to be ignored, where locks cannot be trusted
	Fresh     bool             // begin anew if nothing at all is left of the state
	// ReplaceStore goes on from the workspace as it is if the store, or the
	// newest checkpoint in it, is gone.
	ReplaceStore bool
	Unfinished   Unfinished
	// Refill brings back into the store what may have been lost, before anything
	// is read of it. A store that is gone or damaged is begun anew for it.
	Refill func(*checkpoint.Store) error
	// KeepTree and RestoreTree say what becomes of the files in the workspace that an
	// import is to fill.
	KeepTree, RestoreTree bool
	// IncludeSecrets and ExcludeSecrets say what becomes of the files for secrets
	// among them that no ignore rule hides: into the checkpoints, or into none.
	IncludeSecrets, ExcludeSecrets bool
	// Workspace is where the workspace is, absolute; asked only if
	// execution-meta.json, which says it, is gone.
	Workspace string
	// CheckpointCap is how many bytes the checkpoints may come to while the opening
	// lasts, 0 any number; nil is what the execution has. See KeepCap.
	CheckpointCap *int64
	// Limit changes limits as the command says; nil leaves them. See allow.
	Limit func(state.Limits) state.Limits
	// KeepPaused leaves runs that are paused as they are: see state.RunPaused.
	KeepPaused bool
	// Late is asked what becomes of a codon whose workspace was changed between
	// its end and its checkpoint; nil leaves it to the caller of the opening.
	Late func(question string) Late
	// Free tells how many bytes are free on the disk of a folder, and how many it
	// has; nil asks the system.
	Free func(dir string) (free, total int64, err error)
	// FullDisk makes room where the disk is full; it is called when the locks are
	// taken, and nothing has been read. nil: the execution is not opened then.
	FullDisk func() error
	// Reap ends what an attempt has left running and says what it was.
	Reap func(attempt string) ([]string, error)
	// Appended is told of every event when it is in the journal and the state is
	// replaced, Synced of the newest event each time that the journal was synced.
	// Both are called in the path of Record: they take a note for others, see
	// package events, and wait for nobody.
	Appended func(journal.Event, *state.State)
	Synced   func(last uint64)
	// Mask takes secrets out of a text that is about to be written into journal,
	// state and commits; nil is secret.Text.
	Mask func(string) string
	// Warn is told what went wrong without stopping anything.
	Warn func(string)
	// Work is told of work that may be long when it begins, and returns what is
	// told of its end.
	Work Work
}

// Work shows somebody that something is under way, and how far it is.
type Work func(what string, p *checkpoint.Progress) (end func())

// Begin returns a new count, shown from now until end is called. Nobody needs
// to be there to see it.
func (w Work) Begin(what string) (p *checkpoint.Progress, end func()) {
	if w == nil {
		return nil, func() {}
	}
	p = &checkpoint.Progress{}
	return p, w(what, p)
}

func (o Options) WithDefaults() Options {
	if o.FS == nil {
		o.FS = vfs.OS
	}
	if o.Free == nil {
		o.Free = vfs.Free
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Reap == nil {
		o.Reap = func(string) ([]string, error) { return nil, nil }
	}
	if o.Late == nil {
		o.Late = func(string) Late { return LateAsk }
	}
	if o.Appended == nil {
		o.Appended = func(journal.Event, *state.State) {}
	}
	if o.Synced == nil {
		o.Synced = func(uint64) {}
	}
	if o.Mask == nil {
		o.Mask = secret.Text
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	return o
}

// State returns the present state. It must not be changed.
func (x *Execution) State() *state.State { return x.Current.Load() }

// Meta returns what the execution was made from.
func (x *Execution) Meta() layout.Meta { return x.Metadata }

// SetMeta changes the meta and writes it.
func (x *Execution) SetMeta(change func(*layout.Meta)) error {
	if err := x.Held(); err != nil {
		return err
	}
	change(&x.Metadata)
	x.Metadata.LastUsed = state.At(x.Opts.Now())
	return layout.WriteMeta(x.FS, x.Layout.Meta(), x.Metadata)
}

// Held returns an error when the execution's folder is no longer the one that this
// process locked.
func (x *Execution) Held() error { return x.Lock.Held() }

// Record makes transitions happen, all of them or none:
//
//  1. Each is checked against the state before it. An illegal one is an
//     *state.IllegalMoveError, and nothing is written.
//  2. Their events are appended to the journal and synced. From here on they
//     are acknowledged. A failure is never retried in place: the execution
//     refuses everything after it and must be opened again.
//  3. The state in memory is replaced.
//  4. A save of state.json is asked for.
//  5. Those who follow the journal are told: see Options.Appended.
func (x *Execution) Record(transitions ...state.Transition) error {
	return x.record(true, transitions...)
}

// RecordLater is Record for what gates nothing that cannot be done again:
// its events are synced together with the next that are.
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
		t = state.MapTexts(t, x.Opts.Mask)
		if next, err = state.Apply(next, seq+uint64(i)+1, t); err != nil {
			return err
		}
		data, err := state.Encode(t)
		if err != nil {
			return err
		}
		events[i] = x.event(seq+uint64(i)+1, state.TransitionEvent, data)
	}
	if err := x.append(durable, events...); err != nil {
		return err
	}
	failpoint.Hit("transition.acknowledged")
	x.Current.Store(next)
	x.Saver.Ask(next, x.Journal.End(), durable)
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
	text, err := json.Marshal(data)
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
	err := x.Journal.Append(events...)
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

// Commit is a checkpoint that is about to be acknowledged.
type Commit struct {
	Title      githistory.Title
	Snapshot   *checkpoint.Snapshot
	Parents    []state.SHA
	Branch     string
	Transition state.Transition // the place of its commit left empty
	Whole      bool             // its record carries the whole state from before it
}

// Commit makes a checkpoint and the transition that acknowledges it:
//
//  1. The transition is checked. Illegal: an error, nothing written. What the
//     journal still owes is synced, so that its next number is certain.
//  2. The commit carries the transition and the journal's next number; it
//     joins the pack of its objects, which is synced.
//  3. The branch is moved from its known tip by compare-and-swap, synced. A
//     crash from here on is rolled forward: the next opening finds a tip with
//     exactly the journal's next number.
//  4. The transition, completed by the commit's id, is recorded.
func (x *Execution) Commit(ctx context.Context, c Commit) (state.SHA, error) {
	if x.Broken != nil {
		return "", x.Broken
	}
	if err := errors.Join(x.Inspect(), x.allow()); err != nil {
		return "", err
	}
	c.Transition, c.Title.Name = state.MapTexts(c.Transition, x.Opts.Mask), x.Opts.Mask(c.Title.Name)
	trial, err := githistory.WithCheckpoint(c.Transition, "0000000000000000000000000000000000000000")
	if err != nil {
		return "", err
	}
	s := x.State()
	if _, err := state.Apply(s, s.Seq+1, trial); err != nil {
		return "", err
	}
	if err := errors.Join(x.Held(), x.Sync()); err != nil {
		return "", err
	}
	sha, err := x.CommitObject(ctx, c)
	if err != nil {
		x.Store.Abort()
		return "", fmt.Errorf("checkpoint %s:%s: %w", c.Title.Status, c.Title.CodonID, err)
	}
	failpoint.Hit("checkpoint.packed")
	if err := x.moveBranch(c.Branch, sha); err != nil {
		return "", err
	}
	failpoint.Hit("checkpoint.referenced")
	done, err := githistory.WithCheckpoint(c.Transition, sha)
	if err != nil {
		return "", err
	}
	if err = x.Record(done); err == nil {
		x.warnOfPrivate(c.Snapshot)
	}
	x.Merger.ask()
	return sha, err
}

func (x *Execution) CommitObject(ctx context.Context, c Commit) (state.SHA, error) {
	data, err := state.Encode(c.Transition)
	if err != nil {
		return "", err
	}
	s, now := x.State(), x.Opts.Now()
	record := githistory.Record{Schema: state.SchemaVersion, Lineage: s.Lineage, Seq: x.Journal.Last() + 1, Program: s.Program, HankHash: s.HankHash, Limits: s.Limits, Event: data}
	if c.Whole {
		whole, err := s.Rebase("")
		if err != nil {
			return "", err
		}
		record.State = whole.State
	}
	if run := s.Run(c.Title.RunID); run != nil {
		record.Run = run
	}
	if _, first := c.Transition.(state.InitialCheckpointSet); first {
		record.LeftOut = x.leftOut()
	}
	text, err := githistory.Message(c.Title, state.At(now), record)
	if err != nil {
		return "", err
	}
	text += foldersLine(c.Snapshot.Empty)
	parents := make([]checkpoint.SHA, 0, len(c.Parents))
	for _, p := range c.Parents {
		if p != "" && x.Store.Has(checkpoint.SHA(p)) { // one that was lost and parted from is led to no more
			parents = append(parents, checkpoint.SHA(p))
		}
	}
	_, end := x.Opts.Work.Begin("making the checkpoint durable")
	defer end()
	sha, err := x.Store.Commit(ctx, checkpoint.CommitRequest{Tree: c.Snapshot.Tree, Parents: parents, Message: text, When: now})
	return state.SHA(sha), err
}

func (x *Execution) moveBranch(branch string, to state.SHA) error {
	ref := "refs/heads/" + branch
	old, err := x.Store.Ref(ref)
	if err != nil {
		return err
	}
	if err := x.Store.SetRef(ref, old, checkpoint.SHA(to)); err != nil {
		return err
	}
	x.Monitor.RefMoved(ref, checkpoint.SHA(to))
	return nil
}

// Close makes everything durable, saves the state and gives the execution
// back. Every step is taken whatever became of those before it, and all that
// went wrong is in the error.
func (x *Execution) Close() error {
	var failed *multierror.Error
	failed = multierror.Append(failed, x.lastLook())
	x.Lock.Unwatch() // nobody would write what belongs in it
	if x.Broken == nil {
		failed = multierror.Append(failed, x.Journal.Sync())
	}
	return x.GiveBack(failed)
}

// GiveBack closes what is open, the locks last. What failed before is in the
// error too.
func (x *Execution) GiveBack(failed *multierror.Error) error {
	return inOneLine(multierror.Append(x.CloseAll(failed), x.Lock.Release()))
}

// CloseAll closes what is open but for the locks. What has broken the execution
// is known, and is not said again; of one whose folder is lost all that follows
// from it.
func (x *Execution) CloseAll(failed *multierror.Error) *multierror.Error {
	var lost *lock.LostError
	note := func(err error) {
		if err != nil && !errors.Is(err, x.Broken) && !errors.Is(x.Broken, err) && !errors.As(x.Broken, &lost) {
			failed = multierror.Append(failed, err)
		}
	}
	if x.Saver != nil {
		note(x.Saver.Close())
	}
	if x.Journal != nil {
		note(x.Journal.Close())
	}
	x.Merger.close()
	if x.Store != nil {
		if x.Held() != nil || x.Monitor.WasDeleted() {
			x.Store.Forsake() // the folder that has its name is not the one that it knows
		} else {
			note(x.Store.Close())
		}
	}
	if x.Workspace != nil {
		note(x.Workspace.Close())
	}
	return failed
}

// inOneLine returns what went wrong, as one sentence; nil if nothing did.
func inOneLine(failed *multierror.Error) error {
	if failed.ErrorOrNil() == nil {
		return nil
	}
	failed.ErrorFormat = func(all []error) string {
		said := make([]string, len(all))
		for i, err := range all {
			said[i] = err.Error()
		}
		return strings.Join(said, "; and ")
	}
	return failed
}
