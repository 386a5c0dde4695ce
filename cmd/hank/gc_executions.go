package main

import (
	"errors"
	"os"

	"github.com/urfave/cli/v2"

	"hank/internal/term"
	"hank/runtime/exitcode"
	"hank/runtime/gc"
	"hank/runtime/report"
)

// gcExecutions is hank gc --executions and --orphans.
func gcExecutions(c *cli.Context, p gc.Policy) error {
	if c.String("execution") != "" || len(p.Only) > 0 {
		return &exitcode.UsageError{Why: "--executions and --orphans apply to all executions of this machine and take neither -e nor --only"}
	}
	out, err := report.CollectExpired(c.Context, p, c.Bool("executions"), c.Bool("orphans"), c.Bool("apply"))
	if out == nil {
		return err
	}
	if c.Bool("json") {
		return errors.Join(printJSON(out), err)
	}
	t := term.NewTable(os.Stdout)
	for _, x := range out.Items {
		word := "keep"
		if x.Remove {
			word = "remove"
		}
		if out.Applied && x.Remove {
			word = "removed"
		}
		t.Row(word, term.Bytes(x.Bytes), x.LastUsed.Local().Format("2006-01-02 15:04"), x.Execution, x.What)
	}
	if err := errors.Join(err, t.Flush()); err != nil {
		return err
	}
	if out.Applied {
		say("%s freed\n", term.Bytes(out.Bytes))
		return nil
	}
	say("%s can be freed (dry run); delete with: %s\n", term.Bytes(out.Bytes), applying(c))
	return nil
}
