//go:build unix

package runtime

import (
	"strings"
	"testing"
	"time"

	"hank/runtime/exitcode"
	"hank/runtime/why"
	"hank/state"
)

const (
	sonnet = "claude-sonnet-4-5"
	haiku4 = "claude-haiku-4-5"
)

// fallsBack is a codon of one model with another as its fallback.
const fallsBack = `, "onUsageLimit": "fail", "fallback": ["anthropic/` + haiku4 + `"]`

func fallbackStage(t *testing.T, p provider, more string) *stage {
	t.Helper()
	s := stageOf(t, `{"hank": [{"id": "a", "name": "a", "model": "anthropic/`+sonnet+`", "continuationMode": "fresh", "promptText": "x"`+more+`}]}`)
	s.opts.Environ = append(s.opts.Environ, p.environ()...)
	return s
}

// The next model of the list is taken, with no retry used up, and the records say which model
// worked; the next codon begins with its own again.
func TestACodonFallsBack(t *testing.T) {
	t.Parallel()
	p := aProvider(t)
	p.says(t, "limit-"+sonnet, resets("2 hours"))
	s := fallbackStage(t, p, fallsBack)
	res := s.must(ModeRun, exitcode.Done)
	if got, want := strings.Join(s.records(), " "), "a:failed a:completed"; got != want {
		t.Fatalf("the records are %s, want %s", got, want)
	}
	first, second := s.view().State.Newest().Codon(0), s.view().State.Newest().Codon(1)
	if first.Interrupted != state.InterruptedByFallback || first.Model != "anthropic/"+sonnet || first.FallbackOf != "" || first.FailureReason.Class != "usage_limit" {
		t.Errorf("%+v %+v", first, first.FailureReason)
	}
	if second.Model != "anthropic/"+haiku4 || second.FallbackOf != "anthropic/"+sonnet || second.Harness != "claude" {
		t.Errorf("%+v", second)
	}
	if got, want := strings.Join(p.requests(t), ","), sonnet+" ,"+haiku4; got != want {
		t.Errorf("the provider was asked by %q, want %q", got, want)
	}
	if sum := first.Cost() + second.Cost(); res.Cost != sum || s.noted("codon.fallback") != 1 {
		t.Errorf("it cost %s, the records %s", res.Cost, sum)
	}
	if got := content(t, s.workspace(), "work"); got != "done\n" {
		t.Errorf("the work is %q", got)
	}
	if said := strings.Join(s.said, "\n"); !strings.Contains(said, "a falls back from anthropic/"+sonnet+" to anthropic/"+haiku4+" (usage_limit: ") {
		t.Errorf("it said %s", said)
	}
	if said := strings.Join(s.said, "\n"); !strings.Contains(said, "[1/1] a: a (attempt 2)") || strings.Contains(said, "attempt 2 of") {
		t.Errorf("it said %s", said)
	}
	s.fsck()
	if w := why.Explain(s.view().State, "a", nil, "", false, time.Now()); !strings.Contains(w.Attempts[len(w.Attempts)-1].Because+w.Attempts[0].Because, "the provider did not let attempt 1 work") {
		t.Errorf("it is explained by %+v", w.Attempts)
	}

	// Gone back, it begins with its own model again.
	p.says(t, "limit-"+sonnet, "")
	s.must(ModeRetry, exitcode.Done, func(o *command) { o.Codon = "a"; o.Now = true })
	if c := s.last("a"); c.Model != "anthropic/"+sonnet || c.FallbackOf != "" {
		t.Errorf("%+v", c)
	}
}

// The session is continued, in the workspace as it is, where the agent is the same.
func TestAFallBackContinuesTheSessionOfItsAgent(t *testing.T) {
	t.Parallel()
	p := aProvider(t)
	p.says(t, "works", "yes")
	p.says(t, "limit-"+sonnet, `"api_error_status":529,"result":"API Error: 529 overloaded"`)
	s := fallbackStage(t, p, `, "fallback": ["anthropic/`+haiku4+`"]`) // an overloaded provider is not waited for
	s.must(ModeRun, exitcode.Done)
	first, second := s.view().State.Newest().Codon(0), s.view().State.Newest().Codon(1)
	if first.FailureReason.Class != "overloaded" || second.ClaudeSessionID != first.ClaudeSessionID || second.PreviousSessionID == "" {
		t.Errorf("%+v, asked %q", first.FailureReason, p.requests(t))
	}
	if got := content(t, s.workspace(), "work"); got != "half\nhalf\ndone\n" {
		t.Errorf("the work is %q", got)
	}
}

// A limit that is waited for is no cause, and where nothing is left to fall back to the
// policy of the codon applies, with its own model first again.
func TestWhereNoFallBackIsTaken(t *testing.T) {
	t.Parallel()
	p := aProvider(t)
	p.says(t, "limit-"+sonnet, resets("1 second"))
	s := fallbackStage(t, p, `, "fallback": ["anthropic/`+haiku4+`"]`)
	s.must(ModeRun, exitcode.Failed, func(o *command) {
		say := o.Say
		o.Say = func(line string) {
			if say(line); strings.Contains(line, "--now") { // the limit ends, and the next answer is an error
				p.says(t, "limit-"+sonnet, `"api_error_status":400,"result":"API Error: 400 no"`)
			}
		}
	})
	if got := strings.Join(p.requests(t), ","); strings.Contains(got, haiku4) {
		t.Errorf("asked %q", got)
	}

	p = aProvider(t)
	p.says(t, "limit", `"api_error_status":401,"result":"API Error: 401 bad key"`)
	s = fallbackStage(t, p, fallsBack+`, "onFailure": "ignore"`)
	s.must(ModeRun, exitcode.Agent)
	if got, want := strings.Join(p.requests(t), ","), sonnet+" ,"+haiku4; got != want {
		t.Errorf("asked %q, want %q", got, want)
	}
	if c := s.last("a"); c.Interrupted != state.InterruptedByRefusal || c.FallbackOf == "" {
		t.Errorf("%+v", c)
	}

	p = aProvider(t)
	p.says(t, "limit", `"api_error_status":429,"result":"You've hit your session limit"`)
	s = fallbackStage(t, p, fallsBack+`, "onFailure": "retry", "retryConfig": {"maxAttempts": 1, "delayMs": 0}`)
	s.must(ModeRun, exitcode.Failed)
	models := []string{}
	for _, c := range s.view().State.Newest().Codons() {
		models = append(models, c.Model)
	}
	if got, want := strings.Join(models, ","), strings.Repeat(",anthropic/"+sonnet+",anthropic/"+haiku4, 2)[1:]; got != want {
		t.Errorf("the attempts have %q, want %q", got, want)
	}
	// The third attempt is not made: the breaker knows. A fallback of the same provider is:
	// its model may have a limit of its own.
	if got, want := strings.Join(p.requests(t), ","), strings.Join([]string{sonnet + " ", haiku4 + " ", haiku4}, ","); got != want {
		t.Errorf("asked %q, want %q", got, want)
	}
}

// The next run after a kill goes on with the model that was its turn.
func TestAFallBackOutlivesItsRun(t *testing.T) {
	t.Parallel()
	p := aProvider(t)
	hank, dir := t.TempDir(), t.TempDir()
	put(t, hank, "hank.json", `{"hank": [{"id": "a", "name": "a", "model": "anthropic/`+sonnet+`", "continuationMode": "fresh", "promptText": "x"`+fallsBack+`}]}`)
	p.says(t, "limit-"+sonnet, resets("2 hours"))
	put(t, dir, "registry/consents/claude.json", "{}")
	o := order{Execution: dir + "/execution", Hank: hank, Output: dir + "/output"}
	if _, killed := o.start(t, append(p.environ(), "HANK_FAILPOINT=checkpoint.referenced:2")...).wait(); !killed {
		t.Fatal("it was not killed")
	}
	o.start(t, p.environ()...).end(t, exitcode.Done)
	o.clean(t)
	if got, want := strings.Join(p.requests(t), ","), sonnet+" ,"+haiku4; got != want {
		t.Errorf("asked %q, want %q", got, want)
	}
}
