package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"hank/internal/prompt"
	"hank/internal/shell"
	"hank/internal/term"
	"hank/recovery/finding"
	"hank/runtime/report"
	"hank/runtime/report/output"
	"hank/runtime/reset"
)

func resetCommand() *cli.Command {
	return &cli.Command{
		Name: "reset", Usage: "start over: move the execution out of the way (nothing is deleted)",
		Description: `Moves what hank has made in the execution's directory to a dated directory in it,
hank-reset-TIME: .hankweave, agentRoot, rigArchive and the logs of detached runs. The
next hank run there begins a new execution. A workspace elsewhere, named with
--workspace, and the output directory, stay as they are.

What was moved is still an execution: inspect it with -e. --undo moves it back, if no
other execution has begun since; with several, -e names the one to move back. If
either is interrupted, run it again, in the same or the other direction.
hank ls lists it; hank gc --executions deletes it when it is old.

Examples: hank reset && hank run my-hank
          hank reset --undo
          hank show -e hank-reset-20260102T150405Z

Exit code 0: success; 2: nothing to reset or undo; 4: confirmation required (use
--yes), or something is in the way; 5: a run is in progress.`,
		Flags: []cli.Flag{executionFlag,
			&cli.BoolFlag{Name: "undo", Usage: "move the execution back"},
			dryRunFlag, yesFlag, jsonFlag, breakLockFlag},
		Action: func(c *cli.Context) error {
			if err := arguments(c, 0, 0); err != nil {
				return err
			}
			t, err := resetTask(c)
			if err != nil {
				return err
			}
			m, err := t.Preview()
			if err == nil && !c.Bool("dry-run") {
				m, err = doReset(c, t, m)
			}
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return printJSON(output.Reset{Move: m})
			}
			printReset(m)
			return nil
		},
	}
}

func resetTask(c *cli.Context) (*reset.Task, error) {
	if !c.Bool("undo") {
		root, err := executionOf(c)
		if err != nil {
			return nil, err
		}
		return reset.Reset(root), nil
	}
	return reset.Undo(orDefault(c.String("execution"), "."))
}

func doReset(c *cli.Context, t *reset.Task, m *reset.Move) (*reset.Move, error) {
	o := reset.Options{BreakLock: c.String("break-lock")}
	if ask := asker(c); ask != nil {
		o.Confirm = func(m *reset.Move) bool {
			printReset(m)
			return ask(prompt.Question{Text: "Proceed?", Answers: prompt.YesNo}) == 0
		}
	} else if !c.Bool("yes") && !t.Begun {
		return nil, &finding.DecisionError{What: fmt.Sprintf("confirmation required: this moves %s from %s to %s", namesOf(m.Names), m.From(), m.To()),
			Options: []string{"--yes to proceed", "--dry-run to preview"}}
	}
	return t.Do(o)
}

func printReset(m *reset.Move) {
	word := "would move"
	if m.Applied {
		word = "moved"
	}
	say("%s from %s to %s:\n", word, report.PlaceOf(m.From()), report.PlaceOf(m.To()))
	for _, name := range m.Names {
		say("  %s\n", name)
	}
	if m.Workspace != "" {
		say("the workspace %s stays as it is\n", term.ShortPath(m.Workspace))
	}
	if !m.Applied {
		return
	}
	option := ""
	if short := term.ShortPath(m.Execution); short != "." {
		option = " -e " + shell.Quote(short)
	}
	if m.Undo {
		say("  status   hank status%s\n", option)
		return
	}
	say("  next     %s%s\n  to undo  hank reset --undo%s%[2]s\n", m.Again(), option, unasked())
}
