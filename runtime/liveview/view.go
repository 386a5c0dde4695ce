package liveview

import (
	"time"

	"hank/recovery"
	"hank/runtime/report"
	"hank/runtime/report/planview"
	"hank/runtime/verdict"
	"hank/state"
	"hank/state/journal"
)

// View is an execution as of an event. Nobody changes a view.
type View struct {
	Execution string // its directory
	Option    string // with which commands find it: " -e DIR", or empty
	Seq       uint64 // the last event of the journal that is in it
	// At is when that event happened, or, of a view that no event has changed yet, when the
	// files were read.
	At    time.Time
	Live  bool         // a runtime holds the execution
	State *state.State // as of Seq
	// Status is what report says of the execution as of event Status.Seq: Judge brings it to
	// the event of the view.
	Status *report.Status
	// Plan is what the plan of the execution says of its loops and budgets; nil: it has none
	// yet.
	Plan *planview.Plan
	// Heard is when the execution was last heard of: its last event, or the last line of the
	// agent. Zero: never.
	Heard time.Time

	base *recovery.View // its State and Head are those of Seq
	gone bool           // the newest run says running, and its runtime is proven gone
}

// of is the view of an execution that was read whole at a time.
func of(v *recovery.View, at time.Time, option string) *View {
	out := &View{Execution: v.Layout.Root, Option: option, Seq: v.State.Seq, At: at, Live: v.Live, State: v.State, Plan: planview.WithoutCodons(v), base: v}
	if run := v.State.Newest(); run != nil {
		out.gone = v.Crashed(run)
	}
	return out
}

// Recovery is the execution as package recovery has it, with the state of the view.
func (v *View) Recovery() *recovery.View { return v.base }

// apply returns the view with an event that comes next. It is pure. false: the event takes a
// new reading of the files, as one of a newer hank, or one that another runtime than the one
// that was seen has written.
func (v *View) apply(e journal.Event) (*View, bool) {
	if e.Seq <= v.Seq {
		return v, true
	}
	next := *v
	next.Seq, next.At = e.Seq, e.Timestamp.UTC()
	if next.Heard.Before(next.At) {
		next.Heard = next.At
	}
	if e.Type != state.TransitionEvent {
		return &next, true
	}
	t, err := state.Decode(e.Data)
	if err != nil {
		return v, false
	}
	s, err := state.Apply(v.State, e.Seq, t)
	if err != nil {
		return v, false
	}
	base := *v.base
	head, known := base.Head.Apply(e.Seq, t)
	if !known {
		head = s.Summary()
	}
	base.State, base.Head = s, head
	next.State, next.base = s, &base
	switch t.(type) {
	case state.PlanSet, state.Rebased: // another hank
		return v, false
	case state.RunStarted:
		next.gone = false
	}
	return &next, true
}

// OfRun is the verdict on a run.
func (v *View) OfRun(r *state.Run) verdict.Verdict {
	return verdict.On(r, v.Live, v.gone && r == v.State.Newest())
}

// Running is the attempt that is in progress; nil: none is.
func (v *View) Running() *state.Codon {
	if run := v.State.Newest(); run != nil && v.Live {
		return run.Live()
	}
	return nil
}

// Worked is how long all attempts have taken, together; the one in progress until now.
func (v *View) Worked(now time.Time) time.Duration {
	sum := v.base.Head.Worked
	if k := v.Running(); k != nil {
		sum += max(0, now.Sub(k.StartTime.Time))
	} else {
		sum += report.Unended(v.base, v.base.State.Newest())
	}
	return sum
}

// Silence is how long nothing has been heard of the attempt in progress; 0: none is.
func (v *View) Silence(now time.Time) time.Duration {
	if v.Running() == nil || v.Heard.IsZero() {
		return 0
	}
	return max(0, now.Sub(v.Heard))
}

// Budget is what the execution may cost: the least of its limit, of the budget of the hank and
// of that of the settings. 0: as much as it likes.
func (v *View) Budget() state.USD {
	least := v.State.Limits.MaxDollars
	take := func(dollars float64) {
		if d := state.Dollars(dollars); d > 0 && (least == 0 || d < least) {
			least = d
		}
	}
	if v.Plan != nil && v.Plan.Budget != nil {
		take(v.Plan.Budget.MaxDollars)
	}
	if v.Plan != nil && v.Plan.Ceiling != nil {
		take(v.Plan.Ceiling.MaxDollars)
	}
	return least
}

// Transcript is the file that an attempt's agent writes to; empty: it has none.
func (v *View) Transcript(k *state.Codon) string {
	if k == nil || k.ClaudeLogPath == "" {
		return ""
	}
	return v.base.Layout.Resolve(k.ClaudeLogPath)
}
