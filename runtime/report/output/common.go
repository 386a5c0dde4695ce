package output

import (
	"time"

	"hank/runtime/history"
	"hank/state"
)

// null is a value, or nil where it is the one that stands for none.
func null[T comparable](v T) *T {
	var none T
	if v == none {
		return nil
	}
	return &v
}

// at is a time of any precision as the forms have it; nil where there is none.
func at(t *time.Time) *state.Time {
	if t == nil || t.IsZero() {
		return nil
	}
	made := state.At(*t)
	return &made
}

// Target is a checkpoint that was named.
type Target struct {
	history.Target
	CheckpointSHA state.SHA `json:"checkpointSha"`
}

func targetOf(t history.Target) Target { return Target{t, t.SHA} }

func targetsOf(list []history.Target) []Target {
	out := make([]Target, len(list))
	for i, t := range list {
		out[i] = targetOf(t)
	}
	return out
}

// Request is a request at a gate with what came of it.
type Request struct {
	*state.Gate
	GateStatus  state.GateStatus `json:"gateStatus"`
	RequestedAt state.Time       `json:"requestedAt"`
	ExpiresAt   *state.Time      `json:"expiresAt"`
	AnsweredAt  *state.Time      `json:"answeredAt"`
}

func requestOf(g *state.Gate) *Request {
	if g == nil {
		return nil
	}
	r := &Request{Gate: g, GateStatus: g.Status, RequestedAt: g.Time, ExpiresAt: g.Expires}
	if g.Answer != nil {
		r.AnsweredAt = &g.Answer.Time
	}
	return r
}

// Hold is what keeps an execution from running.
type Hold struct {
	*state.Hold
	HeldAt state.Time `json:"heldAt"`
}

func holdOf(h *state.Hold) *Hold {
	if h == nil {
		return nil
	}
	return &Hold{h, h.Time}
}

// Record is what is known of one attempt at a codon, as state.json has it.
type Record struct {
	*state.Codon
	CodonStatus   state.CodonStatus `json:"codonStatus"`
	CheckpointSHA *state.SHA        `json:"checkpointSha"` // with which it ended
	StartedAt     state.Time        `json:"startedAt"`
	EndedAt       *state.Time       `json:"endedAt"`
	DurationMs    *int64            `json:"durationMs"`
	FailedBecause *string           `json:"failureMessage"` // failureReason.message
}

func recordOf(c *state.Codon) *Record {
	if c == nil {
		return nil
	}
	r := &Record{Codon: c, CodonStatus: c.Status, CheckpointSHA: null(c.Checkpoint()), StartedAt: c.StartTime, EndedAt: c.EndTime}
	if c.EndTime != nil {
		ms := c.EndTime.Sub(c.StartTime.Time).Milliseconds()
		r.DurationMs = &ms
	}
	if c.FailureReason != nil {
		r.FailedBecause = null(c.FailureReason.Message)
	}
	return r
}
