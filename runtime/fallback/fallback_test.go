package fallback

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"hank/plan"
	"hank/plan/config"
	"hank/plan/model"
	"hank/runtime/harness"
	"hank/runtime/usagelimit"
	"hank/state"
)

const (
	own    = "anthropic/claude-sonnet-4-5"
	second = "anthropic/claude-haiku-4-5"
	third  = "pi/openai/gpt-5"
)

func codon(t *testing.T) *plan.Codon {
	t.Helper()
	p, found := plan.LoadWith(fstest.MapFS{"hank.json": {Data: []byte(`{"hank": [{"id": "a", "name": "a", "model": "` + own + `", "continuationMode": "fresh", "promptText": "x",
		"fallback": ["` + second + `", {"model": "openai/gpt-5", "harness": "pi"}]}]}`)}}, "hank.json", config.Layers{})
	if p == nil {
		t.Fatal(found)
	}
	return p.Hank.Items[0].Codon
}

func all(model.Ref) bool { return true }

func record(m, interrupted string) *state.Codon {
	return &state.Codon{CodonID: "a", Attempt: 1, Model: m, Harness: "claude", Status: state.Failed, Interrupted: interrupted, FailureReason: &state.FailureReason{Class: "usage_limit", Message: "no"}}
}

func TestWhichModelIsNext(t *testing.T) {
	t.Parallel()
	c := codon(t)
	fell, limit := state.InterruptedByFallback, state.InterruptedByLimit
	for name, s := range map[string]struct {
		series []*state.Codon
		usable func(model.Ref) bool
		want   string
	}{
		"the first":                          {nil, all, own},
		"after a fall back":                  {[]*state.Codon{record(own, fell)}, all, second},
		"after two":                          {[]*state.Codon{record(own, fell), record(second, fell)}, all, third},
		"one that cannot be used":            {[]*state.Codon{record(own, fell)}, func(m model.Ref) bool { return m.HarnessOverride == "pi" }, third},
		"its own cannot be used":             {nil, func(m model.Ref) bool { return m.String() != own }, second},
		"none can be used":                   {nil, func(model.Ref) bool { return false }, own},
		"after a wait with it":               {[]*state.Codon{record(own, fell), record(second, limit)}, all, second},
		"after a crash with it":              {[]*state.Codon{record(own, fell), record(second, state.InterruptedByCrash)}, all, second},
		"a failure of its own":               {[]*state.Codon{record(own, fell), record(second, "")}, all, own},
		"a model that is not there any more": {[]*state.Codon{record("openai/gone", fell)}, all, own},
	} {
		got := Choose(c, s.series, s.usable)
		if got.Model.String() != s.want {
			t.Errorf("%s: %s, want %s", name, got.Model, s.want)
		}
	}
	if c.Model.String() != own {
		t.Error("the codon itself was changed")
	}
	c.ContinuationMode = plan.ContinuePrevious
	if got := Choose(c, []*state.Codon{record(own, fell)}, all); got.ContinuationMode != plan.ContinuePrevious {
		t.Error("the same agent can continue the session")
	}
	if got := Choose(c, []*state.Codon{record(second, fell)}, all); got.ContinuationMode != plan.Fresh || c.ContinuationMode != plan.ContinuePrevious {
		t.Error("another agent cannot continue the session")
	}
}

// The causes are a closed list.
func TestWhatIsACause(t *testing.T) {
	t.Parallel()
	c, waits := codon(t), usagelimit.Decision{Until: time.Now()}
	for _, s := range []struct {
		class, rule string
		falls       bool
		waiting     bool // also where it would be waited for
	}{
		{"auth", "word:invalid_api_key", true, false}, {"billing", "", true, false}, {"rate_limit", "", true, false}, {"usage_limit", "", true, false},
		{"overloaded", "", true, true}, {"invalid_request", "word:model_not_found", true, false}, {"invalid_request", "status:404", true, false},
		{"invalid_request", "status:400", false, false}, {harness.ClassUnreachable, "", false, false}, {harness.ClassTimeout, "", false, false},
		{"refusal", "", false, false}, {harness.ClassContextOverflow, "", false, false}, {harness.ClassMaxOutput, "", false, false}, {"silent", "", false, false},
		{harness.ClassBudget, "", false, false}, {harness.ClassExit, "", false, false}, {"rig", "", false, false}, {"expectation", "", false, false}, {harness.ClassUnknown, "", false, false},
	} {
		f := &state.FailureReason{Class: s.class, Rule: s.rule}
		if d := Decide(c, nil, all, f, usagelimit.Decision{}); (d.Instead != "") != s.falls || s.falls && d.Instead != second {
			t.Errorf("%s %s: %+v", s.class, s.rule, d)
		}
		if d := Decide(c, nil, all, f, waits); (d.Instead != "") != s.waiting || d.Instead == "" && d.Until != waits.Until {
			t.Errorf("%s %s, which is waited for: %+v", s.class, s.rule, d)
		}
		last := []*state.Codon{record(own, state.InterruptedByFallback), record(second, state.InterruptedByFallback)}
		if d := Decide(c, last, all, f, waits); d != waits {
			t.Errorf("%s: there is none left: %+v", s.class, d)
		}
		if d := Decide(c, nil, func(model.Ref) bool { return false }, f, waits); d != waits {
			t.Errorf("%s: none can be used: %+v", s.class, d)
		}
	}
}

func TestAFallBackInWords(t *testing.T) {
	t.Parallel()
	c := codon(t)
	fell := record(own, state.InterruptedByFallback)
	same := Of(fell, Choose(c, []*state.Codon{fell}, all))
	if got, want := same.String(), "a falls back from "+own+" to "+second+" (usage_limit: no)"; got != want || same.OtherAgent {
		t.Errorf("%q, want %q", got, want)
	}
	other := Of(fell, Choose(c, []*state.Codon{record(second, state.InterruptedByFallback)}, all))
	if got := other.String(); !strings.Contains(got, "to "+third+" in a new session of pi (") || !other.OtherAgent || other.Harness != "pi" {
		t.Errorf("%q", got)
	}
}
