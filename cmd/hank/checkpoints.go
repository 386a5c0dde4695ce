package main

import (
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"hank/internal/term"
	"hank/runtime"
	"hank/state"
)

// checkpointList is the JSON form of hank checkpoints.
type checkpointList struct {
	Schema      int              `json:"schema"`
	Execution   string           `json:"execution"`
	Checkpoints []runtime.Listed `json:"checkpoints"`
}

func checkpointsCommand() *cli.Command {
	return &cli.Command{
		Name: "checkpoints", Usage: "list the checkpoints, newest first",
		Description: `The one that the workspace was last at has a *. Go back to any of them with
hank rollback --to SHA; look at one with hank diff SHA. To see more than --limit
prints, give the last SHA of the list to --before.`,
		Flags: []cli.Flag{executionFlag, &cli.StringFlag{Name: "run", Usage: "only those of this `RUN`"}, limitFlag,
			&cli.StringFlag{Name: "before", Usage: "print only what comes behind this `TARGET`"}, jsonFlag},
		Action: func(c *cli.Context) error {
			if err := arguments(c, 0, 0); err != nil {
				return err
			}
			v, err := view(c)
			if err != nil {
				return err
			}
			store, err := v.Store()
			if err != nil {
				return err
			}
			defer store.Close()
			list, err := runtime.Checkpoints(v.State, store, runtime.ListOptions{Run: state.RunID(c.String("run")), Limit: c.Int("limit"), Before: c.String("before")})
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return printJSON(checkpointList{1, v.Layout.Root, list})
			}
			return printCheckpoints(list, c.Int("limit"))
		},
	}
}

func printCheckpoints(list []runtime.Listed, limit int) error {
	t := term.NewTable(os.Stdout)
	for _, k := range list {
		mark := " "
		if k.Current {
			mark = "*"
		}
		t.Row(mark, short(k.SHA), k.Time.Local().Format("2006-01-02 15:04:05"), orDefault(string(k.Kind), "-"), orDefault(string(k.CodonID), "-"), k.Branch, k.Name)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if limit > 0 && len(list) == limit {
		fmt.Fprintf(os.Stderr, "there may be more: --before %s, or --limit 0\n", short(list[limit-1].SHA))
	}
	return nil
}
