package agentend

import (
	"strings"
	"testing"
)

// Turns of several processes add up, and the last reason counts.
func TestAReportGoesOn(t *testing.T) {
	t.Parallel()
	r := Report{}.Then(Report{StopReason: "tool_use", Turns: 2, APIMs: 300}).Then(Report{Turns: 1, APIMs: 1400})
	if got, want := r.String(), "stop reason tool_use, 3 turns, API time of the session 1.4s"; got != want {
		t.Errorf("the report is %q, want %q", got, want)
	}
	if r.Recorded() == nil || (Report{}).Recorded() != nil {
		t.Error("a report that says something is recorded, and no other")
	}
	if got := (Report{Turns: 1}).String(); got != "1 turn" {
		t.Errorf("the report is %q", got)
	}
}

// A reason is a word of the agent; what could be a sentence, a key or steer a terminal is none.
func TestAReasonIsAWord(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"", "end_turn", "tool-calls", "toolUse"} {
		if Word(word) != word {
			t.Errorf("%q is a word", word)
		}
	}
	for _, text := range []string{"not a word", "\x1b[2J", "ü", strings.Repeat("a", longestWord+1)} {
		if got := Word(text); got != "" {
			t.Errorf("%q became %q", text, got)
		}
	}
}
