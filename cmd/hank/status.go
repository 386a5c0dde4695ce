package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"hank/internal/term"
	"hank/recovery/layout"
	"hank/runtime/report"
	"hank/runtime/verdict"
	"hank/state"
)

func statusCommand() *cli.Command {
	return &cli.Command{
		Name: "status", Usage: "show the status of an execution",
		Description: `Reads only: safe at any time, including during a run.

Example: hank status --json | jq .nextCodon

Exit code 0: printed, whatever the status; 4: the state cannot be read.`,
		Flags: []cli.Flag{executionFlag, jsonFlag},
		Action: func(c *cli.Context) error {
			if err := arguments(c, 0, 0); err != nil {
				return err
			}
			root, err := executionOf(c)
			if err != nil {
				return err
			}
			s, err := report.ReadStatus(c.Context, root, settingsHere(c), executionOption(c))
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return printJSON(s)
			}
			printStatus(s, c)
			return nil
		},
	}
}

func printStatus(s *report.Status, c *cli.Context) {
	title := statusWord(s)
	if more := verdict.CaveatText(s.Caveats); more != "" && s.Verdict == verdict.Completed {
		title += term.Sprintf(", with %s", more)
	}
	say("%s  %s\n", term.Bold(os.Stdout, term.ShortPath(s.Execution)), title)
	line := func(label, format string, args ...any) {
		say("  %-11s %s\n", label, term.Painted(strings.ReplaceAll(string(term.Sprintf(format, args...)), "\n", " ")))
	}
	now := time.Now()
	line("codons", "%s, %s", verdict.ProgressText(s.Done, s.Planned, s.Caveats), s.Bill.Text())
	if s.Limits.Any() {
		line("limit", "%s", verdict.DescribeLimits(s.Limits, s.Paid(), -1))
	}
	line("workspace", "%s", term.ShortPath(s.Workspace))
	switch last := s.LastCodon; {
	case s.LiveCodon != nil:
		since := term.Duration(now.Sub(s.LiveCodon.StartTime.Time).Truncate(time.Second))
		line("running", "%s (%s for %s)", s.LiveCodon.CodonID, s.LiveCodon.Status, since)
	case last != nil && last.Status == state.Failed && last.FailureReason != nil && !s.MovedAway():
		word := verdict.OfCodon(last, "")
		if word == verdict.Stopped || word == verdict.Crashed {
			line(string(word), "%s, during %q", last.CodonID, last.FailedDuring)
			break
		}
		line(string(word), "%s, during %q: %s", last.CodonID, last.FailedDuring, report.FirstLine(last.FailureReason.Message))
	case s.EndDetail != "" && (s.Verdict == verdict.Budget || s.Verdict == verdict.Paused):
		line(string(s.Verdict), "%s", report.FirstLine(s.EndDetail))
	}
	if more := verdict.CaveatText(s.Caveats); more != "" && s.Verdict != verdict.Completed {
		line("caveats", "%s", more)
	}
	switch {
	case s.MovedAway():
		line("position", "checkpoint %s (after %s)", report.Short(s.Position.CheckpointSHA), orDefault(s.Position.Reason, "rollback"))
	case s.Position != nil && s.Position.Reason == "": // no command for it: see recovery.Import
		line("position", "checkpoint %s (after import)", report.Short(s.Position.CheckpointSHA))
	case s.Position != nil:
		line("position", "checkpoint %s (after undo)", report.Short(s.Position.CheckpointSHA))
	}
	if s.Next != "" && s.LiveCodon == nil {
		line("next codon", "%s", s.Next)
	}
	if s.Said != "" {
		line("agent", "%s", s.Said)
	}
	if s.Tool != "" {
		line("tool", "%s", s.Tool)
	}
	if s.LastEvent != nil {
		line("last event", "%s", term.Age(*s.LastEvent, now))
	}
	switch s.Stopping {
	case "now":
		line("stopping", "the run is stopping now")
	case "after-codon":
		line("stopping", "the run will stop after the current codon")
	}
	if s.Mute {
		line("warning", "%s", term.Yellow(os.Stdout, "the run does not answer; its process may be suspended, or the machine overloaded"))
	}
	if s.Silent {
		line("warning", "%s", term.Yellow(os.Stdout, fmt.Sprintf("no output from the agent for a while; stop it (hank stop%s) or skip it (hank skip%[1]s)", executionOption(c))))
	}
	if s.LastCodon != nil {
		for _, n := range s.LastCodon.Notes {
			line("note", "%s", n)
		}
	}
	for _, f := range s.Findings {
		line(f.Severity.Planned(), "%s", f.What)
	}
	if len(s.Quarantine) > 0 {
		line("quarantined", "%s", setAside(s.Execution, s.Quarantine, s.OfOrigin))
	}
	if s.Finish != "" {
		line("to finish", "%s%s", s.Finish, report.Before(s.FinishFirst))
	}
	if s.After != "" {
		line("next", "%s", s.After)
	}
	if s.Resume != "" {
		line("or", "%s, which continues the agent's interrupted session", s.Resume)
	}
}

// statusWord is the verdict, coloured.
func statusWord(s *report.Status) term.Painted {
	switch word := string(s.Verdict); s.Verdict {
	case verdict.Running:
		return term.Green(os.Stdout, word)
	case verdict.Failed, verdict.Crashed, verdict.Blocked:
		return term.Red(os.Stdout, word)
	case verdict.Stopped, verdict.Budget, verdict.Paused, verdict.Refused, verdict.RolledBack:
		return term.Yellow(os.Stdout, word)
	default:
		return term.Sprintf("%s", word)
	}
}

// setAside is how many files are in quarantine, and where.
func setAside(execution string, names []string, ofOrigin bool) string {
	text := term.Count(len(names), "file") + " in " + term.ShortPath(layout.LayoutOf(execution).Quarantine())
	if ofOrigin {
		text += ", of the execution that this is a copy of; nothing is damaged"
	}
	return text
}
