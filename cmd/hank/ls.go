package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"hank/internal/registry"
	"hank/internal/term"
	"hank/recovery"
	"hank/recovery/layout"
	"hank/runtime/exitcode"
	"hank/runtime/verdict"
)

// executions is the JSON form of hank ls.
type executions struct {
	Schema     int      `json:"schema"`
	Executions []status `json:"executions"`
}

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
			list, err := listExecutions(c.Int("limit"), c.String("before"), c.Bool("prune"))
			if err != nil {
				return err
			}
			if c.Bool("json") {
				for i := range list {
					list[i] = list[i].forPrograms(list[i].isPersonal())
				}
				return printJSON(executions{1, list})
			}
			t := term.NewTable(os.Stdout)
			for _, s := range list {
				word := statusWord(s)
				if n := len(s.CutOff) + len(s.Ignored) + len(s.FullContext) + len(s.Skipped); n > 0 && s.Verdict == verdict.Completed {
					word += term.Sprintf(" (%s)", count(n, "caveat"))
				}
				t.Row(word, fmt.Sprintf("%d/%d", s.Done, s.Planned), s.Cost.Text(), s.Execution+"  "+s.Hank)
			}
			return t.Flush()
		},
	}
}

func listExecutions(limit int, before string, prune bool) ([]status, error) {
	entries, err := registry.List()
	if err != nil {
		return nil, fmt.Errorf("the list of executions cannot be read: %w", err)
	}
	slices.SortFunc(entries, func(a, b registry.Entry) int { return b.LastUsed.Compare(a.LastUsed) })
	if before != "" {
		root, err := layout.Find(before)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(entries, func(e registry.Entry) bool { return e.Root == root })
		if at < 0 {
			return nil, &exitcode.UsageError{Why: fmt.Sprintf("%s, which --before names, is not in the list; see: hank ls --limit 0", shorten(root))}
		}
		entries = entries[at+1:]
	}
	list := []status{}
	for _, e := range entries {
		if limit > 0 && len(list) == limit {
			break
		}
		v, err := recovery.Read(e.Root)
		if err == nil && v.State.Lineage == e.Lineage {
			list = append(list, statusOf(v))
			continue
		}
		if prune && !layout.Exists(e.Root) {
			if err := registry.Remove(e.Root); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}
