package eventlog

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hank/internal/term"
	"hank/runtime/report"
	"hank/state"
)

// sentinelNote has the members of the events about sentinels.
type sentinelNote struct {
	SentinelID string         `json:"sentinelId"`
	CodonID    string         `json:"codonId"`
	Model      string         `json:"model"`
	Number     int            `json:"triggerNumber"`
	Content    jsontext.Value `json:"content"`
	Cost       state.USD      `json:"cost"`
	FinalCost  state.USD      `json:"finalCost"`
	Calls      int            `json:"llmCallCount"`
	Events     int            `json:"eventCount"`
	Message    string         `json:"message"`
	Failures   int            `json:"consecutiveFailureCount"`
	Reason     string         `json:"reason"`
	Cut        string         `json:"cut"`
}

// sentinelSentence is what an event about a sentinel says; empty for any other one.
func sentinelSentence(of string, data jsontext.Value) string {
	var n sentinelNote
	if !strings.HasPrefix(of, "sentinel.") || json.Unmarshal(data, &n) != nil {
		return ""
	}
	text := ""
	switch of {
	case "sentinel.loaded":
		text = "observes, with " + n.Model
	case "sentinel.triggered":
		text = fmt.Sprintf("trigger %d, about %s", n.Number, term.Count(n.Events, "event"))
	case "sentinel.output":
		said := string(n.Content)
		var words string
		if json.Unmarshal(n.Content, &words) == nil {
			said = words
		}
		text = fmt.Sprintf("%s (%s)", report.FirstLine(said), n.Cost.Text())
		if n.Cut != "" {
			text += ", ended early by the provider: " + n.Cut
		}
	case "sentinel.error":
		text = fmt.Sprintf("%s (failure %d in a row)", n.Message, n.Failures)
	case "sentinel.unloaded":
		text = fmt.Sprintf("has ended (%s): %s, %s", strings.ReplaceAll(n.Reason, "-", " "), term.Count(n.Calls, "call"), n.FinalCost.Text())
		if n.Cut != "" {
			text += ", " + n.Cut
		}
	default:
		return ""
	}
	return fmt.Sprintf("%s: sentinel %s: %s", n.CodonID, n.SentinelID, text)
}

// sentinelsSentence is what the sentinels of a codon have done so far.
func sentinelsSentence(t state.SentinelsUpdated) string {
	var all []string
	for _, s := range t.Sentinels.Loaded {
		all = append(all, fmt.Sprintf("%s %s", s.ID, term.Count(s.LLMCallCount, "call")))
	}
	return fmt.Sprintf("%s: sentinels so far: %s, %s", t.CodonID, cmp.Or(strings.Join(all, ", "), "none"), t.Sentinels.TotalCost.Text())
}
