package main

import (
	"os"

	"github.com/urfave/cli/v2"

	"hank/cmd/hank/call"
	"hank/internal/term"
	"hank/recovery/execution"
	"hank/runtime/exitcode"
	"hank/runtime/opening"
	"hank/runtime/report"
	"hank/runtime/report/output"
	"hank/runtime/verdict"
)

func doctorCommand() *cli.Command {
	return &cli.Command{
		Name: "doctor", Usage: "diagnose an execution and suggest the next command",
		Description: `Checks the state, the journal and every object of the checkpoints, and changes
nothing. --fix applies what is safe: it closes crashed runs, finishes interrupted
changes, repairs damaged files from redundant copies, quarantines the damaged ones, and
recreates a missing checkpoint store.

Example: hank doctor -e DIR

healthy means that nothing has to be repaired or decided, and nothing is lost.

--agents looks at the agents of this machine instead: whether each is here, its version,
the key or login that it will use, and the mode in which it works. No provider is asked.

Exit code 0: the next command repairs everything, or there is nothing to do;
4: something needs your decision; 5: --fix during a run; 9: --agents found that an agent
is missing which the hank needs, or without a hank that none can be used.`,
		Flags: []cli.Flag{executionFlag, &cli.BoolFlag{Name: "fix", Usage: "apply safe repairs"},
			&cli.BoolFlag{Name: "agents", Usage: "look at the agents of this machine instead"}, breakLockFlag, jsonFlag},
		Action: func(c *cli.Context) error {
			if err := arguments(c, 0, 0); err != nil {
				return err
			}
			if call.Exclusive(c, "fix", "agents") > 1 {
				return &exitcode.UsageError{Why: "--fix and --agents are mutually exclusive"}
			}
			if c.Bool("agents") {
				return tellAgents(c)
			}
			root, err := executionOf(c)
			if err != nil {
				return err
			}
			var fixed *report.Fix
			if c.Bool("fix") {
				if fixed, err = fix(c, root); err != nil {
					return err
				}
			}
			d := report.Examine(c.Context, root, settingsHere(c), fixed, executionOption(c))
			if c.Bool("json") {
				form := output.DiagnosisOf(d)
				return jsonEnding(form, form.Error)
			}
			printDiagnosis(c, d)
			if d.Condition == report.NeedsYou {
				return exitWith(exitcode.Decision)
			}
			return nil
		},
	}
}

// fix opens the execution, which repairs it.
func fix(c *cli.Context, root string) (*report.Fix, error) {
	x, err := opening.Open(c.Context, root, execution.Options{Command: "hank doctor --fix", BreakLock: c.String("break-lock"), ReplaceStore: true, Work: work,
		Warn: func(line string) { remark("hank: %s\n", forThis(c, line)) }})
	if verdict.CodeOf(err) == exitcode.Decision {
		return &report.Fix{Decision: err}, nil
	}
	if err != nil {
		return nil, err
	}
	done := x.Report.Findings
	return &report.Fix{Done: done}, x.Close()
}

func printDiagnosis(c *cli.Context, d *report.Diagnosis) {
	word := term.Green(os.Stdout, "healthy")
	switch d.Condition {
	case report.WithLosses:
		word = term.Yellow(os.Stdout, d.LossText())
	case report.NeedsRepair:
		word = term.Yellow(os.Stdout, "needs repair")
	case report.NeedsYou:
		word = term.Red(os.Stdout, "action required")
	}
	say("%s  %s\n", term.Bold(os.Stdout, orDefault(d.Name, report.PlaceOf(d.Execution))), word)
	for _, l := range d.Lines(executionOption(c)) {
		call.Beside(call.Label(l.Label), l.Text, nil)
	}
}
