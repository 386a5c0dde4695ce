package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"hank/internal/shell"
	"hank/internal/term"
	"hank/recovery/layout"
	"hank/runtime/exitcode"
	"hank/runtime/gc"
	"hank/runtime/report"
)

func gcCommand() *cli.Command {
	return &cli.Command{
		Name: "gc", Usage: "list what an execution could do without, and delete it",
		Description: `Without --apply nothing is deleted. What can go, by its kind:

index        cost index and stat cache: made anew when needed
temporary    what agents, and copies that were cut off, have left
quarantine   damaged files that were set aside
replaced     repositories that a rig replaced
timelines    the checkpoints of runs that a rollback left behind
recovery     checkpoints of what a rollback or a crash would have lost
transcripts  of runs that a rollback left behind
archive      what such runs have moved to rigArchive; goes only where --only names it
homes        of agents, with their sessions, once the hank is done; likewise

All but the first two must be older than --older-than. What a live run, the present
thread or rollback --undo needs stays. What the runs did and cost stays known, and
that their checkpoints were removed. For good: export them first, if in doubt.

--executions is about whole executions of this machine (see: hank ls): those whose
hank is done and that were not used for so long go with their workspace; one whose
workspace was changed since, or where something needs a decision, stays and is named
with the reason. --orphans forgets those whose folder is gone.

Examples: hank gc --apply --older-than 7d
          hank gc --only timelines,recovery --older-than 12h
          hank gc --executions --older-than 90d

Exit code 0: done; 2: no such kind; 4: the checkpoint store is damaged, and nothing
was removed from it; 5: a run is at work.`,
		Flags: []cli.Flag{executionFlag,
			&cli.BoolFlag{Name: "apply", Usage: "delete"},
			&cli.StringFlag{Name: "older-than", Value: "30d", Usage: "`AGE` from which on things go: 30d, 12h"},
			&cli.StringSliceFlag{Name: "only", Usage: "only things of this `KIND`; more than one: with commas"},
			&cli.BoolFlag{Name: "executions", Usage: "whole executions that are done"},
			&cli.BoolFlag{Name: "orphans", Usage: "executions whose folder is gone"},
			jsonFlag},
		Action: func(c *cli.Context) error {
			if err := arguments(c, 0, 0); err != nil {
				return err
			}
			p, err := policy(c)
			if err != nil {
				return err
			}
			if c.Bool("executions") || c.Bool("orphans") {
				return gcExecutions(c, p)
			}
			v, err := view(c)
			if err != nil {
				return err
			}
			out, err := report.CollectGarbage(c.Context, v, p, c.Bool("apply"), work)
			if out == nil {
				return err
			}
			if out.Applied && out.HasIndex() {
				catchUp(v.Layout.Root)
			}
			if c.Bool("json") {
				return errors.Join(printJSON(out), err)
			}
			return errors.Join(printGarbage(out, c), err)
		},
	}
}

// policy reads what may go.
func policy(c *cli.Context) (gc.Policy, error) {
	age, err := parseAge(c.String("older-than"))
	p := gc.Policy{OlderThan: age, Now: time.Now()}
	for _, kind := range c.StringSlice("only") {
		if !slices.Contains(gc.Kinds, gc.Kind(kind)) {
			return p, &exitcode.UsageError{Why: fmt.Sprintf("--only does not know %q; there are %s", kind, joined(gc.Kinds))}
		}
		p.Only = append(p.Only, gc.Kind(kind))
	}
	return p, err
}

// joined is a list of words.
func joined[T ~string](words []T) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = string(w)
	}
	return strings.Join(out, ", ")
}

func printGarbage(out *report.Garbage, c *cli.Context) error {
	t := term.NewTable(os.Stdout)
	for _, g := range out.Items {
		word := "stays"
		if g.Remove {
			word = "goes"
		}
		if out.Applied {
			word = "deleted"
		}
		what, bytes := term.Count(g.Files, "file"), term.Bytes(g.Bytes)
		switch {
		case g.Branch != "":
			what, bytes = g.Branch, "" // its objects are counted together with those of the others
		case g.Path == layout.LayoutOf(out.Execution).Store():
			what = term.Count(g.Files, "object")
		}
		t.Row(word, string(g.Kind), bytes, what, term.ShortPath(g.Path), g.What)
	}
	t.Row("stays", "", term.Bytes(out.Checkpoints), "", "", "checkpoints, with all that is not named above")
	if err := t.Flush(); err != nil {
		return err
	}
	if out.Applied {
		say("%s freed\n", term.Bytes(out.Bytes))
		return nil
	}
	say("%s can go; nothing was deleted: %s\n", term.Bytes(out.Bytes), applying(c))
	return nil
}

// applying is the command that deletes what this one has listed.
func applying(c *cli.Context) string {
	command := "hank gc --apply"
	for _, name := range []string{"executions", "orphans"} {
		if c.Bool(name) {
			command += " --" + name
		}
	}
	if c.IsSet("older-than") {
		command += " --older-than " + shell.Quote(c.String("older-than"))
	}
	if kinds := c.StringSlice("only"); len(kinds) > 0 {
		command += " --only " + shell.Quote(strings.Join(kinds, ","))
	}
	return command + executionOption(c)
}

// parseAge reads a time span, in days too.
func parseAge(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, &exitcode.UsageError{Why: fmt.Sprintf("an age is a number with a unit, such as 30d, 12h or 10m, not %q", text)}
	}
	return d, nil
}
