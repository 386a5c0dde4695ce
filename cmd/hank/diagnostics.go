package main

import (
	"errors"
	"os"

	"hank/internal/secret"
	"hank/internal/term"
	"hank/plan/diagnostic"
	"hank/runtime/exitcode"
)

// sayInvalid prints what is wrong with a hank, if that is the error, and
// returns the error to end with; else nil.
func sayInvalid(err error) error {
	var invalid *exitcode.InvalidError
	if !errors.As(err, &invalid) {
		return nil
	}
	printFound(os.Stderr, invalid.Diagnostics)
	remark("hank: invalid hank; nothing was run or changed\n")
	return exitWith(exitcode.Invalid)
}

func printFound(to *os.File, found []diagnostic.Diagnostic) {
	for _, d := range found {
		d.Message = secret.Text(d.Message)
		line := term.Sprintf("%s", d.String())
		if d.Severity == diagnostic.Error {
			line = term.Red(to, d.String())
		}
		term.Fprintf(to, "%s\n", line)
	}
}
