package codon

import (
	"fmt"
	"time"
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
