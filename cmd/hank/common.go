package main

import (
	"os"

	"github.com/urfave/cli/v2"

	"hank/cmd/hank/call"
	"hank/runtime"
	"hank/runtime/exitcode"
	"hank/runtime/forecast"
	"hank/runtime/report/output"
	"hank/state"
)

// What commands share, under the names that it has here; package call has them.
var (
	arguments       = call.Arguments
	asker           = call.Asker
	breakLockFlag   = call.BreakLockFlag
	capFlag         = call.CapFlag
	commandForThis  = call.CommandForThis
	dryRunFlag      = call.DryRunFlag
	executionFlag   = call.ExecutionFlag
	executionOf     = call.ExecutionOf
	executionOption = call.ExecutionOption
	exitWith        = call.ExitWith
	forThis         = call.ForThis
	isTerminal      = call.IsTerminal
	jsonEnding      = call.JSONEnding
	printJSON       = call.JSON
	jsonFlag        = call.JSONFlag
	limitFlag       = call.LimitFlag
	notOneOf        = call.NotOneOf
	orDefault       = call.OrDefault
	outliveReaders  = call.OutliveReaders
	quotePath       = call.QuotePath
	parseAge        = call.ParseAge
	sandboxFlag     = call.SandboxFlag
	sayingForThis   = call.SayingForThis
	screen          = &call.Screen
	settings        = call.Settings
	settingsHere    = call.SettingsHere
	terminal        = call.Terminal
	view            = call.View
	work            = call.Work
	yesFlag         = call.YesFlag
)

type endedError = call.EndedError

func say(format string, args ...any) error { return call.Say(format, args...) }

func remark(format string, args ...any) error { return call.Remark(format, args...) }

func printTo(out *os.File, format string, args ...any) error {
	return call.PrintTo(out, format, args...)
}

var opIDFlag = &cli.StringFlag{Name: "op-id", Usage: "carry the command out once, however often it is given with this `ID` (letters, digits, ._:/@+=#-); later it only gives the same answer"}

// sayRepeated says that a command with an operation ID was carried out before.
func sayRepeated(o *state.Operation, what string) error {
	return say("operation %s was carried out on %s, and nothing was done now\n%s\n", o.ID, o.Time.Local().Format("2006-01-02 15:04:05"), what)
}

// errDryOperation refuses an ID where nothing is carried out.
var errDryOperation = &exitcode.UsageError{Why: "--op-id and --dry-run are mutually exclusive: a dry run carries nothing out"}

// tellForecast prints what a command would do.
func tellForecast(c *cli.Context, r runtime.Request, a runtime.Answers) error {
	if r.OpID != "" {
		return errDryOperation
	}
	f, err := forecast.Of(c.Context, r, a)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		f.Message = forThis(c, f.Message)
		form := output.ForecastOf(f, call.ProblemForThis(c, f.Asked))
		return jsonEnding(form, form.Error)
	}
	for _, line := range f.Lines() {
		say("%s\n", forThis(c, line))
	}
	return exitWith(f.ExitCode)
}
