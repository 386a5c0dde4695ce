//go:build unix

package codon_test

import (
	"os"
	"path/filepath"
	"testing"

	"hank/runtime/harness"
	"hank/runtime/harness/shell"
	"hank/state"
)

// accounting is a script whose use is in a file of its own, account, and not in what it prints.
type accounting struct {
	shell.Harness
	workspace string
}

func (h accounting) Reader(req harness.Request) harness.Reader {
	return polled{h.Harness.Reader(req), filepath.Join(h.workspace, "account")}
}

type polled struct {
	harness.Reader
	file string
}

func (p polled) Poll() []harness.Observation {
	if _, err := os.Stat(p.file); err != nil {
		return nil
	}
	return []harness.Observation{harness.Usage{Tokens: state.Tokens{Output: 7}}}
}

// What an agent has used is read from its own files while it prints nothing, so that a budget
// ends it in the middle of a command.
func TestABudgetEndsAnAgentThatPrintsNothing(t *testing.T) {
	t.Parallel()
	h := newHost(t, c("a", "touch account; sleep 600; touch late", `"budget": {"maxOutputTokens": 7}`, `"timeout": 60`))
	spec := h.spec(0, 1)
	spec.Harness = accounting{workspace: h.workspace}
	record := h.must(spec, "completed - [account]")
	if hit := record.BudgetExceeded; hit == nil || hit.Finished {
		t.Errorf("%+v", hit)
	}
}
