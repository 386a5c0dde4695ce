package upkeep

import (
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"hank/cmd/hank/call"
	"hank/internal/term"
	"hank/runtime/exitcode"
	"hank/runtime/history"
	"hank/runtime/report"
	"hank/runtime/report/output"
	"hank/state"
)

func Checkpoints() *cli.Command {
	return &cli.Command{
		Name: "checkpoints", Usage: "list the checkpoints, newest first; export and import them",
		ArgsUsage: "[export|import DIR|REMOTE]",
		Description: `A * marks the workspace's current checkpoint. Restore any of them with hank rollback
--to SHA; inspect one with hank diff SHA. To see more than --limit shows, pass the last
SHA of the list to --before. --graph draws the history as a graph.

export copies all of them to another Git repository: in the directory DIR (created if
it does not exist) or at REMOTE, any Git URL. Branches are created under --prefix
(default: hank/ and the beginning of the execution's lineage). Nothing there is deleted
or force-updated. Safe at any time, including during a run. What agents said is not in
it: with --sessions, the sessions of agents that codons have ended with are.

import copies them back. With -e NEWDIR, it creates a new execution from them: its
runs, records and costs, and the workspace as it was last.

Examples: hank checkpoints --limit 10 --before last-success
          hank checkpoints --graph
          hank checkpoints export git@example.com:me/backup.git
          hank checkpoints import git@example.com:me/backup.git -e again

Exit code 0: success; 2: no such run, or several executions found and no --prefix;
4: some branches have diverged, or the directory of a new execution has files
(--keep-tree or --restore decides), or files for secrets (.env) in it would be
checkpointed (--exclude-secrets or --include-secrets decides); 5: a run is in progress.`,
		Flags: []cli.Flag{call.ExecutionFlag, &cli.StringFlag{Name: "run", Usage: "only those of `RUN`"}, call.LimitFlag,
			&cli.StringFlag{Name: "before", Usage: "show only entries older than `TARGET`"},
			&cli.BoolFlag{Name: "graph", Usage: "draw the tree of runs"},
			&cli.StringFlag{Name: "prefix", Usage: "branch prefix `NAME` in the other repository"},
			&cli.BoolFlag{Name: "sessions", Usage: "export the sessions of agents, too"},
			&cli.BoolFlag{Name: "keep-tree", Usage: "import into a directory with files: leave them as they are"},
			&cli.BoolFlag{Name: "restore", Usage: "import into a directory with files: restore the newest checkpoint (the files are saved in another one)"},
			&cli.BoolFlag{Name: "exclude-secrets", Usage: "import into a directory with files: keep those whose names suggest secrets (.env, id_rsa, ...), and exclude them from every checkpoint"},
			&cli.BoolFlag{Name: "include-secrets", Usage: "import into a directory with files: treat such files like all others"},
			call.BreakLockFlag, call.JSONFlag},
		Action: func(c *cli.Context) error {
			if err := call.Arguments(c, 0, 2); err != nil {
				return err
			}
			if c.Bool("include-secrets") && c.Bool("exclude-secrets") {
				return &exitcode.UsageError{Why: "--include-secrets and --exclude-secrets are mutually exclusive"}
			}
			if c.Bool("keep-tree") && c.Bool("restore") {
				return &exitcode.UsageError{Why: "--keep-tree and --restore are mutually exclusive"}
			}
			switch verb := c.Args().First(); {
			case c.Bool("sessions") && verb != "export":
				return &exitcode.UsageError{Why: "--sessions goes with export; an import takes the sessions that are there"}
			case verb == "":
				return listCheckpoints(c)
			case verb != "export" && verb != "import":
				return &exitcode.UsageError{Why: fmt.Sprintf("hank checkpoints: unexpected argument %q; see: hank checkpoints --help", verb)}
			case c.NArg() < 2:
				return &exitcode.UsageError{Why: "hank checkpoints " + verb + " needs a directory or the URL of a Git repository"}
			case verb == "export":
				return exportCheckpoints(c, c.Args().Get(1))
			}
			return importCheckpoints(c, c.Args().Get(1))
		},
	}
}

func listCheckpoints(c *cli.Context) error {
	v, err := call.View(c)
	if err != nil {
		return err
	}
	before := c.String("before")
	list, err := report.ReadCheckpoints(c.Context, v, history.ListOptions{Run: state.RunID(c.String("run")), Limit: c.Int("limit"), Before: before})
	if err != nil {
		return err
	}
	if name, _, _ := strings.Cut(strings.TrimPrefix(before, "codon:"), ":"); strings.HasPrefix(string(list.Before.CodonID), name+"#") {
		call.Remark("before %s\n", list.Before) // the name has left out the iteration
	}
	if c.Bool("json") {
		return call.JSON(output.CheckpointsOf(list))
	}
	if c.Bool("graph") {
		err = printGraph(v.State, list, c.Int("limit"))
	} else {
		err = printCheckpoints(list.Checkpoints, c.Int("limit"))
	}
	if n := len(list.Lost); err == nil && n > 0 {
		names := make([]string, min(n, report.Fewer))
		for i := range names {
			names[i] = list.Lost[i].String()
		}
		call.Remark("%s cannot be read whole (%s%s); see: hank doctor%s\n", term.Count(n, "checkpoint"), strings.Join(names, ", "), andMore(n), call.ExecutionOption(c))
	}
	return err
}

func andMore(n int) string {
	if n <= report.Fewer {
		return ""
	}
	return fmt.Sprintf(" and %d more", n-report.Fewer)
}

func printCheckpoints(list []history.Listed, limit int) error {
	t := term.NewTable(os.Stdout)
	t.Spare(1)
	t.Heading("", "checkpoint", "time", "kind", "codon", "name", "branch")
	for _, k := range list {
		mark := " "
		if k.Current {
			mark = "*"
		}
		t.Row(mark, report.Short(k.SHA), k.Time.Local().Format("2006-01-02 15:04:05"), call.OrDefault(string(k.Kind), "-"), call.OrDefault(string(k.CodonID), "-"), report.ShortNames(k.Name), k.Branch)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if limit > 0 && len(list) == limit {
		call.Remark("there may be more: --before %s, or --limit 0\n", report.Short(list[limit-1].SHA))
	}
	return nil
}

// printGraph draws the tree of runs: beside each run's newest checkpoint it shows
// where the run came from, and at the end those whose checkpoints are gone.
func printGraph(s *state.State, list *report.Checkpoints, limit int) error {
	tips := map[state.SHA]string{}
	for _, r := range s.Runs {
		if r.Head != "" && r.Removed == nil {
			tips[r.Head] = cameFrom(r)
		}
	}
	for _, line := range history.Graph(list.Checkpoints) {
		k := line.At
		if k == nil {
			call.Say("%s\n", line.Draw)
			continue
		}
		name := string(k.Kind)
		if k.CodonID != "" {
			name = string(k.CodonID) + ":" + name
		}
		text := fmt.Sprintf("%s  %s  %s  %s", line.Draw, report.Short(k.SHA), k.Time.Local().Format("2006-01-02 15:04:05"), call.OrDefault(name, "-"))
		if k.Name != "" && k.Kind == state.KindRecovery {
			text += " " + report.ShortNames(k.Name)
		}
		if k.Current {
			text += "  <- current workspace"
		}
		if k.Cut {
			text += "  <- earlier history is lost"
		}
		if from, tip := tips[k.SHA]; tip {
			text += "  (" + k.Branch + from + ")"
		} else if k.Kind == state.KindInitial || k.Kind == state.KindRecovery {
			text += "  (" + k.Branch + ")"
		}
		call.Say("%s\n", text)
	}
	for _, r := range list.Removed {
		call.Say("x  %s  %s, removed by hank gc on %s\n", report.Short(r.Head), r.Branch, r.Time.Local().Format("2006-01-02 15:04"))
	}
	if limit > 0 && len(list.Checkpoints) == limit {
		call.Remark("there may be more: --limit 0\n")
	}
	return nil
}

// cameFrom says where a run began, for people.
func cameFrom(r *state.Run) string {
	src := r.StartingConditions.Source
	if src == nil {
		return ""
	}
	from := "from the beginning"
	if src.AfterCodon != nil {
		from = fmt.Sprintf("from after %q in run %s", *src.AfterCodon, src.RunID)
	}
	return fmt.Sprintf(", %s, %s", call.OrDefault(r.StartingConditions.Reason, "continue"), from)
}
