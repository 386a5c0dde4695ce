package agents

import (
	"os"
	"path/filepath"

	"hank/plan"
	"hank/plan/model"
	"hank/recovery/layout"
	"hank/runtime/metering"
	"hank/state"
)

// Unrecorded is what the transcript of the codon that is live in a run has more than its
// record, or the agent's own account of its requests; none: nothing. The agent has printed or
// written it, and was killed with hank before it was recorded. What the record has of the same
// requests by an estimate can be more than that account, which then counts.
// The price is that of the plan, by which the attempt was made. Where the session of the agent is
// not recorded either, that comes first.
func Unrecorded(l layout.Layout, s *state.State, run state.RunID) (all []state.Transition) {
	live := s.Run(run).Live()
	if live == nil || live.Status != state.Running && live.Status != state.Initializing || live.ClaudeLogPath == "" {
		return nil
	}
	h, known := Harnesses[live.Harness]
	at := s.PlanIndex(live.CodonID)
	if !known || at < 0 { // a replay has costs of its own
		return nil
	}
	f, err := os.Open(l.Resolve(live.ClaudeLogPath))
	if err != nil {
		return nil
	}
	defer f.Close()
	c := s.ExecutionPlan()[at].Codon
	m := modelOf(c, live.Model)
	used, _ := metering.OfKilled(f, h, m, filepath.Join(l.Homes(), live.Harness), c.Env) // what cannot be read tells nothing
	recorded := live.TokenCount()
	estimated := used.Exact && used.Tokens.Output < recorded.Output && ofSameRequests(used.Tokens, recorded)
	if used.Cost <= live.Cost() && used.Tokens.Sum() <= recorded.Sum() && !estimated {
		return nil
	}
	if live.Status == state.Initializing {
		if used.Session == "" {
			return nil
		}
		live = live.Work(used.Session)
		all = append(all, state.CodonTransitioned{RunID: run, Record: live})
	}
	t := state.CostsUpdated{RunID: run, CodonID: live.CodonID, Cost: max(used.Cost, live.Cost()), Tokens: recorded, Extensions: live.Extensions()}
	if used.Tokens.Sum() > t.Tokens.Sum() {
		t.Tokens = used.Tokens
	}
	t.UnpricedTokens = max(live.UnpricedTokens, metering.Unpriced(m, used.Usage))
	if estimated {
		t.Tokens, t.Cost, t.UnpricedTokens = used.Tokens, used.Cost, metering.Unpriced(m, used.Usage)
	}
	if n := live.AssistantMessageCount; n != nil {
		t.Messages = *n
	}
	return append(all, t)
}

// ofSameRequests reports whether two counts are of the same requests, by what was sent: an
// estimate is one of the output alone. A transcript that a power cut has shortened has fewer.
func ofSameRequests(a, b state.Tokens) bool {
	return a.Input == b.Input && a.CacheRead == b.CacheRead && a.CacheCreation == b.CacheCreation
}

// modelOf is the model of a codon, or of its fallbacks, that has a name of a record.
func modelOf(c *plan.Codon, name string) model.Ref {
	for _, f := range c.Fallback {
		if f.Model.String() == name && c.Model.String() != name {
			return f.Model
		}
	}
	return c.Model
}
