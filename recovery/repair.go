package recovery

import (
	"context"

	"hank/recovery/execution"
	"hank/recovery/finding"
)

// A Repair is one thing that an opening does to bring an execution into order. What
// plans it only reads, and is called by readers and openings alike: a reader prints
// what it Will do, an opening applies it and prints what it Did. So neither can report
// what the other does not.
type Repair struct {
	Severity finding.Severity
	Found    string // what is wrong; empty: nothing that is worth a finding
	Will     string // what the next command does about it, the end of a reader's sentence
	Did      string // what the opening did about it; apply may word it

	// Ahead is the severity for a reader, where it is another one: the user may want to
	// act before the next command does.
	Ahead finding.Severity

	apply func(ctx context.Context, x *execution.Execution, r *Repair) error // nil: there is nothing to be done
}

// report adds what was found to a report, in its words for a reader or an opening.
func (r Repair) report(rep *finding.Report) {
	severity := r.Severity
	if rep.Reading && r.Ahead != "" {
		severity = r.Ahead
	}
	if r.Found != "" {
		rep.Repair(severity, r.Found, r.Did, r.Will)
	}
}

// applyAll carries repairs out in their order, and reports each that is done.
func applyAll(ctx context.Context, x *execution.Execution, repairs []Repair) error {
	for i := range repairs {
		r := &repairs[i]
		if r.apply != nil {
			if err := r.apply(ctx, x, r); err != nil {
				return err
			}
		}
		r.report(&x.Report)
	}
	return nil
}
