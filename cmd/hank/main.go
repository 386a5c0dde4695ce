// Command hank runs long programs of agent steps, and makes every step a safe
// place to return to. One file per command: flags in, text or JSON out. Package call
// has what commands share, and package upkeep those that look after what is stored.
package main

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"hank/cmd/hank/author"
	"hank/cmd/hank/upkeep"
	"hank/internal/argv"
	"hank/internal/completion"
	"hank/internal/typo"
	"hank/runtime/exitcode"
	"hank/runtime/harness/replay"
	"hank/runtime/keeper"
	"hank/runtime/verdict"
)

func main() {
	// Roles in which hank starts itself.
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case keeper.Subcommand:
			os.Exit(keeper.Main())
		case replay.Argument:
			os.Exit(replay.Main(os.Args[2:]))
		}
	}
	endOnQuit()
	os.Exit(int(run(os.Args)))
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
	return finish(err)
}

// finish says what went wrong and returns the exit code.
func finish(err error) exitcode.Code {
	if said := sayInvalid(err); said != nil {
		err = said
	}
	var ended *endedError
	if errors.As(err, &ended) {
		return ended.Code
	}
	if err != nil {
		remark("hank: %s\n", verdict.Sentence(err))
	}
	var usage *argv.UsageError
	if errors.As(err, &usage) {
		return exitcode.Usage
	}
	return verdict.CodeOf(err)
}

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
			remark("hank: unknown command %q; %sto list all: hank help\n", name, meantCommand(c.App, name))
			os.Exit(int(exitcode.Usage))
		},
		Commands: []*cli.Command{
			author.Init(), validateCommand(), author.Plan(), fmtCommand(), schemaCommand(), modelsCommand(),
			runCommand(), resumeCommand(), retryCommand(), rollbackCommand(), stopCommand(), skipCommand(),
			approveCommand(), rejectCommand(), holdCommand(), releaseCommand(),
			statusCommand(), showCommand(), whyCommand(), logCommand(), eventsCommand(), upkeep.Checkpoints(), upkeep.Diff(), restoreCommand(), upkeep.Land(),
			costCommand(), doctorCommand(), resetCommand(), upkeep.GC(), lsCommand(), versionCommand(), completionCommand(), costsRoleCommand(),
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
   hank rollback X           restore any checkpoint; undo with hank rollback --undo
   hank retry                rerun the failed codon
   hank doctor               diagnose problems and suggest the next command

Exit codes: 0 completed · 1 a codon failed · 2 usage · 3 invalid hank · 4 needs your
decision · 5 locked by another hank process · 6 budget · 7 waiting at a gate, or held ·
8 stopped before completion · 9 agent missing · 70 a bug · 74 disk full or I/O error,
work kept · 129/130/131/143 signal`
