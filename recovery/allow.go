package recovery

import (
	"errors"

	"hank/state"
)

// Allowances are what an execution may use.
type Allowances struct {
	Limits state.Limits
	Cap    *int64
}

// Allowed returns what the execution was allowed before its opening, or its creation,
// has stored what the command says; nil: it has stored nothing.
func (x *Execution) Allowed() *Allowances { return x.allowed }

// allow stores the limits and the cap of the command before an opening records
// anything of its own: killed in the middle of closing a crash, it has them. An
// opening that has nothing to record leaves that to the command, which may be
// refused. A checkpoint whose acknowledgement a crash has cut off comes before: its
// number in the journal is in its record.
func (x *Execution) allow() error {
	if x.settled || x.allowed != nil || x.opts.Limit == nil {
		return nil
	}
	x.allowed = &Allowances{x.State().Limits, x.meta.CheckpointCap}
	return errors.Join(x.SetLimits(x.opts.Limit(x.State().Limits)), x.KeepCap())
}

// Disallow takes back what allow, or a creation, has stored.
func (x *Execution) Disallow(a Allowances) error {
	return errors.Join(x.SetLimits(a.Limits), x.SetCap(a.Cap))
}

// disallow takes back what an opening has stored that ends with a question.
func (x *Execution) disallow(why error) error {
	var question *DecisionError
	if x.allowed == nil || x.broken != nil || !errors.As(why, &question) {
		return nil
	}
	return x.Disallow(*x.allowed)
}

// SetLimits makes limits those of the execution.
func (x *Execution) SetLimits(next state.Limits) error {
	if now := x.State().Limits; next.MaxDollars == now.MaxDollars && next.MaxTimeSeconds == now.MaxTimeSeconds {
		return nil
	}
	return x.Record(state.LimitsSet{Limits: next})
}
