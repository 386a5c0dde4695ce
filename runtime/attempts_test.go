package runtime

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hank/internal/short"
	"hank/runtime/exitcode"
	"hank/runtime/harness/transcript"
	"hank/runtime/verdict"
	"hank/state"
)

// Each attempt has a transcript of its own, which names it and has what was
// said in it.
func TestEachAttemptHasATranscriptOfItsOwn(t *testing.T) {
	t.Parallel()
	s := stageOf(t, `{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "onFailure": "retry", "retryConfig": {"maxAttempts": 1, "delayMs": 0},
	   "promptText": "echo this is $HANK_ATTEMPT; exit 1"}
	]}`)
	s.must(ModeRun, exitcode.Failed)
	run := s.view().State.Newest()
	if run.Len() != 2 {
		t.Fatalf("%d attempts", run.Len())
	}
	seen := map[string]bool{}
	for i := range run.Len() {
		file := s.view().Layout.Resolve(run.Codon(i).ClaudeLogPath)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var starts []string
		for e := range transcript.Read(strings.NewReader(string(text))) {
			if e.Stream == transcript.StreamStart {
				starts = append(starts, e.Start.Attempt)
			}
		}
		if len(starts) != 1 || seen[starts[0]] || seen[file] || !strings.Contains(string(text), "this is "+starts[0]) {
			t.Errorf("attempt %d, in %s, is %v:\n%s", i+1, filepath.Base(file), starts, text)
		}
		for _, name := range starts {
			seen[name], seen[file] = true, true
		}
	}
}

// The cost of a codon that was extended is that of all its turns, and its budget
// counts them all.
func TestAnExtendedCodonCostsAllItsTurns(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	hank := func(budget string) string {
		return fmt.Sprintf(`{"hank": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", %s "maxExtensions": 3,
		  "promptText": "echo '::hank usage {\"costUSD\":0.5,\"inputTokens\":100}'",
		  "exhaustWithPrompt": "echo '::hank usage {\"costUSD\":0.25,\"inputTokens\":10}'"}]}`, budget)
	}
	s := stageOf(t, hank(""))
	s.must(ModeRun, exitcode.Done)
	if c := s.last("a"); c.Cost() != 1250*state.Dollar/1000 || c.FinalTokens.Input != 130 || c.ExtensionCount == nil || *c.ExtensionCount != 3 {
		t.Errorf("it cost %v and used %+v", c.Cost(), c.FinalTokens)
	}
	s = stageOf(t, hank(`"budget": {"maxDollars": 0.8},`))
	s.must(ModeRun, exitcode.Done)
	if c := s.last("a"); c.Cost() != state.Dollar || c.BudgetExceeded == nil {
		t.Errorf("it cost %v, and its budget is %+v", c.Cost(), c.BudgetExceeded)
	}
}

func TestAnEventHasTheCostOfItsAttempt(t *testing.T) {
	t.Parallel()
	s := stageOf(t, `{"hank": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "onFailure": "retry", "retryConfig": {"maxAttempts": 2, "delayMs": 1},
	  "promptText": "echo >>../tries; n=$(wc -l <../tries); echo \"::hank usage {\\\"costUSD\\\":0.$n}\"; test $n = 2"}]}`)
	s.must(ModeRun, exitcode.Done)
	told := s.told("codon.completed")
	if len(told) != 2 || told[0]["cost"] != 0.1 || told[1]["cost"] != 0.2 {
		t.Errorf("%v", told)
	}
	if total := s.view().State.TotalCost(); total != 300*state.Dollar/1000 {
		t.Errorf("the state has cost %s", total)
	}
}

// A supervisor that starts a run again and again is stopped after three crashes
// at one codon; the user is not, and begins the count anew.
func TestAfterThreeCrashesInARowOnlyAPersonGoesOn(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	unattended := func(o *command) { o.Unattended = true }
	for _, try := range []struct {
		name    string
		crashes []bool // whether a supervisor has started it
		change  func(*command)
		code    exitcode.Code
	}{
		{"two", []bool{true, true}, unattended, exitcode.Done},
		{"three", []bool{true, true, true}, unattended, exitcode.Decision},
		{"a person", []bool{true, true, true}, func(*command) {}, exitcode.Done},
		{"a person before", []bool{true, true, false}, unattended, exitcode.Done},
	} {
		s := stageOf(t, `{"hank": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo a >a"}]}`)
		s.must(ModeRun, exitcode.Done)
		crashOf(s, try.crashes...)
		res, err := s.run(ModeRun, try.change)
		code := verdict.CodeOf(err)
		if err == nil {
			code = res.Code
		}
		if code != try.code || try.code == exitcode.Decision && !strings.Contains(err.Error(), "3 times in a row") {
			t.Errorf("%s: %d, %v", try.name, code, err)
		}
		s.must(ModeRun, exitcode.Done) // the user
	}
}
