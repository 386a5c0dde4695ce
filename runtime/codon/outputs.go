package codon

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"hank/internal/term"
	"hank/plan"
	"hank/runtime/keeper"
	"hank/runtime/rig"
	"hank/state"
)

// killed notes what the agent, a rig or a check has left running.
func (a *attempt) killed(exit keeper.Exit) {
	for _, k := range exit.Killed {
		a.notes = append(a.notes, fmt.Sprintf("killed leftover process %d (%s)", k.PID, k.Command))
	}
	if more := exit.KilledTotal - len(exit.Killed); more > 0 {
		a.notes = append(a.notes, fmt.Sprintf("killed %d more leftover processes", more))
	}
}

// copyOutputs runs the checks of a codon that has done its work and copies its
// results. It returns why the codon has failed after all.
func (a *attempt) copyOutputs(ctx context.Context) (*state.FailureReason, error) {
	if len(a.Entry.Codon.OutputFiles) == 0 || a.Idle {
		return nil, nil
	}
	if a.Output == "" && !a.Settings.ChecksOutputs() {
		if n := checksOf(a.Entry.Codon); n > 0 {
			a.notes = append(a.notes, fmt.Sprintf("beforeCopy was not run (%s): there is no output directory to copy to; --output DIR names one, and --check-outputs runs it as a check", term.Count(n, "command")))
		}
		return nil, nil
	}
	writable, err := a.writable()
	if err != nil {
		return nil, err
	}
	a.host.Monitor().Step("checking and copying the output files")
	listening, stop := a.listen(ctx)
	done, err := rig.Outputs{
		Workspace: a.Layout.Workspace, Dir: a.Output, Overwrite: a.Overwrite, Codon: a.Entry.Codon, CodonID: a.Entry.CodonID,
		Environ: withEnv(a.commandEnviron(), a.Entry.Codon.Env), Attempt: a.ID, Writable: writable, Apart: a.Layout.Apart(), Note: a.host.Note, Killed: a.killed,
	}.Run(listening)
	stop()
	for _, p := range done.Unmatched {
		a.notes = append(a.notes, fmt.Sprintf("no files match the output pattern %q", p))
	}
	for _, p := range done.Skipped {
		a.notes = append(a.notes, fmt.Sprintf("not copied, not a regular file: %q", p))
	}
	if n, first := done.Renamed(); n > 0 {
		a.notes = append(a.notes, fmt.Sprintf("%s got another name in %s, where other content has the name: %q is %q there; --overwrite-output replaces what is there", term.Count(n, "output file"), term.ShortPath(a.Output), first.From, first.To))
	}
	if len(done.Files) > 0 {
		a.host.Say("copied %s to %s", term.Count(len(done.Files), "output file"), term.ShortPath(a.Output))
	}
	var check *rig.Failure
	switch {
	case err == nil:
		return nil, nil
	case errors.As(err, &check):
		return a.rigFailed(check, "outputs", "beforeCopy")
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EIO):
		return nil, err
	}
	return &state.FailureReason{Type: state.FailUnknown, Retriable: true, Message: err.Error(), Class: "outputs", Rule: "copy"}, nil
}

// checksOf is how many commands are run before outputs are copied.
func checksOf(c *plan.Codon) (n int) {
	for _, group := range c.OutputFiles {
		n += len(group.BeforeCopy)
	}
	return n
}
