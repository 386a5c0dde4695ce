package codon

import (
	"testing"
	"time"

	"hank/internal/secret"
	"hank/runtime/harness"
	"hank/state"
)

// What the user is shown follows what the agent does, one observation after the
// other.
func TestActivityFollowsTheAgent(t *testing.T) {
	t.Parallel()
	var secrets secret.Values
	secrets.Add([]string{"MY_TOKEN=hidden-value-77"})
	p := &Monitor{}
	p.Begin(secrets.Text)
	p.Change(func(a *Activity) { a.Codon = "api" })
	p.Step("starting claude")
	for i, c := range []struct {
		o    harness.Observation
		want Activity
	}{
		{harness.SessionStarted{ID: "s"}, Activity{Step: "waiting for the model"}},
		{harness.Message{Text: "I think", Thinking: true}, Activity{Step: "waiting for the model"}},
		{harness.Message{Text: "Two files, hidden-value-77."}, Activity{Step: "waiting for the model", Words: "Two files, ***.", Last: "Two files, ***."}},
		{harness.ToolUse{ID: "1", Name: "Bash", Input: []byte(`{"description":"d","command":"cat /w/a.txt hidden-value-77"}`)}, Activity{Tool: "Bash: cat a.txt ***", Words: "Two files, ***.", Last: "Two files, ***."}},
		{harness.ToolUse{ID: "2", Name: "Odd", Input: []byte(`{"n":1,"b":" second ","c":"third"}`)}, Activity{Tool: "Odd: second", Words: "Two files, ***.", Last: "Two files, ***."}},
		{harness.Usage{}, Activity{Tool: "Odd: second", Words: "Two files, ***.", Last: "Two files, ***.", Cost: 42}},
		{harness.ToolResult{ToolUseID: "1"}, Activity{Step: "waiting for the model", Tool: "Odd: second", Words: "Two files, ***.", Last: "Two files, ***.", Cost: 42}},
		{harness.ToolResult{ToolUseID: "2"}, Activity{Step: "waiting for the model", Words: "Two files, ***.", Last: "Two files, ***.", Cost: 42}},
		{harness.ToolUse{ID: "3", Name: "Todo", Input: []byte(`[1]`)}, Activity{Tool: "Todo", Words: "Two files, ***.", Last: "Two files, ***.", Cost: 42}},
		{harness.Retrying{Attempt: 2, After: time.Second, Why: "overloaded (HTTP 529)"}, Activity{Step: "waiting for the provider, overloaded (HTTP 529)", Words: "Two files, ***.", Last: "Two files, ***.", Cost: 42}},
	} {
		p.observe(c.o, "/w", "waiting for the model", state.Bill{Cost: 42})
		if c.want.Codon = "api"; p.Now() != c.want {
			t.Errorf("%d, %T: got %+v, want %+v", i, c.o, p.Now(), c.want)
		}
	}
	p.Step("making the checkpoint")
	if now := p.Now(); now.Step != "making the checkpoint" || now.Tool != "" {
		t.Errorf("%+v", now)
	}
	var nobody *Monitor
	nobody.Begin(nil)
	nobody.Step("x")
	nobody.observe(harness.Message{}, "", "", state.Bill{})
}
