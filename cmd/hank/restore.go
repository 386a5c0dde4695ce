package main

import (
	"github.com/urfave/cli/v2"

	"hank/runtime"
)

func restoreCommand() *cli.Command {
	return &cli.Command{
		Name: "restore", Usage: "bring files back from a checkpoint; the place in the plan stays", ArgsUsage: "PATH…",
		Description: `PATH is relative to the workspace. What it holds now is put into a checkpoint first.
Without a terminal to ask on, --yes is needed.

Example: hank restore report.md data/raw --from gather --yes

Exit code 0: done; 2: TARGET or PATH names nothing; 4: nobody is there to be asked and
--yes is missing, or something that no checkpoint holds is in the way; 5: a run is at
work.`,
		Flags: []cli.Flag{
			executionFlag,
			&cli.StringFlag{Name: "from", Usage: "the `TARGET` to take them from (default: last-success); see hank rollback --help"},
			&cli.BoolFlag{Name: "plan", Usage: "say what would be done, and change nothing"},
			capFlag, yesFlag, jsonFlag, breakLockFlag,
		},
		Action: func(c *cli.Context) error {
			if err := arguments(c, 1, -1); err != nil {
				return err
			}
			return goBack(c, runtime.RollbackOptions{To: c.String("from"), Paths: c.Args().Slice()})
		},
	}
}
