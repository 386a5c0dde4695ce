package startpoint

import (
	"fmt"
	"path/filepath"

	"hank/internal/advice"
	"hank/internal/shell"
	"hank/plan"
	"hank/recovery/finding"
	"hank/recovery/layout"
	"hank/runtime/agents"
	"hank/runtime/fallback"
	"hank/runtime/harness"
	"hank/state"
)

// Elsewhere is why the codon that is next cannot begin where the workspace is now: it continues
// a session that began in another directory, and its agent finds a session only there. nil:
// nothing is in the way. The codon is the next one with its variables and the model of its
// next attempt. An execution gets another directory when it is moved or copied.
func Elsewhere(s *state.State, st Start, l layout.Layout, c *plan.Codon) *finding.DecisionError {
	h, _, err := agents.Of(c)
	placed, is := h.(harness.Placed)
	next, entries := s.Next(), s.ExecutionPlan()
	if err != nil || !is || next >= len(entries) {
		return nil
	}
	session, first := "", next
	for first > 0 && entries[first].Codon.ContinuesSession() {
		first--
	}
	if st.Session != nil {
		session = st.Session.ClaudeSessionID
	} else if c.ContinuesSession() {
		session = s.PreviousSession(next).ID
	}
	if session == "" || !fallback.Fits(s, session, c) {
		return nil
	}
	place := placed.SessionPlace(harness.Request{Workspace: l.Workspace, Home: filepath.Join(l.Homes(), h.Name()), Env: c.Env}, session)
	if place == "" || place == l.Workspace {
		return nil
	}
	if here, err := filepath.EvalSymlinks(l.Workspace); err == nil && here == place {
		return nil
	}
	id := string(entries[first].CodonID)
	ask := &finding.DecisionError{
		What: fmt.Sprintf("codon %s continues the session %s of %s, which began in %s, and %s can continue it only there; the workspace is now %s",
			entries[next].CodonID, session, h.Name(), place, h.Name(), l.Workspace),
		Command: "hank retry " + shell.Quote(id),
	}
	ask.Options = []string{advice.Quote(ask.Command) + " works again from codon " + id + " on, in a new session", "move the execution back, so that its workspace is " + place}
	return ask
}
