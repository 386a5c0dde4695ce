package report

import (
	"fmt"
	"time"

	"hank/runtime/gate"
	"hank/state"
)

// answered is the last gate before the next codon that was passed; nil: there is none.
func answered(s *state.State) (last *gate.Standing) {
	next := s.Next()
	for _, list := range [][]gate.Standing{gate.Behind(s, next), gate.Ahead(s, next)} {
		for _, g := range list {
			if g.Passed() {
				last = &g
			}
		}
	}
	return last
}

// HeldText is since when, by whom and why an execution is held.
func HeldText(h *state.Hold) string {
	text := "since " + h.Time.Local().Format(time.DateTime)
	if who := gate.Person(h.By); who != "" {
		text += " by " + who
	}
	if h.Reason != "" {
		text += ": " + FirstLine(h.Reason)
	}
	return text
}

// GateSentence says of a request what came of it, and when.
func GateSentence(g *state.Gate) string {
	text, at := string(g.Status), g.Time
	switch {
	case g.Status == state.GatePending && g.Expires != nil && !time.Now().Before(g.Expires.Time): // which the next run records
		text, at = string(state.GateExpired), *g.Expires
	case g.Answer != nil:
		text, at = gate.AnswerSentence(g.Status, *g.Answer), g.Answer.Time
	}
	return fmt.Sprintf("%s (checkpoint %s, %s)", FirstLine(text), Short(g.Checkpoint), at.Local().Format(time.DateTime))
}
