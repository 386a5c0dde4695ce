package hankfile

import (
	"fmt"
	"slices"
	"strings"

	"hank/plan"
	"hank/runtime/request"
	"hank/state"
)

// Kept says which completed codons a newer version of the hank gives something else to do, and
// what runs them again; empty: none. A run that continues from where the execution is does not run
// them, so that their results stay those of the older version.
func Kept(s *state.State, r request.Request, before, after *plan.Program) string {
	if r.Mode == request.ModeRetry || r.From != "" {
		return ""
	}
	changed := map[plan.CodonID]bool{}
	for _, c := range plan.Compare(before, after) {
		changed[c.ID] = c.Kind == "changed"
	}
	var kept []state.CodonID // in the order in which they ran
	entries := s.ExecutionPlan()
	for _, step := range s.LineagePath() {
		i := s.PlanIndex(step.Codon.CodonID)
		if step.Codon.Status == state.Completed && i >= 0 && changed[entries[i].Codon.ID] && !slices.Contains(kept, step.Codon.CodonID) {
			kept = append(kept, step.Codon.CodonID)
		}
	}
	if len(kept) == 0 {
		return ""
	}
	names := make([]string, min(len(kept), mostKept))
	for i := range names {
		names[i] = string(kept[i])
	}
	if more := len(kept) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("note: completed before this change, with results of the older version: %s; `hank retry %s` runs the hank again from there",
		strings.Join(names, ", "), kept[0])
}

// mostKept is how many codons a note names.
const mostKept = 5
