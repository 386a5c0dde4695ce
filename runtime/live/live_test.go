package live

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"hank/plan"
	"hank/runtime/control"
	"hank/state"
)

// TestASkipIsForWhatRuns: a skip that would do nothing is refused when it is asked for.
func TestASkipIsForWhatRuns(t *testing.T) {
	t.Parallel()
	at, zero := state.At(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)), state.USD(0)
	entries, err := json.Marshal([]plan.Entry{{Codon: &plan.Codon{ID: "a", Name: "A"}, CodonID: "a"}})
	if err != nil {
		t.Fatal(err)
	}
	s := &state.State{Lineage: "l"}
	do := func(what state.Transition) {
		t.Helper()
		if s, err = state.Apply(s, s.Seq+1, what); err != nil {
			t.Fatal(err)
		}
	}
	var command *Judging
	skip := func(want string) {
		t.Helper()
		runs := control.TargetOf(s)
		if runs.Codon == "" && command != nil {
			runs = control.Target{Run: command.Run, Codon: command.Codon, Attempt: command.Attempt}
		}
		for _, arguments := range []string{"", `{}`, `{"run": "r"}`} { // with less than what runs, too
			asked, err := Asked(s, control.Request{Command: "skip", Arguments: []byte(arguments)}, command)
			switch {
			case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want) || !Refused(err).Stale):
				t.Errorf("%v, want %q", err, want)
			case err == nil && (asked.Target != runs || asked.Loop != "" && control.TargetOf(s).Codon != ""): // else it would be for what comes next, where this ends
				t.Errorf("with %q a skip is for %+v, and %+v runs", arguments, asked.Target, runs)
			}
		}
	}
	do(state.InitialCheckpointSet{SHA: "1"})
	do(state.PlanSet{Program: "2", HankHash: "h", Entries: entries})
	do(state.RunStarted{Run: &state.Run{RunID: "r", GitBranch: "run-r", Status: state.StatusRunning, StartTime: at}})
	skip("no codon is running") // nor is one between two of them
	command = &Judging{"r", "before", 2, "l"}
	skip("") // is for the command of the loop, and not for the codon that comes after it
	for _, arguments := range []string{"", `{"run": "r"}`, `{"codon": "before"}`} {
		asked, err := Asked(s, control.Request{Command: "skip", Arguments: []byte(arguments)}, command)
		if arguments != `{"codon": "before"}` && (err != nil || asked.Loop != "l") || arguments == `{"codon": "before"}` && (err == nil || !strings.Contains(err.Error(), "the command of loop l is asked")) {
			t.Errorf("with %q: %+v, %v", arguments, asked, err)
		}
	}
	c := state.Codon{CodonID: "a", StartTime: at, Status: state.Preparing, BaseCheckpoint: s.Base}
	begun := c
	do(state.CodonStarted{RunID: "r", Record: &begun})
	c.ClaudePid, c.ClaudeLogPath = 7, "log"
	for _, status := range []state.CodonStatus{state.Starting, state.Initializing, state.Running} {
		if c.Status = status; status == state.Running {
			c.ClaudeSessionID, c.CurrentCost, c.CurrentTokens = "s", &zero, &state.Tokens{}
		}
		next := c
		do(state.CodonTransitioned{RunID: "r", Record: &next})
		skip("")
	}
	for _, sentinels := range []*state.Sentinels{{}, nil} { // those are waited for, and can be skipped
		next := c.Settle(state.Settling{Status: state.Completed})
		next.Sentinels = sentinels
		before := s
		do(state.CodonTransitioned{RunID: "r", Record: next})
		if sentinels != nil {
			skip("")
			s = before
			continue
		}
		skip("the work of codon a has ended: there is nothing to skip")
	}
}
