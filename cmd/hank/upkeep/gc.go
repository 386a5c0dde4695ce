package upkeep

import (
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"hank/cmd/hank/call"
	"hank/internal/shell"
	"hank/internal/term"
	"hank/recovery/layout"
	"hank/runtime/exitcode"
	"hank/runtime/gc"
	"hank/runtime/report"
	"hank/runtime/report/output"
)

func GC() *cli.Command {
	return &cli.Command{
		Name: "gc", Usage: "list and delete unneeded data",
		Description: `Without --apply nothing is deleted. Removable data by kind:

temporary    leftovers of agents and interrupted copies
quarantine   quarantined damaged files
replaced     repositories that a rig replaced
timelines    checkpoints of runs abandoned by a rollback
recovery     checkpoints of what a rollback or a crash would have lost
transcripts  of runs abandoned by a rollback
archive      what such runs have moved to rigArchive; only if --only names it
homes        of agents, with their sessions, of a completed hank; only if --only names it
index        cost index and stat cache; only if --only names it: the next command
             rebuilds them, and takes longer

All but temporary and index must be older than --older-than. Data that a live run, the
current lineage path or rollback --undo needs is kept, as are the records of what the
runs did and cost, and that their checkpoints were removed. What stays is listed with
the reason. Deletion is permanent: export first if in doubt.

--executions deletes whole completed executions of this machine (see: hank ls) that
were not used for that long, and those that hank reset has moved: .hankweave, agentRoot
and rigArchive. The directory of an execution goes only if nothing else is in it, and a
workspace that was named with --workspace stays. One whose workspace has changed since,
or where something needs a decision, is kept and listed with the reason.
--orphans forgets executions whose directory no longer exists.

Examples: hank gc --apply --older-than 7d
          hank gc --only timelines,recovery --older-than 12h
          hank gc --executions --older-than 90d

Exit code 0: success; 2: unknown kind; 4: the checkpoint store is damaged, and nothing
was removed from it; 5: a run is in progress.`,
		Flags: []cli.Flag{call.ExecutionFlag,
			&cli.BoolFlag{Name: "apply", Usage: "delete what is listed"},
			&cli.BoolFlag{Name: "dry-run", Aliases: []string{"n"}, Usage: "only list, which is the default"},
			&cli.StringFlag{Name: "older-than", Value: "30d", Usage: "minimum `AGE` (such as 30d or 12h)"},
			&cli.StringSliceFlag{Name: "only", Usage: "only data of this `KIND` (several: comma-separated)"},
			&cli.BoolFlag{Name: "executions", Usage: "whole completed executions"},
			&cli.BoolFlag{Name: "orphans", Usage: "executions whose directory no longer exists"},
			call.JSONFlag},
		Action: func(c *cli.Context) error {
			if err := call.Arguments(c, 0, 0); err != nil {
				return err
			}
			if call.Exclusive(c, "apply", "dry-run") > 1 {
				return &exitcode.UsageError{Why: "--apply and --dry-run are mutually exclusive"}
			}
			p, err := policy(c)
			if err != nil {
				return err
			}
			if c.Bool("executions") || c.Bool("orphans") {
				return gcExecutions(c, p)
			}
			v, err := call.View(c)
			if err != nil {
				return err
			}
			out, err := report.CollectGarbage(c.Context, v, p, c.Bool("apply"), call.Work)
			if out == nil {
				return err
			}
			if out.Applied && out.HasIndex() {
				call.CatchUp(v.Layout.Root)
			}
			if c.Bool("json") {
				return errors.Join(call.JSON(output.Garbage{Garbage: out, Error: call.ProblemForThis(c, err)}), err)
			}
			return errors.Join(printGarbage(out, c), err)
		},
	}
}

// policy reads what may go.
func policy(c *cli.Context) (gc.Policy, error) {
	age, err := call.ParseAge(c.String("older-than"))
	p := gc.Policy{OlderThan: age, Now: time.Now()}
	for _, kind := range c.StringSlice("only") {
		if !slices.Contains(gc.Kinds, gc.Kind(kind)) {
			return p, call.NotOneOf("only", kind, Kinds()...)
		}
		p.Only = append(p.Only, gc.Kind(kind))
	}
	return p, err
}

// Kinds are the kinds of data that can go.
func Kinds() []string {
	out := make([]string, len(gc.Kinds))
	for i, k := range gc.Kinds {
		out[i] = string(k)
	}
	return out
}

func printGarbage(out *report.Garbage, c *cli.Context) error {
	t := term.NewTable(os.Stdout)
	t.Hang(2)
	t.Heading("", "kind", "size", "count", "where", "what")
	for _, g := range out.Items {
		word := "keep"
		if g.Remove {
			word = "remove"
		}
		if out.Applied {
			word = "removed"
		}
		what, bytes := term.Count(g.Files, "file"), term.Bytes(g.Bytes)
		switch {
		case g.Branch != "":
			what, bytes = g.Branch, "" // its objects are counted together with those of the others
		case g.Path == layout.LayoutOf(out.Execution).Store():
			what = term.Count(g.Files, "object")
		}
		t.Row(word, string(g.Kind), bytes, what, term.Path(term.ShortPath(g.Path)), g.Text())
	}
	t.Row("keep", "", term.Bytes(out.Checkpoints), "", "", "checkpoints and everything else: needed to continue, to roll back or to undo")
	if err := t.Flush(); err != nil {
		return err
	}
	if out.Applied {
		call.Say("%s freed\n", term.Bytes(out.Bytes))
		return nil
	}
	sayFreeable(c, out.Bytes, slices.ContainsFunc(out.Items, func(g gc.Garbage) bool { return g.Remove }))
	return nil
}

// sayFreeable says what could be deleted, and how; any: that is something.
func sayFreeable(c *cli.Context, bytes int64, any bool) {
	how := ""
	if any {
		how = "; delete with: " + applying(c)
	}
	call.Say("%s can be freed (dry run)%s\n", term.Bytes(bytes), how)
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
	return command + call.ExecutionOption(c)
}

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
		return errors.Join(call.JSON(output.ExpiredOf(out, call.ProblemForThis(c, err))), err)
	}
	t := term.NewTable(os.Stdout)
	t.Hang(2)
	t.Heading("", "size", "last used", "execution", "what")
	for _, x := range out.Items {
		word := "keep"
		if x.Remove {
			word = "remove"
		}
		if out.Applied && x.Remove {
			word = "removed"
		}
		t.Row(word, term.Bytes(x.Bytes), x.LastUsed.Local().Format("2006-01-02 15:04"), term.Path(x.Execution), x.What)
	}
	if err := errors.Join(err, t.Flush()); err != nil {
		return err
	}
	if out.Applied {
		call.Say("%s freed\n", term.Bytes(out.Bytes))
		return nil
	}
	sayFreeable(c, out.Bytes, slices.ContainsFunc(out.Items, func(x gc.Expired) bool { return x.Remove }))
	return nil
}
