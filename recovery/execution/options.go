package execution

import (
	"time"

	"hank/checkpoint"
	"hank/internal/secret"
	"hank/internal/vfs"
	"hank/plan"
	"hank/recovery/layout"
	"hank/state"
	"hank/state/journal"
)

// Late is what the user decides about a workspace that was changed after a codon
// had ended, and before its checkpoint was made: nobody can tell the changes
// from the codon's work any more.
type Late int

// The decisions.
const (
	LateAsk  Late = iota // none: it is asked
	LateKeep             // the workspace as it is counts as the codon's work
	LateRedo             // the codon counts as interrupted
)

// Unfinished says what becomes of a change of the workspace that was interrupted
// and that cannot be finished.
type Unfinished string

// Allowances are what an execution may use.
type Allowances struct {
	Limits state.Limits
	Cap    *int64
}

// Options say how an execution is opened.
type Options struct {
	FS        vfs.FS           // nil is the real one
	Now       func() time.Time // nil is time.Now
	Command   string           // what to tell others that find the lock
	BreakLock string           // lockId of a holder to be ignored, where locks cannot be trusted
	Fresh     bool             // start over if nothing at all is left of the state
	// ReplaceStore is the answer of hank doctor --fix: what can be read of damaged packs is
	// kept, a move that cannot be finished is undone, and if the store, or the newest
	// checkpoint in it, is gone, the workspace as it is becomes the next one.
	ReplaceStore bool
	Unfinished   Unfinished
	// Refill brings back into the store what may have been lost, before anything
	// is read of it. A store that is gone or damaged is recreated for it.
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
	// Free tells how many bytes are free on the disk of a directory, and how many it
	// has; nil asks the system.
	Free func(dir string) (free, total int64, err error)
	// FullDisk makes room where the disk is full; it is called when the locks are
	// taken, and nothing has been read. nil: the execution is not opened then.
	FullDisk func() error
	// Reap ends what an attempt has left running and says what it was; nil: nothing. Every
	// command sets it, Unrecorded and Mask by package opening of the runtime.
	Reap func(attempt string) ([]string, error)
	// Unrecorded is what the transcript of a run's live codon has more than its record; none:
	// nothing.
	Unrecorded func(layout.Layout, *state.State, state.RunID) []state.Transition
	// Appended is told of every event when it is in the journal and the state is
	// replaced, Synced of the newest event each time that the journal was synced.
	// Both are called in the path of Record: they take a note for others, see
	// package events, and wait for nobody.
	Appended func(journal.Event, *state.State)
	Synced   func(last uint64)
	// Mask takes secrets out of a text that is about to be written into journal,
	// state and commits; nil is secret.Text.
	Mask func(string) string
	// Learn is called once, before Mask is for the first time: the secrets in the program that the
	// execution follows then can be told to Mask. load reads it. nil: nothing is called.
	Learn func(load func() (*plan.Program, error))
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

// WithDefaults returns the options with a value for everything that was left out.
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
	if o.Unrecorded == nil {
		o.Unrecorded = func(layout.Layout, *state.State, state.RunID) []state.Transition { return nil }
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
