package state

import "cmp"

// This file makes the next form of a record from the present one. The results
// are copies; what is known so far carries over under the names that the
// documented shape gives it in the new status.

// Start is the record with its rig done.
func (c *Codon) Start() *Codon {
	next := *c
	next.Status = Starting
	return &next
}

// Spawn is the record with its agent's process running.
func (c *Codon) Spawn(pid int, log, previousSession string) *Codon {
	next := *c
	next.Status, next.ClaudePid, next.ClaudeLogPath, next.PreviousSessionID = Initializing, pid, log, previousSession
	return &next
}

// Work is the record with its agent's session begun.
func (c *Codon) Work(session string) *Codon {
	next := *c
	next.Status, next.ClaudeSessionID = Running, session
	next.CurrentCost, next.CurrentTokens = new(USD), &Tokens{}
	next.AssistantMessageCount, next.ExtensionCount = new(int), cmp.Or(c.ExtensionCount, new(int))
	return &next
}

// Settle is the record of an agent that has ended, before its checkpoint.
func (c *Codon) Settle(s Settling) *Codon {
	next := *c
	next.Status, next.Settling = CompletingSentinels, &s
	return &next
}

// Conclude is the final record that the settling one announced. The commit
// comes later.
func (c *Codon) Conclude(at Time) *Codon {
	s := c.Settling
	var final *Codon
	switch s.Status {
	case Completed:
		final = c.Complete(at, s.ResultSeen)
	case Skipped:
		final = c.Skip(at)
		final.SkippedDuring = Running
	default:
		final = c.Fail(at, s.ExitCode, *cmp.Or(s.FailureReason, &FailureReason{Type: FailUnknown})) // Apply refuses one without; a reader may meet it
		final.FailedDuring, final.FailureIgnored, final.Interrupted = Running, s.Ignored, s.Interrupted
	}
	final.Settling = nil
	return final
}

// Complete is the record of a codon that succeeded. The commit comes later.
func (c *Codon) Complete(at Time, resultSeen bool) *Codon {
	next := c.end(at)
	next.Status, next.ExitCode, next.ResultMessageReceived = Completed, new(int), &resultSeen
	cost, tokens := c.Cost(), c.TokenCount()
	next.FinalCost, next.FinalTokens = &cost, &tokens
	return next
}

// Fail is the record of a codon that failed.
func (c *Codon) Fail(at Time, exitCode int, reason FailureReason) *Codon {
	next := c.end(at)
	next.Status, next.FailedDuring, next.ExitCode, next.FailureReason = Failed, c.Status, &exitCode, &reason
	cost, tokens := c.Cost(), c.TokenCount()
	next.PartialCost, next.PartialTokens = &cost, &tokens
	return next
}

// Interrupt is Fail for a codon that did not end by itself: interrupted says why.
func (c *Codon) Interrupt(at Time, interrupted, message string) *Codon {
	next := c.Fail(at, -1, FailureReason{Type: FailUnknown, Retriable: true, Message: message, Class: "interrupted", Rule: interrupted})
	next.Interrupted = interrupted
	return next
}

// Skip is the record of a codon that the user, or its skipIf, skipped.
func (c *Codon) Skip(at Time) *Codon {
	next := c.end(at)
	next.Status, next.SkippedDuring = Skipped, c.Status
	cost, tokens := c.Cost(), c.TokenCount()
	next.PartialCost, next.PartialTokens = &cost, &tokens
	return next
}

// end is what all final records have in common: current figures and loaded
// sentinels get their final names.
func (c *Codon) end(at Time) *Codon {
	next := *c
	next.EndTime, next.CurrentCost, next.CurrentTokens = &at, nil, nil
	next.Sentinels = c.Sentinels.Execute(at)
	return &next
}
