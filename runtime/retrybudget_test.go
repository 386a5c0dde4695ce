//go:build unix

package runtime

import (
	"strings"
	"testing"

	"hank/internal/short"
	"hank/runtime/exitcode"
	"hank/state"
)

// TestNoAttemptBeginsWithAUsedUpBudget: neither an automatic retry, nor one after a wait for the
// provider, spends more once what it may spend is spent.
func TestNoAttemptBeginsWithAUsedUpBudget(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	spends := `echo '::hank usage {\"costUSD\":1.5,\"outputTokens\":60}'; `
	for name, c := range map[string]struct {
		more, script string
		with         []func(*command)
	}{
		"limit of the command":     {`"onFailure":"retry","retryConfig":{"maxAttempts":3,"delayMs":0},`, spends + "exit 1", []func(*command){maxCost(1)}},
		"the codon's own":          {`"onFailure":"retry","retryConfig":{"maxAttempts":3,"delayMs":0},"budget":{"maxDollars":1},`, spends + "exit 1", nil},
		"output tokens":            {`"onFailure":"retry","retryConfig":{"maxAttempts":3,"delayMs":0},"budget":{"maxOutputTokens":50},`, spends + "exit 1", nil},
		"after a wait":             {"", spends + "echo '::hank usage-limit 1'; exit 1", []func(*command){maxCost(1)}},
		"an attempt without usage": {`"onFailure":"retry","retryConfig":{"maxAttempts":1,"delayMs":0},`, spends + "[ -e ../ran ] || { touch ../ran; exit 1; }; sleep 60", []func(*command){maxCost(1)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stageOf(t, `{"hank": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", `+c.more+`"promptText": "`+c.script+`"},
			  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo b >b"}]}`)
			for range 2 { // what begins again spends as little
				res := s.must(ModeRun, exitcode.Budget, c.with...)
				if got := s.view().State.TotalCost(); got != 3*state.Dollar/2 {
					t.Fatalf("$%s were spent: %s", got, res.Message)
				}
				if !strings.Contains(res.Message, "codon a: budget exhausted") {
					t.Errorf("it says %q", res.Message)
				}
				c.with = nil
			}
		})
	}
}
