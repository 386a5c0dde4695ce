package call

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/urfave/cli/v2"

	"hank/runtime/exitcode"
	"hank/runtime/report"
	"hank/runtime/report/output"
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
	text   string
	option string
}

func (e *errorForThis) Error() string { return e.text }

func (e *errorForThis) Unwrap() error { return e.error }

// SayingForThis makes the errors of a command advise commands for its execution. What is
// given to a command and empty is one.
func SayingForThis(action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		err := noneEmpty(c)
		if err == nil {
			err = action(c)
		}
		if err == nil {
			err = saidAll(c)
		}
		if err == nil {
			return nil
		}
		return forThis(c, err)
	}
}

func forThis(c *cli.Context, err error) error {
	return &errorForThis{err, ForThis(c, err.Error()+report.Remedy(err)), ExecutionOption(c)}
}

// Problem is an error as it is printed; nil for none.
func Problem(err error) *output.Problem {
	var of *errorForThis
	if !errors.As(err, &of) {
		of = &errorForThis{}
	}
	return output.ProblemOf(err, of.option)
}

// ProblemForThis is the same of an error in a command, which SayingForThis has not seen.
func ProblemForThis(c *cli.Context, err error) *output.Problem {
	if err == nil {
		return nil
	}
	return Problem(forThis(c, err))
}

// JSONEnding prints a form whose error is the problem, and ends as Ending does.
func JSONEnding(form any, problem *output.Problem) error {
	if err := JSON(form); err != nil {
		return err
	}
	return Ending(problem)
}

// Ending says a problem on standard error, when its form was printed, and ends with its
// exit code; nil: there is none.
func Ending(problem *output.Problem) error {
	if problem == nil {
		return nil
	}
	RemarkLong("hank: " + problem.Message)
	return ExitWith(problem.ExitCode)
}

// PrintedProblem is the error of the last object that a command has printed into a file, among
// other lines; nil: there is none.
func PrintedProblem(file *os.File) (problem *output.Problem) {
	text, err := io.ReadAll(io.NewSectionReader(file, 0, math.MaxInt64))
	if err != nil {
		return nil
	}
	for at := 0; ; at++ {
		next := bytes.Index(text[at:], []byte("{\n")) // as JSON begins one
		if next < 0 {
			return problem
		}
		at += next
		var form struct {
			Error *output.Problem `json:"error"`
		}
		value, err := jsontext.NewDecoder(bytes.NewReader(text[at:]), jsontext.AllowInvalidUTF8(true)).ReadValue()
		if err == nil && json.Unmarshal(value, &form, jsontext.AllowInvalidUTF8(true)) == nil {
			problem, at = form.Error, at+len(value)-1
		}
	}
}

// OutliveReaders lets a command that changes something finish it although nobody
// reads its output any more, as after "| head": writing there fails instead of
// ending the process. Children do not inherit it.
func OutliveReaders(*cli.Context) error {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return nil
}
