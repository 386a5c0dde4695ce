//go:build unix

package runtime

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hank/internal/programtest"
	"hank/internal/short"
	"hank/runtime/budget"
	"hank/runtime/exitcode"
	"hank/runtime/verdict"
	"hank/state"
)

// paying is a hank of three codons of a dollar each. The second one waits after
// it has paid when it runs for the first time.
const paying = `{"hank": [
  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo '::hank usage {\"costUSD\":1}'; echo a >a"},
  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh",
   "promptText": "echo x >>\"$COUNT/b\"; echo '::hank usage {\"costUSD\":1}'; test $(wc -l <\"$COUNT/b\") -gt 1 || sleep 120; echo b >b"},
  {"id": "c", "name": "C", "model": "shell", "continuationMode": "fresh", "promptText": "echo '::hank usage {\"costUSD\":1}'; echo c >c"}]}`

// TestALimitStaysUntilItIsGivenAgain takes an execution with --max-cost through
// a stop, a crash, continuations, a rollback, its undo and a retry. No later
// command says the limit again, and none spends beyond it.
func TestALimitStaysUntilItIsGivenAgain(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := stageOf(t, paying)
	count := t.TempDir()
	s.opts.Environ = append(s.opts.Environ, "COUNT="+count)
	s.must(ModeRun, exitcode.Stopped, maxCost(2.5), func(o *command) { o.StopAfter = 1 })

	l := order{Execution: s.root, Hank: s.opts.Hank, Output: s.opts.Output}.start(t, "COUNT="+count)
	l.until(t, "event", "*", "CostsUpdated")
	l.kill()
	l.wait()

	over := func(what string, res *Result) {
		t.Helper()
		if !strings.Contains(res.Message, "budget exhausted: $3.00 of the $2.50 limit of this execution is spent") || res.Next != "hank run --max-cost 5.5" {
			t.Errorf("%s: %q, next %q", what, res.Message, res.Next)
		}
		if got := s.view().State.TotalCost(); got != 3*state.Dollar {
			t.Fatalf("%s: $%s were spent", what, got)
		}
	}
	over("after the crash", s.must(ModeRun, exitcode.Budget))
	if b := s.last("b").BudgetExceeded; b == nil || b.Scope != budget.ScopeExecution || b.Limit != 0.5 {
		t.Errorf("the codon that the limit cut off: %+v", b)
	}
	over("resumed", s.must(ModeResume, exitcode.Budget))
	s.mustRollback("a")
	over("rolled back", s.must(ModeRun, exitcode.Budget))
	s.mustUndo()
	over("taken back", s.must(ModeRun, exitcode.Budget))
	s.mustRollback("b")
	if res := s.must(ModeRun, exitcode.Budget, func(o *command) { o.StopAfter = 1 }); res.Next != "hank run --max-cost 5.5" {
		t.Errorf("after another rollback next is %q", res.Next)
	}
	over("retried", s.must(ModeRetry, exitcode.Budget, func(o *command) { o.Codon = "b" }))
	said := strings.Join(s.said, "\n")
	if !strings.Contains(said, "limit $2.50 for this execution, $3.00 spent") {
		t.Errorf("no run says its limit:\n%s", said)
	}

	res := s.must(ModeRun, exitcode.Done, maxCost(5.5)) // as Next has said
	if res.Limits.MaxDollars != state.Dollars(5.5) || res.Cost != 5*state.Dollar {
		t.Errorf("raised: %+v", res)
	}
	res = s.must(ModeRetry, exitcode.Budget, func(o *command) { o.Codon = "b" })
	if res.Cost != 6*state.Dollar {
		t.Errorf("under the raised limit $%s were spent", res.Cost)
	}
	if res = s.must(ModeRun, exitcode.Done, maxCost(0)); res.Limits.Any() || s.view().State.Limits.Any() {
		t.Errorf("a limit that was taken away: %+v", res.Limits)
	}
}

// The command that is advised after a budget raises what is reached, and works
// as it is printed.
func TestTheCommandAfterABudgetRaisesIt(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	// The second codon needs nothing of the first, which the limit may end
	// before or after its only command.
	s := stageOf(t, `{"hank": [
  {"id": "first", "name": "first", "model": "shell", "continuationMode": "fresh", "promptText": "echo 1 >one"},
  {"id": "second", "name": "second", "model": "shell", "continuationMode": "fresh", "promptText": "echo 2 >two"}]}`)
	res := s.must(ModeRun, exitcode.Budget, maxTime(0.000001))
	if !strings.HasPrefix(res.Next, "hank run --max-time 1") || !strings.Contains(res.Message, "1µs time limit of this execution is used") {
		t.Errorf("%q: next %q", res.Message, res.Next)
	}
	s.must(ModeRun, exitcode.Done, maxTime(600))

	s = newStage(t, fixture(t, "hanks/budget-loop")) // stopped by the user when the limit is reached too
	if res = s.must(ModeRun, exitcode.Stopped, maxCost(0.4), func(o *command) { o.StopAfter = 1 }); res.Next != "hank run --max-cost 0.8" {
		t.Errorf("stopped: next %q", res.Next)
	}

	s = newStage(t, fixture(t, "hanks/budget")) // late fails by its own budget
	if res = s.must(ModeRun, exitcode.Failed); res.Next != "hank retry --adopt" {
		t.Errorf("%q: next %q", res.Message, res.Next)
	}
	s = stageOf(t, strings.Replace(paying, "{", `{"overrides": {"budget": {"maxDollars": 1}}, `, 1))
	res = s.must(ModeRun, exitcode.Budget)
	if res.Next != "hank run --adopt" || !strings.Contains(res.Message, "raise the budget in hank.json first") {
		t.Errorf("%q: next %q", res.Message, res.Next)
	}
}

// TestTheModelOfTheCommandLineStays: a later command that names no model uses
// the one that was named, and does not say that the hank has changed. One that
// names none goes back to the hank's own, which is a change.
func TestTheModelOfTheCommandLineStays(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := stageOf(t, `{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "true"},
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "true"},
	  {"id": "c", "name": "C", "model": "a-model-of-another-day", "continuationMode": "fresh", "promptText": "Write."}]}`)
	bin := t.TempDir()
	programtest.Write(t, filepath.Join(bin, "claude"), "#!/bin/sh\necho 2.1.329\n")
	s.opts.Environ = append(s.opts.Environ, "CLAUDE_PATH_TO_CLAUDE_EXECUTABLE="+filepath.Join(bin, "claude"), "ANTHROPIC_API_KEY=none")
	one := func(o *command) { o.StopAfter = 1 }
	model := func(name string) func(*command) { return func(o *command) { o.Layers.Flags.Model = name } }
	if _, err := s.run(ModeRun, one); verdict.CodeOf(err) != exitcode.Invalid {
		t.Fatalf("without a model that is known: %v", err)
	}
	planned := func() string { return s.view().State.ExecutionPlan()[2].Codon.Model.String() }
	res := s.must(ModeRun, exitcode.Stopped, one, model("haiku"))
	if res.Next != "hank run" {
		t.Fatalf("next is %q", res.Next)
	}
	s.must(ModeRun, exitcode.Stopped, one) // as printed
	if got := planned(); got != "anthropic/claude-haiku-4-5" {
		t.Errorf("c is planned with %s", got)
	}
	s.must(ModeRetry, exitcode.Stopped, one, func(o *command) { o.Codon = "b" })
	if _, err := s.run(ModeRun, one, model("sonnet")); verdict.CodeOf(err) != exitcode.Decision {
		t.Errorf("another model: %v", err)
	}
	s.must(ModeRetry, exitcode.Stopped, one, model("sonnet"), func(o *command) { o.Adopt, o.Codon = true, "b" })
	s.must(ModeRetry, exitcode.Stopped, one, func(o *command) { o.Codon = "b" })
	if got := planned(); got != "anthropic/claude-sonnet-5" {
		t.Errorf("c is planned with %s", got)
	}
	if _, err := s.run(ModeRun, one, model("none")); verdict.CodeOf(err) != exitcode.Decision || !strings.Contains(err.Error(), "a-model-of-another-day") {
		t.Errorf("without the model of before: %v", err)
	}
}

// TestAScriptIsToldTheNumberOfItsAttempt: 1 for the first of a run, in the rig
// as in the prompt.
func TestAScriptIsToldTheNumberOfItsAttempt(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := stageOf(t, `{"hank": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "onFailure": "retry", "retryConfig": {"maxAttempts": 2, "delayMs": 1},
	  "rigSetup": [{"type": "command", "command": {"run": "printf 'rig %s ' $HANK_ATTEMPT_NUMBER >>\"$COUNT/log\""}}],
	  "promptText": "echo $HANK_ATTEMPT_NUMBER >>\"$COUNT/log\"; exit 1"}]}`)
	count := t.TempDir()
	s.opts.Environ = append(s.opts.Environ, "COUNT="+count, "HANK_ATTEMPT_NUMBER=7")
	s.must(ModeRun, exitcode.Failed)
	if got := content(t, count, "log"); got != "rig 1 1\nrig 2 2\nrig 3 3\n" {
		t.Errorf("it was told %q", got)
	}
	said := strings.Join(s.said, "\n")
	for _, want := range []string{"(attempt 2 of 3)", "[1/1] a: A (attempt 3 of 3)"} {
		if !strings.Contains(said, want) {
			t.Errorf("%s is not said:\n%s", want, said)
		}
	}
}

// TestNothingIsMadeForAHankThatCannotRunHere: agents, keys and requirements are
// looked at before an execution is made, and later only for the codons that are
// still to run.
func TestNothingIsMadeForAHankThatCannotRunHere(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	const codons = `{"requirements": {"env": ["NEEDED"]}, "hank": [
	  {"id": "a", "name": "A", "model": "sonnet", "continuationMode": "fresh", "promptText": "Write."},
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "true"}]}`
	s := stageOf(t, codons)
	bin := t.TempDir()
	// An agent that does its work: it says so, and ends.
	programtest.Write(t, filepath.Join(bin, "claude"), `#!/bin/sh
test "$1" = --version && exec echo 2.1.329
echo '{"type":"system","subtype":"init","session_id":"s","model":"m"}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"Done.","session_id":"s"}'
`)
	refused := func(says string) {
		t.Helper()
		res, err := s.run(ModeRun)
		if verdict.CodeOf(err) != exitcode.Agent || res != nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want one that says %q", err, says)
		}
		if entries, _ := os.ReadDir(s.root); len(entries) > 0 {
			t.Fatalf("%s: there is %v", says, entries)
		}
	}
	give := func(env string) { s.opts.Environ = append(s.opts.Environ, env) }
	give("PATH=/nowhere:/bin:/usr/bin")
	give("CLAUDE_PATH_TO_CLAUDE_EXECUTABLE=" + filepath.Join(bin, "none"))
	refused("the variable NEEDED")
	give("NEEDED=1")
	refused("which is not an executable file")
	give("CLAUDE_PATH_TO_CLAUDE_EXECUTABLE=" + filepath.Join(bin, "claude"))
	refused("claude has no credentials")
	give("ANTHROPIC_API_KEY=none")
	s.must(ModeRun, exitcode.Stopped, func(o *command) { o.StopAfter = 1 })

	give("ANTHROPIC_API_KEY=") // the agent's codon is done
	give("CLAUDE_PATH_TO_CLAUDE_EXECUTABLE=" + filepath.Join(bin, "none"))
	s.must(ModeRun, exitcode.Done)
	if _, err := s.run(ModeRetry, func(o *command) { o.Codon = "a" }); verdict.CodeOf(err) != exitcode.Agent {
		t.Errorf("the agent's codon again: %v", err)
	}
}
