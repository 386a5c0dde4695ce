package report

import (
	"bytes"
	"cmp"
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

	"hank/internal/advice"
	"hank/internal/term"
	"hank/plan"
	"hank/plan/config"
	"hank/recovery"
	"hank/recovery/finding"
	"hank/recovery/layout"
	"hank/runtime/agents"
	"hank/runtime/breaker"
	"hank/runtime/control"
	"hank/runtime/gate"
	"hank/runtime/history"
	"hank/runtime/live"
	"hank/runtime/outlook"
	"hank/runtime/question"
	"hank/runtime/silence"
	"hank/runtime/usagelimit"
	"hank/runtime/verdict"
	"hank/state"
)

// Status is where an execution is: what hank status prints.
type Status struct {
	Schema    int             `json:"schema"`
	Execution string          `json:"execution"`
	Workspace string          `json:"workspace"`
	Hank      string          `json:"hank,omitempty"`
	Name      string          `json:"name"`            // of the hank; of its file or directory where it has none
	Began     *time.Time      `json:"began,omitempty"` // when the first run began
	Worked    float64         `json:"workSeconds"`     // of all attempts, abandoned ones included
	Live      bool            `json:"live"`
	RunID     state.RunID     `json:"runId,omitempty"`
	Verdict   verdict.Verdict `json:"verdict"` // in a word for people
	RunStatus state.RunStatus `json:"runStatus,omitempty"`
	EndReason state.EndReason `json:"endReason,omitempty"`
	Paused    *state.Pause    `json:"paused,omitempty"` // the run could not continue; a finding says what to do
	Done      int             `json:"codonsDone"`
	Planned   int             `json:"codonsPlanned"` // in the plan by now: a loop adds an iteration when the one before it has ended
	Extent    plan.Extent     `json:"-"`             // what that comes to
	Next      state.CodonID   `json:"nextCodon,omitempty"`
	Awaits    state.CodonID   `json:"awaitsVerdict,omitempty"` // the loop about which the next run decides first: which codon is next depends on it
	LiveCodon *state.Codon    `json:"liveCodon,omitempty"`
	LastCodon *state.Codon    `json:"lastCodon,omitempty"`
	state.Bill
	Limits     state.Limits      `json:"limits,omitzero"` // of the execution
	LastEvent  *time.Time        `json:"lastEvent,omitempty"`
	Said       string            `json:"said,omitempty"`      // the last line of the agent
	Tool       string            `json:"tool,omitempty"`      // that the agent uses at the moment
	Silent     bool              `json:"silent"`              // past the silence limit
	Silence    *silence.Evidence `json:"silence,omitempty"`   // what is known of an agent that says nothing
	Stopping   string            `json:"stopping,omitempty"`  // the run was asked to stop: after-codon, or now
	Mute       bool              `json:"unanswered,omitzero"` // the run does not answer
	StoreBytes int64             `json:"storeBytes"`          // what the checkpoints take
	AgentBytes int64             `json:"agentBytes"`          // what transcripts, homes and temporary files of agents take; of more than 5,000 files, the first of them
	StoreCap   int64             `json:"checkpointCap"`       // where the run pauses, both together; 0: nowhere
	Position   *state.Position   `json:"position,omitempty"`
	Findings   []finding.Finding `json:"findings"`
	Quarantine []string          `json:"quarantine,omitempty"`
	Command    string            `json:"command,omitempty"` // the one to run next
	After      string            `json:"next,omitempty"`    // the same for the user, also where a program is given none
	Resume     string            `json:"resume,omitempty"`  // the one that continues the agent's interrupted session instead
	Finish     string            `json:"finish,omitempty"`  // the one that does again what a budget has interrupted
	Gate       *gate.View        `json:"gate,omitempty"`    // what waits for the user's answer
	Hold       *state.Hold       `json:"hold,omitempty"`    // nothing runs

	// Waiting is the provider that the run waits for, or that the next run waits for.
	Waiting *usagelimit.Waiting `json:"waiting,omitempty"`
	// Breakers are what runs of the user have met of the providers of the codons to come.
	Breakers []breaker.View `json:"breakers,omitempty"`

	// Forecast is what the rest of the plan will cost; nil: nothing is known of it.
	Forecast *outlook.Estimate `json:"forecast"`

	state.Caveats // of the codons that are done

	Answered    string       `json:"-"` // what came of the gate that the run has ended at, or of one that nobody has answered in time
	Expired     *gate.Lapsed `json:"-"` // that one; nil: there is none
	LastUsed    time.Time    `json:"-"` // as the list of this machine has it
	EndDetail   string       `json:"-"` // what the newest run recorded of its end
	FinishFirst string       `json:"-"` // what must be done before Finish
	OfOrigin    bool         `json:"-"` // Quarantine has only files of the execution that this is a copy of
	Seq         uint64       `json:"-"` // of the last event that the state knows
	Personal    string       `json:"-"` // the command to run next where it is the user's to give, and no gate or hold is
	Why         string       `json:"-"` // Personal would be refused as it is; empty: it would not be
	Release     string       `json:"-"` // the command that ends Hold
	NextGate    string       `json:"-"` // the gate that asks before Next begins, or at the end of the plan; empty: none does
	Raise       bool         `json:"-"` // a budget is to be raised before the command, see verdict.PersonDecides
	Used        string       `json:"-"` // that budget, where it has not ended the run
	Choices     []string     `json:"-"` // the commands between which the user has to choose, Command among them; nil: there is no choice

	ended      *state.Run // whose EndDetail it is
	first      string     // what must be done before Command
	unreadable bool       // that is to make a file readable, which only the user can
	asks       bool       // that is to answer at a gate, or to end a hold

	asked     *finding.DecisionError // what Command answers
	loop      *finding.DecisionError // why a supervisor's start is refused
	noSession *finding.Finding       // why Resume is not offered
}

// Settings are those that apply where a command is given.
type Settings struct {
	Layers config.Layers
	Wrong  error // why a run refuses them
}

// ReadStatus looks where an execution is, without taking its lock. The commands in
// it have the option, " -e DIR", with which they find the execution.
func ReadStatus(ctx context.Context, root string, in Settings, option string) (*Status, error) {
	v, err := recovery.ReadSummary(root)
	if err != nil {
		return nil, err
	}
	return StatusAt(ctx, v, in, option), nil
}

// StatusAt is ReadStatus of an execution that has just been read.
func StatusAt(ctx context.Context, v *recovery.View, in Settings, option string) *Status {
	s := statusOf(v, v.Weigh(), in.Layers)
	s.Breakers = agents.Breakers(v, in.Layers)
	s.askRun(ctx)
	s.finishing(v, in.Layers)
	s.Forecast = outlook.Read(v)
	if s.foresee(v, in); s.Verdict == verdict.Completed && in.Wrong == nil {
		s.Findings = append(s.Findings, question.WhenDone(v, in.Layers)...)
	}
	s.offer(option)
	return &s
}

// Follows is what comes next in an execution that was moved, in commands without options:
// one to run, or a gate at which the user has to answer first.
type Follows struct {
	Command string     `json:"command,omitempty"` // none and no gate: the hank is completed
	Gate    *gate.View `json:"gate,omitempty"`
	Done    bool       `json:"-"`                // nothing comes: the hank is completed
	Decides bool       `json:"decides,omitzero"` // it is for the user to give the command
	First   string     `json:"-"`                // what the command answers, and what must be done before it
	Held    bool       `json:"-"`                // the command releases the hold, and runs nothing
}

// FollowsIn is what comes next in an execution.
func FollowsIn(root string, in Settings) (f Follows) {
	if v, err := recovery.ReadSummary(root); err == nil {
		s := statusOf(v, v.Weigh(), in.Layers)
		if s.foresee(v, in); s.asked != nil {
			f.First = ": " + s.asked.Error()
		}
		f = Follows{s.Command, s.Gate, s.Verdict == verdict.Completed, s.isPersonal() || s.asks || len(s.Choices) > 0, f.First + Before(s.first), s.Hold != nil}
	}
	return f
}

// offer names the commands for where they are read. A command that only the user may
// give is in After alone, which is not for programs.
func (s *Status) offer(option string) {
	personal := s.isPersonal() || s.asks
	s.Findings = inExecution(s.Findings, option)
	s.show(option)
	s.Gate = s.Gate.In(option)
	s.Choices = advice.Commands(s.Choices, option)
	s.Command, s.Resume, s.Finish = advice.Command(s.Command, option), advice.Command(s.Resume, option), advice.Command(s.Finish, option)
	if s.Command != "" {
		s.After = s.Command + Before(advice.Render(s.first, option))
	}
	if s.Hold != nil {
		s.Release = advice.Command("hank release", option)
	}
	if personal {
		if !s.asks {
			s.Personal = s.Command
		}
		s.Command = ""
	}
}

// show puts the option into the commands of what is recorded.
func (s *Status) show(option string) {
	if s.ended != nil {
		s.EndDetail = shownEnd(s.ended, option)
	}
	s.Paused = shownPause(s.Paused, option)
	s.LiveCodon, s.LastCodon = ShownCodon(s.LiveCodon, option), ShownCodon(s.LastCodon, option)
}

// inExecution is a list of findings whose commands have the option.
func inExecution(found []finding.Finding, option string) []finding.Finding {
	out := slices.Clone(found)
	for i := range out {
		out[i].What = advice.Render(out[i].What, option)
	}
	return out
}

// continuedBy is a list of findings that name the command to continue with as it is to be given.
func continuedBy(found []finding.Finding, command string) []finding.Finding {
	out := slices.Clone(found)
	for i, f := range out {
		what, ends := strings.CutSuffix(f.What, f.Next)
		then, continues := strings.CutPrefix(f.Next, "`hank run` continues")
		if ends && continues && strings.HasPrefix(command, "hank run ") {
			f.Next = "`" + command + "` continues" + then
			out[i].What, out[i].Next = what+f.Next, f.Next
		}
	}
	return out
}

// silenceWarning is how long an agent may say nothing before status says so.
const silenceWarning = 3 * time.Minute

func statusOf(v *recovery.View, weight layout.Weight, in config.Layers) Status {
	st := v.State
	if weight.Heavy() {
		v.Report.Add(finding.Warning, "%s; together at the limit of %s the run pauses; `hank run --checkpoint-cap SIZE` sets another limit, `hank gc` lists what can be deleted", weight.Text(), term.Bytes(weight.Cap))
	}
	s := Status{StoreBytes: weight.Bytes, AgentBytes: weight.Agents, StoreCap: weight.Cap, Schema: 1, Execution: v.Layout.Root, Workspace: v.Layout.Workspace, Hank: v.Meta.HankPath, Live: v.Live,
		Verdict: verdict.OfExecution(v), Caveats: v.Head.Caveats,
		Done: v.Head.Done, Planned: v.Head.Planned, Extent: v.Extent(), Bill: v.Head.Bill(), Limits: st.Limits, Position: st.Position, Seq: st.Seq,
		Findings: v.Report.Findings, Quarantine: v.Layout.Quarantined(), OfOrigin: v.OnlyOfOrigin()}
	if s.Findings = append([]finding.Finding{}, s.Findings...); v.Blocked != nil {
		s.Findings = deferred(s.Findings)
	}
	s.Name, s.Began, s.Worked = hankName(v), began(v), worked(v).Seconds()
	if s.Awaits = v.AwaitsVerdict(); s.Awaits == "" {
		s.Next, _ = v.Head.Next()
	}
	s.LastEvent = lastEventAt(filepath.Join(v.Layout.Events(), "events.jsonl"))
	if run := standing(st); run != nil {
		s.ofRun(v, run)
	}
	correct := ""
	if s.Command = nextStep(s, v); s.Command == "hank run" && !s.movedAway() {
		if first, command := verdict.RefusedModel(s.LastCodon); command != "" {
			correct, s.Command = first, command
		}
	}
	reason := s.EndReason
	if s.movedAway() {
		reason = ""
	}
	s.Command, s.Used = question.Continue(v, in, s.Command, reason)
	s.Findings = continuedBy(s.Findings, s.Command)
	s.warnOfCrashes(v)
	switch s.first = verdict.RaiseFirst(s.Command, cmp.Or(s.Used, s.EndDetail)); {
	case correct != "":
		s.first = correct
	case s.EndReason == state.EndAgent && !s.movedAway():
		s.first = remedyIn(FirstLine(s.EndDetail))
	default:
		if s.Raise = s.first != ""; s.Raise && s.Used != "" {
			s.first += " (" + s.Used + ")"
		}
	}
	if name := v.Unreadable(); name != "" {
		s.first, s.unreadable = makeReadable(name), true
	}
	if v.Unfinished() {
		s.Command = fixCommand
	}
	if v.Blocked != nil {
		s.Command, s.Choices = v.Blocked.Command, v.Blocked.Choices()
	}
	s.waits(v, time.Now())
	s.gates(v, time.Now())
	if last := s.LastCodon; s.Command == "hank run" && last != nil && !s.movedAway() && verdict.Resumable(last, verdict.OfCodon(last, s.Verdict)) {
		if s.Resume = "hank resume"; recovery.SessionAbsent(v.Layout, v.HasCheckpoint, last) {
			s.Resume = ""
			s.noSession = &finding.Finding{Severity: finding.Warning, What: recovery.NoSession(last)}
			s.Findings = append(slices.Clone(s.Findings), *s.noSession)
		}
	}
	return s
}

// waits adds the provider that is waited for. Where a run has ended before its codon began
// again, the attempt is one of an earlier run, which takes the whole history.
func (s *Status) waits(v *recovery.View, now time.Time) {
	if s.movedAway() || s.LiveCodon != nil {
		return
	}
	w := usagelimit.After(s.LastCodon)
	if run := v.State.Newest(); w == nil && run != nil && run.Len() == 0 && run.StartingConditions.Reason == state.ReasonContinue {
		if whole, err := recovery.ReadKnown(v.Layout.Root); err == nil {
			w = usagelimit.Of(whole.State)
		}
	}
	if w != nil && (s.Live || w.Until.After(now)) {
		s.Waiting = w
	}
}

// warnOfCrashes says that a supervisor's start is refused, which takes the whole
// history of runs.
func (s *Status) warnOfCrashes(v *recovery.View) {
	run := v.State.Newest()
	if v.Live || run == nil || run.Status != state.StatusCrashed || run.StartedBy == nil || !run.StartedBy.Unattended {
		return
	}
	if whole, err := recovery.ReadKnown(v.Layout.Root); err == nil {
		v = whole
	}
	if s.loop = verdict.CrashLoop(v.State); s.loop != nil {
		s.Findings = append(slices.Clone(s.Findings), finding.Finding{Severity: finding.Warning, What: s.loop.What + "; an unattended start is refused"})
	}
}

// standing is the run whose verdict holds: the newest one, unless an undo has
// gone back to the end of another.
func standing(s *state.State) *state.Run {
	if run := s.RunAtPosition(); run != nil {
		return run
	}
	return s.Newest()
}

// movedAway reports whether the execution is where a move has brought it,
// and not at the end of a run.
func (s *Status) movedAway() bool { return s.Position != nil && s.Position.EndOf == "" }

// answerPatience is how long status waits for a word of the live run.
const answerPatience = time.Second

// askRun adds what only the live run knows.
func (s *Status) askRun(ctx context.Context) {
	if s.LiveCodon == nil {
		return
	}
	limited, cancel := context.WithTimeout(ctx, answerPatience)
	defer cancel()
	live, err := live.Ask(limited, s.Execution)
	var mute *control.UnansweredError
	s.Stopping, s.Silence, s.Mute = live.Stopping, live.Silence, errors.As(err, &mute)
}

// ofRun fills in what that run is about.
func (s *Status) ofRun(v *recovery.View, run *state.Run) {
	s.RunID, s.RunStatus, s.EndReason, s.EndDetail, s.ended = run.RunID, run.Status, run.EndReason, run.EndDetail, run
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
	s.Said, s.Tool = lastWords(v, live)
	heard := s.LastEvent
	if fi, err := os.Stat(log); err == nil && (heard == nil || fi.ModTime().After(*heard)) {
		at := fi.ModTime().UTC()
		heard = &at
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
		end := bytes.LastIndexByte(tail, '\n') // what follows it is being written
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

// remedyIn is what a message of what is missing says that is to be done: what follows the
// reason. The reason is above.
func remedyIn(message string) string {
	if _, remedy, found := strings.Cut(message, "; "); found {
		return remedy
	}
	return message
}

// refuse says that the command to continue with would refuse the settings here.
func (s *Status) refuse(wrong error) {
	if s.Live || !isDriven(s.Command) {
		return
	}
	s.first = correctSettings
	s.block(wrong)
}

// ask adds what the command to run next would ask, and gives it an answer.
func (s *Status) ask(why error) {
	var question *finding.DecisionError
	if !errors.As(why, &question) {
		return // what cannot be read is said elsewhere
	}
	s.block(question)
	s.answer(question)
}

// answer takes the command that answers a question.
func (s *Status) answer(ask *finding.DecisionError) {
	s.Command, s.Choices, s.asked = ask.Command, ask.Choices(), ask
	s.first, s.Raise = question.FirstAfter(ask, s.first, s.Raise)
}

// foresee says what the command to continue with would ask, as far as a few files tell.
func (s *Status) foresee(v *recovery.View, in Settings) {
	if in.Wrong == nil && isDriven(s.Command) {
		in.Wrong = question.WrongSettings(v, in.Layers, s.Command)
	}
	switch {
	case in.Wrong != nil:
		s.refuse(in.Wrong)
	case isDriven(s.Command):
		s.ask(question.QuestionOfHank(v, in.Layers, s.Command))
		if ask := cmp.Or(question.QuestionOfPlayed(v, s.Command), question.QuestionOfLost(v, s.Command)); ask != nil {
			s.ask(ask)
		} else {
			s.look(v)
		}
	}
}

// look is foresee, as far as a look at the workspace's directory tells.
func (s *Status) look(v *recovery.View) {
	if ask := question.AtOnce(v, s.Command); ask != nil && s.Command != "" {
		s.Findings = withoutGone(s.Findings, v)
		s.block(ask)
		if command, answer := s.Command, strings.TrimPrefix(strings.TrimPrefix(ask.Command, "hank run"), "hank retry"); strings.HasPrefix(command, "hank run") || strings.HasPrefix(command, "hank retry") {
			if ask.Command = command + answer; s.asked != nil {
				ask.Answers = finding.Both(s.asked.Answers, ask.Answers)
			}
		}
		s.answer(ask)
	}
}

// block adds why the command to run next would be refused as it is.
func (s *Status) block(why error) {
	s.Verdict, s.Resume = verdict.Blocked, ""
	s.Findings = append(deferred(s.Findings), finding.Finding{Severity: finding.Blocked, What: why.Error()})
}

// deferred are findings beside something that is to be resolved first.
func deferred(found []finding.Finding) []finding.Finding {
	out := slices.Clone(found)
	for i := range out {
		out[i] = out[i].Deferred()
	}
	return out
}

// withoutGone leaves out the warning of a workspace that is gone, where a question
// says more.
func withoutGone(findings []finding.Finding, v *recovery.View) []finding.Finding {
	return slices.DeleteFunc(slices.Clone(findings), func(f finding.Finding) bool {
		return f.Severity == finding.Warning && strings.HasPrefix(f.What, "the workspace "+v.Layout.Workspace+" is gone")
	})
}

// isPersonal reports whether the command to run next is the user's to give.
func (s *Status) isPersonal() (decides bool) {
	s.Why, decides = verdict.PersonDecides(s.Command, s.Raise, s.loop)
	return (decides || s.unreadable) && !s.Live && isDriven(s.Command)
}

// makeReadable is what the user does before a run that was paused for a file continues.
func makeReadable(name string) string { return fmt.Sprintf("make %q readable", name) }

// isDriven reports whether a command is one that reads the settings.
func isDriven(command string) bool {
	return strings.Contains(command, "hank run") || strings.Contains(command, "hank retry")
}

const correctSettings = "correct the settings that are named above"

// finishing says how what a budget has interrupted is done again. It needs all records,
// of which a glance has only the last.
func (s *Status) finishing(v *recovery.View, in config.Layers) {
	if len(s.CutOff) == 0 || v.Live || v.Blocked != nil {
		return
	}
	if whole, err := recovery.ReadKnown(v.Layout.Root); err == nil {
		s.finishingOf(whole, in)
	}
}

// finishingOf is finishing of an execution that was read whole.
func (s *Status) finishingOf(v *recovery.View, in config.Layers) {
	if len(s.CutOff) > 0 && !v.Live && v.Blocked == nil {
		s.Finish, s.FinishFirst = verdict.Finish(v.State, "", func() *plan.Program { return question.Program(v, in) })
	}
}

// nextStep is the one command that makes sense now.
func nextStep(s Status, v *recovery.View) string {
	last := s.LastCodon
	if last != nil && last.Settling != nil { // the next opening concludes it
		last = last.Conclude(state.Time{})
	}
	switch {
	case s.Live, s.Planned > 0 && s.Done == s.Planned && (s.RunStatus == state.StatusCompleted || s.movedAway()):
		return ""
	case last != nil && last.Status == state.Failed && !last.Settled() && last.Interrupted == "" && s.EndReason != state.EndExhausted && !s.movedAway() && !verdict.TriesAgain(v, standing(v.State), last):
		return "hank retry"
	}
	return "hank run"
}

// gates adds the gate that an execution is at, and what holds it. Where the user is
// to answer, no command is named for programs.
func (s *Status) gates(v *recovery.View, now time.Time) {
	s.Hold = v.State.Hold
	ended := v.Unrecorded() != nil // the codon: another one is next

	// What counts of gates, and what follows a codon that has ended, takes all records.
	if ended || len(v.State.Gates) > 0 || gate.MayCome(v.Head) {
		if !v.Whole {
			if whole, err := recovery.ReadKnown(v.Layout.Root); err == nil {
				v = whole
			}
		}
		st, undecided := history.Ahead(v)
		if ended {
			if s.Next, s.Awaits = "", undecided; undecided == "" {
				s.Next = history.NextID(st)
			}
		}
		s.gatesOf(st, now)
	}
	if s.Hold != nil && !s.Live && !s.mustFirst() {
		s.Verdict, s.Command, s.asks = verdict.Held, "hank release", true
	}
}

// mustFirst reports whether something comes before a gate and a hold.
func (s *Status) mustFirst() bool {
	return s.Verdict == verdict.Blocked || s.Verdict == verdict.Interrupted || s.Verdict == verdict.Creating
}

func (s *Status) gatesOf(st *state.State, now time.Time) {
	switch name, refused := gate.Ask(st, now); {
	case refused && !s.Live: // the next run has its codon fail, and does what follows from that
		s.Next = ""
	case s.Awaits == "":
		s.NextGate = name
	default: // which other gate comes depends on the verdict
		if own := gate.OfEnded(st); own != nil {
			s.NextGate = own.Name
		}
	}
	g := gate.At(st)
	switch {
	case s.mustFirst():
	case g != nil && g.Waiting() && !g.Expired(now):
		s.Gate = gate.ViewOf(g.Request, s.Workspace)
		if s.Verdict, s.asks = verdict.Waiting, true; !s.Live {
			s.Command = ""
		}
	case s.EndReason == state.EndGate && !s.movedAway(): // it was answered, or nobody has in time
		s.Verdict = verdict.Stopped
		if g == nil || g.Request == nil {
			g = answered(st)
		}
		if g != nil && g.Request != nil {
			s.Answered = gate.Sentence(g.Request)
		}
	}
	if g != nil && g.Expired(now) && !s.mustFirst() {
		s.Expired = g.Lapse()
		s.Answered = s.Expired.Text(s.Live)
	}
}

// gateLines are the lines of a status about gates and holds.
func (s *Status) gateLines(line func(label, format string, args ...any)) {
	if s.Gate != nil {
		line("waiting", "%s", s.Gate.Waits()[len("waiting "):])
		for _, row := range s.Gate.Rows() {
			line(row[0], "%s", row[1])
		}
	}
	if s.Answered != "" {
		line("gate", "%s", s.Answered)
	}
	if s.Hold != nil {
		line("held", "%s", HeldText(s.Hold))
	}
}

// question is what the person decides whom a gate or a hold waits for; nil: none.
func (s *Status) question() *finding.DecisionError {
	switch {
	case s.Hold != nil && !s.Live:
		return &finding.DecisionError{What: "the execution is held " + HeldText(s.Hold), Options: []string{"`hank release`"}}
	case s.Gate != nil:
		return &finding.DecisionError{What: s.Gate.Waits(), Options: []string{"look at what is judged, then `" + s.Gate.Approve + "` or `" + s.Gate.Reject + "`"}}
	}
	return nil
}
