package startpoint

import (
	"fmt"

	"hank/internal/advice"
	"hank/internal/shell"
	"hank/recovery/finding"
	"hank/state"
)

// Played is why agents cannot continue from a state: the codon that is next continues
// the session of a codon that was only replayed, and no agent has that. nil: nothing is
// in the way. replays: the execution replays unless it is told not to.
//
// A session of its own would do for such a codon no more than for any other: what the
// prompt refers to was never said in it.
func Played(s *state.State, replays bool) *finding.DecisionError {
	next, entries := s.Next(), s.ExecutionPlan()
	continues := func(i int) bool { return entries[i].Codon.ContinuesSession() }
	if next == 0 || next >= len(entries) || !continues(next) {
		return nil
	}
	session := s.PreviousSession(next).ID
	if session == "" || !wasPlayed(s, session) {
		return nil
	}
	first := next - 1
	for first > 0 && continues(first) {
		first--
	}
	id := string(entries[first].CodonID)
	ask := &finding.DecisionError{What: fmt.Sprintf("codon %s continues the agent's session of codon %s, which was only replayed, so that no agent has it", entries[next].CodonID, entries[next-1].CodonID)}
	if replays {
		ask.Options = []string{"`hank run` continues the replay",
			advice.Quote("hank rollback --to "+shell.Quote(id+"~1")+" --yes") + ", and then `hank run --replay none`, has agents work from codon " + id + " on"}
		return ask
	}
	ask.Command = "hank retry " + shell.Quote(id)
	ask.Options = []string{advice.Quote(ask.Command) + " has agents work from codon " + id + " on", "`hank run --replay DIR` continues the replay of the recording in DIR"}
	return ask
}

func wasPlayed(s *state.State, session string) bool {
	for _, step := range s.LineagePath() {
		if c := step.Codon; c.ClaudeSessionID == session && c.Replayed() {
			return true
		}
	}
	return false
}
