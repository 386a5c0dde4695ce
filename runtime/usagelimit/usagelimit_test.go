package usagelimit

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"hank/plan"
	"hank/plan/config"
	"hank/state"
)

var now = time.Date(2026, 11, 26, 14, 30, 0, 0, time.UTC)

// load is a hank of one codon.
func load(t *testing.T, more, overrides string) (*plan.Program, *plan.Codon) {
	t.Helper()
	p, found := plan.LoadWith(fstest.MapFS{"hank.json": {Data: []byte(`{` + overrides + `"hank": [{"id": "a", "name": "a", "model": "sonnet", "continuationMode": "fresh", "promptText": "x"` + more + `}]}`)}}, "hank.json", config.Layers{})
	if p == nil {
		t.Fatal(found)
	}
	return p, p.Hank.Items[0].Codon
}

func at(d time.Duration) *state.Time {
	t := state.At(now.Add(d))
	return &t
}

// limited is an attempt that a limit has interrupted, and that the model has answered with
// so many tokens.
func limited(end time.Duration, answered int64, session string) *state.Codon {
	return &state.Codon{CodonID: "a", Status: state.Failed, Interrupted: state.InterruptedByLimit, EndTime: at(end), ClaudeSessionID: session,
		PartialTokens: &state.Tokens{Output: answered}, FailureReason: &state.FailureReason{Class: "rate_limit", Retriable: true, ResetsAt: at(end + time.Minute)}}
}

func failed() *state.Codon {
	return &state.Codon{CodonID: "a", Status: state.Failed, EndTime: at(-time.Hour), FailureReason: &state.FailureReason{Class: "exit", Retriable: true}}
}

func TestWhatFollowsALimit(t *testing.T) {
	t.Parallel()
	f := func(class string, change ...func(*state.FailureReason)) *state.FailureReason {
		f := &state.FailureReason{Class: class, Retriable: true, Message: "no"}
		for _, c := range change {
			c(f)
		}
		return f
	}
	after := func(ms int64) func(*state.FailureReason) { return func(f *state.FailureReason) { f.RetryAfterMs = ms } }
	resets := func(d time.Duration) func(*state.FailureReason) {
		return func(f *state.FailureReason) { f.ResetsAt = at(d) }
	}
	rule := func(r string) func(*state.FailureReason) { return func(f *state.FailureReason) { f.Rule = r } }
	says := func(text string) func(*state.FailureReason) { return func(f *state.FailureReason) { f.Message = text } }
	for name, s := range map[string]struct {
		more, overrides string
		series          []*state.Codon
		failure         *state.FailureReason
		want            time.Duration // 0: it has failed
		refused         string
	}{
		"no limit":                         {failure: f("exit"), want: 0},
		"a lack of money":                  {failure: &state.FailureReason{Class: "billing"}, want: 0},
		"one that cannot change":           {failure: &state.FailureReason{Class: "rate_limit"}, want: 0},
		"a usage limit, unknown":           {failure: f("usage_limit"), want: time.Minute},
		"a rate limit, with its end":       {failure: f("rate_limit", after(5000)), want: 6 * time.Second},
		"with a moment":                    {failure: f("usage_limit", resets(3*time.Hour)), want: 3*time.Hour + time.Second},
		"one that is past":                 {failure: f("usage_limit", resets(-time.Hour)), want: time.Second},
		"with words":                       {failure: f("usage_limit", says("try again in 2 hours 5 minutes")), want: 125*time.Minute + time.Second},
		"later than the longest wait":      {failure: f("usage_limit", resets(7*time.Hour)), refused: "maxUsageLimitWait is 6h0m0s"},
		"with a longer one":                {more: `, "maxUsageLimitWait": 90000`, failure: f("usage_limit", resets(7*time.Hour)), want: 7*time.Hour + time.Second},
		"with one of the hank":             {overrides: `"overrides": {"maxUsageLimitWait": 90000}, `, failure: f("usage_limit", resets(7*time.Hour)), want: 7*time.Hour + time.Second},
		"with a shorter one":               {more: `, "maxUsageLimitWait": 10`, failure: f("usage_limit"), want: 10 * time.Second},
		"another run has met it":           {failure: f("usage_limit", resets(time.Hour), rule(ForeseenRule)), want: time.Hour},
		"another has, and nobody waits":    {more: `, "maxUsageLimitWait": 10`, failure: f("usage_limit", resets(time.Hour), rule(ForeseenRule)), refused: "maxUsageLimitWait is 10s"},
		"another run tries":                {failure: f("usage_limit", resets(30*time.Second), rule(ProbedRule)), want: 30 * time.Second},
		"another tries, a shorter wait":    {more: `, "maxUsageLimitWait": 10`, failure: f("usage_limit", resets(30*time.Second), rule(ProbedRule)), want: 10 * time.Second},
		"overloaded":                       {failure: f("overloaded"), want: 30 * time.Second},
		"no network":                       {failure: f("unreachable"), want: 15 * time.Second},
		"no network, again":                {series: []*state.Codon{limited(-time.Minute, 0, "")}, failure: f("unreachable"), want: 30 * time.Second},
		"the third of a row":               {series: []*state.Codon{limited(-5*time.Minute, 7, "s"), limited(-3*time.Minute, 0, "s")}, failure: f("usage_limit"), want: 4 * time.Minute},
		"many of a row":                    {series: []*state.Codon{limited(-5*time.Hour, 7, "s"), limited(-4*time.Hour, 0, "s"), limited(-3*time.Hour, 0, "s"), limited(-2*time.Hour, 0, "s"), limited(-time.Hour, 0, "s"), limited(-time.Minute, 0, "s")}, failure: f("usage_limit"), want: 30 * time.Minute},
		"the last that fits":               {series: []*state.Codon{limited(-6*time.Hour+time.Second, 7, "s"), limited(-time.Hour, 0, "s")}, failure: f("usage_limit"), want: time.Second},
		"one too many":                     {series: []*state.Codon{limited(-6*time.Hour, 7, "s"), limited(-time.Hour, 0, "s")}, failure: f("usage_limit"), refused: "waited out for 6h0m0s"},
		"after work, a row begins anew":    {series: []*state.Codon{limited(-9*time.Hour, 7, "s"), limited(-8*time.Hour, 0, "s"), limited(-time.Hour, 5, "s")}, failure: f("usage_limit"), want: 2 * time.Minute},
		"after a failure too":              {series: []*state.Codon{limited(-9*time.Hour, 0, ""), failed()}, failure: f("usage_limit"), want: time.Minute},
		"a network that stays away":        {series: []*state.Codon{limited(-time.Hour, 0, ""), limited(-time.Minute, 0, "")}, failure: f("unreachable"), refused: "waited out for 1h0m0s"},
		"not wanted":                       {more: `, "onUsageLimit": "fail"`, failure: f("usage_limit"), want: 0},
		"not wanted by the hank":           {overrides: `"overrides": {"onUsageLimit": "fail"}, `, failure: f("usage_limit"), want: 0},
		"wanted by the codon alone":        {more: `, "onUsageLimit": "wait"`, overrides: `"overrides": {"onUsageLimit": "fail"}, `, failure: f("usage_limit"), want: time.Minute},
		"a rule that names it":             {more: `, "onFailure": "retry", "retryConfig": {"rules": [{"on": ["usage_limit"]}]}`, failure: f("usage_limit"), want: 0},
		"a rule that names another":        {more: `, "onFailure": "retry", "retryConfig": {"rules": [{"on": ["usage_limit"]}]}`, failure: f("overloaded"), want: 30 * time.Second},
		"a rule, and wait is said as well": {more: `, "onUsageLimit": "wait", "onFailure": "retry", "retryConfig": {"rules": [{"on": ["usage_limit"]}]}`, failure: f("usage_limit"), want: time.Minute},
	} {
		p, c := load(t, s.more, s.overrides)
		got := Decide(p, c, s.series, s.failure, now)
		var want time.Time
		if s.want != 0 {
			want = now.Add(s.want)
		}
		if !got.Until.Equal(want) || (got.Refused == "") != (s.refused == "") || !strings.Contains(got.Refused, s.refused) {
			t.Errorf("%s: until %v (%s), %q; want %v, %q", name, got.Until, got.Until.Sub(now), got.Refused, s.want, s.refused)
		}
	}
}

func TestWhichSessionIsContinued(t *testing.T) {
	t.Parallel()
	_, c := load(t, "", "")
	for name, s := range map[string]struct {
		series []*state.Codon
		want   bool
	}{
		"none":                           {nil, false},
		"one that failed":                {[]*state.Codon{failed()}, false},
		"one with an answer":             {[]*state.Codon{limited(0, 7, "s")}, true},
		"one without":                    {[]*state.Codon{limited(0, 0, "s")}, false},
		"one without a session":          {[]*state.Codon{limited(0, 7, "")}, false},
		"one that was continued":         {[]*state.Codon{limited(0, 7, "s"), limited(0, 0, "s")}, true},
		"one with another session":       {[]*state.Codon{limited(0, 7, "s"), limited(0, 0, "t")}, false},
		"one that a failure comes after": {[]*state.Codon{limited(0, 7, "s"), failed(), limited(0, 0, "s")}, false},
	} {
		if got := Continued(c, s.series) != nil; got != s.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestAWaitIsInTheRecord(t *testing.T) {
	t.Parallel()
	w := After(limited(0, 7, "s"))
	if w == nil || w.Kind != kindUsage || w.Codon != "a" || !w.Since.Equal(now) || !w.Until.Equal(now.Add(time.Minute)) || !strings.HasPrefix(w.Says(), "waiting for the provider's usage limit until 2026-11-2") {
		t.Errorf("%+v", w)
	}
	for _, c := range []*state.Codon{nil, failed(), {Interrupted: state.InterruptedByLimit}} {
		if w := After(c); w != nil {
			t.Errorf("%+v", w)
		}
	}
}

func TestAWaitIsForItsProvider(t *testing.T) {
	t.Parallel()
	_, c := load(t, "", "") // anthropic, by claude
	for name, s := range map[string]struct {
		harness, model string
		want           bool
	}{
		"the same model":     {"claude", c.Model.String(), true},
		"another of it":      {"claude", "anthropic/claude-old", true},
		"named with its own": {"claude", "claude/anthropic/claude-old", true},
		"another agent":      {"pi", "pi/anthropic/claude-old", false},
		"another provider":   {"codex", "openai/gpt-5.5", false},
		"a script":           {"shell", "shell", false},
		"nobody knows":       {"", "", true},
	} {
		limit := limited(0, 0, "")
		limit.Harness, limit.Model = s.harness, s.model
		if got := After(limit).Concerns(c); got != s.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
