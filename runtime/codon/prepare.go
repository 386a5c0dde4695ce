package codon

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"time"

	"hank/checkpoint"
	"hank/plan"
	"hank/recovery/execution"
	"hank/runtime/agents"
	"hank/runtime/harness"
	"hank/runtime/keeper"
	"hank/runtime/rig"
	"hank/state"
)

// hasRig tells whether there is a rig to run.
func (a *Attempt) hasRig() bool {
	return len(a.Entry.Codon.RigSetup) > 0 && !a.RigDone && a.Replay == nil
}

// rig runs the codon's rig, unless its work is in the tree already, and makes
// its checkpoint.
func (a *Attempt) rig(ctx context.Context) (*state.FailureReason, error) {
	next := a.live().Start()
	if !a.hasRig() {
		if a.RigDone {
			next.RigSetupCheckpoint = a.rigCheckpoint()
		}
		a.RigDone = false
		return nil, a.X.Record(state.CodonTransitioned{RunID: a.Run, Record: next})
	}
	began := time.Now()
	writable, err := a.writable()
	if err != nil {
		return nil, err
	}
	a.Monitor.Step("running the rig")
	listening, done := a.listen(ctx)
	failed := rig.Setup{
		Workspace: a.Layout.Workspace, Program: a.Program, Codon: a.Entry.Codon, CodonID: a.Entry.CodonID,
		Environ: agents.WithEnv(a.commandEnviron(), a.Entry.Codon.Env), Attempt: a.id, Writable: writable, Apart: a.Layout.Apart(), IgnoreFailures: a.IgnoreRigs,
		Checkpoint: true, Note: a.note, Save: func(targets []string) error { return a.saveTargets(ctx, targets) }, Killed: a.killed,
		LeftOut: a.LeftOut, Aside: a.keepAside,
	}.Run(listening)
	done()
	if failed != nil {
		return a.rigFailed(failed, "rig", "rig-"+failed.Type)
	}
	a.Say("  rig done in %s", time.Since(began).Round(time.Millisecond))
	a.Monitor.Step("making the checkpoint of the rig")
	snap, err := a.X.Snapshot(ctx, a.Selection(a.Index), a.X.Head())
	if err != nil {
		return nil, err
	}
	_, err = a.X.Commit(ctx, execution.Commit{
		Title: a.title(state.KindRigSetup), Snapshot: snap, Parents: a.parents(), Branch: a.branch(),
		Transition: state.CodonTransitioned{RunID: a.Run, Record: next},
	})
	return nil, err
}

// rigFailed makes the reason of a failure of a rig or a check. What hank itself
// could not do is an error instead: trying again would not help, and no
// checkpoint may be taken while something is still alive.
func (a *Attempt) rigFailed(f *rig.Failure, class, rule string) (*state.FailureReason, error) {
	var alive *keeper.AliveError
	var save *rig.SaveError
	if errors.As(f, &alive) || errors.As(f, &save) || errors.Is(f, syscall.ENOSPC) || errors.Is(f, syscall.EDQUOT) || errors.Is(f, syscall.EIO) {
		return nil, f
	}
	return &state.FailureReason{Type: f.FailureType(), Retriable: true, Message: f.Message, Class: class, Rule: rule}, nil
}

// listen takes in requests while no agent runs. The context ends when one asks
// to end the codon now. done must be called before anything else listens.
func (a *Attempt) listen(ctx context.Context) (listening context.Context, done func()) {
	listening, cancel := context.WithCancel(ctx)
	var taken []Request
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case r := <-a.Requests:
				if taken = append(taken, r); r.Signal != StopAfterCodon {
					cancel()
				}
			case <-stop:
				return
			}
		}
	}()
	return listening, func() {
		close(stop)
		<-ended
		cancel()
		for _, r := range taken {
			a.signalled(r)
		}
	}
}

// saveTargets keeps what a rig is about to replace on a recovery branch, if
// the last checkpoint does not hold it.
func (a *Attempt) saveTargets(ctx context.Context, targets []string) error {
	head := a.X.Head()
	snap, err := a.X.Snapshot(ctx, checkpoint.Selection{All: true}, head, targets...)
	if err != nil {
		return err
	}
	if tree, err := a.X.Tree(head); err == nil && tree == snap.Tree {
		a.Store.Abort()
		return nil
	}
	_, err = a.X.Preserve(ctx, snap, a.X.RecoveryBranch(), head, "before the rig of "+string(a.Entry.CodonID)+" replaced "+strings.Join(targets, ", "))
	return err
}

// keepAside leaves the name that a file gets out of every checkpoint, as the file is.
func (a *Attempt) keepAside(path, now string) error {
	if err := a.X.LeaveOut([]string{now}); err != nil {
		return err
	}
	a.Say("  the rig has something of its own in the place of %q, which is left out of every checkpoint: your file is now %q", path, now)
	return nil
}

// request puts together what the agent is asked.
func (a *Attempt) request() (harness.Request, *state.FailureReason, error) {
	system, prompt, _, err := a.Program.Prompt(a.Entry, a.vars())
	if err != nil {
		return harness.Request{}, nil, err
	}
	session, sessionCost := "", state.USD(0)
	switch {
	case a.ResumeSession != "":
		session, a.ResumeSession = a.ResumeSession, ""
	case a.Entry.Codon.ContinuationMode == plan.ContinuePrevious:
		session, sessionCost = a.X.State().PreviousSession(a.Index)
		if session == "" && !a.Entry.Codon.Model.IsShell() {
			return harness.Request{}, &state.FailureReason{Type: state.FailUnknown, Class: "session_not_found", Rule: "continue-previous",
				Message: "the codon before it left no session to continue"}, nil
		}
	}
	home, err := a.home()
	if err != nil {
		return harness.Request{}, nil, err
	}
	temp, err := a.temp()
	if err != nil {
		return harness.Request{}, nil, err
	}
	environ := a.agentEnviron()
	if a.Entry.Codon.Model.IsShell() { // an agent knows its home by itself
		environ = a.commandEnviron()
	}
	return harness.Request{
		Prompt: prompt, SystemPrompt: system, Model: a.Entry.Codon.Model.ModelID, Session: session, SessionCost: sessionCost,
		Attempt: a.id, Workspace: a.Layout.Workspace, Home: home, Temp: temp, AutoCompact: a.Entry.Codon.AutoCompact,
		Environ: environ, Env: a.Entry.Codon.Env, Agent: a.Agents[a.harnessName()],
	}, nil, nil
}
