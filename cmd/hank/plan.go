package main

import (
	"os"
	"slices"
	"strconv"

	"github.com/urfave/cli/v2"

	"hank/cmd/hank/call"
	"hank/internal/term"
	"hank/runtime/exitcode"
	"hank/runtime/hankfile"
	"hank/runtime/report"
)

func planCommand() *cli.Command {
	return &cli.Command{
		Name: "plan", Usage: "list the codons in the order in which they run", ArgsUsage: "[HANK|DIR]",
		Description: `Without an argument: the plan of the execution, with what has run and what is next.
With HANK (a hank.json) or the DIR that holds one: the initial plan. Loop iterations
are added as they are reached. Reads only.

Example: hank plan --before review#2 --limit 10

Exit code 0: printed; 3: HANK is invalid.`,
		Flags: []cli.Flag{executionFlag,
			&cli.StringFlag{Name: "config", Usage: "settings `FILE` (default: ./hankweave.json, if present)"},
			&cli.StringFlag{Name: "model", Aliases: []string{"m"}, Usage: "use `MODEL` for every codon"},
			&cli.IntFlag{Name: "limit", Usage: "show at most `N` entries (0 = all), the last ones before --before"},
			&cli.StringFlag{Name: "before", Usage: "show only entries before `CODON`"},
			jsonFlag},
		Action: func(c *cli.Context) error {
			if err := arguments(c, 0, 1); err != nil {
				return err
			}
			p, err := planOf(c)
			if err != nil {
				return err
			}
			if p.Codons, err = call.LastBefore(p.Codons, c.Int("limit"), c.String("before"), func(e report.Planned) string { return string(e.CodonID) }); err != nil {
				return err
			}
			if c.Bool("json") {
				return printJSON(p)
			}
			return printPlan(p)
		},
	}
}

// planOf is the plan of an execution if there is one and no hank is named.
func planOf(c *cli.Context) (*report.Plan, error) {
	if c.NArg() == 0 {
		v, err := view(c)
		if err == nil {
			if p := report.PlanOf(v); p != nil {
				return p, nil
			}
		} else if c.String("execution") != "" || !hankfile.Is(".") {
			return nil, err
		}
	}
	layers, err := settings(c)
	if err != nil {
		return nil, err
	}
	path := orDefault(c.Args().First(), ".")
	program, found, err := hankfile.Load(path, layers)
	if err != nil {
		return nil, err
	}
	if program == nil {
		return nil, &exitcode.InvalidError{Diagnostics: located(path, found)}
	}
	return report.InitialPlan(path, program), nil
}

func printPlan(p *report.Plan) error {
	t, begun := term.NewTable(os.Stdout), p.Begun()
	heading := []string{"", "codon", "model", "name"}
	if begun {
		heading = slices.Insert(heading, 2, "status", "checkpoint")
	}
	t.Fit()
	t.Heading(heading...)
	for _, e := range p.Codons {
		status := orDefault(string(e.Verdict), "-")
		if e.Next && e.Status == "" {
			status = "next"
		}
		name := e.Name
		if e.But != "" {
			name += " (" + e.But + ")"
		}
		row := []any{strconv.Itoa(e.Index), string(e.CodonID), e.Model, name}
		if begun {
			row = slices.Insert(row, 2, any(status), any(orDefault(report.Short(e.Checkpoint), "-")))
		}
		t.Row(row...)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if more := p.More(); more != "" {
		say("%s\n", more)
	}
	return nil
}
