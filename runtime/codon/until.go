package codon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"hank/plan"
	"hank/plan/loop"
	"hank/runtime/rig"
)

// Until runs the command of a rule for the last codon of an iteration, with the
// environment, the directories and the time limit that a check of its outputs has. All
// that the command started is dead when it returns. The error is that it was stopped by
// a request, or one of hank itself.
func Until(ctx context.Context, spec Spec, host Host, r loop.Rule) (loop.Ballot, error) {
	a := &attempt{Spec: spec, host: host}
	writable, err := a.writable()
	if err != nil {
		return loop.Ballot{}, err
	}
	if _, err := a.temp(); err != nil {
		return loop.Ballot{}, err
	}
	defer a.dropTemp()
	listening, done := a.listen(ctx)
	f := rig.Once{
		Workspace: a.Layout.Workspace, Command: plan.Command{Run: r.Until, TimeoutSeconds: r.TimeoutSeconds}, CodonID: a.Entry.CodonID,
		Environ: withEnv(a.commandEnviron(), a.Entry.Codon.Env), Attempt: a.ID, Writable: writable, Note: a.host.Note, Killed: a.killed,
	}.Run(listening)
	done()
	for _, n := range a.notes {
		a.host.Say("%s", n)
	}
	switch {
	case f == nil:
		return loop.Ballot{Decision: loop.Stop, Reason: "it ended with code 0"}, nil
	case a.skip && errors.Is(f.Err, context.Canceled):
		return loop.Ballot{Decision: loop.Continue, Invalid: true, Reason: "it was skipped"}, nil
	case f.Err != nil: // it was stopped, or could not run
		if errors.Is(f.Err, context.Canceled) || f.Final() {
			return loop.Ballot{}, fmt.Errorf("the command of loop %s: %w", a.Entry.LoopContext.LoopID, f)
		}
		return loop.Ballot{Decision: loop.Continue, Invalid: true, Reason: loop.Shorten(f.Message)}, nil
	case f.ExitCode == 126, f.ExitCode == 127, f.ExitCode < 0: // not found, not executable, killed
		return loop.Ballot{Decision: loop.Continue, Invalid: true, Reason: loop.Shorten(f.Message)}, nil
	}
	return loop.Ballot{Decision: loop.Continue, Reason: fmt.Sprintf("it ended with code %d", f.ExitCode)}, nil
}

// decisionPath is the file for the decision of a codon that votes; empty if it does not.
// It is outside of the workspace, and gone with the attempt.
func (a *attempt) decisionPath() string {
	if !a.Program.Votes(a.Entry) {
		return ""
	}
	return filepath.Join(a.tempPath(), "decision.json")
}

// decision is what the codon has decided about its loop; nil if it was not asked.
func (a *attempt) decision() *loop.Ballot {
	if a.decisionPath() == "" {
		return nil
	}
	if a.Apply != nil {
		return a.Decided
	}
	b := readDecision(a.tempPath(), filepath.Base(a.decisionPath()))
	return &b
}

// readDecision reads a decision that an agent has written, or something else in its place.
func readDecision(dir, name string) loop.Ballot {
	unreadable := func(why string) loop.Ballot {
		b := loop.NoDecision()
		b.Reason = "the decision file " + why
		return b
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return loop.NoDecision()
	}
	defer root.Close()
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return loop.NoDecision()
	case err != nil:
		return unreadable("cannot be read: " + err.Error())
	case !info.Mode().IsRegular():
		return unreadable("is no regular file")
	}
	file, err := root.Open(name)
	if err != nil {
		return unreadable("cannot be read: " + err.Error())
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, loop.LongestDecision+1))
	if err != nil {
		return unreadable("cannot be read: " + err.Error())
	}
	return loop.ParseDecision(text)
}
