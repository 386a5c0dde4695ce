package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"hank/internal/term"
	"hank/recovery"
	"hank/runtime/exitcode"
	"hank/runtime/report"
	"hank/runtime/report/output"
	"hank/runtime/verdict"
	"hank/state"
)

func showCommand() *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "show details of a run, codon or loop", ArgsUsage: "[RUN|CODON|LOOP]",
		Description: `Without an argument: all runs, newest first. A codon is shown with each of its
attempts, newest first: review#1 is one iteration of a loop, review the newest that has begun.
A loop is shown with its iterations: what each has changed, what it cost, and what was
decided after it. With --session: the attempts that have worked in
an agent's session; the beginning of its id is enough. --json has every field.

Examples: hank show
          hank show review#1 --limit 1 --json
          hank show polish
          hank show --session 51086140

Exit code 0: printed; 2: no such run, codon, loop or session.`,
		Flags: []cli.Flag{executionFlag, limitFlag,
			&cli.StringFlag{Name: "session", Usage: "show the attempts that have worked in the agent's session `ID`"},
			&cli.StringFlag{Name: "before", Usage: "show only runs older than `RUN`"}, jsonFlag},
		Action: func(c *cli.Context) error {
			if err := arguments(c, 0, 1); err != nil {
				return err
			}
			v, err := view(c)
			if err != nil {
				return err
			}
			name := c.Args().First()
			if c.IsSet("session") {
				if name != "" {
					return &exitcode.UsageError{Why: "--session goes without a run, codon or loop"}
				}
				list, err := report.ListSession(v, c.String("session"), c.Int("limit"), c.String("before"), executionOption(c))
				return printAttempts(c, list, err)
			}
			run := v.State.Run(state.RunID(name))
			if run == nil && report.IsLoop(v, state.CodonID(name)) {
				return showLoop(c, v, state.CodonID(name))
			}
			if name != "" && run == nil {
				return showCodon(c, v, state.CodonID(name))
			}
			return showRuns(c, v, run)
		},
	}
}

func showRuns(c *cli.Context, v *recovery.View, named *state.Run) error {
	list, err := report.ListRuns(v, named, c.Int("limit"), c.String("before"), executionOption(c))
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return printJSON(output.RunsOf(list))
	}
	say("%s  %s\n", term.Bold(os.Stdout, list.Name), list.Summary())
	if list.Limits.Any() {
		say("limit %s\n", verdict.DescribeLimits(list.Limits, v.State.Bill().Paid(), -1))
	}
	for _, g := range list.Gates {
		say("gate %s: %s\n", g.Gate, report.GateSentence(&g))
	}
	for _, r := range list.Runs {
		if err := printRun(r); err != nil {
			return err
		}
	}
	return nil
}

func printRun(r report.Run) error {
	say("run %s  %s  %s, %s, %s, %s\n", term.Bold(os.Stdout, string(r.RunID)), r.Verdict, r.Origin(), r.StartTime.Local().Format(time.DateTime), r.Worked(), r.Bill().Text())
	if ending := r.Ending(); ending != "" {
		say("  %s: %s\n", r.Verdict, ending)
	}
	if r.Note != "" {
		say("  note: %s\n", r.Note)
	}
	for _, key := range slices.Sorted(maps.Keys(r.Labels)) {
		say("  label: %s=%s\n", key, r.Labels[key])
	}
	t := term.NewTable(os.Stdout)
	t.Fit()
	if len(r.Codons) > 0 {
		t.Heading("  codon", "result", "took", "cost", "checkpoint")
	}
	for _, k := range r.Attempts() {
		t.Row("  "+string(k.CodonID), k.Verdict, orDefault(took(k), "-"), k.Bill().Short(), orDefault(report.Short(k.Checkpoint()), "-"), k.Why())
	}
	return t.Flush()
}

func took(k report.Attempt) string {
	if d, over := k.Took(); over {
		return term.Duration(d)
	}
	return ""
}

func showCodon(c *cli.Context, v *recovery.View, id state.CodonID) error {
	list, err := report.ListAttempts(v, id, c.Int("limit"), c.String("before"), executionOption(c), settingsHere(c).Layers)
	return printAttempts(c, list, err)
}

func printAttempts(c *cli.Context, list *report.Attempts, err error) error {
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return printJSON(output.AttemptsOf(list, commandForThis(c, list.Finish)))
	}
	for i, k := range list.Codons {
		finish := ""
		if i == 0 && list.Finish != "" {
			finish = commandForThis(c, list.Finish) + report.Before(list.FinishFirst)
		}
		printCodon(c, k, finish, list.Transcript(k))
	}
	return nil
}

func showLoop(c *cli.Context, v *recovery.View, id state.CodonID) error {
	l, err := report.ReadLoop(v, id, c.Int("limit"))
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return printJSON(output.LoopOf(l))
	}
	say("%s  %s\n", term.Bold(os.Stdout, string(l.LoopID)), l.Summary())
	t := term.NewTable(os.Stdout)
	t.Hang(1)
	t.Heading("  iteration", "result", "took", "changed", "cost", "decision", "votes")
	for _, i := range l.Iterations {
		t.Row(fmt.Sprintf("  %d", i.Iteration), i.Result, term.Duration(i.Took()), orDefault(i.ChangedText(), "-"), i.Bill.Short(), orDefault(i.Decided(), "-"), i.VotesText())
	}
	return t.Flush()
}

func printCodon(c *cli.Context, k report.Attempt, finish, transcript string) {
	say("%s  %s  attempt %d in run %s%s\n", term.Bold(os.Stdout, string(k.CodonID)), k.Verdict, max(k.Attempt, 1), k.RunID, k.LeftText())
	line := func(label, format string, args ...any) {
		say("  %-12s %s\n", label, term.Sprintf(format, args...))
	}
	line("started", "%s", k.StartTime.Local().Format(time.DateTime))
	if d := took(k); d != "" {
		line("took", "%s", d)
	}
	if k.SkipReason != "" {
		line("because", "%s", k.SkipReason)
	} else if more := verdict.Qualification(k.Codon); more != "" {
		line("but", "%s", more)
	}
	if finish != "" {
		line("to finish", "%s", finish)
	}
	if f := k.FailureReason; f != nil {
		line(k.Verdict.String(), "%s%s", strings.ReplaceAll(strings.TrimSpace(verdict.Beside(k.Verdict, f.Message)), "\n", "\n               "), report.During(k.Codon))
		line("", "%s", forThis(c, k.Evidence()))
	}
	if k.Reply != "" {
		line("reply", "%s", strings.ReplaceAll(strings.TrimSpace(k.Reply), "\n", "\n               "))
	}
	if k.Interrupted != "" {
		line("interrupted", "by %s", k.Interrupted)
	}
	if n := k.ExtensionCount; n != nil && *n > 0 {
		line("extended", "%s in the same session (exhaustWithPrompt)", term.Count(*n, "more prompt"))
	}
	used := ""
	if n := k.TokenCount(); n.Input+n.Output+n.CacheCreation+n.CacheRead > 0 {
		used = fmt.Sprintf("; %s input, %s output, %s cache-write, %s cache-read tokens",
			humanize.Comma(n.Input), humanize.Comma(n.Output), humanize.Comma(n.CacheCreation), humanize.Comma(n.CacheRead))
	}
	line("cost", "%s%s", k.Bill().Text(), used)
	if agent := strings.TrimSpace(k.Harness + " " + k.Model); k.Harness != "" && k.Model != "" && k.Harness != k.Model {
		line("agent", "%s (%s), session %s", k.Harness, k.Model, orDefault(k.ClaudeSessionID, "none"))
	} else if agent != "" {
		line("agent", "%s, session %s", cmp.Or(k.Harness, k.Model), orDefault(k.ClaudeSessionID, "none"))
	} else if k.ClaudeSessionID != "" {
		line("session", "%s", k.ClaudeSessionID)
	}
	if k.AgentEnd != nil {
		line("agent's end", "%s", k.AgentEnd)
	}
	if k.FallbackOf != "" {
		line("fallback", "it worked with %s instead of its own model %s", k.Model, k.FallbackOf)
	}
	for _, s := range k.Sentinels.All() {
		line("sentinel", "%s", s)
	}
	for _, s := range []struct {
		label string
		sha   state.SHA
	}{{"from", k.BaseCheckpoint}, {"rig", k.RigSetupCheckpoint}, {"completed", k.CompletionCheckpoint}, {"error", k.ErrorCheckpoint}, {"skipped", k.SkipCheckpoint}} {
		if s.sha != "" {
			line(s.label, "checkpoint %s", report.Short(s.sha))
		}
	}
	if k.SessionCheckpoint != "" {
		line("session kept", "checkpoint %s", report.Short(k.SessionCheckpoint))
	}
	if transcript != "" {
		line("transcript", "%s", transcript)
	}
	for _, n := range k.Notes {
		line("note", "%s", n)
	}
}
