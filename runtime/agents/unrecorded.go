package agents

import (
	"os"

	"hank/recovery/layout"
	"hank/runtime/metering"
	"hank/state"
)

// Unrecorded is what the transcript of the codon that is live in a run has more than its
// record; nil: nothing. The agent has printed it, and was killed with hank before it was recorded.
// The price is that of the plan, by which the attempt was made.
func Unrecorded(l layout.Layout, s *state.State, run state.RunID) *state.CostsUpdated {
	live := s.Run(run).Live()
	if live == nil || live.Status != state.Running || live.ClaudeLogPath == "" {
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
	used, _ := metering.OfTranscript(f, h, s.ExecutionPlan()[at].Codon.Model) // what cannot be read tells nothing
	if used.Cost <= live.Cost() && used.Tokens.Sum() <= live.TokenCount().Sum() {
		return nil
	}
	t := state.CostsUpdated{RunID: run, CodonID: live.CodonID, Cost: max(used.Cost, live.Cost()), Tokens: live.TokenCount()}
	if used.Tokens.Sum() > t.Tokens.Sum() {
		t.Tokens = used.Tokens
	}
	if n := live.AssistantMessageCount; n != nil {
		t.Messages = *n
	}
	if n := live.ExtensionCount; n != nil {
		t.Extensions = *n
	}
	return &t
}
