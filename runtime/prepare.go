package runtime

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"time"

	"hank/checkpoint"
	"hank/plan"
	"hank/recovery/execution"
	"hank/runtime/harness"
	"hank/runtime/keeper"
	"hank/state"
)

// hasRig tells whether there is a rig to run.
func (a *attempt) hasRig() bool {
	return len(a.entry.Codon.RigSetup) > 0 && !a.rigDone && a.replay == nil
}

// rig runs the codon's rig, unless its work is in the tree already, and makes
// its checkpoint.
func (a *attempt) rig(ctx context.Context) (*state.FailureReason, error) {
	next := a.live().Start()
	if !a.hasRig() {
		if a.rigDone {
			next.RigSetupCheckpoint = a.rigCheckpoint()
		}
		a.rigDone = false
		return nil, a.x.Record(state.CodonTransitioned{RunID: a.run, Record: next})
	}
	began := time.Now()
	writable, err := a.writable()
	if err != nil {
		return nil, err
	}
	a.monitor.step("running the rig")
	listening, done := a.listen(ctx)
	failed := rigging{
		Workspace: a.layout.Workspace, Program: a.program, Codon: a.entry.Codon, CodonID: a.entry.CodonID,
		Environ: withEnv(a.commandEnviron(), a.entry.Codon.Env), Attempt: a.id, Writable: writable, Apart: a.layout.Apart(), IgnoreFailures: a.ignoreRigs,
		Checkpoint: true, Note: a.note, Save: func(targets []string) error { return a.saveTargets(ctx, targets) }, Killed: a.killed,
		LeftOut: a.leftOut, Aside: a.keepAside,
	}.run(listening)
	done()
	if failed != nil {
		return a.rigFailed(failed, "rig", "rig-"+failed.Type)
	}
	a.say("  rig done in %s", time.Since(began).Round(time.Millisecond))
	a.monitor.step("making the checkpoint of the rig")
	snap, err := a.x.Snapshot(ctx, a.selection(a.index), a.x.Head())
	if err != nil {
		return nil, err
	}
	_, err = a.x.Commit(ctx, execution.Commit{
		Title: a.title(state.KindRigSetup), Snapshot: snap, Parents: a.parents(), Branch: a.branch(),
		Transition: state.CodonTransitioned{RunID: a.run, Record: next},
	})
	return nil, err
}

// rigFailed makes the reason of a failure of a rig or a check. What hank itself
// could not do is an error instead: trying again would not help, and no
// checkpoint may be taken while something is still alive.
func (a *attempt) rigFailed(f *rigFailure, class, rule string) (*state.FailureReason, error) {
	var alive *keeper.AliveError
	var save *saveError
	if errors.As(f, &alive) || errors.As(f, &save) || errors.Is(f, syscall.ENOSPC) || errors.Is(f, syscall.EDQUOT) || errors.Is(f, syscall.EIO) {
		return nil, f
	}
	return &state.FailureReason{Type: f.failureType(), Retriable: true, Message: f.Message, Class: class, Rule: rule}, nil
}

// listen takes in requests while no agent runs. The context ends when one asks
// to end the codon now. done must be called before anything else listens.
func (a *attempt) listen(ctx context.Context) (listening context.Context, done func()) {
	listening, cancel := context.WithCancel(ctx)
	var taken []Request
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case r := <-a.requests:
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
func (a *attempt) saveTargets(ctx context.Context, targets []string) error {
	head := a.x.Head()
	snap, err := a.x.Snapshot(ctx, checkpoint.Selection{All: true}, head, targets...)
	if err != nil {
		return err
	}
	if tree, err := a.x.Tree(head); err == nil && tree == snap.Tree {
		a.store.Abort()
		return nil
	}
	_, err = a.x.Preserve(ctx, snap, a.x.RecoveryBranch(), head, "before the rig of "+string(a.entry.CodonID)+" replaced "+strings.Join(targets, ", "))
	return err
}

// keepAside leaves the name that a file gets out of every checkpoint, as the file is.
func (a *attempt) keepAside(path, now string) error {
	if err := a.x.LeaveOut([]string{now}); err != nil {
		return err
	}
	a.say("  the rig has something of its own in the place of %q, which is left out of every checkpoint: your file is now %q", path, now)
	return nil
}

// request puts together what the agent is asked.
func (a *attempt) request() (harness.Request, *state.FailureReason, error) {
	system, prompt, _, err := a.program.Prompt(a.entry, a.vars())
	if err != nil {
		return harness.Request{}, nil, err
	}
	session, sessionCost := "", state.USD(0)
	switch {
	case a.resumeSession != "":
		session, a.resumeSession = a.resumeSession, ""
	case a.entry.Codon.ContinuationMode == plan.ContinuePrevious:
		session, sessionCost = a.x.State().PreviousSession(a.index)
		if session == "" && !a.entry.Codon.Model.IsShell() {
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
	if a.entry.Codon.Model.IsShell() { // an agent knows its home by itself
		environ = a.commandEnviron()
	}
	return harness.Request{
		Prompt: prompt, SystemPrompt: system, Model: a.entry.Codon.Model.ModelID, Session: session, SessionCost: sessionCost,
		Attempt: a.id, Workspace: a.layout.Workspace, Home: home, Temp: temp, AutoCompact: a.entry.Codon.AutoCompact,
		Environ: environ, Env: a.entry.Codon.Env, Agent: a.agents[a.harnessName()],
	}, nil, nil
}
