package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"hank/checkpoint"
	"hank/checkpoint/packdb"
	"hank/checkpoint/repair"
	"hank/internal/sandbox"
	"hank/internal/secret"
	"hank/internal/term"
	"hank/plan"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/layout"
	"hank/runtime"
	"hank/runtime/agents"
	"hank/runtime/exitcode"
	"hank/runtime/keeper"
	"hank/runtime/verdict"
	"hank/state"
)

// diagnosis is the JSON form of hank doctor.
type diagnosis struct {
	Schema     int               `json:"schema"`
	Execution  string            `json:"execution"`
	Healthy    bool              `json:"healthy"`   // nothing is to be repaired or decided, and nothing is lost
	Condition  condition         `json:"condition"` // the same, and what if not
	Live       bool              `json:"live"`
	RunStatus  state.RunStatus   `json:"runStatus,omitempty"`
	Happened   string            `json:"happened,omitempty"` // how the newest run stands
	Source     string            `json:"source,omitempty"`   // where the state was read from
	Seq        uint64            `json:"lastEvent"`          // everything up to this event is safe
	Fixed      bool              `json:"fixed"`              // --fix was given and has been carried out
	Findings   []finding.Finding `json:"findings"`
	Safe       []string          `json:"safe"` // what is there and whole
	Validation *state.Validation `json:"validation,omitempty"`
	Store      *storeHealth      `json:"checkpoints,omitempty"`
	Lost       []lostCheckpoint  `json:"lost,omitempty"` // checkpoints that cannot be gone back to any more
	Quarantine []string          `json:"quarantine,omitempty"`
	aside      string            // what was set aside, for people
	Sandbox    sandbox.Support   `json:"sandbox"`           // what this kernel can do
	Command    string            `json:"command,omitempty"` // the one to run next
	Resume     string            `json:"resume,omitempty"`  // see status
	Finish     string            `json:"finish,omitempty"`  // see status
	Next       string            `json:"next"`              // the same for a person, or what to do where no command helps

	unfinished  bool   // a change of the workspace was interrupted
	unindexed   bool   // packs have lost their index alone
	unsure      bool   // where the state was read from does not know every move
	first       string // what a person must do before Command
	raise       bool   // that a budget is to be raised, see runtime.PersonDecides
	finishFirst string // what a person must do before Finish
	choice      string // what a person may do where there is no Command
	decided     string // the command that a person may give, and no program
	done        int    // how many of Findings --fix has dealt with
}

// condition is what an execution needs.
type condition string

// The conditions, the worst that fits.
const (
	healthy     condition = "healthy"
	withLosses  condition = "lost"     // in order, but checkpoints are lost
	needsRepair condition = "repair"   // the next command that writes does it
	needsYou    condition = "decision" // no command does it by itself
)

// storeHealth is what a look at all objects of the store has shown.
type storeHealth struct {
	Objects  int      `json:"objects"`
	Bytes    int64    `json:"bytes"`
	Problems []string `json:"problems"`
}

func doctorCommand() *cli.Command {
	return &cli.Command{
		Name: "doctor", Usage: "say what happened, what is safe, and the one command to run next",
		Description: `Checks the state, the journal and every object of the checkpoints, and changes
nothing. --fix applies what is safe: it closes crashed runs, finishes changes that
were cut short, mends damaged files from the other memories and sets the damaged
ones aside; a checkpoint store that is gone is begun anew.

Example: hank doctor -e DIR

healthy means that nothing is to be repaired or decided, and nothing is lost.

Exit code 0: the next command brings everything in order, or there is nothing to do;
4: something needs your decision; 5: --fix while a run is at work.`,
		Flags: []cli.Flag{executionFlag, &cli.BoolFlag{Name: "fix", Usage: "apply what is safe"}, breakLockFlag, jsonFlag},
		Action: func(c *cli.Context) error {
			if err := arguments(c, 0, 0); err != nil {
				return err
			}
			root, err := executionOf(c)
			if err != nil {
				return err
			}
			var done []finding.Finding
			if c.Bool("fix") {
				if done, err = fix(c, root); err != nil && verdict.CodeOf(err) != exitcode.Decision {
					return err
				}
			}
			layers, wrong := settings(c)
			d := examine(c.Context, root, layers, wrong)
			if err != nil { // what --fix must not decide
				d.block(err)
			}
			d.judge() // of what is so now, not of what was mended or lost before
			d.Fixed, d.Findings = c.Bool("fix") && err == nil, append(done, d.Findings...)
			d.done = len(done)
			for i := range d.Findings {
				d.Findings[i].What = secret.Text(d.Findings[i].What)
			}
			d.Findings = findingsForThis(c, d.Findings)
			behind, first := strings.CutPrefix(d.Next, d.Command)
			d.Command, d.Resume, d.Finish = commandForThis(c, d.Command), commandForThis(c, d.Resume), commandForThis(c, d.Finish)
			if d.Next = forThis(c, behind); first {
				d.Next = d.Command + d.Next
			}
			if c.Bool("json") {
				if err := printJSON(d); err != nil {
					return err
				}
			} else {
				printDiagnosis(c, d)
			}
			if d.Condition == needsYou {
				return exitWith(exitcode.Decision)
			}
			return nil
		},
	}
}

// fix opens the execution, which brings it in order.
func fix(c *cli.Context, root string) ([]finding.Finding, error) {
	x, err := recovery.Open(c.Context, root, execution.Options{Command: "hank doctor --fix", BreakLock: c.String("break-lock"), ReplaceStore: true, Work: work,
		Reap: keeper.ReapNames, Warn: func(line string) { remark("hank: %s\n", forThis(c, line)) }})
	if err != nil {
		return nil, err
	}
	return x.Report.Findings, x.Close()
}

// examine looks at everything without changing it. layers are the settings that
// hold here; wrong: a run refuses them.
func examine(ctx context.Context, root string, layers plan.Layers, wrong error) diagnosis {
	d := diagnosis{Schema: 1, Sandbox: sandbox.Kernel(), Execution: root, Findings: []finding.Finding{}, Safe: []string{}}
	v, err := recovery.Read(root)
	if err != nil {
		d.block(err)
		d.Safe = remains(root)
		var newer *state.NewerError
		var decision *finding.DecisionError
		barred := errors.As(err, &decision) && decision.Barred
		if _, half := recovery.Importing(root); !half && !barred && !errors.As(err, &newer) {
			none := state.Corrupted(errors.New("no text that is left can be read as a state"))
			d.Validation = &none
		}
		return d
	}
	v.WarnOfPrivate()
	v.LookAgain(ctx)
	s := statusOf(v)
	d.Live, d.RunStatus, d.Source, d.Seq, d.Command = v.Live, s.RunStatus, v.Report.Source, v.State.Seq, s.Command
	if d.first, d.raise = s.first, s.raise; v.Blocked != nil {
		d.choose(v.Blocked)
	}
	d.Resume, d.Happened, d.unfinished = s.Resume, happened(s), v.Unfinished()
	s.finishingOf(v)
	d.Finish, d.finishFirst = s.Finish, s.finishFirst
	d.Findings, d.Quarantine, d.aside = append(d.Findings, v.Report.Findings...), s.Quarantine, s.aside
	if s.noSession != nil {
		d.Findings = append(d.Findings, *s.noSession)
	}
	d.unsure = v.Report.Unsure
	d.Safe = append(d.Safe, fmt.Sprintf("everything up to event %d, read from %s", d.Seq, d.Source))
	validation := v.Validate()
	d.Validation = &validation
	if v.Report.Has(finding.Lost) && v.Blocked == nil {
		d.Command = "hank doctor --fix"
	}
	if err := d.examineStore(ctx, v); err != nil && hasCheckpoints(v.State) {
		d.block(err)
		d.Safe = append(d.Safe, remains(root)...)
	}
	if barred := v.Barred(); v.Blocked == nil && barred != nil && d.Command != "" {
		d.block(barred)
		return d
	}
	if wrong == nil {
		d.examineQuestion(ctx, v, layers)
		d.examineAgents(ctx, v)
	} else {
		d.examineSettings(wrong)
	}
	d.examineDecisions(v)
	return d
}

// examineAgents says that the command to run next would miss an agent, or something
// else that the hank requires.
func (d *diagnosis) examineAgents(ctx context.Context, v *recovery.View) {
	if d.Live || !isDriven(d.Command) {
		return
	}
	if missing := agents.Missing(ctx, v); missing != nil {
		command := d.Command
		d.block(missing)
		d.Command, d.first = command, "see to what is named above"
	}
}

// examineDecisions says what the command to run next would decide for a person who
// has not: to spend more than a limit allows, or to go on after crashes of which a
// supervisor has had enough. A program is given no command for that.
func (d *diagnosis) examineDecisions(v *recovery.View) {
	if d.Live || !isDriven(d.Command) {
		return
	}
	command := d.Command
	why, decides := runtime.PersonDecides(command, d.raise, runtime.CrashLoop(v.State))
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
func (d *diagnosis) examineSettings(wrong error) {
	if d.Live || !isDriven(d.Command) {
		return
	}
	command := d.Command
	d.block(wrong)
	d.Command, d.first = command, correctSettings
}

// examineQuestion says what the command to run next would ask.
func (d *diagnosis) examineQuestion(ctx context.Context, v *recovery.View, layers plan.Layers) {
	err := runtime.Question(ctx, v, layers, d.Command)
	var decision *finding.DecisionError
	if !errors.As(err, &decision) {
		return // what cannot be read is said elsewhere
	}
	broken := d.Command == fixCommand
	d.Findings = withoutGone(d.Findings, v)
	if d.block(decision); strings.HasSuffix(d.Command, "--adopt") { // it was edited
		d.first, d.raise = "", false
	}
	if broken {
		d.Command = fixCommand // what the files are to come from is mended first
	}
}

const fixCommand = "hank doctor --fix"

// whole tells whether nothing is lost, blocked or damaged so far.
func (d *diagnosis) whole() bool {
	return (d.Store == nil || len(d.Store.Problems) == 0) && !slices.ContainsFunc(d.Findings, func(f finding.Finding) bool {
		return f.Severity == finding.Blocked || f.Severity == finding.Lost
	})
}

// block adds what needs a person. The command to run next is the one that
// settles it, if there is one.
func (d *diagnosis) block(err error) {
	found := finding.Finding{Severity: finding.Blocked, What: err.Error()}
	if slices.Contains(d.Findings, found) {
		return
	}
	for i := range d.Findings {
		d.Findings[i] = d.Findings[i].Held()
	}
	d.Findings, d.Command = append(d.Findings, found), ""
	var decision *finding.DecisionError
	var damaged *checkpoint.DamagedError
	var newer *state.NewerError
	switch {
	case errors.As(err, &decision):
		d.Command = decision.Command
		d.choose(decision)
	case errors.As(err, &damaged):
		d.Command = "hank doctor --fix"
	case errors.As(err, &newer):
		d.Next = "the newer hank"
	}
}

// choose notes what a person may do about a decision that no command settles.
func (d *diagnosis) choose(of *finding.DecisionError) {
	if len(of.Options) > 0 {
		d.choice = of.Options[0]
	}
}

// remains is what is there whatever the state says.
func remains(root string) []string {
	safe := []string{}
	l := layout.LayoutOf(root)
	if fi, err := os.Stat(l.Workspace); err == nil && fi.IsDir() {
		safe = append(safe, "the workspace "+shorten(l.Workspace)+", as it is")
	}
	if runs, err := os.ReadDir(l.Runs()); err == nil && len(runs) > 0 {
		safe = append(safe, "the transcripts of "+count(len(runs), "run")+" in "+shorten(l.Runs()))
	}
	return safe
}

// happened is the state of the newest run in one line.
func happened(s status) string {
	last := s.LastCodon
	switch s.Verdict {
	case verdict.Running:
		if s.LiveCodon != nil {
			return fmt.Sprintf("codon %s is at work", s.LiveCodon.CodonID)
		}
		return "a run is at work"
	case verdict.Creating:
		return "the execution is being created"
	case verdict.NotBegun:
		return "nothing has run yet"
	case verdict.Blocked:
		return "something is in the way: nothing runs before it is settled"
	case verdict.RolledBack:
		return fmt.Sprintf("rolled back to checkpoint %s", short(s.Position.CheckpointSHA))
	case verdict.Completed:
		if more := verdict.CaveatText(s.Caveats); more != "" {
			return "the hank is done, with " + more
		}
		return "the hank is done"
	case verdict.Stopped:
		if last != nil && last.Interrupted != "" {
			return fmt.Sprintf("codon %s was stopped", last.CodonID)
		}
		return "the last run was stopped"
	case verdict.Crashed:
		return "the last run crashed"
	case verdict.Failed:
		if last != nil && last.FailureReason != nil {
			return fmt.Sprintf("codon %s failed: %s", last.CodonID, firstLine(last.FailureReason.Message))
		}
		return "the last run failed"
	case verdict.Refused:
		return "the provider refused the last run: " + firstLine(s.ended)
	case verdict.Budget:
		return "a budget ended the last run: " + firstLine(s.ended)
	case verdict.Paused:
		if s.Paused != nil {
			why, _, _ := strings.Cut(s.Paused.Detail, "; choose: ")                // which a finding names as long as it holds
			if rest, found := strings.CutPrefix(why, packdb.CannotRecord); found { // so it does the remedy
				path, _ := strconv.QuotedPrefix(rest)
				cause, _, _ := strings.Cut(rest[len(path):], "; ")
				why = packdb.CannotRecord + path + cause
			}
			return "the last run was paused: " + firstLine(why)
		}
		return "hank could not go on with the last run: " + firstLine(s.ended)
	}
	return "the last run: " + string(s.Verdict)
}

// hasCheckpoints reports whether there is anything that a store must hold.
func hasCheckpoints(s *state.State) bool {
	return s.InitialCheckpoint != "" || slices.ContainsFunc(s.Runs, func(r *state.Run) bool {
		return slices.ContainsFunc(r.Codons(), func(c *state.Codon) bool { return c.Checkpoint() != "" })
	})
}

func (d *diagnosis) examineStore(ctx context.Context, v *recovery.View) error {
	store, err := v.Store()
	if err != nil {
		return err
	}
	defer store.Close()
	report, err := repair.Check(ctx, store.DB)
	if err != nil {
		return err
	}
	size, err := store.Size()
	d.Store = &storeHealth{report.Objects, size, append([]string{}, report.Problems...)}
	if d.unindexed = report.Unindexed > 0; d.unindexed {
		d.Findings = append(d.Findings, finding.Finding{Severity: finding.Mended, What: count(report.Unindexed, "pack") +
			" without an index; it is made anew from the pack, and what is said to be lost may be whole: hank doctor says it again after that"})
	}
	d.examineBranches(v, store)
	if len(report.Problems) > 0 && v.Blocked == nil {
		d.Command = "hank doctor --fix"
	}
	if len(report.Problems) == 0 && !v.Live {
		lost, err := recovery.LostCheckpoints(v.State, store.Judge(ctx).Whole)
		if err != nil {
			return err
		}
		d.Lost = lostCheckpoints(lost)
		if question := runtime.StartLost(v.State, store); question != nil && d.Command != fixCommand {
			d.block(question)
		}
	}
	if len(report.Problems) == 0 {
		d.Safe = append(d.Safe, fmt.Sprintf("the checkpoints: %d objects, %s, none is damaged", report.Objects, term.Bytes(size)))
	}
	return err
}

// examineBranches names the branches that the next command puts back.
func (d *diagnosis) examineBranches(v *recovery.View, store *checkpoint.Store) {
	for _, r := range v.State.Runs {
		if v.Live || r.Removed != nil || r.Head == "" || r.GitBranch == "" {
			continue
		}
		if at, err := store.Ref("refs/heads/" + r.GitBranch); err == nil && at == "" && recovery.Begun(store, r.GitBranch, r.Head) {
			d.Findings = append(d.Findings, finding.Finding{Severity: finding.Mended, What: "branch " + r.GitBranch + " is gone; the next command puts it back to where the state has it"})
		}
	}
}

// judge decides whether a person is needed, and what is to be done next.
func (d *diagnosis) judge() {
	invalid := d.Validation != nil && !d.Validation.Valid
	broken := d.Store != nil && len(d.Store.Problems) > 0
	d.Condition = healthy
	if len(d.Lost) > 0 {
		d.Condition = withLosses
	}
	if slices.ContainsFunc(d.Findings, func(f finding.Finding) bool { return f.Severity == finding.Mended }) {
		d.Condition = needsRepair
	}
	if invalid || d.unfinished || !d.whole() {
		d.Condition = needsYou
	}
	d.Healthy = d.Condition == healthy
	done := "the hank is done"
	if d.unsure {
		done += ", as far as is known"
	}
	switch {
	case d.Next != "":
	case d.Live:
		d.Next = "a run is at work: hank status"
	case d.Command != "" && broken && !d.unindexed:
		d.Next = d.Command + "; first put the damaged files back, if there is a copy: what only they hold is lost without"
	case d.Command != "":
		d.Next = d.Command
		if strings.HasPrefix(d.Command, "hank r") {
			d.Next += before(d.first)
		}
		if d.Resume != "" && d.Command == "hank run" {
			d.Next += "; or " + d.Resume + ", which continues the agent's interrupted session"
		}
	case broken:
		d.Next = "put the damaged files back, if there is a copy: what only they hold is lost without"
	case d.decided != "":
		d.Next = d.decided + before(d.first)
	case d.Condition == needsYou && d.choice != "":
		d.Next = d.choice + "; then hank doctor"
	case d.Condition == needsYou:
		d.Next = "remove the cause that is named above, then hank doctor"
	case d.Condition == needsRepair:
		d.Command = fixCommand
		d.Next = fixCommand + "; " + done
	default:
		d.Next = "nothing; " + done
	}
}

// fewer is how many lines of a kind fit on one screen with the others. What blocks
// is shown however many there are: it is why a person is needed.
const fewer = 5

func printDiagnosis(c *cli.Context, d diagnosis) {
	word := term.Green(os.Stdout, "healthy")
	switch d.Condition {
	case withLosses:
		word = term.Yellow(os.Stdout, "in order, but "+count(len(d.Lost), "checkpoint")+" lost")
	case needsRepair:
		word = term.Yellow(os.Stdout, "needs repair")
	case needsYou:
		word = term.Red(os.Stdout, "needs you")
	}
	say("%s  %s\n", term.Bold(os.Stdout, shorten(d.Execution)), word)
	line := func(label, text string) {
		text = strings.ReplaceAll(text, "; nothing was changed, run `hank doctor`", "") // this is it
		say("  %-11s %s\n", label, strings.Join(strings.Fields(text), " "))
	}
	if d.Happened != "" {
		line("happened", d.Happened)
	}
	more := func(n int) {
		if n > 0 {
			line("", fmt.Sprintf("and %d more: hank doctor --json%s", n, executionOption(c)))
		}
	}
	list := func(n int, each func(i int) (label, text string)) {
		for i := range min(n, fewer) {
			line(each(i))
		}
		more(n - fewer)
	}
	others, hidden := 0, 0
	for i, f := range d.Findings {
		if f.Severity != finding.Blocked {
			if others++; others > fewer {
				hidden++
				continue
			}
		}
		word := f.Severity.Planned()
		if i < d.done {
			word = f.Severity.Word()
		}
		line(word, f.What)
	}
	more(hidden)
	if d.Validation != nil {
		issue := func(word string, issues []state.Issue) {
			list(len(issues), func(i int) (string, string) { return word, fmt.Sprintf("[%s] %s", issues[i].Type, issues[i].Message) })
		}
		issue("error", d.Validation.Errors)
		issue("warning", d.Validation.Warnings)
	}
	if d.Store != nil {
		list(len(d.Store.Problems), func(i int) (string, string) { return "damaged", d.Store.Problems[i] })
	}
	if n := len(d.Lost); n > 0 {
		line("lost", count(n, "checkpoint")+" cannot be gone back to any more")
	}
	for _, s := range d.Safe {
		line("safe", s)
	}
	if len(d.Quarantine) > 0 {
		line("set aside", d.aside)
	}
	if d.Sandbox.InForce() {
		line("sandbox", fmt.Sprintf("workspace is in force where it is asked for (Landlock %d)", d.Sandbox.ABI))
	} else {
		line("sandbox", "workspace cannot be in force here: "+d.Sandbox.Why)
	}
	if d.Finish != "" {
		line("to finish", d.Finish+before(d.finishFirst))
	}
	line("run next", d.Next)
}
