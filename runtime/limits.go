package runtime

import (
	"context"
	"errors"

	"hank/plan"
	"hank/plan/config"
	"hank/recovery/execution"
	"hank/recovery/layout"
	"hank/runtime/alert"
	"hank/runtime/budget"
	"hank/runtime/result"
	"hank/runtime/verdict"
	"hank/state"
)

// accept makes what the command says about limits part of the execution, before it
// changes the workspace or makes the first checkpoint. The opening has done so where
// it had something to record. withdraw takes that back.
func (d *driver) accept() error {
	if err := d.keepSandbox(d.request.Layers.Flags.Sandbox); err != nil || d.allowed != nil {
		return err
	}
	d.allowed = &execution.Allowances{Limits: d.x.State().Limits, Cap: d.x.Meta().CheckpointCap}
	return errors.Join(d.x.SetLimits(d.request.Limit(d.allowed.Limits)), d.x.KeepCap())
}

// forgetLimits takes accept back.
func (d *driver) forgetLimits() error {
	if d.allowed == nil {
		return nil
	}
	return errors.Join(d.x.Disallow(*d.allowed), d.keepSandbox(d.sandboxed))
}

// limits are what the next attempt at an entry may use.
func (d *driver) limits(e plan.Entry) budget.Limits {
	s := d.x.State()
	return d.accounts.Limits(d.program, e, d.accounts.UsedBefore(s, s.Run(d.run), e.CodonID))
}

// watch watches the limits of the next attempt at an entry.
func (d *driver) watch(e plan.Entry) *alert.Watch {
	s := d.x.State()
	limits := d.accounts.Watched(d.program, e, d.accounts.UsedBefore(s, s.Run(d.run), e.CodonID))
	w, missed := alert.Begin(s, d.run, e.CodonID, limits, d.x.Layout.Events())
	for _, m := range missed {
		d.note(alert.Event, m)
		d.warn(m)
	}
	return w
}

// warn tells those who follow the run of a warning, and the notification command.
func (d *driver) warn(w alert.Warning) {
	d.detail("%s", w.Message)
	if d.request.Notify != "" {
		res := d.result(verdict.Outcome{Reason: verdict.EndWarns, Codon: w.CodonID, Detail: w.Message}, nil)
		d.notified.Go(func() { result.Notify(context.Background(), d.request, d.ui, res, nil) })
	}
}

// summarize says at the end of a run what was used of the budgets, if there
// are any.
func (d *driver) summarize() {
	if s, budgeted := d.accounts.Summary(d.program, d.rows); budgeted {
		d.note(state.BudgetSummaryEvent, s)
	}
}

// keepSandbox makes what --sandbox says part of the execution, before anything runs.
func (d *driver) keepSandbox(mode config.Sandbox) error {
	if now := config.Sandbox(d.x.Meta().Sandbox); now == mode {
		return nil
	}
	return d.x.SetMeta(func(m *layout.Meta) { m.Sandbox = string(mode) })
}
