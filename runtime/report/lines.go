package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"hank/internal/advice"
	"hank/internal/term"
	"hank/recovery/layout"
	"hank/runtime/verdict"
	"hank/state"
)

// Line is a line of a status for people.
type Line struct {
	Label, Text string
	Warning     bool // it is to be noticed
}

// Lines are a status in words, after the line with its name and verdict. The option
// is that of ReadStatus.
func (s *Status) Lines(now time.Time, option string) (lines []Line) {
	line := func(label, format string, args ...any) {
		lines = append(lines, Line{Label: label, Text: strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " ")})
	}
	warn := func(text string) { lines = append(lines, Line{"warning", text, true}) }
	line("execution", "%s", PlaceOf(s.Execution))
	line("codons", "%s, %s", verdict.ProgressText(s.Done, s.Extent, s.Caveats), s.Bill.Text())
	if s.Forecast != nil {
		line("forecast", "%s", s.Forecast.Text())
	}
	if s.Limits.Any() {
		line("limit", "%s", verdict.DescribeLimits(s.Limits, s.Paid(), -1))
	}
	if s.Began != nil {
		line("time", "%s of work, begun %s (%s)", term.Duration(time.Duration(s.Worked*float64(time.Second))), s.Began.Local().Format(time.DateTime), term.Age(*s.Began, now))
	}
	line("workspace", "%s", term.ShortPath(s.Workspace))
	switch last := s.LastCodon; {
	case s.LiveCodon != nil:
		since := term.Duration(now.Sub(s.LiveCodon.StartTime.Time).Truncate(time.Second))
		how := ""
		if s.LiveCodon.Status != state.Running {
			how = verdict.OfCodon(s.LiveCodon, "").String() + ", "
		}
		instead := ""
		if of := s.LiveCodon.FallbackOf; of != "" {
			instead = ", with " + s.LiveCodon.Model + " instead of " + of
		}
		line("running", "%s (%sfor %s)%s", s.LiveCodon.CodonID, how, since, instead)
	case last != nil && last.Status == state.Failed && last.FailureReason != nil && !s.movedAway():
		word := verdict.OfCodon(last, "")
		if word == verdict.Stopped || word == verdict.Crashed {
			line(string(word), "%s%s", last.CodonID, During(last))
			break
		}
		line(string(word), "%s%s: %s", last.CodonID, During(last), verdict.Beside(word, verdict.FailureLine(last.FailureReason)))
	case s.EndDetail != "" && s.EndReason == state.EndBudget && !s.movedAway():
		line("budget", "%s", verdict.Beside(verdict.Budget, FirstLine(s.EndDetail)))
	case s.EndDetail != "" && s.Verdict == verdict.Paused:
		line("paused", "%s", FirstLine(s.EndDetail))
	}
	if s.Waiting != nil {
		text := strings.TrimPrefix(s.Waiting.Says(), "waiting ")
		if s.Hold == nil { // else nothing runs
			text += "; `hank run --now` ends the wait"
		}
		line("waiting", "%s", advice.Render(text, option))
	}
	for _, b := range s.Breakers {
		line("provider", "%s", b.Text(now))
	}
	s.gateLines(line)
	if more := verdict.CaveatText(s.Caveats); more != "" && s.Verdict != verdict.Completed {
		line("caveats", "%s", more)
	}
	switch {
	case s.movedAway():
		line("position", "checkpoint %s (after %s)", Short(s.Position.CheckpointSHA), cmp.Or(s.Position.Reason, "rollback"))
	case s.Position != nil && s.Position.Reason == "": // no command for it: see recovery.Import
		line("position", "checkpoint %s (after import)", Short(s.Position.CheckpointSHA))
	case s.Position != nil:
		line("position", "checkpoint %s (after undo)", Short(s.Position.CheckpointSHA))
	}
	switch {
	case s.LiveCodon != nil:
	case s.Awaits != "":
		asks := ""
		if s.NextGate != "" {
			asks = "; the gate " + s.NextGate + " asks whatever comes of it"
		}
		line("undecided", "whether loop %s continues%s", s.Awaits, asks)
	case s.NextGate != "":
		line("next codon", "%s", strings.TrimPrefix(string(s.Next)+"; the gate "+s.NextGate+" asks first", "; "))
	case s.Next != "":
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
	if s.Silence != nil {
		line("silence", "%s", s.Silence.Text(now))
	}
	switch s.Stopping {
	case "now":
		line("stopping", "the run is stopping now")
	case "after-codon":
		line("stopping", "the run will stop after the current codon")
	}
	if s.Mute {
		warn("the run does not answer; its process may be suspended, or the machine overloaded")
	}
	if s.Silent {
		warn(advice.Render("no output from the agent for a while; stop it (`hank stop`) or skip it (`hank skip`)", option))
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
		line("quarantined", "%s", quarantineText(s.Execution, s.Quarantine, s.OfOrigin))
	}
	if s.Finish != "" {
		line("to finish", "%s%s", s.Finish, Before(s.FinishFirst))
	}
	if s.After != "" {
		line("next", "%s", s.After)
	}
	if s.Resume != "" {
		line("or", "%s, which continues the agent's interrupted session", s.Resume)
	}
	return lines
}

// PlaceOf is a directory, relative to the working directory if that is shorter and tells more than dots.
func PlaceOf(path string) string {
	if short := term.ShortPath(path); strings.Trim(short, "./") != "" {
		return short
	}
	return path
}

// quarantineText is how many files are in quarantine, and where.
func quarantineText(execution string, names []string, ofOrigin bool) string {
	text := term.Count(len(names), "file") + " in " + term.ShortPath(layout.LayoutOf(execution).Quarantine())
	if ofOrigin {
		text += ", of the execution that this is a copy of; nothing is damaged"
	}
	return text
}

// During is when in its life an attempt failed, unless its agent or script was running,
// as it mostly is.
func During(c *state.Codon) string {
	if c.FailedDuring == "" || c.FailedDuring == state.Running || c.FailedAtGate() {
		return ""
	}
	return fmt.Sprintf(" (while %s)", c.FailedDuring)
}
