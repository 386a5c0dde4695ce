package codon

import (
	"fmt"
	"time"

	"hank/plan"
	"hank/runtime/harness"
	"hank/state"
)

// The journal follows what an agent does by excerpts; the transcript holds the
// whole. An agent that prints without end must not fill the journal, which every
// reader folds: an attempt may note so many actions at once, and so many more
// each second.
const (
	actionsAtOnce    = 1000
	actionsPerSecond = 5
)

// actions counts what an attempt has noted. The zero value may be used.
type actions struct {
	spent   float64 // of actionsAtOnce
	last    time.Time
	omitted int // since the attempt began
	said    int // of omitted
}

// allow reports whether one more may be noted now.
func (c *actions) allow(now time.Time) bool {
	if !c.last.IsZero() {
		c.spent = max(0, c.spent-actionsPerSecond*now.Sub(c.last).Seconds())
	}
	c.last = now
	if c.spent+1 > actionsAtOnce {
		c.omitted++
		return false
	}
	c.spent++
	return true
}

// finish says in the record how many were not noted.
func (c *actions) finish(a *attempt) {
	if more := c.omitted - c.said; more > 0 {
		a.notes = append(a.notes, fmt.Sprintf("the agent did so much so fast that %d of its actions are in the transcript only, not in the journal", more))
		c.said = c.omitted
	}
}

// noteAction notes what the agent does, unless it is too much.
func (a *attempt) noteAction(eventType string, data any) {
	if a.actions.allow(time.Now()) {
		a.host.Note(eventType, data)
	}
}

// The events about an attempt. What is not known when one is written is null.
type (
	started struct {
		CodonID     plan.CodonID `json:"codonId"`
		Name        string       `json:"codonName"`
		Description string       `json:"codonDescription,omitempty"`
		// SessionID is null: the event comes before the rig, and so before any session.
		SessionID       *string    `json:"sessionId"`
		PreviousSession string     `json:"previousSessionId,omitempty"`
		StartTime       state.Time `json:"startTime"`
	}

	toolResult struct {
		CodonID        plan.CodonID `json:"codonId"`
		ToolUseID      string       `json:"toolUseId"`
		ToolName       *string      `json:"toolName"` // null: the agent has not named the call before
		Result         string       `json:"result"`
		Truncated      bool         `json:"truncated"`
		OriginalLength int          `json:"originalLength"`
		// Took is from the line of the call to the line of the answer; null as ToolName.
		Took    *int64 `json:"executionTimeMs"`
		IsError bool   `json:"isError"`
	}

	tokenUsage struct {
		CodonID       plan.CodonID `json:"codonId"`
		Input         int64        `json:"inputTokens"`
		Output        int64        `json:"outputTokens"`
		CacheCreation int64        `json:"cacheCreationTokens"`
		CacheRead     int64        `json:"cacheReadTokens"`
		Cost          state.USD    `json:"totalCost"`
		Model         string       `json:"modelId,omitempty"`
		Final         bool         `json:"final,omitempty"` // hank's addition: the attempt's total, and no difference
		Pricing       pricing      `json:"pricing"`         // hank's addition
	}
)

// mostCalls is how many calls of tools are remembered that have not been answered.
const mostCalls = 1000

// call is a call of a tool that has not been answered.
type call struct {
	name string
	at   time.Time
}

// called remembers the call of a tool, for its answer.
func (a *attempt) called(o harness.ToolUse, now time.Time) {
	if a.calls == nil {
		a.calls = map[string]call{}
	}
	if len(a.calls) < mostCalls {
		a.calls[o.ID] = call{o.Name, now}
	}
}

// noteResult notes the answer of a tool.
func (a *attempt) noteResult(o harness.ToolResult, now time.Time) {
	text := harness.Excerpt(o.Text, 2500)
	e := toolResult{CodonID: a.Entry.CodonID, ToolUseID: o.ToolUseID, Result: text, Truncated: text != o.Text, OriginalLength: len(o.Text), IsError: o.IsError}
	if c, known := a.calls[o.ToolUseID]; known {
		took := now.Sub(c.at).Milliseconds()
		e.ToolName, e.Took = &c.name, &took
		delete(a.calls, o.ToolUseID)
	}
	a.noteAction("tool.result", e)
}

// noteUsage notes what was used since it was last noted, or, at the end of the attempt,
// all of it. Where nothing was used, nothing is noted.
func (a *attempt) noteUsage(final bool) {
	total := a.total()
	cost, tokens := total.Cost-a.noted.Cost, total.Tokens.Minus(a.noted.Tokens)
	if final {
		cost, tokens = total.Cost, total.Tokens
	}
	if cost == 0 && tokens.Sum() == 0 || !final && !a.actions.allow(time.Now()) { // then it is part of the next one
		return
	}
	a.noted = harness.Usage{Cost: total.Cost, Tokens: total.Tokens}
	a.host.Note("token.usage", tokenUsage{a.Entry.CodonID, tokens.Input, tokens.Output, tokens.CacheCreation, tokens.CacheRead, cost, total.Model, final, a.pricing()})
}
