package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"hank/internal/term"
	"hank/recovery"
	"hank/runtime/exitcode"
	"hank/runtime/report/cost"
	"hank/state"
	"hank/state/costindex"
)

var costWays = map[string]costindex.By{
	"run": costindex.ByRun, "codon": costindex.ByCodon, "loop": costindex.ByLoop, "model": costindex.ByModel, "day": costindex.ByDay,
}

// costSum is a line of hank cost.
type costSum struct {
	Key      string       `json:"key"`
	Attempts int64        `json:"attempts"`
	Cost     state.USD    `json:"cost"`
	Tokens   state.Tokens `json:"tokens"`
}

// costView is the JSON form of hank cost.
type costView struct {
	Schema    int       `json:"schema"`
	Execution string    `json:"execution"`
	By        string    `json:"by"`
	Sums      []costSum `json:"sums"`
	Total     costSum   `json:"total"` // of all sums, listed or not
	NoIndex   string    `json:"noIndex,omitempty"`
}

func costCommand() *cli.Command {
	return &cli.Command{
		Name: "cost", Usage: "sum up what an execution has cost",
		Description: `By run, codon, loop, model or day (UTC). All attempts count, also those that a
rollback left behind: money spent stays spent. The sums come from an index under
.hankweave/index, which is brought up to date; where it cannot be used, from the
records themselves, with the same result.

Example: hank cost --by model --json`,
		Flags: []cli.Flag{executionFlag,
			&cli.StringFlag{Name: "by", Value: "codon", Usage: "`WAY` to sum up: run, codon, loop, model, day"},
			&cli.IntFlag{Name: "limit", Usage: "print at most `N` (0: all), the last ones before --before"},
			&cli.StringFlag{Name: "before", Usage: "print only what is sorted before this `KEY`"},
			jsonFlag},
		Action: func(c *cli.Context) error {
			if err := arguments(c, 0, 0); err != nil {
				return err
			}
			by, ok := costWays[c.String("by")]
			if !ok {
				return &exitcode.UsageError{Why: fmt.Sprintf("--by takes run, codon, loop, model or day, not %q", c.String("by"))}
			}
			v, err := view(c)
			if err != nil {
				return err
			}
			return printCosts(c, v, cost.Of(v, by, askIndex))
		},
	}
}

func printCosts(c *cli.Context, v *recovery.View, r cost.Report) error {
	out := costView{Schema: 1, Execution: v.Layout.Root, By: c.String("by"), Sums: []costSum{}, Total: costSumOf(r.All), NoIndex: r.NoIndex}
	for _, t := range r.Totals {
		if before := c.String("before"); before == "" || t.Key < before {
			out.Sums = append(out.Sums, costSumOf(t))
		}
	}
	if limit := c.Int("limit"); limit > 0 && len(out.Sums) > limit {
		out.Sums = out.Sums[len(out.Sums)-limit:]
	}
	if c.Bool("json") {
		return printJSON(out)
	}
	t := term.NewTable(os.Stdout)
	t.Row(out.By, "attempts", "cost", "input", "output", "cache written", "cache read")
	row := func(s costSum) {
		t.Row(orDefault(s.Key, "-"), strconv.FormatInt(s.Attempts, 10), s.Cost.Text(), strconv.FormatInt(s.Tokens.Input, 10),
			strconv.FormatInt(s.Tokens.Output, 10), strconv.FormatInt(s.Tokens.CacheCreation, 10), strconv.FormatInt(s.Tokens.CacheRead, 10))
	}
	for _, s := range out.Sums {
		row(s)
	}
	out.Total.Key = "total"
	row(out.Total)
	if err := t.Flush(); err != nil {
		return err
	}
	if r.NoIndex != "" {
		remark("note: summed up without the cost index: %s\n", r.NoIndex)
	}
	return nil
}

func costSumOf(t costindex.Total) costSum { return costSum{t.Key, t.Entries, t.Cost, t.Tokens} }

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
		Name: cost.Verb, Hidden: true, Usage: "bring the cost index of the execution in a folder up to date", ArgsUsage: "DIR [WAY]",
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
