//go:build unix

package runtime

import (
	"fmt"
	"strings"
	"testing"

	"hank/internal/modelserver"
	"hank/runtime/exitcode"
	"hank/state"
)

// TestARealAgentIsEndedAtItsBudgetAheadOfTheNextRequest: the first request reaches the limit of
// the codon, and the agent is ended while the command that the model has asked for is at work,
// which by itself would not end. Of opencode, which reports a request when its tools have ended,
// the command ends, and the next request may be open when it is ended, but no more.
func TestARealAgentIsEndedAtItsBudgetAheadOfTheNextRequest(t *testing.T) {
	eachAgent(t, []string{"claude", "codex", "gemini", "opencode", "pi"}, func(t *testing.T, a realAgent) {
		tells := a.name != "opencode"
		command, requests := "echo begun >begun; sleep 600; echo late >late", 1 // Claude Code refuses one that sleeps first
		if !tells {
			command, requests = "echo begun >begun", 2
		}
		var asked int
		server := modelserver.NewFunc(t, func(r modelserver.Request) modelserver.Turn {
			if len(r.Tools) == 0 {
				return modelserver.Turn{Text: "ok"}
			}
			if asked++; asked > 1 { // one after the other: an agent has one conversation
				return modelserver.Turn{Text: "par", Break: modelserver.Stall}
			}
			return modelserver.Turn{Text: "I will.", Tools: []modelserver.Tool{shellTool(r, command)}, Usage: modelserver.Usage{Input: 1000, Output: 500}}
		})
		s := stageOf(t, fmt.Sprintf(`{"hank": [{"id": "work", "name": "Work", "model": %q, "continuationMode": "fresh", "promptText": "Do the work.",
			"timeout": 300, "budget": {"maxOutputTokens": 500}}]}`, a.model))
		s.opts.Environ = append(s.opts.Environ, a.variables(t, server)...)
		s.must(ModeRun, exitcode.Done)
		c := s.last("work")
		if hit := c.BudgetExceeded; c.Status != state.Completed || hit == nil || !strings.Contains(strings.ToLower(hit.Currency), "output") || hit.Finished {
			t.Fatalf("it ended %s, at %+v: %+v", c.Status, hit, c.FailureReason)
		}
		if n := len(server.Turns()); n > requests {
			t.Errorf("the provider was asked %d times, want %d", n, requests)
		}
		if used := c.TokenCount(); used.Input != 1000 || used.Output != 500 || c.Cost() == 0 {
			t.Errorf("it has used %+v for %s", used, c.Cost())
		}
		// An agent that tells of the request first may be ended before its command has begun.
		if tree := s.treeIn(c.CompletionCheckpoint); tree["begun"] == "" && !tells || tree["late"] != "" {
			t.Errorf("its checkpoint has %v", tree)
		}
	})
}
