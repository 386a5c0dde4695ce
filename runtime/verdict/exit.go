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
	code, _ := Class(err)
	return code
}

// Class returns the exit code for an error, and a word that says which of the reasons
// for that code it is; Done and no word for nil.
func Class(err error) (code exitcode.Code, word string) {
	if err == nil {
		return exitcode.Done, ""
	}
	for _, c := range classes {
		if c.has(err) {
			return c.code, c.word
		}
	}
	return exitcode.Internal, "bug"
}

// class is one reason for an exit code.
type class struct {
	code exitcode.Code
	word string
	has  func(error) bool
}

// classes are the reasons, the first that fits an error counts.
var classes = []class{
	{exitcode.Usage, "usage", as[*exitcode.UsageError]},
	{exitcode.Usage, "no-execution", as[*layout.NotFoundError]},
	{exitcode.Usage, "name", as[*layout.NameError]},
	{exitcode.Usage, "name", as[*checkpoint.RefNameError]},
	{exitcode.Usage, "target", as[*history.TargetError]},
	{exitcode.Invalid, "invalid", as[*exitcode.InvalidError]},
	{exitcode.Agent, "agent", as[*exitcode.AgentError]},
	{exitcode.Held, "locked", as[*lock.HeldError]},
	{exitcode.Held, "locked", as[*checkpoint.LockedError]},
	{exitcode.Held, "unanswered", as[*control.UnansweredError]},
	{exitcode.Held, "creating", as[*recovery.CreatingError]},
	{exitcode.Decision, "decision", as[*finding.DecisionError]},
	{exitcode.Decision, "newer-state", as[*state.NewerError]},
	{exitcode.Decision, "newer-state", as[*state.UnknownTransitionError]},
	{exitcode.Decision, "workspace-changing", as[*checkpoint.UnstableError]},
	{exitcode.Decision, "in-the-way", as[*restore.BlockedError]},
	{exitcode.Decision, "damaged-checkpoints", as[*checkpoint.DamagedError]},
	{exitcode.Decision, "cut-history", as[*remote.CutError]},
	{exitcode.Decision, "unsafe-tree", as[*checkpoint.UnsafeTreeError]},
	{exitcode.Decision, "process-alive", as[*keeper.AliveError]},
	{exitcode.Decision, "process-alive", as[*proc.DeniedError]},
	{exitcode.Decision, "workspace-changing", is(restore.ErrMeanwhile)},
	{exitcode.Decision, "declined", is(history.ErrDeclined)},
	{exitcode.Interrupted, "interrupted", is(context.Canceled)},
	{exitcode.IO, "io", as[*fs.PathError]},
	{exitcode.IO, "io", as[syscall.Errno]},
	{exitcode.IO, "remote", as[*remote.RemoteError]},
	{exitcode.IO, "lock-lost", as[*lock.LostError]},
	{exitcode.IO, "journal", as[*journal.FailedError]},
	{exitcode.IO, "workspace-moved", is(worktree.ErrWorkspaceMoved)},
}

func as[T error](err error) bool {
	var found T
	return errors.As(err, &found)
}

func is(wanted error) func(error) bool {
	return func(err error) bool { return errors.Is(err, wanted) }
}
