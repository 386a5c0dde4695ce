package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"hank/internal/term"
	"hank/recovery"
	"hank/recovery/finding"
	"hank/runtime"
	"hank/runtime/control"
	"hank/runtime/verdict"
	"hank/state"
)

// status is the JSON form of hank status.
type status struct {
	Schema     int               `json:"schema"`
	Execution  string            `json:"execution"`
	Workspace  string            `json:"workspace"`
	Hank       string            `json:"hank,omitempty"`
	Live       bool              `json:"live"`
	RunID      state.RunID       `json:"runId,omitempty"`
	Verdict    verdict.Verdict   `json:"verdict"` // in a word for people
	RunStatus  state.RunStatus   `json:"runStatus,omitempty"`
	EndReason  state.EndReason   `json:"endReason,omitempty"`
	Paused     *state.Pause      `json:"paused,omitempty"` // the run could not go on; a finding says what to do
	Done       int               `json:"codonsDone"`
	Planned    int               `json:"codonsPlanned"`
	Next       state.CodonID     `json:"nextCodon,omitempty"`
	LiveCodon  *state.Codon      `json:"liveCodon,omitempty"`
	LastCodon  *state.Codon      `json:"lastCodon,omitempty"`
	Cost       state.USD         `json:"cost"`
	Limits     state.Limits      `json:"limits,omitzero"` // of the execution
	LastEvent  *time.Time        `json:"lastEvent,omitempty"`
	Said       string            `json:"said,omitempty"`      // the last line of the agent
	Tool       string            `json:"tool,omitempty"`      // that the agent uses at the moment
	Silent     bool              `json:"silent"`              // past the silence limit
	Stopping   string            `json:"stopping,omitempty"`  // the run was asked to stop: after-codon, or now
	Mute       bool              `json:"unanswered,omitzero"` // the run does not answer
	StoreBytes int64             `json:"storeBytes"`          // what the checkpoints take
	StoreCap   int64             `json:"checkpointCap"`       // where the run pauses; 0: nowhere
	Position   *state.Position   `json:"position,omitempty"`
	Findings   []finding.Finding `json:"findings"`
	Quarantine []string          `json:"quarantine,omitempty"`
	Command    string            `json:"command,omitempty"` // the one to run next
	After      string            `json:"next,omitempty"`    // the same for a person, also where a program is given none
	Resume     string            `json:"resume,omitempty"`  // the one that continues the agent's interrupted session instead
	Finish     string            `json:"finish,omitempty"`  // the one that does again what a budget has cut off

	state.Caveats // of the codons that are done

	aside      string // what was set aside, for people
	ended      string // what the newest run says of its end
	first      string // what a person must do before Command
	unreadable bool   // that a file is made readable, which only a person can
	raise      bool   // that a budget is to be raised, see runtime.PersonDecides

	loop      *finding.DecisionError // why a supervisor's start is refused
	noSession *finding.Finding       // why Resume is not offered

	finishFirst string // what a person must do before Finish
}

func statusCommand() *cli.Command {
	return &cli.Command{
		Name: "status", Usage: "say where an execution stands",
		Description: `Reads only: it can be asked at any time, also while a run is at work.

Example: hank status --json | jq .nextCodon

Exit code 0: printed, whatever it says; 4: the state cannot be read.`,
		Flags: []cli.Flag{executionFlag, jsonFlag},
		Action: func(c *cli.Context) error {
			if err := arguments(c, 0, 0); err != nil {
				return err
			}
			root, err := executionOf(c)
			if err != nil {
				return err
			}
			v, err := recovery.Glance(root)
			if err != nil {
				return err
			}
			s := statusOf(v)
			s.askRun(c.Context)
			s.finishing(v)
			layers, wrong := settings(c)
			switch lost := v.StoreLost(); {
			case lost != nil && v.Blocked == nil:
				s.ask(lost)
			case wrong != nil:
				s.refuse(wrong)
			case isDriven(s.Command):
				s.ask(runtime.QuestionOfHank(v, layers, s.Command))
				s.foresee(v)
			}
			s.Findings = findingsForThis(c, s.Findings)
			personal := s.isPersonal()
			s.Command, s.Resume, s.Finish = commandForThis(c, s.Command), commandForThis(c, s.Resume), commandForThis(c, s.Finish)
			if c.Bool("json") {
				s.first = forThis(c, s.first)
				return printJSON(s.forPrograms(personal))
			}
			printStatus(s, c)
			return nil
		},
	}
}

// silenceWarning is how long an agent may say nothing before status says so.
const silenceWarning = 3 * time.Minute

func statusOf(v *recovery.View) status {
	st, weight := v.State, v.Weigh()
	s := status{StoreBytes: weight.Bytes, StoreCap: weight.Cap,
		Schema: 1, Execution: v.Layout.Root, Workspace: v.Layout.Workspace, Hank: v.Meta.HankPath, Live: v.Live,
		Verdict: verdict.OfExecution(v), Caveats: v.Head.Caveats,
		Done: v.Head.Done, Planned: v.Head.Planned, Cost: v.Head.Cost(), Limits: st.Limits, Position: st.Position,
		Findings: v.Report.Findings, Quarantine: v.Quarantined(), aside: asideOf(v)}
	if s.Findings == nil {
		s.Findings = []finding.Finding{}
	}
	s.Next, _ = v.Head.Next()
	s.LastEvent = lastEventAt(filepath.Join(v.Layout.Events(), "events.jsonl"))
	if run := standing(st); run != nil {
		s.ofRun(v, run)
	}
	correct := ""
	if s.Command = nextStep(s); s.Command == "hank run" && !s.movedAway() {
		if first, command := verdict.RefusedModel(s.LastCodon); command != "" {
			correct, s.Command = first, command
		}
	}
	s.Command = s.raised(v)
	s.warnOfCrashes(v)
	switch s.first = verdict.RaiseFirst(s.Command); {
	case correct != "":
		s.first = correct
	case s.EndReason == state.EndAgent && !s.movedAway():
		s.first = firstLine(s.ended)
	default:
		s.raise = s.first != ""
	}
	if name := v.Unreadable(); name != "" {
		s.first, s.unreadable = makeReadable(name), true
	}
	if v.Unfinished() {
		s.Command = fixCommand
	}
	if v.Blocked != nil {
		s.Command = v.Blocked.Command
	}
	if last := s.LastCodon; s.Command == "hank run" && last != nil && !s.movedAway() && verdict.Resumable(last, verdict.OfCodon(last, s.Verdict)) {
		if s.Resume = "hank resume"; recovery.SessionAbsent(v.Layout, last) {
			s.Resume = ""
			s.noSession = &finding.Finding{Severity: finding.Warning, What: recovery.NoSession(last)}
			s.Findings = append(slices.Clone(s.Findings), *s.noSession)
		}
	}
	return s
}

// asideOf says what was set aside.
func asideOf(v *recovery.View) string {
	names := v.Quarantined()
	text := count(len(names), "file") + " in " + shorten(v.Layout.Quarantine())
	if v.OnlyOfOrigin() {
		text += ", of the execution that this is a copy of; nothing is damaged"
	}
	return text
}

// warnOfCrashes says that a supervisor's start is refused, which takes the whole
// history of runs.
func (s *status) warnOfCrashes(v *recovery.View) {
	run := v.State.Newest()
	if v.Live || run == nil || run.Status != state.StatusCrashed || run.StartedBy == nil || !run.StartedBy.Unattended {
		return
	}
	if whole, err := recovery.Read(v.Layout.Root); err == nil {
		v = whole
	}
	if s.loop = runtime.CrashLoop(v.State); s.loop != nil {
		s.Findings = append(slices.Clone(s.Findings), finding.Finding{Severity: finding.Warning, What: s.loop.What + "; an unattended start is refused"})
	}
}

// standing is the run whose verdict holds: the newest one, unless an undo has
// gone back to the end of another.
func standing(s *state.State) *state.Run {
	if run := s.Standing(); run != nil {
		return run
	}
	return s.Newest()
}

// movedAway tells whether the execution stands where a move has brought it,
// and not at the end of a run.
func (s *status) movedAway() bool { return s.Position != nil && s.Position.EndOf == "" }

// answerPatience is how long status waits for a word of the live run.
const answerPatience = time.Second

// askRun adds what only the live run knows.
func (s *status) askRun(ctx context.Context) {
	if s.LiveCodon == nil {
		return
	}
	limited, cancel := context.WithTimeout(ctx, answerPatience)
	defer cancel()
	live, err := runtime.Live(limited, s.Execution)
	var mute *control.UnansweredError
	s.Stopping, s.Mute = live.Stopping, errors.As(err, &mute)
}

// ofRun fills in what that run is about.
func (s *status) ofRun(v *recovery.View, run *state.Run) {
	s.RunID, s.RunStatus, s.EndReason, s.ended = run.RunID, run.Status, run.EndReason, run.EndDetail
	if run.Paused != nil && !v.Live {
		s.Paused, s.RunStatus, s.EndReason = run.Paused, state.StatusFailed, run.Paused.Reason
	}
	if v.Crashed(run) {
		s.RunStatus, s.EndReason = state.StatusCrashed, state.EndCrash
	}
	if run.Len() > 0 {
		s.LastCodon = run.Codon(run.Len() - 1)
	}
	live := run.Live()
	if live == nil || !v.Live {
		return
	}
	s.LiveCodon = live
	if live.ClaudeLogPath == "" {
		return
	}
	log := v.Layout.Resolve(live.ClaudeLogPath)
	s.Said, s.Tool = lastWords(log, v.Layout.Workspace)
	heard := s.LastEvent
	if at := changedAt(log); at != nil && (heard == nil || at.After(*heard)) {
		heard = at
	}
	s.Silent = heard != nil && time.Since(*heard) > silenceWarning
}

// lastEventAt is the time of the last event of a file of the journal, as the event
// has it; nil if that cannot be read.
func lastEventAt(path string) *time.Time {
	fi, err := os.Lstat(path)
	if err != nil || !fi.Mode().IsRegular() { // a FIFO would not be opened before somebody writes to it
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	for width := int64(8 << 10); ; width *= 8 {
		from := max(0, fi.Size()-width)
		tail, err := io.ReadAll(io.NewSectionReader(f, from, fi.Size()-from))
		if err != nil {
			return nil
		}
		end := bytes.LastIndexByte(tail, '\n') // what stands behind it is being written
		begin := bytes.LastIndexByte(tail[:max(0, end)], '\n') + 1
		if from > 0 && (end < 0 || begin == 0) {
			continue // the line is longer
		}
		var event struct {
			Timestamp time.Time `json:"timestamp"`
		}
		if json.Unmarshal(tail[begin:max(0, end)], &event) != nil || event.Timestamp.IsZero() {
			return nil
		}
		at := event.Timestamp.UTC()
		return &at
	}
}

// changedAt is when a file was last written to; nil if it is not there.
func changedAt(path string) *time.Time {
	fi, err := os.Stat(path)
	if err != nil {
		return nil
	}
	at := fi.ModTime().UTC()
	return &at
}

// raised is a command to continue with, and raises what is used up. What was
// used is in all records, of which a glance has only the last.
func (s *status) raised(v *recovery.View) string {
	budget := s.EndReason == state.EndBudget && !s.movedAway()
	if s.Command == "" || !budget && !s.Limits.Any() {
		return s.Command
	}
	if whole, err := recovery.Read(v.Layout.Root); err == nil {
		v = whole
	}
	return verdict.Continue(v.State, s.Command, budget)
}

// refuse says that the command to go on with would refuse the settings here.
func (s *status) refuse(wrong error) {
	if s.Live || !isDriven(s.Command) {
		return
	}
	s.first = correctSettings
	s.block(wrong)
}

// ask adds what the command to run next would ask, and gives it an answer.
func (s *status) ask(why error) {
	var question *finding.DecisionError
	if !errors.As(why, &question) {
		return // what cannot be read is said elsewhere
	}
	s.Command, s.first, s.raise = question.Command, "", false
	s.block(question)
}

// foresee says what the command to go on with would ask, as far as a look at the
// workspace's folder tells.
func (s *status) foresee(v *recovery.View) {
	if ask := runtime.QuestionAtOnce(v); ask != nil && s.Command != "" {
		s.Findings = withoutGone(s.Findings, v)
		s.block(ask)
		if command, answer := s.Command, strings.TrimPrefix(ask.Command, "hank run"); strings.HasPrefix(command, "hank run") {
			ask.Command = command + answer
		}
		s.Command, s.first, s.raise = ask.Command, "", false
	}
}

// block adds why the command to run next would be refused as it is.
func (s *status) block(why error) {
	s.Verdict, s.Resume = verdict.Blocked, ""
	s.Findings = slices.Clone(s.Findings)
	for i := range s.Findings {
		s.Findings[i] = s.Findings[i].Held()
	}
	s.Findings = append(s.Findings, finding.Finding{Severity: finding.Blocked, What: why.Error()})
}

// withoutGone leaves out the warning of a workspace that is gone, where a question
// says more.
func withoutGone(findings []finding.Finding, v *recovery.View) []finding.Finding {
	return slices.DeleteFunc(slices.Clone(findings), func(f finding.Finding) bool {
		return f.Severity == finding.Warning && strings.HasPrefix(f.What, "the workspace "+v.Layout.Workspace+" is gone")
	})
}

// isPersonal reports whether the command to run next is a person's to give.
func (s status) isPersonal() bool {
	_, decides := runtime.PersonDecides(s.Command, s.raise, s.loop)
	return (decides || s.unreadable) && !s.Live && isDriven(s.Command)
}

// makeReadable is what a person does before a run that was paused for a file goes on.
func makeReadable(name string) string { return fmt.Sprintf("make %q readable", name) }

// forPrograms is the status with a command to run next only where that is not a
// person's to give.
func (s status) forPrograms(personal bool) status {
	if s.Command != "" {
		s.After = s.Command + before(s.first)
	}
	if personal {
		s.Command = ""
	}
	return s
}

// isDriven reports whether a command is one that reads the settings.
func isDriven(command string) bool {
	return strings.Contains(command, "hank run") || strings.Contains(command, "hank retry")
}

const correctSettings = "correct the settings that are named above"

// finishing says how what a budget has cut off is done again. It needs all records,
// of which a glance has only the last.
func (s *status) finishing(v *recovery.View) {
	if len(s.CutOff) == 0 || v.Live || v.Blocked != nil {
		return
	}
	if whole, err := recovery.Read(v.Layout.Root); err == nil {
		s.finishingOf(whole)
	}
}

// finishingOf is finishing of an execution that was read whole.
func (s *status) finishingOf(v *recovery.View) {
	if len(s.CutOff) > 0 && !v.Live && v.Blocked == nil {
		s.Finish, s.finishFirst = verdict.Finish(v.State, "")
	}
}

// nextStep is the one command that makes sense now.
func nextStep(s status) string {
	last := s.LastCodon
	switch {
	case s.Live, s.Planned > 0 && s.Done == s.Planned && (s.RunStatus == state.StatusCompleted || s.movedAway()):
		return ""
	case last != nil && last.Status == state.Failed && !last.Settled() && last.Interrupted == "" && !s.movedAway():
		return "hank retry"
	}
	return "hank run"
}

func printStatus(s status, c *cli.Context) {
	title := statusWord(s)
	if more := verdict.CaveatText(s.Caveats); more != "" && s.Verdict == verdict.Completed {
		title += term.Sprintf(", with %s", more)
	}
	say("%s  %s\n", term.Bold(os.Stdout, shorten(s.Execution)), title)
	line := func(label, format string, args ...any) {
		say("  %-10s %s\n", label, term.Painted(strings.ReplaceAll(string(term.Sprintf(format, args...)), "\n", " ")))
	}
	now := time.Now()
	line("codons", "%s, %s", verdict.ProgressText(s.Done, s.Planned, s.Caveats), s.Cost.Text())
	if s.Limits.Any() {
		line("limit", "%s", verdict.DescribeLimits(s.Limits, s.Cost, -1))
	}
	line("workspace", "%s", shorten(s.Workspace))
	switch last := s.LastCodon; {
	case s.LiveCodon != nil:
		line("at work", "%s (%s), since %s", s.LiveCodon.CodonID, s.LiveCodon.Status, term.Age(s.LiveCodon.StartTime.Time, now))
	case last != nil && last.Status == state.Failed && last.FailureReason != nil && !s.movedAway():
		word := verdict.OfCodon(last, "")
		if word == verdict.Stopped || word == verdict.Crashed {
			line(string(word), "%s while %s", last.CodonID, last.FailedDuring)
			break
		}
		line(string(word), "%s while %s: %s", last.CodonID, last.FailedDuring, firstLine(last.FailureReason.Message))
	case s.ended != "" && (s.Verdict == verdict.Budget || s.Verdict == verdict.Paused):
		line(string(s.Verdict), "%s", firstLine(s.ended))
	}
	if more := verdict.CaveatText(s.Caveats); more != "" && s.Verdict != verdict.Completed {
		line("caveats", "%s", more)
	}
	switch {
	case s.movedAway():
		line("at", "checkpoint %s after a %s", short(s.Position.CheckpointSHA), orDefault(s.Position.Reason, "rollback"))
	case s.Position != nil && s.Position.Reason == "": // no command for it: see recovery.Import
		line("at", "checkpoint %s after an import", short(s.Position.CheckpointSHA))
	case s.Position != nil:
		line("at", "checkpoint %s after an undo", short(s.Position.CheckpointSHA))
	}
	if s.Next != "" && s.LiveCodon == nil {
		line("next", "%s", s.Next)
	}
	if s.Said != "" {
		line("said", "%s", s.Said)
	}
	if s.Tool != "" {
		line("uses", "%s", s.Tool)
	}
	if s.LastEvent != nil {
		line("last event", "%s", term.Age(*s.LastEvent, now))
	}
	switch s.Stopping {
	case "now":
		line("stopping", "the run was asked to stop now")
	case "after-codon":
		line("stopping", "the run stops after this codon")
	}
	if s.Mute {
		line("warning", "%s", term.Yellow(os.Stdout, "the run does not answer; its process may be suspended, or the machine overloaded"))
	}
	if s.Silent {
		line("warning", "%s", term.Yellow(os.Stdout, fmt.Sprintf("the agent has said nothing for a while; hank stop%s ends it, hank skip%[1]s goes on without it", executionOption(c))))
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
		line("set aside", "%s", s.aside)
	}
	if s.Finish != "" {
		line("to finish", "%s%s", s.Finish, before(s.finishFirst))
	}
	if s.Command != "" {
		line("to go on", "%s%s", s.Command, before(s.first))
	}
	if s.Resume != "" {
		line("or", "%s, which continues the agent's interrupted session", s.Resume)
	}
}

// before is what must be done before a command, behind it; empty if nothing must.
func before(first string) string {
	if first == "" {
		return ""
	}
	return "; before that: " + first
}

// statusWord is the verdict, coloured.
func statusWord(s status) term.Painted {
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

// firstLine is a text's first line, and whether there is more.
func firstLine(text string) string {
	first, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if rest != "" {
		first += " …"
	}
	return first
}
