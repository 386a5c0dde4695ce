package codon

import (
	"context"
	"fmt"
	"strings"

	"hank/internal/failpoint"
	"hank/plan"
	"hank/plan/steps"
	"hank/runtime/rig"
	"hank/state"
)

// asks reports whether the codon's skipIf is to be asked: not where the workspace has
// work of the codon already, which would answer for itself.
func (a *attempt) asks() bool { return a.Entry.Codon.SkipIf != nil && !a.Begun && !a.Idle }

// skipIf asks whether the codon is skipped, on the workspace that it would begin with, and
// returns how its condition holds; empty: it does not.
//
//  1. The record is durable, preparing: found like this, the attempt was interrupted, and
//     the next one begins from the same checkpoint and asks again.
//  2. Its files are looked for, then its command runs: 0 holds, 1 does not, and anything
//     else is no answer, with which the attempt fails (skipif.asked).
//  3. The answer that it holds is recorded with the checkpoint, in one commit, as any
//     other end of a codon.
//
// Nothing of the codon has run before 3, and nothing runs after it.
func (a *attempt) skipIf(ctx context.Context) (holds string, failure *state.FailureReason, err error) {
	if !a.asks() {
		return "", nil, nil
	}
	a.host.Monitor().Step("asking whether it is skipped")
	condition := a.Entry.Codon.SkipIf
	var parts []string
	if len(condition.Files) > 0 {
		files := a.Program.Patterns(a.Entry, condition.Files, a.vars())
		missing, err := a.checks(nil).Missing(files)
		if err != nil {
			return "", &state.FailureReason{Type: state.FailUnknown, Retriable: true, Message: "skipIf: " + err.Error(), Class: "skip_if", Rule: "files"}, nil
		}
		if len(missing) > 0 {
			return "", nil, nil
		}
		parts = append(parts, fmt.Sprintf("%s %s there", listed(files), areOrIs(files)))
	}
	if condition.Command != nil {
		f, err := a.check(ctx, *condition.Command)
		switch {
		case err != nil:
			return "", nil, err
		case f == nil:
			parts = append(parts, rig.QuoteCommand(condition.Command.Run)+" ended with code 0")
		case f.Ended() && f.ExitCode == 1:
			failpoint.Hit("skipif.asked")
			return "", nil, nil
		default:
			reason, err := a.rigFailed(f, "skip_if", "command")
			if reason != nil && f.Ended() {
				reason.Message = "the command skips the codon with code 0, and runs it with code 1: " + reason.Message
			}
			if reason != nil {
				reason.Message = "skipIf: " + reason.Message
			}
			return "", reason, err
		}
	}
	failpoint.Hit("skipif.asked")
	return "skipIf: " + strings.Join(parts, ", and "), nil, nil
}

// skipped is the final record of a codon whose skipIf holds.
func (a *attempt) skipped(holds string) *state.Codon {
	final := a.host.Live().Skip(a.host.Now())
	final.SkipReason = holds
	return final
}

// check runs a command of skipIf or expect. A request that comes meanwhile is taken in.
func (a *attempt) check(ctx context.Context, c steps.Command) (*rig.Failure, error) {
	writable, err := a.writable()
	if err != nil {
		return nil, err
	}
	listening, done := a.listen(ctx)
	defer done()
	return a.checks(writable).Command(listening, plan.Command{Run: c.Run, TimeoutSeconds: c.TimeoutSeconds}), nil
}

// checks looks at the workspace of the attempt.
func (a *attempt) checks(writable []string) rig.Checks {
	return rig.Checks{Workspace: a.Layout.Workspace, CodonID: a.Entry.CodonID, Environ: withEnv(a.commandEnviron(), a.Entry.Codon.Env), Attempt: a.ID,
		Writable: writable, Apart: a.Layout.Apart(), Note: a.host.Note, Killed: a.killed}
}

// listed names patterns.
func listed(patterns []string) string {
	const most = 5
	if more := len(patterns) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(patterns[:most], ", "), more)
	}
	return strings.Join(patterns, ", ")
}

func areOrIs(of []string) string {
	if len(of) == 1 {
		return "is"
	}
	return "are"
}
