package eventlog

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"hank/plan"
	"hank/plan/loop"
	"hank/state"
)

// Each event is a sentence, in which nothing depends on the order of its members, and has
// a name of one form by which it can be asked for.
func TestEventsAreSentences(t *testing.T) {
	t.Parallel()
	at := state.At(time.Unix(1e9, 0))
	end := state.At(at.Add(3200 * time.Millisecond))
	cost := 42 * state.Dollar / 100
	failed := &state.Codon{CodonID: "fix#1", Status: state.Failed, StartTime: at, EndTime: &end, PartialCost: &cost, ErrorCheckpoint: "0123456789abcdef", FailureReason: &state.FailureReason{Message: "no\nmore"}}
	for _, c := range []struct {
		t          state.Transition
		name, want string
	}{
		{state.Rebased{State: jsontext.Value("{}"), Reason: "a new execution"}, "state.rebased", "the journal begins here: a new execution"},
		{state.InitialCheckpointSet{SHA: "0123456789abcdef"}, "checkpoint.created", "initial checkpoint 0123456789ab"},
		{state.PlanSet{Entries: jsontext.Value("[{},{}]")}, "plan.set", "the plan has 2 codons"},
		{state.RunStarted{Run: &state.Run{RunID: "r", StartingConditions: state.StartingConditions{Type: "fresh"}}}, "run.started", "run r begins: fresh"},
		{state.RunFailed{RunID: "r", Reason: "budget", Detail: "see: `hank status`"}, "run.failed", "run r has ended (budget): see: hank status -e x"},
		{state.RunFailed{RunID: "r", Reason: "budget", Detail: "used up", Waits: true}, "run.ended", "run r has ended (budget): used up"},
		{state.RunFailed{RunID: "r", Reason: "signal", Detail: "SIGINT"}, "run.ended", "run r has ended (signal): SIGINT"},
		{state.RunFailed{RunID: "r", Reason: "gate", Detail: "waiting for approval at gate ok"}, "run.ended", "run r has ended (gate): waiting for approval at gate ok"},
		{state.RunFailed{RunID: "r", Reason: "until", Detail: "as asked"}, "run.ended", "run r has ended (until): as asked"},
		{state.RunFailed{RunID: "r", Reason: "codon-failed", Detail: "codon a"}, "run.failed", "run r has ended (codon-failed): codon a"},
		{state.CodonStarted{RunID: "r", Record: &state.Codon{CodonID: "a"}}, "codon.started", "a: attempt 1 begins"},
		{state.CodonTransitioned{RunID: "r", Record: failed}, "codon.failed", "fix#1: failed in 3.2s, $0.42, checkpoint 0123456789ab: no …"},
		{state.CodonTransitioned{RunID: "r", Record: &state.Codon{CodonID: "a", Status: state.CompletingSentinels, Settling: &state.Settling{}}}, "codon.settling", "a: its work has ended, and its checkpoint is made"},
		{state.CostsUpdated{CodonID: "a", Cost: cost, Tokens: state.Tokens{Input: 1200}}, "costs.updated", "a: $0.42, 1,200 tokens so far"},
		{state.CheckpointCreated{Kind: state.KindManual, SHA: "0123456789abcdef", Branch: "main", Note: "yours"}, "checkpoint.created", "manual checkpoint 0123456789ab on main: yours"},
		{state.IntentOpened{Intent: state.Intent{Kind: "rollback", To: "0123456789abcdef", Safety: "abcdefabcdefabcd"}}, "intent.opened", "rollback to checkpoint 0123456789ab begins; what is there is in checkpoint abcdefabcdef"},
		{state.OperationAnswered{Operation: state.Operation{ID: "o", Command: "retry", ExitCode: 1}}, "operation.answered", "operation o (hank retry) was answered, exit code 1"},
		{state.GateRequested{Request: state.Gate{Gate: "ok#1", Checkpoint: "0123456789abcdef", Asked: &plan.Gate{Kind: plan.Reply, Summary: "Good?"}}}, "gate.requested", "waiting for a reply at gate ok#1: Good? (checkpoint 0123456789ab)"},
		{state.GateAnswered{Number: 2, Status: state.GateRejected, Answer: state.GateAnswer{By: state.StartedBy{User: "u", Host: "h"}, Reply: "no\nway"}}, "gate.answered", "request 2: rejected by u@h: no way"},
		{state.GateClosed{Number: 2}, "gate.closed", "request 2 has failed its codon"},
		{state.HoldSet{Hold: state.Hold{Time: at, Reason: "later"}}, "hold.set", "held since " + at.Local().Format(time.DateTime) + ": later"},
		{state.HoldReleased{By: state.StartedBy{User: "u"}}, "hold.released", "released by u"},
		{state.IterationJudged{RunID: "r", Judgement: &state.Judgement{LoopID: "polish", Iteration: 3, Verdict: loop.Verdict{Decision: loop.Stop, Reason: "tree: stop"}}}, "iteration.judged", "polish: stop after iteration 3: tree: stop"},
		{state.LimitsSet{}, "limits.set", "the limit of this execution: none"},
	} {
		data, err := state.Encode(c.t)
		if err != nil {
			t.Fatal(err)
		}
		e := Event{Type: state.TransitionEvent, Data: data}
		if e.Name() != c.name || e.Sentence(" -e x") != c.want {
			t.Errorf("%T: %s, %q, want %s, %q", c.t, e.Name(), e.Sentence(" -e x"), c.name, c.want)
		}
		if err := CheckTypes([]string{c.name, string(c.t.Type())}); err != nil {
			t.Error(err)
		}
	}
	for of, c := range map[string]struct{ data, want string }{
		"assistant.action":    {`{"toolName":"Bash","toolInput":{"command":"ls\n-l"},"action":"tool_use","codonId":"a"}`, "a: Bash: ls -l"},
		"tool.result":         {`{"codonId":"a","result":"one\ntwo","isError":true}`, "a: ⎿ error: one …"},
		"rig.output":          {`{"codonId":"a","stream":"stderr","line":"\u001b[31mw\u001b[0m"}`, "a: stderr: w"},
		"rig.setup.completed": {`{"codonId":"a","durationMs":1500,"commandCount":2}`, "a: its rig has completed in 1.5s (2 operations)"},
		"archive.completed":   {`{"codonId":"a","archivedPaths":["1","2","3","4","5","6","7"]}`, "a: archived 1, 2, 3, 4, 5 and 2 more"},
		"budget.summary":      {`{"totals":{"actualDollars":1.5,"actualTimeSeconds":90}}`, "all runs together have used $1.50 and 1m30s of work"},
		"of.another.system":   {`{"b":1,"a":{"d":2,"c":3}}`, `{"a":{"c":3,"d":2},"b":1}`},
		"assistant.damaged":   {`{"b`, `{"b`},
	} {
		if e := (Event{Type: of, Data: jsontext.Value(c.data)}); e.Name() != of || e.Sentence("") != c.want {
			t.Errorf("%s: %s, %q, want %q", of, e.Name(), e.Sentence(""), c.want)
		}
	}
}

// The types that --type takes are all that hank writes.
func TestAllTypesOfEventsAreKnown(t *testing.T) {
	t.Parallel()
	files, err := exec.Command("git", "ls-files", "../../../runtime/*.go", "../../../recovery/*.go").Output()
	if err != nil {
		t.Skip("not in a repository: ", err)
	}
	written := regexp.MustCompile(`[nN]ote(?:Action)?\("([a-z]+\.[a-zA-Z.]+)"`)
	found := 0
	for _, file := range strings.Fields(string(files)) {
		text, err := os.ReadFile(file)
		if err != nil || strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, m := range written.FindAllSubmatch(text, -1) {
			if found++; !slices.Contains(eventTypes(), string(m[1])) {
				t.Errorf("%s writes %s", file, m[1])
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d places were found", found)
	}
}
