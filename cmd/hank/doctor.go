package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"hank/internal/term"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/runtime/exitcode"
	"hank/runtime/keeper"
	"hank/runtime/report"
	"hank/runtime/verdict"
	"hank/state"
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

Exit code 0: the next command repairs everything, or there is nothing to do;
4: something needs your decision; 5: --fix during a run.`,
		Flags: []cli.Flag{executionFlag, &cli.BoolFlag{Name: "fix", Usage: "apply safe repairs"}, breakLockFlag, jsonFlag},
		Action: func(c *cli.Context) error {
			if err := arguments(c, 0, 0); err != nil {
				return err
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
				if err := printJSON(d); err != nil {
					return err
				}
			} else {
				printDiagnosis(c, d)
			}
			if d.Condition == report.NeedsYou {
				return exitWith(exitcode.Decision)
			}
			return nil
		},
	}
}

// fix opens the execution, which repairs it.
func fix(c *cli.Context, root string) (*report.Fix, error) {
	x, err := recovery.Open(c.Context, root, execution.Options{Command: "hank doctor --fix", BreakLock: c.String("break-lock"), ReplaceStore: true, Work: work,
		Reap: keeper.ReapNames, Warn: func(line string) { remark("hank: %s\n", forThis(c, line)) }})
	if verdict.CodeOf(err) == exitcode.Decision {
		return &report.Fix{Decision: err}, nil
	}
	if err != nil {
		return nil, err
	}
	done := x.Report.Findings
	return &report.Fix{Done: done}, x.Close()
}

// fewer is how many lines of a kind fit on one screen with the others. What blocks
// is shown however many there are: it is why the user is needed.
const fewer = 5

func printDiagnosis(c *cli.Context, d *report.Diagnosis) {
	word := term.Green(os.Stdout, "healthy")
	switch d.Condition {
	case report.WithLosses:
		word = term.Yellow(os.Stdout, term.Count(len(d.Lost), "checkpoint")+" lost")
	case report.NeedsRepair:
		word = term.Yellow(os.Stdout, "needs repair")
	case report.NeedsYou:
		word = term.Red(os.Stdout, "action required")
	}
	say("%s  %s\n", term.Bold(os.Stdout, report.PlaceOf(d.Execution)), word)
	line := func(label, text string) {
		say("  %-11s %s\n", label, strings.Join(strings.Fields(text), " "))
	}
	if d.Happened != "" {
		line("happened", d.Happened)
	}
	more := func(n int) {
		if n > 0 {
			line("", fmt.Sprintf("and %d more: hank doctor --json%s", n, executionOption(c)))
		}
	}
	list := func(n int, each func(i int) (label, text string)) {
		for i := range min(n, fewer) {
			line(each(i))
		}
		more(n - fewer)
	}
	others, hidden := 0, 0
	for i, f := range d.Findings {
		if f.Severity != finding.Blocked {
			if others++; others > fewer {
				hidden++
				continue
			}
		}
		word := f.Severity.Planned()
		if i < d.Repaired {
			word = f.Severity.Word()
		}
		line(word, f.What)
	}
	more(hidden)
	if d.Validation != nil {
		issue := func(word string, issues []state.Issue) {
			list(len(issues), func(i int) (string, string) { return word, fmt.Sprintf("[%s] %s", issues[i].Type, issues[i].Message) })
		}
		issue("error", d.Validation.Errors)
		issue("warning", d.Validation.Warnings)
	}
	if d.Store != nil {
		list(len(d.Store.Problems), func(i int) (string, string) { return "damaged", d.Store.Problems[i] })
	}
	if n := len(d.Lost); n > 0 {
		line("lost", term.Count(n, "checkpoint")+" no longer available")
	}
	for _, s := range d.Safe {
		line("safe", s)
	}
	if len(d.Quarantine) > 0 {
		line("quarantined", report.QuarantineText(d.Execution, d.Quarantine, d.OfOrigin))
	}
	if d.Sandbox.InForce() {
		line("sandbox", fmt.Sprintf("\"workspace\" sandbox available (Landlock ABI %d)", d.Sandbox.ABI))
	} else {
		line("sandbox", "\"workspace\" sandbox unavailable: "+d.Sandbox.Why)
	}
	if d.Finish != "" {
		line("to finish", d.Finish+report.Before(d.FinishFirst))
	}
	line("run next", d.Next)
	if d.Resume != "" {
		line("or", d.Resume+", which continues the agent's interrupted session")
	}
}
