package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"hank/runtime/exitcode"
	"hank/runtime/report"
)

// endedError carries an exit code of a command that has printed everything.
type endedError struct{ code exitcode.Code }

func (e *endedError) Error() string { return fmt.Sprintf("ended with code %d", e.code) }

func exitWith(code exitcode.Code) error {
	if code == exitcode.Done {
		return nil
	}
	return &endedError{code}
}

// errorForThis is an error whose text is forThis, with what to do about it.
type errorForThis struct {
	error
	text string
}

func (e *errorForThis) Error() string { return e.text }

func (e *errorForThis) Unwrap() error { return e.error }

// sayingForThis makes the errors of a command advise commands for its execution.
func sayingForThis(action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		err := action(c)
		if err == nil {
			err = saidAll(c)
		}
		if err == nil {
			return nil
		}
		return &errorForThis{err, forThis(c, err.Error()+report.Remedy(err))}
	}
}
