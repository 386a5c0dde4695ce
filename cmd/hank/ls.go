package main

import (
	"fmt"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"hank/internal/term"
	"hank/runtime/report"
	"hank/runtime/report/output"
	"hank/runtime/verdict"
)

func lsCommand() *cli.Command {
	return &cli.Command{
		Name: "ls", Usage: "list all executions on this machine, most recent first",
		Description: `Shows status, completed codons, cost, when it was used last, the name of the hank and
the directory of the execution. Missing executions are omitted.

Example: hank ls --limit 5`,
		Flags: []cli.Flag{limitFlag,
			&cli.StringFlag{Name: "before", Usage: "show only executions after the one in `DIR`"},
			&cli.BoolFlag{Name: "prune", Usage: "forget executions that no longer exist"}, jsonFlag},
		Action: func(c *cli.Context) error {
			if err := arguments(c, 0, 0); err != nil {
				return err
			}
			list, err := report.ListExecutions(settingsHere(c), c.Int("limit"), c.String("before"), c.Bool("prune"))
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return printJSON(output.ExecutionsOf(list))
			}
			if len(list.Executions) == 0 {
				say("%s\n", forThis(c, list.Nothing()))
				return nil
			}
			t, now := term.NewTable(os.Stdout), time.Now()
			t.Hang(1)
			t.Heading("status", "codons", "cost", "last used", "hank", "execution")
			for _, s := range list.Executions {
				word := statusWord(&s)
				if n := len(s.CutOff) + len(s.Ignored) + len(s.FullContext) + len(s.Skipped); n > 0 && s.Verdict == verdict.Completed {
					word += term.Sprintf(" (%s)", term.Count(n, "caveat"))
				}
				t.Row(word, fmt.Sprintf("%d/%s", s.Done, s.Extent), s.Bill.Short(), term.Age(s.LastUsed, now), s.Name, term.Path(term.ShortPath(s.Execution)))
			}
			return t.Flush()
		},
	}
}
