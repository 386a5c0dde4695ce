package report

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"hank/checkpoint"
	"hank/checkpoint/repair"
	"hank/internal/advice"
	"hank/internal/sandbox"
	"hank/internal/secret"
	"hank/internal/term"
	"hank/plan/config"
	"hank/recovery"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/runtime/agents"
	"hank/runtime/hankfile"
	"hank/runtime/losses"
	"hank/runtime/question"
	"hank/runtime/startpoint"
	"hank/runtime/verdict"
	"hank/state"
	"hank/state/consistency"
)

// Diagnosis is what is wrong with an execution, what is safe, and which command to
// run next: what hank doctor prints.
type Diagnosis struct {
	Schema     int                     `json:"schema"`
	Execution  string                  `json:"execution"`
	Healthy    bool                    `json:"healthy"`   // nothing is to be repaired or decided, and nothing is lost
	Condition  Condition               `json:"condition"` // the same, and what if not
	Live       bool                    `json:"live"`
	RunStatus  state.RunStatus         `json:"runStatus,omitempty"`
	Happened   string                  `json:"happened,omitempty"` // how the newest run is
	Source     string                  `json:"source,omitempty"`   // where the state was read from
	Seq        uint64                  `json:"lastEvent"`          // everything up to this event is safe
	Fixed      bool                    `json:"fixed"`              // --fix was given and has been carried out
	Findings   []finding.Finding       `json:"findings"`
	Safe       []string                `json:"safe"` // what is there and whole
	Validation *consistency.Validation `json:"validation,omitempty"`
	Store      *StoreHealth            `json:"checkpoints,omitempty"`
	Lost       []LostCheckpoint        `json:"lost,omitempty"` // checkpoints that are no longer available
	Quarantine []string                `json:"quarantine,omitempty"`
	Sandbox    sandbox.Support         `json:"sandbox"`           // what this kernel can do
	Command    string                  `json:"command,omitempty"` // the one to run next
	Resume     string                  `json:"resume,omitempty"`  // see status
	Finish     string                  `json:"finish,omitempty"`  // see status
	Next       string                  `json:"next"`              // the same for the user, or what to do where no command helps

	Name        string   `json:"-"` // of the hank; empty where that cannot be told
	OfOrigin    bool     `json:"-"` // see Status
	FinishFirst string   `json:"-"` // see Status
	Repaired    int      `json:"-"` // how many of Findings --fix has dealt with
	Choices     []string `json:"-"` // see Status

	unfinished bool              // a change of the workspace was interrupted
	gone       []finding.Finding // what is lost beside checkpoints
	unsure     bool              // where the state was read from does not know every move
	first      string            // what the user must do before Command
	raise      bool              // that a budget is to be raised, see verdict.PersonDecides
	choice     string            // what the user may do where there is no Command
	decided    string            // the command that the user may give, and no program
	asking     bool              // what blocks from here on is asked, see finding.Finding
}

// Condition is what an execution needs.
type Condition string

// The conditions, the worst that fits.
const (
	Healthy     Condition = "healthy"
	WithLosses  Condition = "lost"     // in order, but something is lost
	NeedsRepair Condition = "repair"   // the next command that writes does it
	NeedsYou    Condition = "decision" // no command does it by itself
)

// StoreHealth is what a look at all objects of the store has shown.
type StoreHealth struct {
	Objects  int      `json:"objects"`
	Bytes    int64    `json:"bytes"`
	Problems []string `json:"problems"`
}

// A Fix is what hank doctor --fix has done before an execution is examined.
type Fix struct {
	Done     []finding.Finding
	Decision error // why it was refused: the user has to decide something first
}

// Examine looks at all of an execution, after a fix or, without one, as it is. The commands have the option, see ReadStatus.
func Examine(ctx context.Context, root string, in Settings, after *Fix, option string) *Diagnosis {
	d := examine(ctx, root, in, option)
	if after != nil {
		if after.Decision != nil {
			d.block(after.Decision)
		}
		d.Fixed, d.Repaired = after.Decision == nil, len(after.Done)
	}
	d.judge(after) // of what is so now, not of what was repaired before
	if d.Findings = append(d.Findings, d.gone...); after != nil {
		slices.SortStableFunc(after.Done, finding.LossesFirst) // not all are shown
		d.Findings = append(after.Done, d.Findings...)
	}
	for i := range d.Findings {
		d.Findings[i].What = secret.Text(thisIsIt.Replace(d.Findings[i].What))
	}
	if d.Store != nil {
		for i, problem := range d.Store.Problems {
			d.Store.Problems[i] = advice.Render(thisIsIt.Replace(problem), option)
		}
	}
	d.Findings = inExecution(d.Findings, option)
	rest, first := strings.CutPrefix(d.Next, d.Command)
	d.Choices = advice.Commands(d.Choices, option)
	d.Command, d.Resume, d.Finish = advice.Command(d.Command, option), advice.Command(d.Resume, option), advice.Command(d.Finish, option)
	if d.Next = advice.Render(rest, option); first {
		d.Next = d.Command + d.Next
	}
	return &d
}

// thisIsIt leaves out the advice to run hank doctor, of errors about damage.
var thisIsIt = strings.NewReplacer("; nothing was changed, run `hank doctor`", "")

// examine looks at everything without changing it.
func examine(ctx context.Context, root string, in Settings, option string) Diagnosis {
	d := Diagnosis{Schema: 1, Sandbox: sandbox.Kernel(), Execution: root, Findings: []finding.Finding{}, Safe: []string{}}
	v, err := recovery.Read(root)
	if err != nil {
		d.block(err)
		d.Safe = remains(root)
		var newer *state.NewerError
		var decision *finding.DecisionError
		barred := errors.As(err, &decision) && decision.Barred
		if _, half := recovery.Importing(root); !half && !barred && !errors.As(err, &newer) {
			none := consistency.Corrupted(errors.New("no text that is left can be read as a state"))
			d.Validation = &none
		}
		return d
	}
	v.WarnOfPrivate()
	v.LookAgain(ctx)
	s := statusOf(v, v.Weigh(), in.Layers)
	d.Live, d.RunStatus, d.Source, d.Seq, d.Command = v.Live, s.RunStatus, v.Report.Source, v.State.Seq, s.Command
	if d.first, d.raise, d.Choices = s.first, s.Raise, s.Choices; v.Blocked != nil {
		d.choose(v.Blocked)
	}
	d.Name, d.Resume, d.Happened, d.unfinished = s.Name, s.Resume, happened(s, option), v.Unfinished()
	s.finishingOf(v, in.Layers)
	d.Finish, d.FinishFirst = s.Finish, s.FinishFirst
	d.Findings, d.Quarantine, d.OfOrigin = append(d.Findings, continuedBy(v.Report.Findings, s.Command)...), s.Quarantine, s.OfOrigin
	if v.Blocked != nil {
		d.Findings = deferred(d.Findings)
	}
	if s.noSession != nil {
		d.Findings = append(d.Findings, *s.noSession)
	}
	d.unsure, d.gone = v.Report.Unsure, losses.Find(ctx, v)
	d.Safe = append(d.Safe, fmt.Sprintf("data intact up to event %d (%s)", d.Seq, d.Source))
	validation := v.Validate()
	d.Validation = &validation
	if v.Report.Has(finding.Lost) && v.Blocked == nil {
		d.Command = "hank doctor --fix"
	}
	if err := d.examineStore(ctx, v); err != nil && hasCheckpoints(v.State) {
		if v.Blocked == nil {
			d.block(err)
		}
		d.Safe = append(d.Safe, remains(root)...)
	}
	if barred := v.Barred(); v.Blocked == nil && barred != nil && d.Command != "" {
		d.block(barred)
		return d
	}
	if in.Wrong == nil && isDriven(d.Command) {
		in.Wrong = question.WrongSettings(v, in.Layers, d.Command)
	}
	if in.Wrong == nil {
		d.examineQuestion(ctx, v, in.Layers)
	}
	if d.asking = true; in.Wrong == nil {
		d.examineAgents(ctx, v)
	} else {
		d.examineSettings(in.Wrong)
	}
	d.examineDecisions(v)
	if ask := s.question(); ask != nil {
		if d.whole() {
			d.choose(ask)
		}
		d.block(ask)
	}
	return d
}

// examineAgents says that the command to run next would miss something that the hank requires.
func (d *Diagnosis) examineAgents(ctx context.Context, v *recovery.View) {
	if d.Live || !isDriven(d.Command) {
		return
	}
	if missing := agents.Missing(ctx, v); missing != nil {
		command, choices := d.Command, d.Choices
		d.block(missing)
		d.Command, d.Choices, d.first = command, choices, "provide what is named above"
	}
}

// examineDecisions says what the command to run next would decide for the user: to spend more than
// a limit allows, or to continue after many crashes. A program is given no command for that.
func (d *Diagnosis) examineDecisions(v *recovery.View) {
	if d.Live || !isDriven(d.Command) {
		return
	}
	command := d.Command
	why, decides := verdict.PersonDecides(command, d.raise, verdict.CrashLoop(v.State))
	if why != "" {
		d.block(errors.New(why))
	}
	if decides {
		d.Command, d.decided = "", command
	}
	if name := v.Unreadable(); name != "" {
		d.Command, d.decided, d.first = "", command, makeReadable(name)
	}
}

// examineSettings says that the command to run next would refuse the settings.
func (d *Diagnosis) examineSettings(wrong error) {
	if d.Live || !isDriven(d.Command) {
		return
	}
	command, choices := d.Command, d.Choices
	d.block(wrong)
	d.Command, d.Choices, d.first = command, choices, correctSettings
}

// examineQuestion says what the command to run next would ask, or what it could not read.
func (d *Diagnosis) examineQuestion(ctx context.Context, v *recovery.View, layers config.Layers) {
	err := question.Question(ctx, v, layers, d.Command)
	var decision *finding.DecisionError
	if !errors.As(err, &decision) {
		if unstable := new(checkpoint.UnstableError); errors.As(err, &unstable) && v.Unreadable() == "" { // else it is said elsewhere
			d.block(unstable)
		}
		return
	}
	broken := d.Command == fixCommand
	d.asking = d.whole() && len(d.Lost)+len(d.gone) == 0 && !v.Gone() && !hankfile.IsLost(decision.What)
	d.Findings = withoutGone(d.Findings, v)
	if d.block(decision); strings.Contains(d.Command, verdict.AdoptOption) || strings.Contains(d.Command, " --frozen") {
		d.first, d.raise = question.FirstAfter(decision, d.first, d.raise)
	}
	if broken {
		d.Command, d.Choices = fixCommand, nil // what the files are to come from is repaired first
	}
}

const fixCommand = "hank doctor --fix"

// whole reports whether nothing is lost, blocked or damaged so far.
func (d *Diagnosis) whole() bool {
	return (d.Store == nil || len(d.Store.Problems) == 0) && !slices.ContainsFunc(d.Findings, func(f finding.Finding) bool { return f.Severity == finding.Blocked || f.IsLoss() })
}

// block adds what needs the user. The command to run next is the one that
// settles it, if there is one.
func (d *Diagnosis) block(err error) {
	found := finding.Finding{Severity: finding.Blocked, What: err.Error(), Asked: d.asking}
	if slices.Contains(d.Findings, found) {
		return
	}
	d.Findings, d.Command, d.Choices = append(deferred(d.Findings), found), "", nil
	var decision *finding.DecisionError
	var damaged *checkpoint.DamagedError
	var newer *state.NewerError
	switch {
	case errors.As(err, &decision):
		d.Command, d.Choices = decision.Command, decision.Choices()
		d.choose(decision)
	case errors.As(err, &damaged):
		d.Command = "hank doctor --fix"
	case errors.As(err, &newer):
		d.Next = "the newer hank"
	}
}

// choose notes what the user may do about a decision that no command settles.
func (d *Diagnosis) choose(of *finding.DecisionError) {
	if len(of.Options) > 0 {
		d.choice = of.Options[0]
	}
}

// remains is what is there whatever the state says.
func remains(root string) []string {
	safe := []string{}
	l := layout.LayoutOf(root)
	if fi, err := os.Stat(l.Workspace); err == nil && fi.IsDir() {
		safe = append(safe, "the workspace "+term.ShortPath(l.Workspace)+", as it is")
	}
	if runs, err := os.ReadDir(l.Runs()); err == nil && len(runs) > 0 {
		safe = append(safe, "the transcripts of "+term.Count(len(runs), "run")+" in "+term.ShortPath(l.Runs()))
	}
	return safe
}

// happened is the state of the newest run in one line, whose commands have the option.
func happened(s Status, option string) string {
	s.show(option)
	last := s.LastCodon
	switch s.Verdict {
	case verdict.Running:
		if s.LiveCodon != nil {
			return fmt.Sprintf("codon %s is running", s.LiveCodon.CodonID)
		}
		return "a run is in progress"
	case verdict.Creating:
		return "the execution is being created"
	case verdict.NotBegun:
		return "nothing has run yet"
	case verdict.Blocked:
		return "blocked: nothing runs before this is resolved"
	case verdict.Interrupted:
		return "a change of the workspace was interrupted"
	case verdict.RolledBack:
		return fmt.Sprintf("rolled back to checkpoint %s", Short(s.Position.CheckpointSHA))
	case verdict.Completed:
		if more := verdict.CaveatText(s.Caveats); more != "" {
			return "the hank is completed, with " + more
		}
		return "the hank is completed"
	case verdict.Stopped:
		if last != nil && last.Interrupted != "" {
			return fmt.Sprintf("codon %s was stopped", last.CodonID)
		}
		if s.RunStatus == state.StatusCompleted {
			return "the last run ended before codons that run again"
		}
		return "the last run was stopped"
	case verdict.Waiting:
		return "waiting at gate " + s.Gate.Gate
	case verdict.Held:
		return "the execution is held"
	case verdict.Crashed:
		return "the last run crashed"
	case verdict.Failed:
		if last != nil && last.FailureReason != nil {
			return fmt.Sprintf("codon %s failed: %s", last.CodonID, verdict.FailureLine(last.FailureReason))
		}
		return "the last run failed"
	case verdict.Refused:
		return "the provider refused the last run: " + FirstLine(s.EndDetail)
	case verdict.Budget:
		return "a budget ended the last run: " + verdict.Beside(verdict.Budget, FirstLine(s.EndDetail))
	case verdict.Paused:
		if s.Paused != nil {
			why, _, _ := strings.Cut(s.Paused.Detail, "; choose: ")                    // which a finding names as long as it holds
			if rest, found := strings.CutPrefix(why, checkpoint.CannotRecord); found { // so it does the remedy
				path, _ := strconv.QuotedPrefix(rest)
				cause, _, _ := strings.Cut(rest[len(path):], "; ")
				why = checkpoint.CannotRecord + path + cause
			}
			return "the last run was paused: " + FirstLine(why)
		}
		if s.EndReason == state.EndExhausted {
			return "the last run is paused: " + FirstLine(s.EndDetail)
		}
		return "hank could not continue the last run: " + FirstLine(s.EndDetail)
	}
	return "the last run: " + s.Verdict.String()
}

// hasCheckpoints reports whether there is anything that a store must hold.
func hasCheckpoints(s *state.State) bool {
	return s.InitialCheckpoint != "" || slices.ContainsFunc(s.Runs, func(r *state.Run) bool {
		return slices.ContainsFunc(r.Codons(), func(c *state.Codon) bool { return c.Checkpoint() != "" })
	})
}

func (d *Diagnosis) examineStore(ctx context.Context, v *recovery.View) error {
	store, err := v.Store()
	if err != nil {
		return err
	}
	defer store.Close()
	report, err := repair.CheckAfter(ctx, store.DB, v.Refs)
	if err != nil {
		return err
	}
	size, err := store.Size()
	d.Store = &StoreHealth{report.Objects, size, append([]string{}, report.Problems...)}
	if v.Live { // else it is among the findings
		d.Findings = append(d.Findings, recovery.DamagedIndexes(store)...)
	}
	if len(report.Problems) > 0 && v.Blocked == nil {
		d.Command = "hank doctor --fix"
	}
	if len(report.Problems) == 0 && !v.Live {
		lost, err := githistory.LostCheckpoints(v.State, store.Verifier(ctx).IsComplete)
		if err != nil {
			return err
		}
		d.Lost = lostCheckpoints(lost)
		if question := startpoint.StartLost(v.State, store, d.Command); question != nil && d.Command != fixCommand {
			d.block(question)
		}
	}
	if len(report.Problems) == 0 {
		d.Safe = append(d.Safe, fmt.Sprintf("checkpoints OK: %d objects, %s", report.Objects, term.Bytes(size)))
	}
	return err
}

// judge decides whether the user is needed, and what is to be done next.
func (d *Diagnosis) judge(after *Fix) {
	invalid := d.Validation != nil && !d.Validation.Valid
	broken := d.Store != nil && len(d.Store.Problems) > 0
	d.Condition = Healthy
	if len(d.Lost)+len(d.gone) > 0 || after != nil && slices.ContainsFunc(after.Done, finding.Finding.IsLoss) {
		d.Condition = WithLosses
	}
	if d.unfinished || slices.ContainsFunc(d.Findings, func(f finding.Finding) bool { return f.Severity == finding.Mended }) {
		d.Condition = NeedsRepair
	}
	if invalid || !d.whole() {
		d.Condition = NeedsYou
	}
	d.Healthy = d.Condition == Healthy
	done := "the hank is completed"
	if d.unsure {
		done += ", as far as is known"
	}
	switch {
	case d.Next != "":
	case d.Live:
		d.Next = "a run is in progress: `hank status`"
	case d.Command != "" && broken:
		d.Next = d.Command + "; first restore the damaged files from a backup, if you have one: otherwise what cannot be saved of them is lost"
	case d.Command != "":
		d.Next = d.Command
		if strings.HasPrefix(d.Command, "hank r") {
			d.Next += Before(d.first)
		}
		if d.Resume != "" && d.Command == "hank run" {
			d.Next += "; or " + advice.Quote(d.Resume) + " to resume the agent's interrupted session"
		}
	case broken:
		d.Next = "restore the damaged files from a backup, if you have one: otherwise what cannot be saved of them is lost"
	case d.decided != "":
		d.Next = advice.Quote(d.decided) + Before(d.first)
	case d.Condition == NeedsYou && d.choice != "":
		d.Next = d.choice + "; then `hank doctor`"
	case d.Condition == NeedsYou:
		d.Next = "remove the cause named above, then `hank doctor`"
	case d.Condition == NeedsRepair:
		d.Command = fixCommand
		d.Next = fixCommand + "; " + done
	default:
		d.Next = "nothing; " + done
	}
}
