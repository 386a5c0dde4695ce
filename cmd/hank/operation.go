package main

import (
	"github.com/urfave/cli/v2"

	"hank/runtime/exitcode"
	"hank/state"
)

var opIDFlag = &cli.StringFlag{Name: "op-id", Usage: "carry the command out once, however often it is given with this `ID` (letters, digits, ._:/@+=#-); later it only gives the same answer"}

// sayRepeated says that a command with an operation ID was carried out before.
func sayRepeated(o *state.Operation, what string) error {
	return say("operation %s was carried out on %s, and nothing was done now\n%s\n", o.ID, o.Time.Local().Format("2006-01-02 15:04:05"), what)
}

// errDryOperation refuses an ID where nothing is carried out.
var errDryOperation = &exitcode.UsageError{Why: "--op-id and --dry-run are mutually exclusive: a dry run carries nothing out"}
