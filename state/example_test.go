package state_test

import (
	"errors"
	"fmt"
	"time"

	"hank/state"
)

// at is the n-th second of the example.
func at(n int) state.Time { return state.At(time.Date(2026, 1, 2, 9, 0, n, 0, time.UTC)) }

// Apply is the only way from one state to the next. The state before stays as it
// was, and a transition that may not follow is refused.
func ExampleApply() {
	history := []state.Transition{
		state.InitialCheckpointSet{SHA: "a000000000000000000000000000000000000000"},
		state.PlanSet{Entries: []byte(`[{"codon": {"id": "write", "name": "Write"}, "codonId": "write"}]`)},
		state.RunStarted{Run: &state.Run{RunID: "1767344400000-abcde", GitBranch: "run-1767344400000-abcde", Status: state.StatusRunning, StartTime: at(0),
			StartingConditions: state.StartingConditions{Type: state.StartFresh, InitialCheckpointSHA: "a000000000000000000000000000000000000000"}}},
		state.CodonStarted{RunID: "1767344400000-abcde", Record: &state.Codon{CodonID: "write", Status: state.Preparing, StartTime: at(1)}},
		state.RunCompleted{RunID: "1767344400000-abcde", EndTime: at(2)},
	}
	s := &state.State{}
	for i, t := range history {
		next, err := state.Apply(s, uint64(i+1), t)
		var illegal *state.IllegalMoveError
		if errors.As(err, &illegal) {
			fmt.Println("refused:", illegal)
			continue
		}
		s = next
		fmt.Println(s.Seq, t.Type())
	}
	fmt.Println(s.Current().Live().CodonID, "is", s.Current().Live().Status)
	// Output:
	// 1 InitialCheckpointSet
	// 2 PlanSet
	// 3 RunStarted
	// 4 CodonStarted
	// refused: RunCompleted is not possible now: codon write of run 1767344400000-abcde is preparing
	// write is preparing
}

// A transition is written into the journal as an event, and read back from it.
func ExampleEncode() {
	data, err := state.Encode(state.LimitsSet{Limits: state.Limits{MaxDollars: 5 * state.Dollar}})
	if err != nil {
		panic(err)
	}
	fmt.Println(string(data))
	t, err := state.Decode(data)
	fmt.Println(t.(state.LimitsSet).Limits.MaxDollars.Text(), err)

	_, err = state.Decode([]byte(`{"transitionType":"Teleported","transition":{"type":"Teleported","data":{}}}`))
	var unknown *state.UnknownTransitionError
	fmt.Println("a newer hank's:", errors.As(err, &unknown))
	// Output:
	// {"transitionType":"LimitsSet","transition":{"type":"LimitsSet","data":{"limits":{"maxDollars":5}}}}
	// $5.00 <nil>
	// a newer hank's: true
}

// The next form of a record is a copy; the one before stays as it was.
func ExampleCodon() {
	preparing := &state.Codon{CodonID: "write", Status: state.Preparing, StartTime: at(1)}
	working := preparing.Start().Spawn(4712, "runs/write.1.jsonl", "").Work("session-1")
	failed := working.Fail(at(9), 3, state.FailureReason{Type: state.FailUnknown, Message: "exit status 3"})
	for _, c := range []*state.Codon{preparing, working, failed} {
		fmt.Println(c.Status, c.Status.Terminal())
	}
	fmt.Println("while", failed.FailedDuring)
	// Output:
	// preparing false
	// running false
	// failed true
	// while running
}
