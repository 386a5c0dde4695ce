package runtime

import (
	"sync"
	"testing"
	"time"

	"hank/internal/secret"
	"hank/runtime/harness"
)

// What a person is shown follows what the agent does, one observation after the
// other.
func TestActivityFollowsTheAgent(t *testing.T) {
	t.Parallel()
	var secrets secret.Values
	secrets.Add([]string{"MY_TOKEN=hidden-value-77"})
	p := &Monitor{}
	p.begin(secrets.Text)
	p.change(func(a *Activity) { a.Codon = "api" })
	p.step("starting claude")
	for i, c := range []struct {
		o    harness.Observation
		want Activity
	}{
		{harness.SessionStarted{ID: "s"}, Activity{Step: "waiting for the model"}},
		{harness.Message{Text: "I think", Thinking: true}, Activity{Step: "waiting for the model"}},
		{harness.Message{Text: "Two files, hidden-value-77."}, Activity{Step: "waiting for the model", Words: "Two files, ***."}},
		{harness.ToolUse{ID: "1", Name: "Bash", Input: []byte(`{"description":"d","command":"cat /w/a.txt hidden-value-77"}`)}, Activity{Tool: "Bash: cat a.txt ***", Words: "Two files, ***."}},
		{harness.ToolUse{ID: "2", Name: "Odd", Input: []byte(`{"n":1,"b":" second ","c":"third"}`)}, Activity{Tool: "Odd: second", Words: "Two files, ***."}},
		{harness.Usage{}, Activity{Tool: "Odd: second", Words: "Two files, ***.", Cost: 42}},
		{harness.ToolResult{ToolUseID: "1"}, Activity{Step: "waiting for the model", Tool: "Odd: second", Words: "Two files, ***.", Cost: 42}},
		{harness.ToolResult{ToolUseID: "2"}, Activity{Step: "waiting for the model", Words: "Two files, ***.", Cost: 42}},
		{harness.ToolUse{ID: "3", Name: "Todo", Input: []byte(`[1]`)}, Activity{Tool: "Todo", Words: "Two files, ***.", Cost: 42}},
		{harness.Retrying{Attempt: 2, After: time.Second, Why: "overloaded (HTTP 529)"}, Activity{Step: "waiting for the provider, overloaded (HTTP 529)", Words: "Two files, ***.", Cost: 42}},
	} {
		p.observe(c.o, "/w", "waiting for the model", 42)
		if c.want.Codon = "api"; p.Now() != c.want {
			t.Errorf("%d, %T: got %+v, want %+v", i, c.o, p.Now(), c.want)
		}
	}
	p.step("making the checkpoint")
	if now := p.Now(); now.Step != "making the checkpoint" || now.Tool != "" {
		t.Errorf("%+v", now)
	}
	var nobody *Monitor
	nobody.begin(nil)
	nobody.step("x")
	nobody.observe(harness.Message{}, "", "", 0)
}

// A run shows each of its steps while it is at it, and nothing when it has ended.
func TestARunShowsWhatItDoes(t *testing.T) {
	t.Parallel()
	s := stageOf(t, `{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "onFailure": "retry", "retryConfig": {"maxAttempts": 1, "delayMs": 0},
	   "rigSetup": [{"type": "command", "command": {"run": "touch ../in-rig; until [ -e ../rigged ]; do sleep 0.02; done"}}],
	   "promptText": "[ -e ../again ] || { touch ../again; exit 1; }; echo '::hank usage {\"costUSD\":0.5}'; echo reading; until [ -e ../read ]; do sleep 0.02; done"}
	]}`)
	p := &Monitor{}
	s.opts.Monitor = p
	await := func(what string, shows func(Activity) bool) {
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
			if shows(p.Now()) {
				return
			}
		}
		t.Errorf("it is not shown that it is %s: %+v", what, p.Now())
	}
	var watching sync.WaitGroup
	watching.Go(func() {
		await("running the rig", func(a Activity) bool { return a.Codon == "a" && a.Step == "running the rig" })
		put(t, s.root, "rigged", "")
		await("reading", func(a Activity) bool {
			return a.Number == 1 && a.Planned == 1 && a.Words == "reading" && a.Step == "" && a.Cost == 500_000_000
		})
		put(t, s.root, "read", "")
	})
	s.must(ModeRun, ExitDone)
	watching.Wait()
	if now := p.Now(); now != (Activity{}) {
		t.Errorf("the run has ended, and shows %+v", now)
	}
}
