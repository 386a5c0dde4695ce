package main

import (
	"github.com/urfave/cli/v2"

	"hank/runtime/history"
)

func restoreCommand() *cli.Command {
	return &cli.Command{
		Name: "restore", Usage: "bring files back from a checkpoint; the place in the plan stays", ArgsUsage: "PATH…",
		Description: `PATH is relative to the workspace; . is all of it. What it holds now is put into a
checkpoint first. Files that TARGET has not stay, unless --delete is given; where they
are in the way of what TARGET has, nothing is done without it. Without a terminal to ask
on, --yes is needed.

Examples: hank restore report.md data/raw --from gather --yes
          hank restore data --from gather --delete --plan

Exit code 0: done; 2: TARGET or PATH names nothing, or PATH is not in
TARGET and --delete is missing; 4: nobody is there to be asked and
--yes is missing, or something is in the way that no checkpoint holds, or that only
--delete deletes; 5: a run is at work.`,
		Flags: []cli.Flag{
			executionFlag,
			&cli.StringFlag{Name: "from", Usage: "the `TARGET` to take them from (default: last-success); see hank rollback --help"},
			&cli.BoolFlag{Name: "delete", Usage: "delete what codons have added at PATH and TARGET has not"},
			&cli.BoolFlag{Name: "plan", Usage: "say what would be done, and change nothing"},
			capFlag, yesFlag, jsonFlag, breakLockFlag,
		},
		Action: func(c *cli.Context) error {
			if err := arguments(c, 1, -1); err != nil {
				return err
			}
			paths, err := history.CleanPaths(c.Args().Slice())
			if err != nil {
				return err
			}
			return goBack(c, history.RollbackOptions{To: c.String("from"), Paths: paths, Delete: c.Bool("delete")})
		},
	}
}
