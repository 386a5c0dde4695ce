package steps

import (
	"testing"
	"time"
)

func TestTheFirstRuleThatNamesAKindHolds(t *testing.T) {
	t.Parallel()
	n := func(n int) *int { return &n }
	base := Policy{Retries: 3, Delay: time.Second, Longest: time.Minute, Jitter: 0.25, Pause: true}
	retries := &Retries{OnExhausted: Pause, Rules: []Rule{
		{On: []Kind{"exit"}, MaxAttempts: n(0), OnExhausted: Fail},
		{On: []Kind{"rate_limit", "exit"}, MaxAttempts: n(9), DelayMs: n(5000), MaxDelayMs: n(900000)},
		{On: []Kind{"rig"}},
	}}
	with := func(change func(*Policy)) Policy { p := base; change(&p); return p }
	for kind, want := range map[Kind]Policy{
		"timeout":    with(func(p *Policy) { p.Rule = -1 }),
		"":           with(func(p *Policy) { p.Rule = -1 }),
		"exit":       with(func(p *Policy) { p.Rule, p.Retries, p.Pause = 0, 0, false }),
		"rate_limit": with(func(p *Policy) { p.Rule, p.Retries, p.Delay, p.Longest = 1, 9, 5*time.Second, 15*time.Minute }),
		"rig":        with(func(p *Policy) { p.Rule = 2 }),
	} {
		if got := retries.Policy(kind); got != want {
			t.Errorf("%s: %+v, want %+v", kind, got, want)
		}
	}
}
