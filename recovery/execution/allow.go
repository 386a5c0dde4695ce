package execution

import (
	"errors"

	"hank/recovery/finding"
	"hank/state"
)

// Allowed returns what the execution was allowed before its opening, or its creation,
// has stored what the command says; nil: it has stored nothing.
func (x *Execution) Allowed() *Allowances { return x.AllowedBefore }

// allow stores the limits and the cap of the command before an opening records
// anything of its own: killed in the middle of closing a crash, it has them. An
// opening that has nothing to record leaves that to the command, which may be
// refused. A checkpoint whose acknowledgement a crash has interrupted comes before: its
// number in the journal is in its record.
func (x *Execution) allow() error {
	if !x.AllowanceDue || x.AllowedBefore != nil || x.Opts.Limit == nil {
		return nil
	}
	x.AllowedBefore = &Allowances{x.State().Limits, x.Metadata.CheckpointCap}
	return errors.Join(x.SetLimits(x.Opts.Limit(x.State().Limits)), x.KeepCap())
}

// Disallow undoes what allow, or a creation, has stored.
func (x *Execution) Disallow(a Allowances) error {
	return errors.Join(x.SetLimits(a.Limits), x.setCap(a.Cap))
}

// DisallowOnQuestion undoes what an opening has stored that ends with a question.
func (x *Execution) DisallowOnQuestion(why error) error {
	var question *finding.DecisionError
	if x.AllowedBefore == nil || x.Broken != nil || !errors.As(why, &question) {
		return nil
	}
	return x.Disallow(*x.AllowedBefore)
}

// SetLimits makes limits those of the execution.
func (x *Execution) SetLimits(next state.Limits) error {
	if now := x.State().Limits; next.MaxDollars == now.MaxDollars && next.MaxTimeSeconds == now.MaxTimeSeconds {
		return nil
	}
	return x.Record(state.LimitsSet{Limits: next})
}
