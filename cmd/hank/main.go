// Command hank runs long programs of agent steps, and makes every step a safe
// place to return to. One file per command: flags in, text or JSON out. Package call
// has what commands share, and package upkeep those that look after what is stored.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/urfave/cli/v2"

	"hank/cmd/hank/author"
	"hank/cmd/hank/call"
	"hank/cmd/hank/upkeep"
	"hank/cmd/hank/watch"
	"hank/internal/argv"
	"hank/internal/completion"
	"hank/internal/typo"
	"hank/runtime/exitcode"
	"hank/runtime/harness/replay"
	"hank/runtime/keeper"
	"hank/runtime/report/output"
	"hank/runtime/verdict"
)

func main() { os.Exit(start(os.Args)) }

// start is the whole program but for its end.
func start(args []string) (code int) {
	// Roles in which hank starts itself.
	if len(args) > 1 {
		switch args[1] {
		case keeper.Subcommand:
			return keeper.Main()
		case replay.Argument:
			return replay.Main(args[2:])
		}
	}
	endOnQuit()
	return int(run(args))
}

// run is the whole program but for its roles.
func run(args []string) exitcode.Code {
	app := newApp()
	if len(args) == 2 && slices.Contains([]string{"--version", "-version", "-v"}, args[1]) {
		args = []string{args[0], "version"}
	}
	app.Setup()
	if words, ok := completion.Asked(args); ok {
		following(app, words)
		return exitcode.Done
	}
	if help := app.Command("help"); help != nil {
		help.Usage, help.ArgsUsage = "show help for a command", "[COMMAND]"
	}
	ordered, err := argv.Reorder(app, args)
	if err == nil {
		err = app.RunContext(context.Background(), ordered)
	}
	return finish(cmp.Or(err, unknown), formOf(app, args))
}

// finish says what went wrong, on standard output, too, where JSON is wanted, and returns
// the exit code.
func finish(err error, of form) exitcode.Code {
	var ended *endedError
	if errors.As(err, &ended) { // it has printed everything
		return ended.Code
	}
	var wrong *argv.UsageError
	if errors.As(err, &wrong) {
		err = &exitcode.UsageError{Why: wrong.Why}
	}
	if err != nil && !sayInvalid(err) {
		call.RemarkLong("hank: " + verdict.Sentence(err))
	}
	if problem := call.Problem(err); problem != nil {
		if said := of.fail(problem); said != nil {
			remark("hank: the output could not be written: %v\n", said)
		}
		return problem.ExitCode
	}
	return exitcode.Done
}

// form is how the output of a call is to be read.
type form string

// The forms.
const (
	asText   form = ""
	asObject form = "object"
	asLines  form = "lines"  // an object each
	asStream form = "stream" // the same, with a type each: the events of a run and its result
)

// formOf finds out what a command line asks for, also one that is wrong.
func formOf(app *cli.App, args []string) form {
	command := ""
	if len(args) > 1 {
		command = args[1]
	}
	asked, err := strconv.ParseBool(argv.Value(app, args, "json"))
	switch {
	case argv.Value(app, args, "progress") == "json" && slices.Contains([]string{"run", "resume", "retry"}, command):
		return asStream
	case (command == "validate" || command == "plan") && argv.Value(app, args, "format") == "json":
		return asObject
	case err != nil || !asked:
		return asText
	case command == "events", command == "log":
		return asLines
	}
	return asObject
}

// fail prints why a command has failed, unless it has printed an object already.
func (f form) fail(problem *output.Problem) error {
	switch {
	case f == asObject && !call.PrintedJSON:
		return printJSON(output.Failure{Schema: 1, Error: problem})
	case f == asLines:
		return call.JSONLine(os.Stdout, output.Failure{Schema: 1, Error: problem})
	case f == asStream:
		return call.JSONLine(os.Stdout, output.FailureLine{Schema: 1, Type: "error", Error: problem})
	}
	return nil
}

// unknown is the error of a command that there is not.
var unknown error

func newApp() *cli.App {
	app := &cli.App{
		Name:                   "hank",
		Usage:                  "run multi-step AI-agent programs with crash recovery and undo",
		UsageText:              "hank COMMAND [options] [arguments]",
		Description:            overview,
		Version:                version,
		HideVersion:            true,
		UseShortOptionHandling: false,
		Suggest:                true,
		ExitErrHandler:         func(*cli.Context, error) {},
		OnUsageError:           func(_ *cli.Context, err error, _ bool) error { return &exitcode.UsageError{Why: argv.Sentence(err)} },
		CommandNotFound: func(c *cli.Context, name string) {
			unknown = &exitcode.UsageError{Why: fmt.Sprintf("unknown command %q; %sto list all: hank help", name, meantCommand(c.App, name))}
		},
		Commands: []*cli.Command{
			author.Init(), validateCommand(), author.Plan(), author.Match(), fmtCommand(), schemaCommand(), author.Models(),
			runCommand(), resumeCommand(), retryCommand(), rollbackCommand(), stopCommand(), skipCommand(),
			approveCommand(), rejectCommand(), holdCommand(), releaseCommand(),
			statusCommand(), watch.Command(), showCommand(), whyCommand(), logCommand(), eventsCommand(), upkeep.Checkpoints(), upkeep.Diff(), restoreCommand(), upkeep.Land(),
			costCommand(), webCommand(), exportCommand(), doctorCommand(), resetCommand(), upkeep.GC(), lsCommand(), versionCommand(), completionCommand(), costsRoleCommand(),
		},
	}
	for _, c := range app.Commands {
		c.OnUsageError = app.OnUsageError
		if c.Action != nil {
			c.Action = sayingForThis(c.Action)
		}
		c.HideHelpCommand = true // else "hank run h" asks for help instead of running h
		for _, f := range c.Flags {
			if b, ok := f.(*cli.BoolFlag); ok {
				b.DisableDefaultText = true // off, of course
			}
		}
		switch c.Name {
		case "run", "resume", "retry", "rollback", "restore", "land", "doctor", "reset", "gc":
			c.Before = outliveReaders
		}
	}
	return app
}

// synonyms are commands of other tools, with hank's own.
var synonyms = map[string]string{"undo": "rollback --undo", "list": "ls", "continue": "run", "start": "run", "clean": "gc", "history": "checkpoints", "tail": "log -f"}

// meantCommand asks for the command that a mistyped name is nearest to; empty
// if there is none.
func meantCommand(app *cli.App, name string) string {
	near := synonyms[name]
	if near == "" {
		var names []string
		for _, c := range app.VisibleCommands() {
			names = append(names, c.Name)
		}
		near = typo.Nearest(name, names)
	}
	if near == "" {
		return ""
	}
	return "did you mean: hank " + near + "? "
}

const overview = `A hank is a program of codons: steps that an agent or a shell script performs in a
workspace. hank commits a Git checkpoint of the workspace at every step, keeps a
journal of everything that happened, and recovers both after a crash.

   hank init                 create a starter hank
   hank run                  run it to completion, or resume after a crash
   hank status               show the status
   hank watch                watch all runs on the whole screen, and act from there
   hank web                  the same in a browser, on this machine or a phone
   hank rollback X           restore any checkpoint; undo with hank rollback --undo
   hank retry                rerun the failed codon
   hank doctor               diagnose problems and suggest the next command

Exit codes: 0 completed · 1 a codon failed · 2 usage · 3 invalid hank · 4 needs your
decision · 5 locked by another hank process · 6 budget · 7 waiting at a gate, or held ·
8 stopped before completion · 9 agent missing · 70 a bug · 74 disk full or I/O error,
work kept · 129/130/131/143 signal`
