package codon

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"hank/runtime/harness"
	"hank/runtime/keeper"
)

// A flood is cut; what comes slowly never is, however long it continues.
func TestAFloodOfActionsIsCut(t *testing.T) {
	t.Parallel()
	var flood, slow actions
	now, passed := time.Unix(1e9, 0), 0
	for i := range 100_000 { // in ten seconds
		if flood.allow(now.Add(time.Duration(i) * 100 * time.Microsecond)) {
			passed++
		}
	}
	if want := actionsAtOnce + 10*actionsPerSecond; passed < want-1 || passed > want {
		t.Errorf("%d of a flood were noted, want %d", passed, want)
	}
	if flood.omitted != 100_000-passed {
		t.Errorf("%d are said to be left out", flood.omitted)
	}
	for i := range 100_000 {
		if !slow.allow(now.Add(time.Duration(i) * time.Second / actionsPerSecond)) {
			t.Fatalf("action %d was left out", i)
		}
	}
}

// noting is a Host that keeps the events of an attempt.
type noting struct {
	Host
	events []any
}

func (n *noting) Note(_ string, data any) { n.events = append(n.events, data) }

// Of an answer to a call that the agent has not named, neither the tool nor the time is known.
func TestAnAnswerToNoCallHasNoTool(t *testing.T) {
	t.Parallel()
	n := &noting{}
	a := &attempt{host: n}
	now := time.Unix(1e9, 0)
	a.called(harness.ToolUse{ID: "1", Name: "Read"}, now)
	a.noteResult(harness.ToolResult{ToolUseID: "1", Text: "x"}, now.Add(time.Second))
	a.noteResult(harness.ToolResult{ToolUseID: "2", Text: "y"}, now)
	named, unnamed := n.events[0].(toolResult), n.events[1].(toolResult)
	if named.ToolName == nil || *named.ToolName != "Read" || named.Took == nil || *named.Took != 1000 || unnamed.ToolName != nil || unnamed.Took != nil {
		t.Errorf("%+v, %+v", named, unnamed)
	}
	text, err := json.Marshal(unnamed)
	if err != nil || !strings.Contains(string(text), `"toolName":null`) || !strings.Contains(string(text), `"executionTimeMs":null`) {
		t.Errorf("%s %v", text, err)
	}
}

// A record names some of what was left running, and how many more there were.
func TestWhatWasKilledIsCounted(t *testing.T) {
	t.Parallel()
	a := &attempt{}
	a.killed(keeper.Exit{Killed: []keeper.Leftover{{PID: 7, Command: "sleep"}}, KilledTotal: 70})
	if want := []string{"killed leftover process 7 (sleep)", "killed 69 more leftover processes"}; !slices.Equal(a.notes, want) {
		t.Errorf("%q", a.notes)
	}
}
