package main

import (
	"os"
	"slices"
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
		Name: "cost", Usage: "show costs by codon, run, loop, model, harness or day",
		Description: `Codons and loops are listed in the order of the plan, other groups by name. Token
counts of which all are zero are omitted. Days are those of the local time zone (TZ), which
is printed with them. All attempts count, including attempts abandoned by a rollback. What
sentinels cost counts for their codon; by harness it is listed as "sentinels". By model and by
harness their calls are listed: requests to a model, failed ones included. The sums come
from an index in .hankweave/index, which is updated first; if it cannot be used, they come
from the records themselves, with the same result.

On a terminal each line has a bar: the part of the largest sum. Where the terminal is too
narrow for bars and token counts, the counts are omitted; --csv and --json have them.

--run restricts the sums to one run, and uses its records.

--csv prints the sums without their total, in the form of RFC 4180: a header, then a line for
each group, with the group, attempts, costUSD, replayedCostUSD (the part that was not paid),
inputTokens, outputTokens, cacheCreationTokens, cacheReadTokens and calls (of sentinels, which
are no attempts). The first column is named after WAY, and is empty for what belongs to no group. Amounts are exact, in dollars.

Examples: hank cost --by model --json
          hank cost --by day --csv >costs.csv
          hank cost --run "$(hank status --json | jq -r .runId)" --by model

Exit code 0: printed; 2: unknown WAY or RUN.`,
		Flags: []cli.Flag{executionFlag,
			&cli.StringFlag{Name: "by", Value: "codon", Usage: "group by `WAY`: run, codon, loop, model, harness or day"},
			&cli.StringFlag{Name: "run", Usage: "only attempts in `RUN`"},
			&cli.IntFlag{Name: "limit", Usage: "show at most `N` entries (0 = all), the last ones before --before"},
			&cli.StringFlag{Name: "before", Usage: "show only entries listed before `KEY`"},
			&cli.BoolFlag{Name: "csv", Usage: "print comma-separated values"},
			jsonFlag},
		Action: func(c *cli.Context) error {
			if err := arguments(c, 0, 0); err != nil {
				return err
			}
			if !slices.Contains(cost.Ways, c.String("by")) {
				return notOneOf("by", c.String("by"), cost.Ways...)
			}
			if c.Bool("csv") && c.Bool("json") {
				return &exitcode.UsageError{Why: "--csv and --json are mutually exclusive"}
			}
			v, err := view(c)
			if err != nil {
				return err
			}
			if run := c.String("run"); c.IsSet("run") && v.State.Run(state.RunID(run)) == nil {
				return history.UnknownRun(v.State.Runs, run)
			}
			sums := cost.SumUp(v, cost.Query{By: c.String("by"), Run: state.RunID(c.String("run")), Limit: c.Int("limit"), Before: c.String("before"), Zone: time.Local}, askIndex)
			sums.NoIndex = forThis(c, sums.NoIndex)
			switch {
			case c.Bool("json"):
				return printJSON(output.CostsOf(sums))
			case c.Bool("csv"):
				err = sums.WriteCSV(os.Stdout)
			default:
				err = printCosts(sums)
			}
			if u := sums.Unpriced; err == nil && u.Attempts > 0 {
				remark("note: no price is known for %s tokens of %s: what they cost is in no sum\n", humanize.Comma(u.Tokens), term.Count(int(u.Attempts), "attempt"))
			}
			if u := sums.Unreported; err == nil && u.Attempts > 0 {
				remark("note: %s interrupted: what a request that was open then has cost is in no sum\n", term.Count(int(u.Attempts), "attempt"))
			}
			if u := sums.Unreported; err == nil && u.Calls > 0 {
				remark("note: %s of sentinels without an answer, or without its use: what that cost is in no sum\n", term.Count(int(u.Calls), "call"))
			}
			if err == nil && sums.NoIndex != "" {
				remark("note: summed up without the cost index, which changes no sum: %s\n", sums.NoIndex)
			}
			return err
		},
	}
}

func printCosts(sums *cost.Sums) error {
	heading := []string{sums.By, "attempts", "cost"}
	total := sums.Total
	total.Key = "total"
	var rows [][]string
	for _, s := range append(slices.Clone(sums.Sums), total) {
		cells := []string{orDefault(s.Key, "-"), sums.Requests(s), s.Bill.Short()}
		for _, n := range sums.TokensOf(s) {
			cells = append(cells, humanize.Comma(n))
		}
		rows = append(rows, cells)
	}
	rows = append([][]string{append(heading, sums.TokenKinds()...)}, rows...)
	if width := term.Width(os.Stdout); width > 0 {
		rows = withBars(rows, sums.Sums, width)
	}
	t := term.NewTable(os.Stdout)
	t.Fit()
	t.Heading(rows[0]...)
	for _, row := range rows[1:] {
		cells := make([]any, len(row))
		for i, cell := range row {
			cells[i] = cell
		}
		t.Row(cells...)
	}
	if err := t.Flush(); err != nil || sums.Zone == "" {
		return err
	}
	return say("days of the time zone %s\n", sums.Zone)
}

// The sizes of bars, in columns.
const (
	shortestBar = 10 // a shorter one takes the place of the token counts
	longestBar  = 30
	leastBar    = 4 // a shorter one says nothing
	leastName   = 12
	columnGap   = 2
)

// withBars puts a bar behind the cost of each sum, in a table of so many columns of the
// terminal. rows are a heading, the sums and their total.
func withBars(rows [][]string, sums []cost.Sum, width int) [][]string {
	most, columns := state.USD(0), make([]int, len(rows[0]))
	for _, s := range sums {
		most = max(most, s.Cost)
	}
	for _, row := range rows {
		for i, cell := range row {
			columns[i] = max(columns[i], term.Columns(term.Printable(cell))+columnGap)
		}
	}
	fixed := columns[1] + columns[2]
	columns[0] = min(columns[0], max(leastName, width-fixed-leastBar-columnGap))
	room, tokens := width-columns[0]-fixed, 0
	for _, n := range columns[3:] {
		tokens += n
	}
	bar := min(room-tokens-columnGap, longestBar)
	keep := len(rows[0])
	if bar < shortestBar && (most > 0 || tokens > room) {
		bar, keep = min(room, longestBar), 3
	}
	for i, row := range rows {
		rows[i] = slices.Clone(row[:keep])
		rows[i][0] = term.Fit(term.Printable(row[0]), columns[0]-columnGap)
		if most == 0 || bar < leastBar {
			continue
		}
		drawn := ""
		if n := i - 1; n >= 0 && n < len(sums) {
			drawn = term.Bar(float64(sums[n].Cost)/float64(most), bar)
		}
		rows[i] = slices.Insert(rows[i], 3, drawn)
	}
	return rows
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
			return cost.WriteAnswer(os.Stdout, c.Args().First(), costindex.By(c.Args().Get(1)[0]))
		},
	}
}
