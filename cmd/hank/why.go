package main

import (
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"hank/cmd/hank/call"
	"hank/internal/term"
	"hank/runtime/report"
	"hank/runtime/report/output"
)

func whyCommand() *cli.Command {
	return &cli.Command{
		Name: "why", Usage: "explain why a codon ran, ran again or did not run", ArgsUsage: "CODON",
		Description: `For each attempt at the codon, newest first: why it began, what its end meant for the
plan, and whether it still counts. CODON is as for hank show. Reads only.

Example: hank why review#1

Exit code 0: printed; 2: no such codon.`,
		Flags: []cli.Flag{executionFlag, jsonFlag},
		Action: func(c *cli.Context) error {
			if err := arguments(c, 1, 1); err != nil {
				return err
			}
			v, err := view(c)
			if err != nil {
				return err
			}
			e, err := report.Why(v, c.Args().First())
			if err != nil {
				return err
			}
			e.Summary = forThis(c, e.Summary)
			if c.Bool("json") {
				return printJSON(output.ExplanationOf(e))
			}
			say("%s  %s\n", term.Bold(os.Stdout, string(e.CodonID)), e.Standing)
			for _, line := range report.WhyLines(e) {
				begin := "  "
				if line.Label != "" {
					begin = fmt.Sprintf("    %-13s ", line.Label)
				}
				call.Beside(begin, line.Text, nil)
			}
			return nil
		},
	}
}
