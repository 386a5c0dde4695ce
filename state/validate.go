package state

import "strings"

// IsKnown reports whether a record can have this status.
func (s CodonStatus) IsKnown() bool {
	_, known := moves[s]
	return known
}

// missing names what a record lacks for its status, or nothing.
func (c *Codon) missing() string {
	var lacks []string
	need := func(name string, there bool) {
		if !there {
			lacks = append(lacks, name)
		}
	}
	need("startTime", !c.StartTime.IsZero())
	switch c.Status {
	case Initializing:
		need("claudePid", c.ClaudePid != 0)
		need("claudeLogPath", c.ClaudeLogPath != "")
	case Running, CompletingSentinels:
		need("claudeSessionId", c.ClaudeSessionID != "")
		need("currentCost", c.CurrentCost != nil)
		need("currentTokens", c.CurrentTokens != nil)
	case Completed:
		need("endTime", c.EndTime != nil)
		need("exitCode", c.ExitCode != nil)
		need("finalCost", c.FinalCost != nil)
		need("finalTokens", c.FinalTokens != nil)
		need("completionCheckpoint", strings.TrimSpace(string(c.CompletionCheckpoint)) != "")
	case Failed:
		need("endTime", c.EndTime != nil)
		need("failedDuring", c.FailedDuring != "")
		need("failureReason", c.FailureReason != nil)
		need("exitCode", c.ExitCode != nil)
	case Skipped:
		need("endTime", c.EndTime != nil)
		need("skippedDuring", c.SkippedDuring != "")
	}
	if c.Settling != nil {
		for _, name := range c.Settling.missing() {
			need("settling."+name, false)
		}
	}
	return strings.Join(lacks, ", ")
}

// missing names what an announced end lacks to become the end of a record.
func (s *Settling) missing() []string {
	switch {
	case !s.Status.Terminal():
		return []string{"status"}
	case s.Status == Failed && s.FailureReason == nil:
		return []string{"failureReason"}
	}
	return nil
}

// Missing names what a record lacks for its status, or nothing.
func (c *Codon) Missing() string { return c.missing() }
