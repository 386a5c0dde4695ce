package main

import (
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"hank/internal/term"
	"hank/runtime/report"
	"hank/runtime/verdict"
)

func lsCommand() *cli.Command {
	return &cli.Command{
		Name: "ls", Usage: "list this machine's executions, the last used first",
		Description: `Status, codons done, costs, the execution and its hank. Each is looked at in its folder;
what is not there any more is left out.

Example: hank ls --limit 5`,
		Flags: []cli.Flag{limitFlag,
			&cli.StringFlag{Name: "before", Usage: "print only what comes behind the execution in this `DIR`"},
			&cli.BoolFlag{Name: "prune", Usage: "forget those whose folder is gone"}, jsonFlag},
		Action: func(c *cli.Context) error {
			if err := arguments(c, 0, 0); err != nil {
				return err
			}
			list, err := report.ListExecutions(c.Int("limit"), c.String("before"), c.Bool("prune"))
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return printJSON(list)
			}
			t := term.NewTable(os.Stdout)
			for _, s := range list.Executions {
				word := statusWord(&s)
				if n := len(s.CutOff) + len(s.Ignored) + len(s.FullContext) + len(s.Skipped); n > 0 && s.Verdict == verdict.Completed {
					word += term.Sprintf(" (%s)", term.Count(n, "caveat"))
				}
				t.Row(word, fmt.Sprintf("%d/%d", s.Done, s.Planned), s.Cost.Text(), s.Execution+"  "+s.Hank)
			}
			return t.Flush()
		},
	}
}
