package runtime

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"hank/checkpoint"
	"hank/checkpoint/restore"
	"hank/checkpoint/worktree"
	"hank/internal/secret"
	"hank/plan"
	"hank/recovery/execution"
	"hank/recovery/githistory"
	"hank/runtime/agents"
	"hank/runtime/budget"
	"hank/runtime/codon"
	"hank/runtime/events"
	"hank/runtime/exitcode"
	"hank/runtime/verdict"
	"hank/state"
)

// driver takes one run through the plan.
type driver struct {
	x        *execution.Execution
	events   *events.Bus // what others follow
	request  Request
	answers  Answers
	ui       UI
	layers   plan.Layers // the request's, with the model that holds
	settings plan.Settings
	program  *plan.Program
	allowed  *execution.Allowances // what held before this command; nil: nothing of it is kept yet
	replaced state.Position        // its Program and HankHash are those that were frozen before this command adopted others
	run      state.RunID
	agents   agents.Found
	requests chan codon.Request
	replay   *recording
	began    time.Time
	accounts *budget.Accounts
	rows     []state.BudgetRow // of the attempts of this run

	secrets     *secret.Values
	confinement *agents.Confinement // nil: processes may write anywhere

	ignoreRigs bool

	rigDone bool           // the workspace is the one after the rig of the next codon
	session string         // that the next codon continues
	resumed *state.Codon   // the attempt that the run continues; nil: none
	stop    *codon.Request // the run is to end

	stopping atomic.Pointer[string] // what others asked for, taken in or not; see LiveStatus
	finished int                    // codons settled in this run
	settled  *state.Codon           // the last settled record on the thread

	// moved: the tree has what the checkpoint that it stands at has not recorded,
	// because a move has left it, or because a person has made empty folders.
	moved     bool
	unasked   []string // those folders, and those files too; a move at the start of the run leaves them
	tracked   checkpoint.Selection
	trackedTo int
}

// outcome is how a run is to end.
type outcome struct {
	reason state.EndReason // empty: the plan is done
	code   exitcode.Code
	codon  state.CodonID
	detail string
}

// failedBy is the outcome of a run whose codon has failed.
func failedBy(c *state.Codon) outcome {
	if c.Interrupted == state.InterruptedByRefusal {
		return outcome{state.EndAgent, exitcode.Agent, c.CodonID, c.FailureReason.Message}
	}
	if c.FailureReason.Class == "budget" {
		return outcome{state.EndBudget, exitcode.Budget, c.CodonID, c.FailureReason.Message}
	}
	return outcome{state.EndCodonFailed, exitcode.Failed, c.CodonID, c.FailureReason.Message}
}

// capture makes a checkpoint before a codon that is the first to look at some
// files or empty folders, if there are any: so that they can be brought back to
// what it found. The first codon after a move is the first to look at what the
// move has left and nobody had recorded, such as files that were ignored before; that
// of a run, to look at the empty folders that a person has made since the last.
// What a checkpoint has that has looked at more than the codon will stays in the base.
// So does what the move could not bring back: see asMovedTo.
func (d *driver) capture(ctx context.Context, index int) error {
	base, sel := d.x.State().Base, d.selection(index)
	taken, moved := execution.Taken(d.x.State(), d.x.Store, base), d.moved
	d.moved = false
	covered := execution.Covers(taken, sel)
	if covered && !moved {
		return nil
	}
	before, err := d.x.Store.CommitInfo(checkpoint.SHA(base))
	if err != nil {
		return err
	}
	snap, err := d.x.Snapshot(ctx, sel, d.x.Head())
	if err != nil {
		return err
	}
	if covered && !execution.Covers(sel, taken) { // nothing that the codon looks at is missing: a move has made the workspace
		if snap.Tree, err = checkpoint.Overlay(d.x.Store.DB, before.Tree, snap.Tree, func(string) bool { return true }); err != nil {
			d.x.Store.Abort()
			return err
		}
		snap.Empty = slices.Compact(slices.Sorted(slices.Values(slices.Concat(snap.Empty, execution.EmptyFolders(before)))))
	}
	if err := d.asMovedTo(ctx, snap); err != nil {
		d.x.Store.Abort()
		return err
	}
	if folders := execution.EmptyFolders(before); snap.Tree == before.Tree && !slices.ContainsFunc(snap.Empty, func(name string) bool { return !slices.Contains(folders, name) }) {
		d.x.Store.Abort()
		return nil
	}
	id := d.x.State().ExecutionPlan()[index].CodonID
	_, err = d.x.Commit(ctx, execution.Commit{
		Title:    githistory.Title{Status: state.KindTracked, CodonID: id, RunID: d.run, Name: "before it"},
		Snapshot: snap, Parents: d.parents(), Branch: d.branch(),
		Transition: state.CheckpointCreated{Kind: state.KindTracked, RunID: d.run, CodonID: id, Branch: d.branch(), Base: true},
	})
	return err
}

// asMovedTo gives a snapshot, at the paths that the move before the first codon of
// this run could not change, what the move was to bring there. What is on disk
// there is mostly the work of the attempt that is done again: no other attempt is to
// start from it, once it can be taken away.
func (d *driver) asMovedTo(ctx context.Context, snap *checkpoint.Snapshot) error {
	s, at := d.x.State(), d.x.State().LastMove()
	if at == nil || at.Before == nil || len(at.Kept) == 0 {
		return nil
	}
	cmp := d.comparison()
	kept, found := cmp.KeptAt(s.Base, snap), cmp.UncoveredAt(s.Base, snap)
	there := *s
	there.Position = at.Before
	back, err := execution.NewRestoreTarget(ctx, d.x.Layout, &there, d.x.Store, s.Base, at)
	if err != nil {
		return err
	}
	was := snap.Tree
	snap.Tree, err = d.x.Replace(ctx, snap.Tree, back.Tree, func(path string) bool {
		return kept(path) && !worktree.IsKeptAside(path) && (d.x.Store.HasFile(back.Tree, path) || !found(path))
	})
	if err != nil {
		return err
	}
	snap.Empty = slices.DeleteFunc(slices.Clone(snap.Empty), func(name string) bool { return kept(name) && !slices.Contains(back.Empty, name) })
	for _, name := range back.Empty {
		if kept(name) || restore.HasPath(d.x.Store.DB, was, name) && !restore.HasPath(d.x.Store.DB, snap.Tree, name) {
			snap.Empty = append(snap.Empty, name)
		}
	}
	snap.Empty = slices.Compact(slices.Sorted(slices.Values(snap.Empty)))
	return nil
}

// selection is what the checkpoint of the codon at an index takes. It is asked
// for one index after the other, and costs what was added.
func (d *driver) selection(index int) checkpoint.Selection {
	entries := d.x.State().ExecutionPlan()
	for ; d.trackedTo <= index && !d.tracked.All; d.trackedTo++ {
		execution.Track(&d.tracked, entries[d.trackedTo].Codon, d.x.State().Adopted)
	}
	return d.tracked
}

func (d *driver) branch() string { return d.x.State().Run(d.run).GitBranch }

func (d *driver) parents() []state.SHA { return []state.SHA{d.x.Head()} }

// note writes an event that changes nothing. Failing to is not worth stopping
// for: whatever gates something fails by itself.
func (d *driver) note(eventType string, data any) { _ = d.x.Note(eventType, data) }

func (d *driver) say(format string, args ...any) {
	if d.ui.Say != nil {
		d.ui.Say(d.secrets.Text(fmt.Sprintf(format, args...)))
	}
}

func (d *driver) announce(e plan.Entry, index, number, most int) {
	what := e.Codon.Name
	if number > 1 {
		what = fmt.Sprintf("%s (attempt %d of %d)", what, number, most)
	}
	d.say("[%d/%d] %s: %s", index+1, len(d.x.State().ExecutionPlan()), e.CodonID, what)
}

// report says how an attempt has ended. Where the run ends with it, the end of the
// run says why, once.
func (d *driver) report(c *state.Codon, goesOn bool) {
	took := c.EndTime.Sub(c.StartTime.Time).Round(time.Millisecond)
	how := verdict.OfCodon(c, "")
	line := "  " + string(how)
	if more := verdict.Qualification(c); more != "" {
		line += ", " + more + ","
	}
	line += fmt.Sprintf(" in %s", took)
	if cost := c.Cost(); cost > 0 {
		line += ", " + cost.Text()
	}
	if sha := c.Checkpoint(); sha != "" {
		line += fmt.Sprintf(", checkpoint %.12s", sha)
	}
	if c.FailureReason != nil && how != verdict.Stopped && (goesOn || c.Settled()) { // which is why
		line += ": " + c.FailureReason.Message
	}
	d.say("%s", line)
	for _, n := range c.Notes {
		d.say("  %s", n)
	}
	d.note("codon.completed", map[string]any{"codonId": c.CodonID, "success": c.Status == state.Completed, "cost": c.Cost(),
		"duration": took.Milliseconds(), "failureReason": c.FailureReason, "failureIgnored": c.FailureIgnored})
}
