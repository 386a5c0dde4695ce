package codon

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hank/plan"
	"hank/plan/model"
	"hank/runtime/harness"
	"hank/state"
)

func priced(cost *model.Cost) *attempt {
	ref := model.Ref{ProviderID: "openai", ModelID: "m", Cost: cost}
	return &attempt{Spec: Spec{Entry: plan.Entry{Codon: &plan.Codon{Model: ref}}}}
}

// A price that depends on the size of a request is that of requests: two small ones are
// no large one.
func TestRequestsThatAreToldOneByOneArePricedOneByOne(t *testing.T) {
	t.Parallel()
	const dollar = 1_000_000_000
	tiers := &model.Cost{Input: dollar, Output: dollar, Tiers: []model.Tier{{AboveInputTokens: 100, Input: 2 * dollar, Output: 2 * dollar}}}
	a := priced(tiers)
	sum := func(input int64, perRequest, priced bool) harness.Usage {
		return harness.Usage{Tokens: state.Tokens{Input: input}, PerRequest: perRequest, Priced: priced, Cost: 7}
	}
	for _, c := range []struct {
		used harness.Usage
		want state.USD
	}{
		{sum(80, true, false), 80_000}, {sum(160, true, false), 160_000}, {sum(160, true, false), 160_000}, // the last is the account of the turn
		{sum(360, true, false), 560_000}, // a large one
		{sum(360, false, false), 720_000}, {sum(360, false, true), 7},
	} {
		if a.usage = a.charged(c.used); a.usage.Cost != c.want {
			t.Errorf("%+v costs %d, want %d", c.used, a.usage.Cost, c.want)
		}
	}
}

// Each request is rounded once, and the cost of an attempt is the sum of its requests,
// whatever turns they are in. The event says where the cost comes from.
func TestTheCostOfAnAttemptIsTheSumOfItsRequests(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Map(rapid.Int64Range(0, 30_000_000_000), func(n int64) model.Rate { return model.Rate(n) })
		read := rate.Draw(t, "read")
		list := &model.Cost{Input: rate.Draw(t, "input"), Output: rate.Draw(t, "output"), CacheRead: &read,
			Tiers: []model.Tier{{AboveInputTokens: 200_000, Input: rate.Draw(t, "large input"), Output: rate.Draw(t, "large output")}}}
		a := priced(list)
		want := state.USD(0)
		for range rapid.IntRange(1, 3).Draw(t, "turns") {
			var tokens state.Tokens
			for range rapid.IntRange(0, 5).Draw(t, "requests") {
				one := state.Tokens{Input: rapid.Int64Range(0, 400_000).Draw(t, "in"), Output: rapid.Int64Range(0, 9000).Draw(t, "out"), CacheRead: rapid.Int64Range(0, 300_000).Draw(t, "cached")}
				nano, _ := a.Entry.Codon.Model.Price(model.Tokens{Input: one.Input, Output: one.Output, CacheRead: one.CacheRead})
				want, tokens = want+state.USD(nano), tokens.Add(one)
				a.usage = a.charged(harness.Usage{Tokens: tokens, PerRequest: true})
			}
			a.spent, a.usage = a.total(), harness.Usage{}
		}
		if got := a.total().Cost; got != want {
			t.Fatalf("%d, the requests cost %d", got, want)
		}
		if p := a.pricing(); p.Source != pricedByList || p.Prices != list || p.Model != "openai/m" {
			t.Fatalf("%+v", p)
		}
	})
}

func TestAModelWithoutAPriceIsSaidInTheRecord(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cost *model.Cost
		used harness.Usage
		said bool
	}{
		"no price":          {nil, harness.Usage{Tokens: state.Tokens{Input: 2, Output: 3}}, true},
		"nothing used":      {nil, harness.Usage{}, false},
		"the agent's money": {nil, harness.Usage{Tokens: state.Tokens{Input: 2}, Priced: true, Cost: 1}, false},
		"a price":           {&model.Cost{}, harness.Usage{Tokens: state.Tokens{Input: 2}}, false},
	} {
		a := priced(c.cost)
		a.usage = a.charged(c.used)
		tokens, said := a.unpriced()
		notes := strings.Join(said, "\n")
		if (notes != "") != c.said || (tokens == 5) != c.said || c.said && !strings.Contains(notes, "no price is known for the model openai/m: what the attempt cost (5 tokens) is in no figure") {
			t.Errorf("%s: %q", name, notes)
		}
	}
}

// An agent that would wait for ever is ended, and what it waited for is the reason. It is
// tried again: the provider has refused nothing.
func TestAnAgentThatWouldWaitForEverIsEnded(t *testing.T) {
	t.Parallel()
	why := &state.FailureReason{Class: harness.ClassUnreachable, Rule: "event:waiting-for-network", Retriable: true}
	a := priced(nil)
	a.host, a.Harness = unwatched{}, named{}
	if stop, err := a.observe(harness.Retrying{GivenUp: why}); !stop || err != nil {
		t.Errorf("stop %v, %v", stop, err)
	}
	s := a.judge(ended{verdict: harness.Verdict{Failure: &state.FailureReason{Class: harness.ClassInterrupted}}})
	if s.Status != state.Failed || s.FailureReason != why || s.Interrupted != "" {
		t.Errorf("%+v", s)
	}
	if s := a.judge(ended{verdict: harness.Verdict{Success: true}}); s.Status != state.Completed {
		t.Errorf("one that has ended well meanwhile: %+v", s)
	}
}

// unwatched is a Host of which only the monitor is asked for.
type unwatched struct{ Host }

func (unwatched) Monitor() *Monitor { return nil }

// named is a Harness of which only the name is asked for.
type named struct{ harness.Harness }

func (named) Name() string { return "codex" }
