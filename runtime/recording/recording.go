// Package recording opens an execution whose agents are played again in another one.
//
//   - A Recording is that execution, which is only read: of each codon the transcript
//     and the checkpoints before and after its newest attempt.
//   - Its Harness plays a transcript; ApplyFiles makes the change between the checkpoints.
//
// It decides nothing about the run that replays: what is remembered, printed and
// counted is the runtime's.
package recording

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"hank/checkpoint"
	"hank/checkpoint/restore"
	"hank/internal/advice"
	"hank/internal/shell"
	"hank/plan"
	"hank/plan/loop"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/runtime/agents"
	"hank/runtime/exitcode"
	"hank/runtime/hankfile"
	"hank/runtime/harness"
	"hank/runtime/harness/replay"
	"hank/runtime/request"
	"hank/state"
)

// Recording is an execution whose agents are played again: their transcripts
// instead of their work, and the differences between their checkpoints instead
// of what they did to files.
type Recording struct {
	view  *recovery.View
	store *checkpoint.Store
	// records are the newest on the lineage path of each codon whose agent was started.
	// They are looked up for each codon that is played.
	records map[state.CodonID]*state.Codon
}

// Open opens an execution to be replayed. It is only read.
func Open(dir string) (*Recording, error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if !layout.Exists(root) {
		return nil, &exitcode.UsageError{Why: fmt.Sprintf("there is no execution in %s to replay", dir)}
	}
	view, err := recovery.Read(root)
	if err != nil {
		return nil, unusable(dir, err)
	}
	store, err := view.Store()
	if err != nil {
		return nil, unusable(dir, err)
	}
	records := map[state.CodonID]*state.Codon{}
	for _, step := range view.State.LineagePath() {
		if c := step.Codon; c.ClaudeLogPath != "" && c.Status.Terminal() && !c.Replayed() {
			records[c.CodonID] = c
		}
	}
	if from := view.Meta.Replay; len(records) == 0 && from == request.Noop {
		return nil, errors.Join(&exitcode.UsageError{Why: dir + " was run with --noop: none of its codons has done anything that could be replayed"}, store.Close())
	} else if len(records) == 0 && from != "" {
		return nil, errors.Join(&exitcode.UsageError{Why: fmt.Sprintf("%s is itself a replay, and has no transcript of its own: replay %s", dir, from)}, store.Close())
	}
	return &Recording{view, store, records}, nil
}

// unusable is the error of a recording that cannot be read. What it advises is for the
// recording, and not for the execution that is to replay it.
func unusable(dir string, err error) error {
	here := func(text string) string { return advice.Render(text, " -e "+shell.Quote(dir)) }
	var ask *finding.DecisionError
	if !errors.As(err, &ask) {
		return fmt.Errorf("%s cannot be replayed: %w", dir, err)
	}
	of := *ask
	of.What, of.Options, of.Command = dir+" cannot be replayed: "+here(ask.What), nil, ""
	for _, o := range ask.Options {
		of.Options = append(of.Options, here(o))
	}
	return &of
}

// Fits fails for a program of whose codons none was recorded.
func (r *Recording) Fits(p *plan.Program) error {
	for _, e := range p.Initial() {
		if r.records[e.CodonID] != nil {
			return nil
		}
	}
	return &exitcode.UsageError{Why: fmt.Sprintf("%s has no recorded attempt at any codon of this hank: it is of another one", r.Root())}
}

// program loads the program that was recorded. Its hash is empty if there is none.
func (r *Recording) program() (hash string, load func() (*plan.Program, error)) {
	s := r.view.State
	return s.HankHash, func() (*plan.Program, error) { return githistory.LoadProgram(r.store, s.Program) }
}

// Root is the directory of the recorded execution; empty if nothing is replayed.
func (r *Recording) Root() string {
	if r == nil {
		return ""
	}
	return r.view.Layout.Root
}

// Close closes it; one that is nil has nothing to close.
func (r *Recording) Close() error {
	if r == nil {
		return nil
	}
	return r.store.Close()
}

// Harness plays the transcript of a codon. What cannot be played is a codon that
// cannot be started.
func (r *Recording) Harness(id state.CodonID) harness.Harness {
	h, err := r.transcript(id)
	if err != nil {
		return unplayable{why: err}
	}
	return h
}

// unplayable is the harness of a codon that has no transcript to be played.
type unplayable struct {
	replay.Harness
	why error
}

func (u unplayable) Command(harness.Request) (harness.Command, error) {
	return harness.Command{}, u.why
}

func (r *Recording) transcript(id state.CodonID) (harness.Harness, error) {
	record := r.records[id]
	if record == nil {
		return nil, fmt.Errorf("%s has no recorded attempt at codon %s to play", r.view.Layout.Root, id)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	file := r.view.Layout.Resolve(record.ClaudeLogPath)
	return replay.Open(self, file, func(name string) (harness.Harness, bool) {
		h, ok := agents.Harnesses[name]
		return h, ok
	})
}

// Decision is what the recorded codon said about its loop; nil: nothing.
func (r *Recording) Decision(id state.CodonID) *loop.Ballot {
	if record := r.records[id]; record != nil {
		return record.Decision
	}
	return nil
}

// ApplyFiles does to the workspace what the recorded codon did to its own. Which of it had been
// done at a moment in between is not recorded: where the playing was cut off, it does nothing and
// returns false, unless the budget at which that happened has ended the recorded attempt, too.
func (r *Recording) ApplyFiles(ctx context.Context, w *checkpoint.Workspace, id state.CodonID, cut bool, at *state.BudgetExceeded) (done bool, err error) {
	record := r.records[id]
	if record == nil || record.BaseCheckpoint == "" || record.Checkpoint() == "" {
		return true, nil
	}
	if was := record.BudgetExceeded; cut && (at == nil || was == nil || was.Currency != at.Currency || was.Limit != at.Limit) {
		return false, nil
	}
	from, errFrom := r.store.CommitInfo(checkpoint.SHA(record.BaseCheckpoint))
	to, errTo := r.store.CommitInfo(checkpoint.SHA(record.Checkpoint()))
	if err := errors.Join(errFrom, errTo); err != nil {
		return false, fmt.Errorf("the recorded checkpoints of codon %s: %w", id, err)
	}
	report, err := restore.Restore(ctx, restore.RestoreRequest{Store: r.store, Workspace: w, From: from.Tree, To: to.Tree,
		Removable: execution.Taken(r.view.State, r.store, record.Checkpoint()).Matcher()})
	if err == nil && len(report.Refused) > 0 {
		err = fmt.Errorf("%q %s", report.Refused[0].Path, report.Refused[0].Why)
	}
	return err == nil, err
}

// Differs says in what a program differs from the recorded one.
func (r *Recording) Differs(p *plan.Program) []string {
	hash, load := r.program()
	if hash == "" || hash == hankfile.ProgramHash(p) {
		return nil
	}
	recorded, err := load()
	if err != nil {
		return []string{"its recorded version cannot be read"}
	}
	return hankfile.DescribeChanges(recorded, p)
}
