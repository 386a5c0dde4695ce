package main

import (
	"os"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"hank/internal/term"
	"hank/runtime/exitcode"
	"hank/runtime/history"
	"hank/runtime/report/cost"
	"hank/runtime/report/output"
	"hank/state"
	"hank/state/costindex"
)

func costCommand() *cli.Command {
	return &cli.Command{
		Name: "cost", Usage: "show costs by codon, run, loop, model or day",
		Description: `Codons and loops are listed in the order of the plan, other groups by name. Token
counts of which all are zero are omitted. Days are in UTC. All attempts count, including attempts abandoned by a rollback. The
sums come from an index in .hankweave/index, which is updated first; if it cannot be
used, they come from the records themselves, with the same result.

--run restricts them to one run, and sums up its records.

Examples: hank cost --by model --json
          hank cost --run "$(hank status --json | jq -r .runId)" --by model

Exit code 0: printed; 2: unknown WAY or RUN.`,
		Flags: []cli.Flag{executionFlag,
			&cli.StringFlag{Name: "by", Value: "codon", Usage: "group by `WAY`: run, codon, loop, model or day"},
			&cli.StringFlag{Name: "run", Usage: "only attempts in `RUN`"},
			&cli.IntFlag{Name: "limit", Usage: "show at most `N` entries (0 = all), the last ones before --before"},
			&cli.StringFlag{Name: "before", Usage: "show only entries listed before `KEY`"},
			jsonFlag},
		Action: func(c *cli.Context) error {
			if err := arguments(c, 0, 0); err != nil {
				return err
			}
			if _, ok := cost.Ways[c.String("by")]; !ok {
				return notOneOf("by", c.String("by"), "run", "codon", "loop", "model", "day")
			}
			v, err := view(c)
			if err != nil {
				return err
			}
			if run := c.String("run"); c.IsSet("run") && v.State.Run(state.RunID(run)) == nil {
				return history.UnknownRun(v.State.Runs, run)
			}
			sums := cost.SumUp(v, c.String("by"), state.RunID(c.String("run")), c.Int("limit"), c.String("before"), askIndex)
			sums.NoIndex = forThis(c, sums.NoIndex)
			if c.Bool("json") {
				return printJSON(output.CostsOf(sums))
			}
			return printCosts(sums)
		},
	}
}

func printCosts(sums *cost.Sums) error {
	t := term.NewTable(os.Stdout)
	t.Heading(append([]string{sums.By, "attempts", "cost"}, sums.TokenKinds()...)...)
	row := func(s cost.Sum) {
		cells := []any{orDefault(s.Key, "-"), s.Attempts, s.Bill.Short()}
		for _, n := range sums.TokensOf(s) {
			cells = append(cells, humanize.Comma(n))
		}
		t.Row(cells...)
	}
	for _, s := range sums.Sums {
		row(s)
	}
	total := sums.Total
	total.Key = "total"
	row(total)
	if err := t.Flush(); err != nil {
		return err
	}
	if sums.NoIndex != "" {
		remark("note: summed up without the cost index: %s\n", sums.NoIndex)
	}
	return nil
}

// askIndex asks the cost index in another process.
func askIndex(execution string, by costindex.By) (cost.Answer, error) {
	self, err := os.Executable()
	if err != nil {
		return cost.Answer{}, err
	}
	return cost.AskIndex(self)(execution, by)
}

// catchUpLimit ends a catching up that hangs: hank cost does it again.
const catchUpLimit = time.Minute

// costsRoleCommand is what a run starts at its end, and hank cost to ask.
func costsRoleCommand() *cli.Command {
	return &cli.Command{
		Name: cost.Subcommand, Hidden: true, Usage: "update the cost index of the execution in a directory", ArgsUsage: "DIR [WAY]",
		Action: func(c *cli.Context) error {
			if err := arguments(c, 1, 2); err != nil {
				return err
			}
			time.AfterFunc(catchUpLimit, func() { os.Exit(int(exitcode.IO)) })
			if c.NArg() == 1 {
				return cost.CatchUp(c.Args().First())
			}
			answer, err := cost.ReadIndex(c.Args().First(), costindex.By(c.Args().Get(1)[0]))
			if err != nil {
				answer = cost.Answer{Error: err.Error()}
			}
			return printJSON(answer)
		},
	}
}
