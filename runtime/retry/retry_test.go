package retry

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"hank/plan"
	"hank/plan/model"
	"hank/plan/steps"
	"hank/state"
)

// attempts reads a series: exit and rate_limit fail so, "stop" was interrupted, a class
// with ! is not retriable.
func attempts(text string) (series []*state.Codon) {
	for _, word := range strings.Fields(text) {
		class, final := strings.CutSuffix(word, "!")
		c := &state.Codon{CodonID: "a", Status: state.Failed, FailureReason: &state.FailureReason{Class: class, Retriable: !final}}
		if word == "stop" {
			c.Interrupted = state.InterruptedByStop
		}
		series = append(series, c)
	}
	return series
}

func number(n int) *int { return &n }

func TestWhatFollowsASeriesOfAttempts(t *testing.T) {
	t.Parallel()
	plain := &steps.Retries{MaxAttempts: 2}
	paused := &steps.Retries{MaxAttempts: 1, OnExhausted: steps.Pause}
	ruled := &steps.Retries{MaxAttempts: 1, Rules: []steps.Rule{
		{On: []steps.Kind{"rate_limit", "overloaded"}, MaxAttempts: number(3), OnExhausted: steps.Pause},
		{On: []steps.Kind{"expectation"}, MaxAttempts: number(0)},
		{On: []steps.Kind{"rate_limit"}, MaxAttempts: number(9)},
	}}
	for _, c := range []struct {
		config *steps.Retries
		policy plan.OnFailure
		series string
		want   string // again, left, pause
	}{
		{plain, plan.Retry, "", "false 3 false"},
		{plain, plan.Retry, "exit", "true 2 false"},
		{plain, plan.Retry, "exit exit", "true 1 false"},
		{plain, plan.Retry, "exit exit exit", "false 0 false"},
		{plain, plan.Retry, "exit exit exit exit", "false 0 false"},
		{nil, plan.Retry, "exit exit exit", "true 1 false"}, // three by default
		{nil, plan.Abort, "", "false 1 false"},
		{nil, plan.Abort, "exit", "false 0 false"},
		{nil, plan.Ignore, "exit", "false 0 false"},

		// What cannot change is not tried again, and its end is no exhaustion.
		{paused, plan.Retry, "auth!", "false 0 false"},
		{paused, plan.Retry, "exit", "true 1 false"},
		{paused, plan.Retry, "exit exit", "false 0 true"},
		{paused, plan.Abort, "exit exit", "false 0 false"},

		// What was interrupted has not failed, and gives nothing back.
		{plain, plan.Retry, "stop", "false 3 false"},
		{plain, plan.Retry, "exit stop", "false 2 false"},
		{plain, plan.Retry, "exit stop exit stop exit", "false 0 false"},
		{plain, plan.Retry, "stop stop stop exit", "true 2 false"},

		// Each rule counts for itself, and the first that names a kind holds.
		{ruled, plan.Retry, "rate_limit overloaded rate_limit", "true 1 false"},
		{ruled, plan.Retry, "rate_limit overloaded rate_limit rate_limit", "false 0 true"},
		{ruled, plan.Retry, "rate_limit rate_limit rate_limit exit", "true 1 false"},
		{ruled, plan.Retry, "rate_limit exit rate_limit exit", "false 0 false"},
		{ruled, plan.Retry, "exit rate_limit", "true 3 false"},
		{ruled, plan.Retry, "expectation", "false 0 false"},
		{ruled, plan.Retry, "rate_limit expectation", "false 0 false"},
		{ruled, plan.Retry, "nobody-knows", "true 1 false"},
		{ruled, plan.Retry, "rate_limit!", "false 0 false"},
	} {
		n := after(&plan.Codon{ID: "a", OnFailure: c.policy, RetryConfig: c.config}, attempts(c.series))
		if got := fmt.Sprint(n.Again, n.Left, n.Pause); got != c.want {
			t.Errorf("%s after %q: %s, want %s", c.policy, c.series, got, c.want)
		}
	}
}

// How many attempts there are is only said where it is known: what a provider does not let work
// costs no retry, of this run or of a fallback that may come, and kinds of failures that are counted
// apart add up to nobody knows what.
func TestHowManyAttemptsThereAreAtMost(t *testing.T) {
	t.Parallel()
	plain := &steps.Retries{MaxAttempts: 2}
	for _, c := range []struct {
		policy   plan.OnFailure
		fallback int
		series   string
		number   int
		want     int
	}{
		{plan.Abort, 0, "", 1, 1},
		{plan.Retry, 0, "", 1, 3},
		{plan.Retry, 0, "exit", 2, 3},
		{plan.Retry, 0, "exit exit", 3, 3},
		{plan.Retry, 0, "exit stop", 1, 2}, // in the run before
		{plan.Abort, 0, "stop", 2, 0},
		{plan.Retry, 0, "exit stop", 3, 0},
		{plan.Retry, 0, "stop exit", 3, 0},
		{plan.Retry, 1, "", 1, 0},
		{plan.Retry, 1, "exit", 2, 0},
	} {
		codon := &plan.Codon{ID: "a", OnFailure: c.policy, RetryConfig: plain, Fallback: make([]model.Fallback, c.fallback)}
		if got := Most(codon, attempts(c.series), c.number); got != c.want {
			t.Errorf("%s with %d fallbacks, attempt %d after %q: %d, want %d", c.policy, c.fallback, c.number, c.series, got, c.want)
		}
	}
	five := 5
	for what, codon := range map[string]*plan.Codon{
		"a rule":                    {ID: "a", OnFailure: plan.Retry, RetryConfig: &steps.Retries{MaxAttempts: 2, Rules: []steps.Rule{{On: []steps.Kind{"exit"}, MaxAttempts: &five}}}},
		"a retry for silence alone": {ID: "a", OnFailure: plan.Abort, OnStuck: steps.RetryStuck},
	} {
		if got := Most(codon, nil, 1); got != 0 {
			t.Errorf("with %s: %d", what, got)
		}
	}
}

func TestHowLongToWait(t *testing.T) {
	t.Parallel()
	float := func(f float64) *float64 { return &f }
	config := &steps.Retries{MaxAttempts: 10, DelayMs: number(1000), MaxDelayMs: number(10000), Rules: []steps.Rule{
		{On: []steps.Kind{"rate_limit"}, DelayMs: number(5000), MaxDelayMs: number(60000)},
		{On: []steps.Kind{"exit"}, DelayMs: number(0)},
	}}
	still := *config
	still.Jitter = float(0)
	wide := *config
	wide.Jitter = float(1)
	for _, c := range []struct {
		config *steps.Retries
		series string
		after  int64
		chance float64
		want   time.Duration
	}{
		{config, "rig", 0, 0, time.Second},
		{config, "rig", 0, 0.999999, 1250 * time.Millisecond},
		{config, "rig rig rig", 0, 0, 4 * time.Second},
		{config, "rig rig rig rig rig rig", 0, 0.9, 10 * time.Second},
		{config, "rig rig rig rig rig rig rig rig rig rig", 0, 0, 10 * time.Second},
		{config, "rate_limit", 0, 0, 5 * time.Second},
		{config, "rig rig rate_limit rate_limit", 0, 0, 10 * time.Second}, // others do not count
		{config, "exit exit", 0, 0.5, 0},
		{config, "rate_limit", 30000, 0.5, 30 * time.Second}, // what the provider asks for
		{config, "rig", 30000, 0.5, 10 * time.Second},
		{&still, "rig rig", 0, 0.9, 2 * time.Second},
		{&wide, "rig rig", 0, 0.5, 3 * time.Second},
		{nil, "rig", 0, 0, time.Second},
	} {
		series := attempts(c.series)
		last := series[len(series)-1].FailureReason
		last.RetryAfterMs = c.after
		got := after(&plan.Codon{ID: "a", OnFailure: plan.Retry, RetryConfig: c.config}, series).Wait(last, c.chance)
		if d := got - c.want; d < -time.Millisecond || d > time.Millisecond {
			t.Errorf("%q, asked %d, chance %g: %s, want %s", c.series, c.after, c.chance, got, c.want)
		}
	}
}

// A crash or a stop gives no retries back; the user's command does, and so does whatever
// lies between.
func TestASeriesGoesOnAfterAnInterruption(t *testing.T) {
	t.Parallel()
	run := func(reason, status, end string, codons ...string) string {
		records := make([]string, len(codons))
		for i, c := range codons {
			id, status, _ := strings.Cut(c, ":")
			status, class, _ := strings.Cut(status, " ")
			records[i] = fmt.Sprintf(`{"codonId": %q, "status": %q, "attempt": %d, "failureReason": {"type": "unknown", "retriable": true, "class": %q}}`, id, status, i+1, class)
		}
		return fmt.Sprintf(`{"status": %q, "endReason": %q, "startingConditions": {"type": "continuation", "reason": %q}, "codons": [%s]}`, status, end, reason, strings.Join(records, ", "))
	}
	for _, c := range []struct {
		name string
		runs []string // newest first
		want int
	}{
		{"one run", []string{run("", "failed", "codon-failed", "b:completed", "a:failed", "a:failed")}, 2},
		{"nothing yet", []string{run("", "running", "", "b:completed")}, 0},
		{"after a crash", []string{run("continue", "running", "", "a:failed"), run("", "crashed", "crash", "b:completed", "a:failed", "a:failed")}, 3},
		{"before its first attempt", []string{run("continue", "running", ""), run("", "crashed", "crash", "a:failed", "a:failed")}, 2},
		{"after two", []string{run("continue", "running", ""), run("continue", "crashed", "crash", "a:failed"), run("", "failed", "stopped", "a:failed")}, 2},
		{"one that came to no codon", []string{run("continue", "running", "", "a:failed"), run("continue", "crashed", "crash"), run("", "failed", "signal", "a:failed")}, 2},
		{"after a retry", []string{run("retry", "running", "", "a:failed"), run("", "crashed", "crash", "a:failed", "a:failed")}, 1},
		{"after a rollback", []string{run("rollback", "running", ""), run("", "crashed", "crash", "a:failed", "a:failed")}, 0},
		{"a resume of what had failed", []string{run("continue", "running", "", "a:failed"), run("", "failed", "codon-failed", "a:failed", "a:failed")}, 1},
		{"after a pause", []string{run("retry", "running", ""), run("", "failed", "exhausted", "a:failed")}, 0},
		{"another codon since", []string{run("continue", "running", "", "b:completed", "a:failed"), run("", "crashed", "crash", "a:failed")}, 1},
		{"refused at its gate twice", []string{run("", "running", "", "b:completed", "a:completed", "a:failed gate", "a:completed", "a:failed gate")}, 2},
		{"and before that by itself", []string{run("continue", "running", "", "a:failed gate"), run("", "failed", "stopped", "a:failed", "a:completed")}, 2},
		{"a codon that was completed", []string{run("continue", "running", "", "a:failed"), run("", "crashed", "crash", "a:completed")}, 1},
	} {
		for i := range c.runs {
			c.runs[i] = strings.Replace(c.runs[i], "{", fmt.Sprintf(`{"runId": "%d", `, len(c.runs)-i), 1)
		}
		s, err := state.Unmarshal([]byte(`{"runs": [` + strings.Join(c.runs, ", ") + `], "currentRunId": null, "executionPlan": []}`))
		if err != nil {
			t.Fatal(err)
		}
		series := Series(s, s.Newest(), "a")
		if len(series) != c.want {
			t.Errorf("%s: %d attempts, want %d", c.name, len(series), c.want)
		}
		for i := 1; i < len(series); i++ {
			if series[i-1].Attempt > series[i].Attempt && i == len(series)-1 && len(c.runs) == 1 {
				t.Errorf("%s: not in their order", c.name)
			}
		}
	}
}
