package codex

import (
	"hank/runtime/harness"
	"hank/state"
)

// meter adds up what an attempt uses.
//
// The agent counts a thread, former attempts included: in the rollout after each request,
// and in the events where a turn ends well. An attempt has used the differences. A turn
// that fails or is cut off has no account but the rollout.
type meter struct {
	model   string
	rollout *rollout     // nil: it is not there to be read
	thread  state.Tokens // what the agent has counted last; at first, before this attempt
	own     state.Tokens // what the attempt has used
	context int64        // the size of the last request
}

// request counts a request to the model. It reports whether anything was used. When the
// context is full the agent begins to count anew.
func (m *meter) request(e entry) bool {
	used := e.total.Minus(m.thread)
	if less(used) {
		used = e.last
	}
	m.own, m.thread = m.own.Add(used), e.total
	if used.Sum() == 0 {
		return false
	}
	m.context = e.last.Sum()
	return true
}

// turn settles a turn that has ended well. A count that is less than that of the thread
// is of the turn alone.
func (m *meter) turn(u *usage) {
	if u == nil {
		return
	}
	total := u.tokens()
	used := total.Minus(m.thread)
	switch {
	case !less(used):
		m.own = m.own.Add(used)
	case m.own.Sum() > 0: // the rollout has it
		return
	default:
		m.own = total
	}
	m.thread = total
}

// less reports whether a difference is that of two counts of which the second has begun
// anew.
func less(t state.Tokens) bool {
	return min(t.Input, t.Output, t.CacheCreation, t.CacheRead) < 0
}

func (m *meter) usage() harness.Usage {
	return harness.Usage{Model: m.model, Tokens: m.own, Context: m.context, PerRequest: m.rollout != nil}
}
