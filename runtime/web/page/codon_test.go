package page

import (
	"strings"
	"testing"

	"hank/runtime/liveview"
	"hank/runtime/report"
	"hank/state"
)

// TestTheWorkThatAGateJudgedIsShown: the record that a gate was not passed has the address of the
// attempt that was judged, and does not hide it; without such an attempt it is shown.
func TestTheWorkThatAGateJudgedIsShown(t *testing.T) {
	t.Parallel()
	one := func(run state.RunID, attempt int, refused bool) report.Attempt {
		c := &state.Codon{CodonID: "a", Attempt: attempt, Status: state.Completed}
		if refused {
			c.Status, c.FailureReason = state.Failed, &state.FailureReason{Class: state.GateClass}
		}
		return report.Attempt{RunID: run, Codon: c}
	}
	list := withWork([]report.Attempt{one("r2", 1, true), one("r1", 2, true), one("r1", 2, false), one("r1", 1, true), one("r1", 1, false)})
	if len(list) != 3 || !list[0].FailedAtGate() || list[1].FailedAtGate() || list[2].FailedAtGate() {
		t.Errorf("%d attempts: %+v", len(list), list)
	}
}

// TestAListOfCheckpointsContinues: a page of it that is full has the address of the older ones; a
// file says that it has not all of them.
func TestAListOfCheckpointsContinues(t *testing.T) {
	t.Parallel()
	s := &report.Status{}
	for static, want := range map[bool]string{false: `href="/x/id/checkpoints?before=0123abcd"`, true: "Older ones are left out of this file."} {
		page := checkpointsPage{execution: &execution{ID: "id", live: &liveview.View{Status: s}, Status: s, Static: static}, Older: "0123abcd"}
		var out strings.Builder
		if err := newPrinter(func(text string) string { return text }).print(&out, "checkpoints", page); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("in a file: %t: %v, %s", static, err, out.String())
		}
	}
}
