package main

import (
	"github.com/urfave/cli/v2"

	"hank/runtime"
)

func restoreCommand() *cli.Command {
	return &cli.Command{
		Name: "restore", Usage: "bring files back from a checkpoint; the place in the plan stays", ArgsUsage: "PATH…",
		Description: `PATH is relative to the workspace. What it holds now is put into a checkpoint first.
Without a terminal to ask on, --yes is needed.`,
		Flags: []cli.Flag{
			executionFlag,
			&cli.StringFlag{Name: "from", Usage: "the `TARGET` to take them from (default: last-success); see hank rollback --help"},
			&cli.BoolFlag{Name: "plan", Usage: "say what would be done, and change nothing"},
			yesFlag, jsonFlag, breakLockFlag,
		},
		Action: func(c *cli.Context) error {
			if err := arguments(c, 1, -1); err != nil {
				return err
			}
			return goBack(c, runtime.RollbackOptions{To: c.String("from"), Paths: c.Args().Slice()})
		},
	}
}
