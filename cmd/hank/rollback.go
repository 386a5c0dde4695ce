package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"hank/cmd/hank/call"
	"hank/internal/shell"
	"hank/internal/term"
	"hank/recovery/finding"
	"hank/runtime/exitcode"
	"hank/runtime/history"
	"hank/runtime/report"
	"hank/runtime/report/output"
	"hank/state"
)

func rollbackCommand() *cli.Command {
	return &cli.Command{
		Name: "rollback", Usage: "restore a checkpoint (the current state is saved first)", ArgsUsage: "[TARGET]",
		Description: `TARGET is CODON, CODON:rig-setup, CODON:completed, CODON:error, CODON:skipped,
last-success, initial, a full or abbreviated SHA, or @, the present state; the prefixes
codon:, sha: and run: tell names apart. @~2 is two finished codons before the present
state, review~1 one before review, along the lineage path that leads there; initial
comes before the first codon. Without TARGET, a terminal offers the nearest ones, with
what would change; with --yes or --dry-run it is last-success. Everything visible in the
workspace is checkpointed first, so that --undo restores it. Then continue with hank run.

--undo undoes the last rollback or retry, or the rerun of an interrupted codon or the branch
(--from) of hank run, however many runs have started since. It restores the workspace, the position in
the plan, a codon's failure or the completion of the hank, and the version of the hank
that was used before, so also what a retry has adopted. It prints what it undoes before
it does so. A second --undo undoes the first: it is a redo.

Examples: hank rollback review#1 --dry-run
          hank rollback @~2
          hank rollback last-success --yes && hank run
          hank rollback --undo --yes

Exit code 0: success; 2: no TARGET, or it is unknown or ambiguous; 4: confirmation required (use
--yes), or a file that no checkpoint has is in the way (also with --dry-run); 5: a run is in progress.`,
		Flags: []cli.Flag{
			executionFlag,
			&cli.StringFlag{Name: "to", Usage: "the same as the argument `TARGET`"},
			&cli.BoolFlag{Name: "undo", Usage: "undo the last rollback or retry; a second --undo is a redo"},
			opIDFlag, dryRunFlag, capFlag, yesFlag, jsonFlag, breakLockFlag,
		},
		Action: func(c *cli.Context) error {
			if err := arguments(c, 0, 1); err != nil {
				return err
			}
			to := orDefault(c.String("to"), c.Args().First())
			if c.Bool("undo") && to != "" || c.IsSet("to") && c.NArg() > 0 {
				return &exitcode.UsageError{Why: "TARGET, --to and --undo are mutually exclusive"}
			}
			return goBack(c, history.RollbackOptions{To: to, Undo: c.Bool("undo")})
		},
	}
}

func goBack(c *cli.Context, o history.RollbackOptions) error {
	root, err := executionOf(c)
	if err != nil {
		return err
	}
	if o.CheckpointCap, err = call.GivenCap(c); err != nil {
		return err
	}
	o.Execution, o.BreakLock, o.Work = root, c.String("break-lock"), work
	if err := history.Identify(&o, c.String("op-id"), time.Now()); err != nil {
		return err
	}
	o.Answer = func(done *history.RolledBack) any { return report.MovedOf(done, true) }
	if again, err := history.Repeated(o); err != nil {
		return err
	} else if again != nil {
		return tellMoved(c, o, again)
	}
	if err := pickTarget(c, &o); err != nil {
		return err
	}
	if c.Bool("dry-run") {
		if o.Operation != nil {
			return errDryOperation
		}
		p, err := history.PreviewRollback(c.Context, o)
		if err != nil {
			return err
		}
		if c.Bool("json") {
			form := output.PreviewOf(p, call.ProblemForThis(c, p.Refused))
			return jsonEnding(form, form.Error)
		}
		printPreview(p, true)
		return p.Refused
	}
	ask := asker(c)
	if ask == nil && !c.Bool("yes") {
		target, err := history.LookUp(c.Context, o)
		if err != nil {
			return err
		}
		what := "the workspace"
		if len(o.Paths) > 0 {
			what = inSentence(o.Paths)
		}
		return &finding.DecisionError{What: fmt.Sprintf("confirmation required: this restores %s from %s", what, target),
			Options: []string{"--yes to proceed", "--dry-run to preview"}}
	}
	if !c.Bool("json") {
		o.Say = func(line string) { say("%s\n", forThis(c, line)) }
	}
	if ask != nil {
		o.Confirm = confirming(c, o)
	}
	done, err := history.Rollback(c.Context, o)
	if err != nil {
		return err
	}
	return tellMoved(c, o, done)
}

// tellMoved prints what a move has done, or that it was done before.
func tellMoved(c *cli.Context, o history.RollbackOptions, done *history.RolledBack) error {
	follows := report.FollowsIn(o.Execution, settingsHere(c))
	moved, err := report.AnswerMove(c.Context, o, done, follows)
	if err != nil {
		remark("note: %s\n", forThis(c, err.Error()))
	}
	next := commandForThis(c, moved.Command)
	moved.Gate = moved.Gate.In(executionOption(c))
	if c.Bool("json") {
		moved.Command = next
		return printJSON(output.MovedOf(moved))
	}
	if done.Repeats != nil {
		return sayRepeated(done.Repeats, fmt.Sprintf("the workspace was brought to %s; the previous state is in checkpoint %s", moved.Target, report.Short(moved.Safety)))
	}
	butFor := ""
	if n := len(done.InTheWay); n > 0 {
		printInTheWay(done.InTheWay, false)
		butFor = ", except " + term.Count(n, "path")
	}
	if len(o.Paths) > 0 {
		names, also := namesOf(o.Paths), ""
		if len(done.Add)+len(done.MakeDirs) > 0 {
			also = " --delete"
		} else if len(done.Change)+len(done.Delete)+len(done.RemoveDirs)+len(done.InTheWay) == 0 {
			say("nothing to restore at %s: the workspace has what %s has there\n", names, done.Target)
			return nil
		}
		say("restored %s from %s%s; previous version saved as checkpoint %s\n  to undo  hank restore %[1]s --from %[4]s%[5]s%[6]s%[7]s\n", names, done.Target, butFor, report.Short(done.Safety), also, unasked(), executionOption(c))
		return nil
	}
	to := done.Target.String()
	if u := done.Undoes; u != nil {
		to = fmt.Sprintf("its state %s (checkpoint %s)", u.Before(), report.Short(done.Target.SHA))
	}
	if !done.TakenBack { // else the findings have told it
		say("workspace restored to %s%s; previous state saved as checkpoint %s\n", to, butFor, report.Short(done.Safety))
	}
	width := len("to undo")
	switch {
	case moved.Gate != nil:
		width = len("to approve")
		say("  %s\n", moved.Gate.Waits())
		for _, row := range moved.Gate.Rows() {
			say("  %-*s  %s\n", width, row[0], row[1])
		}
	case next != "":
		say("  %-*s  %s%s\n", width, "next", next, forThis(c, follows.First))
	case follows.Done:
		say("  the hank is completed: nothing is left to run\n")
	}
	if done.TakenBack {
		return nil
	}
	again := "to undo"
	if u := done.Undoes; o.Undo && (u == nil || u.Kind != "undo") {
		again = "to redo"
	}
	say("  %-*s  hank rollback --undo%s%s\n", width, again, unasked(), executionOption(c))
	return nil
}

// unasked is the option without which a command that asks on a terminal is refused
// here; empty where the user can be asked.
func unasked() string {
	if isTerminal() {
		return ""
	}
	return " --yes"
}

// namesOf is a list of paths, as the command line takes them.
func namesOf(paths []string) string {
	quoted := make([]string, len(paths))
	for i, p := range paths {
		quoted[i] = shell.Path(p)
	}
	return strings.Join(quoted, " ")
}

// inSentence is the same in a sentence, which is one line.
func inSentence(paths []string) string {
	if !strings.ContainsAny(strings.Join(paths, ""), "\n\r") {
		return namesOf(paths)
	}
	quoted := make([]string, len(paths))
	for i, p := range paths {
		quoted[i] = fmt.Sprintf("%q", p)
	}
	return strings.Join(quoted, " ")
}

// most is how many paths the user is shown unless all are wanted.
const most = 20

func printPreview(p *history.Preview, all bool) {
	if p.Undoes != nil {
		say("%s\n", p.Undoes)
	}
	say("to %s:\n", p.Target)
	show := func(sign string, changes []history.PathChange, colour func(*os.File, string) term.Painted) {
		for i, ch := range changes {
			if !all && i == most {
				say("  %s and %d more\n", sign, len(changes)-i)
				return
			}
			say("  %s %s\n", colour(os.Stdout, sign), quotePath(ch.Path))
		}
	}
	show("+", p.Add, term.Green)
	show("+", p.MakeDirs, term.Green)
	show("~", p.Change, term.Yellow)
	show("-", p.Delete, term.Red)
	show("-", p.RemoveDirs, term.Red)
	printInTheWay(p.Blocked, all)
	printInTheWay(p.InTheWay, all)
	say("%d to add, %d to change, %d to delete; untracked files kept: %d\n", len(p.Add)+len(p.MakeDirs), len(p.Change), len(p.Delete)+len(p.RemoveDirs), p.Keep)
	for i, u := range p.Unarchived {
		if !all && i == most {
			say("and %s more from the archive\n", term.Count(len(p.Unarchived)-i, "file"))
			break
		}
		say("%s is copied from %s (archived by codon %s)\n", quotePath(u.Path), quotePath(u.ArchivePath), u.CodonID)
	}
	if n := len(p.Superseded); n > 0 {
		say("abandons %s (still available for undo)\n", term.Count(n, "checkpoint"))
	}
	if p.CostKept+p.CostLeft > 0 {
		say("of the total cost, %s led there and %s did not\n", state.Bill{Cost: p.CostKept, Replayed: p.ReplayedKept}.Text(), state.Bill{Cost: p.CostLeft, Replayed: p.ReplayedLeft}.Text())
	}
	if note := p.HeadNote(); note != "" {
		say("%s\n", note)
	}
}

// printInTheWay names what stays, or stops a move, and why.
func printInTheWay(list []history.PathChange, all bool) {
	for i, ch := range list {
		if !all && i == most {
			say("  %s and %d more\n", term.Red(os.Stdout, "!"), len(list)-i)
			return
		}
		say("  %s %s %s\n", term.Red(os.Stdout, "!"), quotePath(ch.Path), ch.Kind)
	}
}
