package runtime

import (
	"errors"
	"fmt"
	"strings"

	"hank/plan"
	"hank/recovery/execution"
	"hank/runtime/budget"
	"hank/state"
)

// accept makes what the command says about limits part of the execution, before it
// changes the workspace or makes the first checkpoint. The opening has done so where
// it had something to record. withdraw takes that back.
func (d *driver) accept() error {
	if d.allowed != nil {
		return nil
	}
	d.allowed = &execution.Allowances{Limits: d.x.State().Limits, Cap: d.x.Meta().CheckpointCap}
	return errors.Join(d.x.SetLimits(d.request.limit(d.allowed.Limits)), d.x.KeepCap())
}

// limit changes limits as the command says.
func (r Request) limit(next state.Limits) state.Limits {
	if c := r.Limits.MaxDollars; c != nil {
		next.MaxDollars = *c
	}
	if c := r.Limits.MaxTimeSeconds; c != nil {
		next.MaxTimeSeconds = *c
	}
	return next
}

// forgetLimits takes accept back.
func (d *driver) forgetLimits() error {
	if d.allowed == nil {
		return nil
	}
	return d.x.Disallow(*d.allowed)
}

// sayUnkept says of a command that ends with a question which of its limits its
// answer has to give again.
func (ui UI) sayUnkept(r Request) {
	var given []string
	for _, l := range []struct {
		flag  string
		given bool
	}{
		{"--max-cost", r.Limits.MaxDollars != nil},
		{"--max-time", r.Limits.MaxTimeSeconds != nil},
		{"--checkpoint-cap", r.Layers.Flags.CheckpointCap != ""},
	} {
		if l.given {
			given = append(given, l.flag)
		}
	}
	switch n := len(given); n {
	case 0:
	case 1:
		ui.say("note: " + given[0] + " of this command is not kept: give it again with the answer")
	default:
		ui.say(fmt.Sprintf("note: %s and %s of this command are not kept: give them again with the answer", strings.Join(given[:n-1], ", "), given[n-1]))
	}
}

// limits are what the next attempt at an entry may use.
func (d *driver) limits(e plan.Entry) budget.Limits {
	s := d.x.State()
	return d.accounts.Limits(d.program, e, d.accounts.UsedBefore(s, s.Run(d.run), e.CodonID))
}

// loopBudgetOver reports whether the budget of an entry's loop is used up, so that the
// loop ends.
func (d *driver) loopBudgetOver(e plan.Entry) bool {
	return d.accounts.LoopLimits(d.program, e).Over != nil
}

// summarize says at the end of a run what was used of the budgets, if there
// are any.
func (d *driver) summarize() {
	if s, budgeted := d.accounts.Summary(d.program, d.rows); budgeted {
		d.note(state.BudgetSummaryEvent, s)
	}
}
