package rig

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"time"

	"hank/plan"
	"hank/runtime/keeper"
)

// Setup runs the rig of a codon: the scripted set-up before its agent
// starts.
type Setup struct {
	Workspace      string // absolute
	Program        *plan.Program
	Codon          *plan.Codon // resolved
	CodonID        plan.CodonID
	Environ        []string // the whole environment of commands
	Attempt        string
	Writable       []string              // what its commands may change; nil is anything
	Apart          func(rel string) bool // reports whether a path in the workspace is the execution's own; nil: none is
	IgnoreFailures bool                  // as if every operation had allowFailure
	Checkpoint     bool                  // the caller makes a checkpoint when the rig is done; said in rig.setup.completed
	Start          starter               // nil is the keeper
	// Note takes the events rig.output, rig.setup.failed and
	// rig.setup.completed. Note and Save are called by the goroutine that
	// calls run, and by no other.
	Note func(eventType string, data any)
	// Save is called before a copy replaces something, with the paths that are
	// replaced, relative to the workspace: what is there must be recorded when
	// it returns.
	Save func(targets []string) error
	// LeftOut lists what is left out of every checkpoint, relative to the workspace;
	// nil: nothing. Aside is called before such a file gets another name: when it
	// returns, the new one is left out, too.
	LeftOut func() []string
	Aside   func(path, now string) error
	// Killed is told what a command left behind and had to be killed; may be nil.
	Killed func(keeper.Exit)
}

// The events of a rig.
type (
	rigOutput struct {
		CodonID      plan.CodonID `json:"codonId"`
		Stream       string       `json:"stream"`
		Line         string       `json:"line"`
		CommandIndex int          `json:"commandIndex"`
	}

	rigSetupFailed struct {
		CodonID      plan.CodonID `json:"codonId"`
		FailureType  string       `json:"failureType"`
		ExitCode     *int         `json:"exitCode,omitempty"`
		CommandIndex int          `json:"commandIndex"`
		Ignored      bool         `json:"ignored"`
		Message      string       `json:"message"` // hank's addition
	}

	rigSetupCompleted struct {
		CodonID           plan.CodonID `json:"codonId"`
		RigType           string       `json:"rigType"` // command or commands
		CommandCount      int          `json:"commandCount"`
		DurationMs        int64        `json:"durationMs"`
		CreatedCheckpoint bool         `json:"createdCheckpoint"`
	}
)

// Run goes through the operations in order. It returns nil if all are done,
// or have failed and may; else the failure that stopped it. Nothing that the
// rig started is alive then, but for what the failure's *keeper.AliveError
// names.
func (r Setup) Run(ctx context.Context) *Failure {
	ops := r.Codon.RigSetup
	if len(ops) == 0 {
		return nil
	}
	began := time.Now()
	lastCopied := ""
	for i, op := range ops {
		f := r.operation(ctx, i, op, &lastCopied)
		if f == nil {
			continue
		}
		f.Message = fmt.Sprintf("rig operation %d of %d of codon %q: %s", i+1, len(ops), r.CodonID, f.Message)
		ignored := (op.AllowFailure || r.IgnoreFailures) && !f.final()
		r.noteFailure(f, op, ignored)
		if !ignored {
			return f
		}
	}
	kind := "commands"
	if len(ops) == 1 {
		kind = "command"
	}
	r.Note("rig.setup.completed", rigSetupCompleted{r.CodonID, kind, len(ops), time.Since(began).Milliseconds(), r.Checkpoint})
	return nil
}

func (r Setup) noteFailure(f *Failure, op plan.Rig, ignored bool) {
	e := rigSetupFailed{CodonID: r.CodonID, FailureType: f.Type, CommandIndex: f.Index, Ignored: ignored, Message: f.Message}
	if op.Command != nil {
		e.ExitCode = &f.ExitCode
	}
	r.Note("rig.setup.failed", e)
}

// operation does one step. lastCopied is the target of the last copy.
func (r Setup) operation(ctx context.Context, i int, op plan.Rig, lastCopied *string) *Failure {
	if op.Copy != nil {
		if err := r.copy(ctx, *op.Copy); err != nil {
			if ctx.Err() != nil {
				return stoppedOnRequest(i, ctx.Err())
			}
			return &Failure{Index: i, Type: failedOther, Message: err.Error(), Err: err}
		}
		*lastCopied = path.Clean(op.Copy.To)
		return nil
	}
	if op.Command == nil {
		return &Failure{Index: i, Type: failedOther, Message: fmt.Sprintf("the operation is neither a copy nor a command but %q", op.Type)}
	}
	c := commander{
		environ: r.Environ, workspace: r.Workspace, attempt: r.Attempt, writable: r.Writable, start: r.Start, killed: r.Killed, every: sampleEvery,
		emit: func(index int, s sample) { r.Note("rig.output", rigOutput{r.CodonID, s.Stream, s.Line, index}) },
	}
	return c.run(ctx, i, *op.Command, r.directory(op.Command.WorkingDirectory, *lastCopied))
}

// directory is where a command runs: in the workspace, or in the directory that
// was copied last, or that holds the file that was.
func (r Setup) directory(where, lastCopied string) string {
	if where != "lastCopied" || lastCopied == "" {
		return r.Workspace
	}
	dir := filepath.Join(r.Workspace, filepath.FromSlash(lastCopied))
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return filepath.Dir(dir)
	}
	return dir
}

// copy does one copy operation.
func (r Setup) copy(ctx context.Context, c plan.Copy) error {
	fail := func(err error) error { return fmt.Errorf("copy %s to %s: %w", c.From, c.To, err) }
	source, ok := r.Program.Source(c.From)
	if !ok {
		return fail(fmt.Errorf("the program has no such files; was it made from another hank?"))
	}
	root, err := os.OpenRoot(r.Workspace)
	if err != nil {
		return fail(err)
	}
	defer root.Close()
	p := placement{root: root, source: source, target: path.Clean(c.To), attempt: r.Attempt, apart: r.Apart, save: r.Save, aside: r.Aside}
	if r.LeftOut != nil {
		p.leftOut = r.LeftOut()
	}
	if err := p.run(ctx); err != nil {
		return fail(err)
	}
	return nil
}
