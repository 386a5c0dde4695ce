//go:build unix

package runtime

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hank/internal/short"
	"hank/runtime/exitcode"
	"hank/runtime/gate"
	"hank/runtime/internal/testkit"
	"hank/state"
)

// paidRounds is a loop of two codons and three rounds, and a codon behind it. a pays
// half a dollar in each round.
const paidRounds = `{"overrides": {BUDGET}, "hank": [
  {"type": "loop", "id": "rounds", "name": "Rounds", "terminateOn": {"type": "iterationLimit", "limit": 3} LOOP, "codons": [
    {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo '::hank usage {\"costUSD\":0.5}'; echo 'a<%ITERATION%>' >>out"},
    {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo 'b<%ITERATION%>' >>out"}]},
  {"id": "z", "name": "Z", "model": "shell", "budget": {"maxDollars": 1}, "continuationMode": "fresh", "promptText": "echo z >>out"}]}`

func roundsWith(t *testing.T, overall, loop string) *stage {
	t.Helper()
	return stageOf(t, roundsText(overall, loop))
}

func roundsText(overall, loop string) string {
	budget := ""
	if overall != "" {
		budget = `"budget": {` + overall + `}`
	}
	return strings.NewReplacer("BUDGET", budget, " LOOP", loop).Replace(paidRounds)
}

func (s *stage) wrote(want string) {
	s.t.Helper()
	if got := strings.Fields(testkit.Read(s.t, filepath.Join(s.workspace(), "out"))); !slices.Equal(got, strings.Fields(want)) {
		s.t.Errorf("the codons that ran are %v, want %s", got, want)
	}
}

// A limit of all codons together ends the run and not the loop that it is reached
// in: a run that may spend more continues in the loop.
func TestALimitOfAllLeavesNothingOfALoopOut(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for _, c := range []struct {
		name, overall string
		limit         func(*command)
		raise         []func(*command)
		ran           string
	}{
		{"--max-cost in the middle of a round", "", maxCost(0.8), []func(*command){maxCost(5)}, "a0 b0 a1"},
		{"--max-cost in the first codon", "", maxCost(0.2), []func(*command){maxCost(5)}, "a0"},
		{"--max-cost raised twice", "", maxCost(0.5), []func(*command){maxCost(1), maxCost(5)}, "a0"},
		{"the hank's ceiling", `"maxDollars": 0.8`, func(*command) {}, nil, "a0 b0 a1"},
		{"the hank's ceiling, divided", `"maxDollars": 0.8, "allocation": "proportional", "shares": {"rounds": 1}`, func(*command) {}, nil, "a0 b0 a1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := roundsWith(t, c.overall, "")
			res := s.must(ModeRun, exitcode.Budget, c.limit)
			s.wrote(c.ran)
			if want := len(strings.Fields(c.ran)); res.Done != want || res.Planned != want+2 {
				t.Errorf("%d of %d are done", res.Done, res.Planned)
			}
			if v := s.view().State; v.ExecutionPlan()[v.Next()].CodonID != state.CodonID("b#"+c.ran[len(c.ran)-1:]) {
				t.Errorf("the next codon is %s", v.ExecutionPlan()[v.Next()].CodonID)
			}
			if c.raise == nil {
				put(t, s.opts.Hank, "hank.json", roundsText(strings.Replace(c.overall, "0.8", "5", 1), ""))
				c.raise = []func(*command){func(o *command) { o.Adopt = true }}
			}
			for i, raise := range c.raise {
				code := exitcode.Done
				if i+1 < len(c.raise) {
					code = exitcode.Budget
				}
				s.must(ModeRun, code, raise)
			}
			s.wrote("a0 b0 a1 b1 a2 b2 z")
		})
	}
}

// A loop whose budget pauses is not over when it is used up: the run ends, and continues in
// the loop once it is raised.
func TestALoopThatPausesContinues(t *testing.T) {
	t.Parallel()
	s := roundsWith(t, "", `, "budget": {"maxDollars": 0.8, "onExceeded": "pause"}`)
	res := s.must(ModeRun, exitcode.Budget)
	s.wrote("a0 b0 a1")
	if res.EndReason != state.EndBudget || res.Codon != "b#1" || res.Next != "hank run --adopt" {
		t.Errorf("%+v", res)
	}
	s.must(ModeRun, exitcode.Budget)
	s.wrote("a0 b0 a1")
	put(t, s.opts.Hank, "hank.json", roundsText("", `, "budget": {"maxDollars": 8, "onExceeded": "pause"}`))
	s.must(ModeRun, exitcode.Done, func(o *command) { o.Adopt = true })
	s.wrote("a0 b0 a1 b1 a2 b2 z")
}

// A budget of the loop's own ends it, also where a limit of all is reached with it,
// and a part of the hank's is its own.
func TestALoopEndsByABudgetOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, overall, loop string
		limit               func(*command)
	}{
		{"its budget", "", `, "budget": {"maxDollars": 0.8}`, func(*command) {}},
		{"its share of the hank's", `"maxDollars": 4, "allocation": "proportional", "shares": {"rounds": 0.2}`, "", func(*command) {}},
		{"its budget, and a lower limit of all", "", `, "budget": {"maxDollars": 0.9}`, maxCost(0.8)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := roundsWith(t, c.overall, c.loop)
			res, err := s.run(ModeRun, c.limit)
			testkit.Must(t, err)
			if res.Code == exitcode.Budget {
				res = s.must(ModeRun, exitcode.Done, maxCost(5))
			}
			if res.Code != exitcode.Done || res.Planned != 4 {
				t.Errorf("%+v", res)
			}
			s.wrote("a0 b0 a1 z")
			if told := s.told("loop.iteration.completed"); len(told) != 2 || told[1]["terminationReason"] != "budget" {
				t.Errorf("the iterations are told as %v", told)
			}
		})
	}
}

// A loop that has ended by its budget stays over, whatever the codon's own limits say, and
// however it has come to pass the budget: in the next run, once the budget is raised, and
// after a retry of a codon behind it.
func TestALoopThatHasEndedByItsBudgetStaysOver(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	const pays, gated = `echo '::hank usage {\"costUSD\":1}'; echo a >>out`, `, "onFailure": "ignore", "gate": {"id": "g", "when": "after", "kind": "approve", "summary": "?"}`
	for _, c := range []struct{ name, loop, raised, script, codon string }{
		{"its codon pauses", `"maxDollars": 1`, `"maxDollars": 9`, pays, `, "budget": {"maxDollars": 9, "onExceeded": "pause"}`},
		{"what is expected takes its time", `"maxTimeSeconds": 1`, `"maxTimeSeconds": 99`, "echo a >>out", `, "expect": {"command": {"run": "sleep 1"}}`},
		{"refused at a gate", `"maxDollars": 1`, `"maxDollars": 9`, pays, gated},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text := func(budget string) string {
				return `{"hank": [{"type": "loop", "id": "l", "name": "L", "terminateOn": {"type": "iterationLimit", "limit": 3}, "budget": {` + budget + `}, "codons": [
  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "` + c.script + `"` + c.codon + `},
  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo b >>out"}]},
  {"id": "y", "name": "Y", "model": "shell", "continuationMode": "fresh", "promptText": "echo y >>out"},
  {"id": "z", "name": "Z", "model": "shell", "continuationMode": "fresh", "promptText": "echo z >>out"}]}`
			}
			s := stageOf(t, text(c.loop))
			if c.codon == gated {
				s.must(ModeRun, exitcode.Waiting)
				if _, err := AnswerGate(t.Context(), s.root, gate.Answer{Gate: "g#0", Status: state.GateRejected}, ""); err != nil {
					t.Fatal(err)
				}
			}
			s.must(ModeRun, exitcode.Stopped, func(o *command) { o.StopAfter = 1 })
			s.must(ModeRun, exitcode.Done)
			s.must(ModeRun, exitcode.Done)
			s.must(ModeRetry, exitcode.Done, func(o *command) { o.Codon = "z" })
			put(t, s.opts.Hank, "hank.json", text(c.raised))
			s.must(ModeRun, exitcode.Done, func(o *command) { o.Adopt = true })
			s.wrote("a y z")
		})
	}
}
