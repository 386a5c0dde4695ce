package history

import (
	"github.com/go-json-experiment/json"

	"hank/plan"
	"hank/recovery/execution"
	"hank/recovery/githistory"
	"hank/state"
)

// Replan brings an execution's plan into line with its program and what is
// settled on its lineage path.
func Replan(x *execution.Execution, p *plan.Program) error {
	s := x.State()
	want := githistory.Derive(p, s)
	if execution.SamePlan(want, s) {
		return nil
	}
	entries, err := EncodeEntries(want)
	if err != nil {
		return err
	}
	return x.Record(state.PlanSet{Program: s.Program, HankHash: s.HankHash, Entries: entries})
}

// EncodeEntries returns the entries of a plan as a transition records them.
func EncodeEntries(entries []plan.Entry) ([]byte, error) {
	return json.Marshal(plan.StoredEntries(entries))
}
