package main

import (
	"github.com/urfave/cli/v2"

	"hank/runtime/history"
)

func restoreCommand() *cli.Command {
	return &cli.Command{
		Name: "restore", Usage: "restore files from a checkpoint (does not change progress)", ArgsUsage: "PATH…",
		Description: `PATH is relative to the workspace; . is all of it. Without --from, a terminal offers
the nearest checkpoints; with --yes or --dry-run it is last-success. The current
contents of PATH are checkpointed first. Files that TARGET does not have are kept, unless --delete is given;
if they are in the way of what TARGET has, nothing is done without it. When not running
interactively, --yes is required.

Examples: hank restore report.md data/raw --from gather --yes
          hank restore data --from @~2 --delete --dry-run

Exit code 0: success; 2: no TARGET, unknown TARGET or PATH, or PATH is not in TARGET and --delete
is missing; 4: confirmation required (use --yes), or something is in the way that no
checkpoint has, or that only --delete deletes (also with --dry-run); 5: a run is in progress.`,
		Flags: []cli.Flag{
			executionFlag,
			&cli.StringFlag{Name: "from", Usage: "checkpoint `TARGET` to restore from; see hank rollback --help"},
			&cli.BoolFlag{Name: "delete", Usage: "delete what codons have added at PATH and TARGET does not have"},
			opIDFlag, dryRunFlag, capFlag, yesFlag, jsonFlag, breakLockFlag,
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
