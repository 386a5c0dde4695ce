package claude

import (
	"reflect"
	"testing"

	"hank/runtime/harness/internal/harnesstest"
	"hank/state/agentend"
)

// What the real agent has said of its end is in the verdict.
func TestWhatTheAgentSaidOfItsEnd(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]agentend.Report{
		"write":      {StopReason: "end_turn", Turns: 2, APIMs: 665},
		"resumed":    {StopReason: "end_turn", Turns: 1, APIMs: 722}, // with those of write
		"background": {StopReason: "end_turn", Turns: 3, APIMs: 274}, // two results
		"sigkill":    {},
	} {
		if v, _ := harnesstest.Read(t, Harness{}, "testdata/"+name+".jsonl"); !reflect.DeepEqual(v.AgentEnd, want) {
			t.Errorf("%s: the agent has said %+v, want %+v", name, v.AgentEnd, want)
		}
	}
}
