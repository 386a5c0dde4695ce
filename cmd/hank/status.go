package main

import (
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"hank/cmd/hank/call"
	"hank/internal/term"
	"hank/recovery/layout"
	"hank/runtime/report"
	"hank/runtime/report/output"
	"hank/runtime/verdict"
)

func statusCommand() *cli.Command {
	return &cli.Command{
		Name: "status", Usage: "show the status of an execution",
		Description: `Reads only: safe at any time, including during a run.

--tree draws the runs, a run before those that begin in it: * marks those that lead to where
the execution is, and indentation shows a fork.

Example: hank status --json | jq .nextCodon

Exit code 0: printed, whatever the status; 4: the state cannot be read.`,
		Flags: []cli.Flag{executionFlag, &cli.BoolFlag{Name: "tree", Usage: "draw the runs, and where they begin"}, jsonFlag},
		Action: func(c *cli.Context) error {
			if err := arguments(c, 0, 0); err != nil {
				return err
			}
			root, err := executionOf(c)
			if err != nil {
				return err
			}
			if c.Bool("tree") {
				return tellTree(c)
			}
			s, err := report.ReadStatus(c.Context, root, settingsHere(c), executionOption(c))
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return printJSON(output.StatusOf(s))
			}
			printStatus(s, c)
			return nil
		},
	}
}

func printStatus(s *report.Status, c *cli.Context) {
	title := statusWord(s)
	if more := verdict.CaveatText(s.Caveats); more != "" && s.Verdict == verdict.Completed {
		title += term.Sprintf(", with %s", more)
	}
	say("%s  %s\n", term.Bold(os.Stdout, s.Name), title)
	for _, l := range s.Lines(time.Now(), executionOption(c)) {
		var paint func(*os.File, string) term.Painted
		if l.Warning {
			paint = term.Yellow
		}
		call.Beside(call.Label(l.Label), l.Text, paint)
	}
	if w := (layout.Weight{Bytes: s.StoreBytes, Agents: s.AgentBytes}); w.Bytes+w.Agents >= notableBytes {
		call.Beside(call.Label("disk"), w.Text(), nil)
	}
}

// notableBytes is from when on status says what an execution takes on the disk.
const notableBytes = 100e6

// statusWord is the verdict, coloured.
func statusWord(s *report.Status) term.Painted {
	switch word := s.Verdict.String(); s.Verdict {
	case verdict.Running:
		return term.Green(os.Stdout, word)
	case verdict.Failed, verdict.Crashed, verdict.Interrupted, verdict.Blocked:
		return term.Red(os.Stdout, word)
	case verdict.Stopped, verdict.Budget, verdict.Paused, verdict.Refused, verdict.RolledBack, verdict.Waiting, verdict.Unavailable, verdict.Held:
		return term.Yellow(os.Stdout, word)
	default:
		return term.Sprintf("%s", word)
	}
}

// tellTree draws the runs.
func tellTree(c *cli.Context) error {
	v, err := view(c)
	if err != nil {
		return err
	}
	tree := report.TreeOf(v)
	if c.Bool("json") {
		return printJSON(output.TreeOf(tree))
	}
	t := term.NewTable(os.Stdout)
	t.Hang(3)
	for _, r := range tree.Runs {
		t.Row(r.Row()...)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, line := range tree.Ends() {
		if err := say("%s\n", line); err != nil {
			return err
		}
	}
	return nil
}
