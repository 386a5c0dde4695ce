package codon

import (
	"cmp"
	"context"
	"strings"
	"time"

	"hank/internal/term"
	"hank/runtime/harness"
	"hank/runtime/rig"
	"hank/state"
)

// hasRig reports whether there is a rig to run.
func (a *attempt) hasRig() bool {
	return len(a.Entry.Codon.RigSetup) > 0 && !a.SkipRig
}

// rig runs the codon's rig, unless its work is in the tree already, and makes
// its checkpoint.
func (a *attempt) rig(ctx context.Context) (*state.FailureReason, error) {
	next := a.host.Live().Start()
	if !a.hasRig() {
		return nil, a.host.Record(state.CodonTransitioned{RunID: a.Run, Record: next})
	}
	began := time.Now()
	writable, err := a.writable()
	if err != nil {
		return nil, err
	}
	a.host.Monitor().Step("running the rig")
	listening, done := a.listen(ctx)
	failed := rig.Setup{
		Workspace: a.Layout.Workspace, Program: a.Program, Codon: a.Entry.Codon, CodonID: a.Entry.CodonID,
		Environ: withEnv(a.commandEnviron(), a.Entry.Codon.Env), Attempt: a.ID, Writable: writable, Apart: a.Layout.Apart(), IgnoreFailures: a.IgnoreRigs,
		Checkpoint: true, Note: a.host.Note, Save: func(targets []string) error {
			return a.host.Preserve(ctx, targets, "before the rig of "+string(a.Entry.CodonID)+" replaced "+strings.Join(targets, ", "))
		}, Killed: a.killed,
		LeftOut: a.host.LeftOut, Aside: a.keepAside,
	}.Run(listening)
	done()
	if failed != nil {
		return a.rigFailed(failed, "rig", "rig-"+failed.Type)
	}
	a.host.Say("rig done in %s", term.Duration(time.Since(began)))
	a.host.Monitor().Step("making the checkpoint of the rig")
	_, err = a.host.Checkpoint(ctx, next)
	return nil, err
}

// keepAside leaves the name that a file gets out of every checkpoint, as the file is.
func (a *attempt) keepAside(path, now string) error {
	if err := a.host.LeaveOut(now); err != nil {
		return err
	}
	a.host.Say("the rig has put something of its own at %q, which is left out of every checkpoint: your file is now %q", path, now)
	return nil
}

// request puts together what the agent is asked.
func (a *attempt) request() (harness.Request, *state.FailureReason, error) {
	system, prompt, _, err := a.Program.Prompt(a.Entry, a.vars())
	if err != nil {
		return harness.Request{}, nil, err
	}
	if a.extension > 0 { // its first prompt was answered before
		more, err := a.Program.Extension(a.Entry, a.vars())
		if err != nil {
			return harness.Request{}, nil, err
		}
		prompt = cmp.Or(more, prompt)
	}
	if a.Session == "" && a.Entry.Codon.ContinuesSession() {
		return harness.Request{}, &state.FailureReason{Type: state.FailUnknown, Class: "session_not_found", Rule: "continue-previous",
			Message: "the previous codon left no session to continue"}, nil
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
	if a.Entry.Codon.Model.Kind().RunsScript { // an agent knows its home by itself
		environ = a.commandEnviron()
	}
	return harness.Request{
		Prompt: prompt, SystemPrompt: system, Model: a.Entry.Codon.Model.ModelID, Provider: a.Entry.Codon.Model.ProviderID, Effort: a.Entry.Codon.Model.Effort, Session: a.Session, SessionCost: a.SessionCost,
		Attempt: a.ID, Workspace: a.Layout.Workspace, Home: home, Temp: temp, AutoCompact: a.Entry.Codon.AutoCompact,
		Environ: environ, Env: a.Entry.Codon.Env, Agent: a.Agent,
	}, nil, nil
}
