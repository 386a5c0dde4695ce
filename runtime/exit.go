package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"hank/checkpoint"
	"hank/checkpoint/remote"
	"hank/checkpoint/restore"
	"hank/checkpoint/worktree"
	"hank/internal/proc"
	"hank/internal/secret"
	"hank/plan"
	"hank/recovery"
	"hank/recovery/finding"
	"hank/recovery/layout"
	"hank/recovery/lock"
	"hank/runtime/keeper"
	"hank/state"
	"hank/state/journal"
)

// ExitCode is the exit code of the command line. The codes are published and
// never change.
type ExitCode int

// The exit codes, design.md section 10.
const (
	ExitDone        ExitCode = 0   // the hank is done
	ExitFailed      ExitCode = 1   // a codon failed
	ExitUsage       ExitCode = 2   // the command line is wrong
	ExitInvalid     ExitCode = 3   // the hank or its configuration is invalid
	ExitDecision    ExitCode = 4   // needs a person's decision
	ExitHeld        ExitCode = 5   // another runtime holds the execution or workspace
	ExitBudget      ExitCode = 6   // a budget stopped it
	ExitWaiting     ExitCode = 7   // waiting at a gate or held
	ExitStopped     ExitCode = 8   // stopped on request with work left
	ExitAgent       ExitCode = 9   // an agent is missing or not logged in
	ExitInternal    ExitCode = 70  // a bug
	ExitIO          ExitCode = 74  // disk full or I/O error, work kept
	ExitHangup      ExitCode = 129 // by a signal, with work left
	ExitInterrupted ExitCode = 130
	ExitQuit        ExitCode = 131
	ExitTerminated  ExitCode = 143
)

// Sentence is what an error says, in one line and nothing twice. Errors that
// were joined stand on lines of their own. Secrets are masked.
func Sentence(err error) string {
	var said []string
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); line != "" && !slices.Contains(said, line) {
			said = append(said, line)
		}
	}
	return secret.Text(strings.Join(said, "; and "))
}

// UsageError is a wrong command line.
type UsageError struct{ Why string }

func (e *UsageError) Error() string { return e.Why }

// InvalidError is a hank that cannot be run.
type InvalidError struct{ Diagnostics []plan.Diagnostic }

func (e *InvalidError) Error() string {
	for _, d := range e.Diagnostics {
		if d.Severity == plan.Error {
			return fmt.Sprintf("the hank or its settings are invalid: %s; see: hank validate", strings.ReplaceAll(d.String(), "\n", " "))
		}
	}
	return "the hank is invalid; see: hank validate"
}

// AgentError is an agent that is missing or not logged in, or a requirement of
// the hank that this machine lacks.
type AgentError struct{ Why string }

func (e *AgentError) Error() string { return e.Why }

// CodeOf returns the exit code for an error; ExitDone for nil.
func CodeOf(err error) ExitCode {
	var (
		usage    *UsageError
		invalid  *InvalidError
		agent    *AgentError
		decision *finding.DecisionError
		newer    *state.NewerError
		unknown  *state.UnknownTransitionError
		target   *TargetError
		refName  *checkpoint.RefNameError
		unstable *checkpoint.UnstableError
		blocked  *restore.BlockedError
		damaged  *checkpoint.DamagedError
		cut      *remote.CutError
		remote   *remote.RemoteError
		alive    *keeper.AliveError
		locked   *checkpoint.LockedError
		held     *lock.HeldError
		mute     *UnansweredError
		creating *recovery.CreatingError
		nowhere  *layout.NotFoundError
		name     *layout.NameError
		lost     *lock.LostError
		unkept   *journal.FailedError
		unsafe   *checkpoint.UnsafeTreeError
		denied   *proc.DeniedError
		path     *fs.PathError
		errno    syscall.Errno
	)
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &usage), errors.As(err, &nowhere), errors.As(err, &name), errors.As(err, &refName), errors.As(err, &target):
		return ExitUsage
	case errors.As(err, &invalid):
		return ExitInvalid
	case errors.As(err, &agent):
		return ExitAgent
	case errors.As(err, &held), errors.As(err, &locked), errors.As(err, &mute), errors.As(err, &creating):
		return ExitHeld
	case errors.As(err, &decision), errors.As(err, &newer), errors.As(err, &unknown), errors.As(err, &unstable), errors.As(err, &blocked), errors.As(err, &damaged), errors.As(err, &cut), errors.As(err, &unsafe), errors.As(err, &alive), errors.As(err, &denied), errors.Is(err, restore.ErrMeanwhile), errors.Is(err, ErrDeclined):
		return ExitDecision
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	case errors.As(err, &path), errors.As(err, &errno), errors.As(err, &remote), errors.As(err, &lost), errors.As(err, &unkept), errors.Is(err, worktree.ErrWorkspaceMoved):
		return ExitIO
	}
	return ExitInternal
}
