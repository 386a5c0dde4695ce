package report

import (
	"hank/internal/advice"
	"hank/state"
)

// Texts that are recorded have their commands between backquotes, see package advice.
// What is shown are copies in which the commands are for where they are read.

// shownRun is a run with the option in the commands of what it recorded of its end.
func shownRun(r *state.Run, option string) *state.Run {
	shown := *r
	shown.Paused, shown.EndDetail = shownPause(r.Paused, option), shownEnd(r, option)
	return &shown
}

// shownEnd is what a run recorded of its end. It is left alone where an agent, a
// script or a provider wrote it: a command between backquotes is then no advice.
func shownEnd(r *state.Run, option string) string {
	if n := r.Len(); n > 0 {
		if last := r.Codon(n - 1); last.FailureReason != nil && last.FailureReason.Message == r.EndDetail && !failedByHank(last) {
			return r.EndDetail
		}
	}
	return advice.Render(r.EndDetail, option)
}

func shownPause(p *state.Pause, option string) *state.Pause {
	if p == nil {
		return nil
	}
	shown := *p
	shown.Detail = advice.Render(p.Detail, option)
	return &shown
}

// ShownCodon is a record with the option in the commands of its notes and, if hank
// wrote it, of the reason for its failure.
func ShownCodon(c *state.Codon, option string) *state.Codon {
	if c == nil {
		return nil
	}
	shown := *c
	if c.Notes != nil {
		shown.Notes = make([]string, len(c.Notes))
		for i, n := range c.Notes {
			shown.Notes[i] = advice.Render(n, option)
		}
	}
	if c.FailureReason != nil && failedByHank(c) {
		reason := *c.FailureReason
		reason.Message = advice.Render(reason.Message, option)
		shown.FailureReason = &reason
	}
	return &shown
}

// failedByHank reports whether the reason for a failure is one of hank's own errors:
// it could not continue, not start the agent, or not replay files.
func failedByHank(c *state.Codon) bool {
	if c.Interrupted == state.InterruptedByPause {
		return true
	}
	class := c.FailureReason.Class
	return class == "start" || class == "replay"
}
