package recovery

import (
	"hank/plan"
	"hank/recovery/githistory"
	"hank/state"
)

// AwaitsVerdict is the loop that the next run decides about first: its last iteration has
// ended, and whether another follows is not on record. Empty: there is none.
func (v *View) AwaitsVerdict() state.CodonID {
	if e := v.awaited(); e != nil {
		return e.LoopContext.LoopID
	}
	return ""
}

// awaited is the entry of the plan that has ended such an iteration.
func (v *View) awaited() *plan.Entry {
	entries, at := v.Head.State.ExecutionPlan(), v.Head.Done-1-v.Head.From
	if at < 0 || at >= len(entries) || entries[at].LoopContext == nil {
		return nil
	}
	var rest []plan.Entry
	if at+1 < len(entries) {
		rest = append(rest, entries[at+1].Entry)
	}
	o, ended := githistory.Outcomes(v.Items(), v.State)(entries[at].CodonID)
	if ended && v.programOutline().AwaitsVerdict(entries[at].Entry, rest, o) {
		return &entries[at].Entry
	}
	return nil
}

// grow lays the plan out as the next run does first, where hank has ended before the plan had grown.
func (v *View) grow() {
	if v.Live || v.store == nil || !githistory.MayGrow(v.Head) {
		return
	}
	program, err := githistory.LoadProgram(v.store, v.State.Program)
	if err != nil {
		return // whoever needs it says so
	}
	if grown, err := githistory.WithPlan(v.State, program); err == nil {
		v.State, v.Head = grown, grown.Summary()
	}
}
