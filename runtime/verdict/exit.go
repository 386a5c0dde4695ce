package verdict

import (
	"context"
	"errors"
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
	"hank/recovery"
	"hank/recovery/finding"
	"hank/recovery/layout"
	"hank/recovery/lock"
	"hank/runtime/control"
	"hank/runtime/exitcode"
	"hank/runtime/history"
	"hank/runtime/keeper"
	"hank/state"
	"hank/state/journal"
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

// CodeOf returns the exit code for an error; Done for nil.
func CodeOf(err error) exitcode.Code {
	var (
		usage    *exitcode.UsageError
		invalid  *exitcode.InvalidError
		agent    *exitcode.AgentError
		decision *finding.DecisionError
		newer    *state.NewerError
		unknown  *state.UnknownTransitionError
		target   *history.TargetError
		refName  *checkpoint.RefNameError
		unstable *checkpoint.UnstableError
		blocked  *restore.BlockedError
		damaged  *checkpoint.DamagedError
		cut      *remote.CutError
		remote   *remote.RemoteError
		alive    *keeper.AliveError
		locked   *checkpoint.LockedError
		held     *lock.HeldError
		mute     *control.UnansweredError
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
		return exitcode.Done
	case errors.As(err, &usage), errors.As(err, &nowhere), errors.As(err, &name), errors.As(err, &refName), errors.As(err, &target):
		return exitcode.Usage
	case errors.As(err, &invalid):
		return exitcode.Invalid
	case errors.As(err, &agent):
		return exitcode.Agent
	case errors.As(err, &held), errors.As(err, &locked), errors.As(err, &mute), errors.As(err, &creating):
		return exitcode.Held
	case errors.As(err, &decision), errors.As(err, &newer), errors.As(err, &unknown), errors.As(err, &unstable), errors.As(err, &blocked), errors.As(err, &damaged), errors.As(err, &cut), errors.As(err, &unsafe), errors.As(err, &alive), errors.As(err, &denied), errors.Is(err, restore.ErrMeanwhile), errors.Is(err, history.ErrDeclined):
		return exitcode.Decision
	case errors.Is(err, context.Canceled):
		return exitcode.Interrupted
	case errors.As(err, &path), errors.As(err, &errno), errors.As(err, &remote), errors.As(err, &lost), errors.As(err, &unkept), errors.Is(err, worktree.ErrWorkspaceMoved):
		return exitcode.IO
	}
	return exitcode.Internal
}
