package call

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v2"

	"hank/runtime/exitcode"
	"hank/runtime/report"
)

// EndedError carries an exit code of a command that has printed everything.
type EndedError struct{ Code exitcode.Code }

func (e *EndedError) Error() string { return fmt.Sprintf("ended with code %d", e.Code) }

func ExitWith(code exitcode.Code) error {
	if code == exitcode.Done {
		return nil
	}
	return &EndedError{code}
}

// errorForThis is an error whose text is ForThis, with what to do about it.
type errorForThis struct {
	error
	text string
}

func (e *errorForThis) Error() string { return e.text }

func (e *errorForThis) Unwrap() error { return e.error }

// SayingForThis makes the errors of a command advise commands for its execution.
func SayingForThis(action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		err := action(c)
		if err == nil {
			err = saidAll(c)
		}
		if err == nil {
			return nil
		}
		return &errorForThis{err, ForThis(c, err.Error()+report.Remedy(err))}
	}
}

// OutliveReaders lets a command that changes something finish it although nobody
// reads its output any more, as after "| head": writing there fails instead of
// ending the process. Children do not inherit it.
func OutliveReaders(*cli.Context) error {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return nil
}
