// Package agentend has what an agent reports of its own end, as the record of a codon holds it.
//
// A Report is that of one attempt. Agents report different things, and some nothing; what an
// agent did not report is absent.
package agentend

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Report is what an agent reports of the end of its work.
type Report struct {
	StopReason string `json:"stopReason,omitempty"` // why its model ended its last message, in the agent's own word
	Turns      int    `json:"turns,omitzero"`       // how often its model was asked, as the agent counts it
	// APIMs is how long it has waited for its provider, in milliseconds, as the agent counts
	// it: Claude Code counts from the beginning of its session.
	APIMs   int64          `json:"apiMs,omitzero"`
	Unknown jsontext.Value `json:",embed"`
}

// Then is the report of an agent that has reported r, and next of its next process.
func (r Report) Then(next Report) Report {
	next.Turns += r.Turns
	if next.StopReason == "" {
		next.StopReason = r.StopReason
	}
	next.APIMs = max(next.APIMs, r.APIMs)
	return next
}

// Recorded is the report for a record; nil: the agent has said nothing.
func (r Report) Recorded() *Report {
	if r.StopReason == "" && r.Turns == 0 && r.APIMs == 0 {
		return nil
	}
	return &r
}

// String is the report for people.
func (r Report) String() string {
	var parts []string
	if r.StopReason != "" {
		parts = append(parts, "stop reason "+r.StopReason)
	}
	switch r.Turns {
	case 0:
	case 1:
		parts = append(parts, "1 turn")
	default:
		parts = append(parts, fmt.Sprintf("%d turns", r.Turns))
	}
	if r.APIMs > 0 {
		parts = append(parts, fmt.Sprintf("API time of the session %s", time.Duration(r.APIMs)*time.Millisecond))
	}
	return strings.Join(parts, ", ")
}

// longestWord bounds a reason. Agents use words like end_turn, toolUse and content-filter.
const longestWord = 40

// Word is a text if it is such a word, and else empty: a sentence is none.
func Word(text string) string {
	if len(text) > longestWord {
		return ""
	}
	for _, c := range []byte(text) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-') {
			return ""
		}
	}
	return text
}
