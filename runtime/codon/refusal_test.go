package codon

import (
	"testing"

	"hank/plan"
	"hank/plan/model"
	"hank/runtime/harness"
	"hank/state"
)

// An agent that ends by itself with a rejected key was interrupted, as one that
// hank ends when it announces the rejection. A script that ends so has failed.
func TestAnAgentThatEndsWithARefusalWasInterrupted(t *testing.T) {
	t.Parallel()
	rejected := &state.FailureReason{Class: harness.ClassAuth, Rule: "status:401", Message: "Invalid API key"}
	for name, c := range map[string]struct {
		model       model.Ref
		failure     *state.FailureReason
		interrupted string
	}{
		"agent":       {model.Ref{ProviderID: "anthropic", ModelID: "sonnet"}, rejected, state.InterruptedByRefusal},
		"other words": {model.Ref{ProviderID: "anthropic", ModelID: "sonnet"}, &state.FailureReason{Class: harness.ClassOverloaded, Rule: "status:529"}, ""},
		"script":      {model.Ref{ProviderID: model.Shell, ModelID: model.Shell}, rejected, ""},
	} {
		a := &attempt{Spec: Spec{Entry: plan.Entry{Codon: &plan.Codon{Model: c.model}}}}
		s := a.judge(ended{verdict: harness.Verdict{Failure: c.failure}})
		if s.Status != state.Failed || s.Interrupted != c.interrupted {
			t.Errorf("%s: %s, interrupted %q", name, s.Status, s.Interrupted)
		}
	}
}
