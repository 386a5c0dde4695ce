package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"hank/internal/term"
	"hank/recovery"
	"hank/runtime/exitcode"
	"hank/runtime/history"
	"hank/runtime/verdict"
	"hank/state"
)

func showCommand() *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "show everything about a run or a codon", ArgsUsage: "[RUN|CODON]",
		Description: `Without an argument: all runs, the newest first. A codon is shown with each of its
attempts, the newest first. --json has every field.

Examples: hank show
          hank show review#1 --limit 1 --json

Exit code 0: printed; 2: there is no such run or codon.`,
		Flags: []cli.Flag{executionFlag, limitFlag,
			&cli.StringFlag{Name: "before", Usage: "print only runs older than this `RUN`"}, jsonFlag},
		Action: func(c *cli.Context) error {
			if err := arguments(c, 0, 1); err != nil {
				return err
			}
			v, err := view(c)
			if err != nil {
				return err
			}
			runs, err := runsBefore(v.State.Runs, c.String("before"))
			if err != nil {
				return err
			}
			name := c.Args().First()
			if run := v.State.Run(state.RunID(name)); run != nil {
				return showRuns(c, v, []*state.Run{run})
			}
			if name == "" {
				return showRuns(c, v, runs)
			}
			return showCodon(c, v, runs, state.CodonID(name))
		},
	}
}

func runsBefore(runs []*state.Run, before string) ([]*state.Run, error) {
	if before == "" {
		return runs, nil
	}
	at := slices.IndexFunc(runs, func(r *state.Run) bool { return r.RunID == state.RunID(before) })
	if at < 0 {
		return nil, &exitcode.UsageError{Why: fmt.Sprintf("there is no run %q; see: hank show", before)}
	}
	return runs[at+1:], nil
}

// runView is a run with its records, as JSON.
type runView struct {
	*state.Run
	Verdict verdict.Verdict `json:"verdict"` // in a word for people
	Codons  []*state.Codon  `json:"codons"`
}

// shownRuns and shownCodons are the JSON forms of hank show.
type shownRuns struct {
	Schema int          `json:"schema"`
	Limits state.Limits `json:"limits,omitzero"` // of the execution
	Runs   []runView    `json:"runs"`
}

type shownCodons struct {
	Schema int         `json:"schema"`
	Codons []codonView `json:"codons"`
}

// codonView is a record with the run that holds it.
type codonView struct {
	RunID   state.RunID     `json:"runId"`
	Verdict verdict.Verdict `json:"verdict"` // in a word for people
	*state.Codon
}

func showRuns(c *cli.Context, v *recovery.View, runs []*state.Run) error {
	if limit := c.Int("limit"); limit > 0 && len(runs) > limit {
		runs = runs[:limit]
	}
	if c.Bool("json") {
		out := shownRuns{Schema: 1, Limits: v.State.Limits, Runs: []runView{}}
		for _, r := range runs {
			out.Runs = append(out.Runs, runView{r, verdict.OfRun(v, r), r.Codons()})
		}
		return printJSON(out)
	}
	if l := v.State.Limits; l.Any() {
		say("limit %s\n", verdict.DescribeLimits(l, v.State.TotalCost(), -1))
	}
	for _, r := range runs {
		if err := printRun(r, verdict.OfRun(v, r)); err != nil {
			return err
		}
	}
	return nil
}

func printRun(r *state.Run, how verdict.Verdict) error {
	began := r.StartingConditions.Type
	if src := r.StartingConditions.Source; src != nil {
		began = fmt.Sprintf("%s of %s", r.StartingConditions.Reason, src.RunID)
	}
	say("run %s  %s  %s, %s, %s\n", term.Bold(os.Stdout, string(r.RunID)), how, began, r.StartTime.Local().Format(time.DateTime), r.Cost().Text())
	if r.EndDetail != "" && (how == verdict.Budget || how == verdict.Paused) {
		say("  %s: %s\n", how, firstLine(r.EndDetail))
	}
	if r.Note != "" {
		say("  note: %s\n", r.Note)
	}
	for _, key := range slices.Sorted(maps.Keys(r.Labels)) {
		say("  label: %s=%s\n", key, r.Labels[key])
	}
	t := term.NewTable(os.Stdout)
	for _, k := range r.Codons() {
		t.Row("  "+string(k.CodonID), string(verdict.OfCodon(k, how)), orDefault(took(k), "-"), k.Cost().Text(), orDefault(short(k.Checkpoint()), "-"), why(k))
	}
	return t.Flush()
}

func took(k *state.Codon) string {
	if k.EndTime == nil {
		return ""
	}
	return term.Duration(k.EndTime.Sub(k.StartTime.Time))
}

func why(k *state.Codon) string {
	said := verdict.Qualification(k)
	if k.FailureReason == nil || verdict.OfCodon(k, "") == verdict.Stopped {
		return said
	}
	if said != "" {
		said += ": "
	}
	return said + firstLine(k.FailureReason.Message)
}

func showCodon(c *cli.Context, v *recovery.View, runs []*state.Run, id state.CodonID) error {
	out := shownCodons{Schema: 1, Codons: []codonView{}}
	for _, r := range runs {
		for i := r.Len() - 1; i >= 0; i-- {
			if k := r.Codon(i); k.CodonID == id {
				out.Codons = append(out.Codons, codonView{r.RunID, verdict.OfCodon(k, verdict.OfRun(v, r)), k})
			}
		}
	}
	if len(out.Codons) == 0 {
		if knows(v.State, id) {
			return &exitcode.UsageError{Why: fmt.Sprintf("codon %s has not run yet; see: hank plan", id)}
		}
		return &exitcode.UsageError{Why: fmt.Sprintf("there is neither a run nor a codon %q%s see: hank show, hank plan", id, cmp.Or(history.MeantCodon(v.State, id), ";"))}
	}
	if limit := c.Int("limit"); limit > 0 && len(out.Codons) > limit {
		out.Codons = out.Codons[:limit]
	}
	if c.Bool("json") {
		return printJSON(out)
	}
	for i, k := range out.Codons {
		finish := ""
		if i == 0 && !v.Live {
			command, first := verdict.Finish(v.State, id)
			finish = commandForThis(c, command) + before(first)
		}
		printCodon(c, k, finish)
	}
	return nil
}

// evidence is how a failure was told, as far as its record says.
func evidence(f *state.FailureReason) string {
	text := ""
	if f.Class != "" {
		text += f.Class + ", "
	}
	if f.Rule != "" {
		text += "rule " + f.Rule + ", "
	}
	return text
}

// again is whether another attempt may end otherwise.
func again(k codonView) string {
	switch {
	case k.Verdict == verdict.Refused:
		command := "hank run"
		if _, corrected := verdict.RefusedModel(k.Codon); corrected != "" {
			command = corrected
		}
		return command + " does it again, once the cause is removed"
	case k.FailureReason.Retriable:
		return "may be tried again"
	}
	return "trying again will not help"
}

func printCodon(c *cli.Context, k codonView, finish string) {
	say("%s  %s  attempt %d in run %s\n", term.Bold(os.Stdout, string(k.CodonID)), k.Verdict, max(k.Attempt, 1), k.RunID)
	line := func(label, format string, args ...any) {
		say("  %-12s %s\n", label, term.Sprintf(format, args...))
	}
	line("started", "%s", k.StartTime.Local().Format(time.DateTime))
	if d := took(k.Codon); d != "" {
		line("took", "%s", d)
	}
	if more := verdict.Qualification(k.Codon); more != "" {
		line("but", "%s", more)
	}
	if finish != "" {
		line("to finish", "%s", finish)
	}
	if f := k.FailureReason; f != nil {
		during := ""
		if k.FailedDuring != "" {
			during = fmt.Sprintf("while %s: ", k.FailedDuring)
		}
		line(string(k.Verdict), "%s%s", during, strings.ReplaceAll(strings.TrimSpace(f.Message), "\n", "\n               "))
		line("", "%s%s", evidence(f), forThis(c, again(k)))
	}
	if k.Interrupted != "" {
		line("interrupted", "by %s", k.Interrupted)
	}
	tokens := k.TokenCount()
	line("cost", "%s; %d tokens in, %d out, %d written to and %d read from the cache", k.Cost().Text(), tokens.Input, tokens.Output, tokens.CacheCreation, tokens.CacheRead)
	if agent := strings.TrimSpace(k.Harness + " " + k.Model); k.Harness != "" && k.Model != "" && k.Harness != k.Model {
		line("agent", "%s (%s), session %s", k.Harness, k.Model, orDefault(k.ClaudeSessionID, "none"))
	} else if agent != "" {
		line("agent", "%s, session %s", cmp.Or(k.Harness, k.Model), orDefault(k.ClaudeSessionID, "none"))
	} else if k.ClaudeSessionID != "" {
		line("session", "%s", k.ClaudeSessionID)
	}
	for _, s := range []struct {
		label string
		sha   state.SHA
	}{{"from", k.BaseCheckpoint}, {"rig", k.RigSetupCheckpoint}, {"completed", k.CompletionCheckpoint}, {"error", k.ErrorCheckpoint}, {"skipped", k.SkipCheckpoint}} {
		if s.sha != "" {
			line(s.label, "checkpoint %s", short(s.sha))
		}
	}
	if k.ClaudeLogPath != "" {
		line("transcript", "%s", k.ClaudeLogPath)
	}
	for _, n := range k.Notes {
		line("note", "%s", n)
	}
}
