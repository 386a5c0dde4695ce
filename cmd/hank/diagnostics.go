package main

import (
	"errors"
	"os"
	"strings"

	"hank/internal/secret"
	"hank/internal/term"
	"hank/plan/diagnostic"
	"hank/plan/diagnostic/format"
	"hank/runtime/exitcode"
)

// sayInvalid prints what is wrong with a hank, if that is the error.
func sayInvalid(err error) bool {
	var invalid *exitcode.InvalidError
	if !errors.As(err, &invalid) {
		return false
	}
	printFound(os.Stderr, invalid.Diagnostics)
	remark("hank: invalid hank; nothing was run or changed\n")
	return true
}

func printFound(to *os.File, found []diagnostic.Diagnostic) {
	for _, d := range found {
		d.Message = secret.Text(d.Message)
		head, body := format.Text(d)
		switch d.Severity {
		case diagnostic.Error:
			term.Fprintf(to, "%s\n", term.Red(to, head))
		case diagnostic.Warning:
			term.Fprintf(to, "%s\n", term.Yellow(to, head))
		default:
			term.Fprintf(to, "%s\n", head)
		}
		for line := range strings.Lines(body) {
			term.Fprintf(to, "%s\n", strings.TrimSuffix(line, "\n"))
		}
	}
}
