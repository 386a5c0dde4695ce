package recovery

import (
	"cmp"
	"context"

	"hank/checkpoint"
	"hank/internal/vfs"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/state"
)

// A Repair is one thing that an opening does to bring an execution into order. What
// plans it only reads, and is called by readers and openings alike: a reader prints
// what it Will do, an opening applies it and prints what it Did. So neither can report
// what the other does not. What is found while the state is still being read has no
// stage: it is reported by finding.Report.Repair, and repaired by whatever comes later.
type Repair struct {
	Severity finding.Severity
	Found    string // what is wrong; empty: nothing that is worth a finding
	Will     string // what the next command does about it, the end of a reader's sentence
	Did      string // what the opening did about it; do may word it

	// Because is why it was not done when it was found, the end of a reader's sentence.
	Because string

	// Ahead is the severity for a reader, where it is another one: the user may want to
	// act before the next command does.
	Ahead finding.Severity

	do   func(ctx context.Context, x *execution.Execution, r *Repair) error // nil: there is nothing to be done
	next *state.State                                                       // the state that it leads to; nil: none but the present one
	run  *state.Run                                                         // that it ends; nil: none
	why  string                                                             // that run is over, if it has crashed

	refs map[string]checkpoint.SHA // where references lead after it and the others of its stage; nil: it is of none
}

// finding is what a reader, or an opening that has applied it, reports.
func (r Repair) finding(reading bool) finding.Finding {
	f := finding.Finding{Severity: r.Severity, What: r.Found, Next: r.Did}
	if reading {
		f.Severity, f.Next = cmp.Or(r.Ahead, r.Severity), r.Will
	}
	switch {
	case reading && r.Because != "":
		f.What, f.Next = r.Found+": "+r.Because, ""
	case f.Next != "":
		f.What += "; " + f.Next
	}
	return f
}

// report adds it to a report.
func (r Repair) report(rep *finding.Report) {
	if r.Found != "" {
		rep.Insert(r.finding(rep.Reading))
	}
}

// repairAll carries repairs out in their order, and reports each that is done.
func repairAll(ctx context.Context, x *execution.Execution, repairs []Repair) error {
	for i := range repairs {
		r := &repairs[i]
		if r.do != nil {
			if err := r.do(ctx, x, r); err != nil {
				return err
			}
		}
		r.report(&x.Report)
	}
	return nil
}

// subject is an execution whose state is known, as the stages before have left it or,
// for a reader, as they will.
type subject struct {
	fs      vfs.FS
	layout  layout.Layout
	meta    layout.Meta
	state   *state.State
	store   *checkpoint.Store     // nil, for a reader alone: it cannot be used
	history githistory.Comparison // what git adds to the other records
	boot    string                // the machine's present boot
	trusted bool                  // the file system keeps locks
	copied  bool                  // it is a copy, and the original is still there
	opening bool                  // else it is a reader's
	answers execution.Options     // of an opening
}

// A stage of an opening looks at its subject and plans repairs. It writes nothing. Its
// error is a *finding.DecisionError where the user must decide, and then there is
// nothing that an opening can do.
type stage func(*subject) ([]Repair, error)
