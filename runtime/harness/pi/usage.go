package pi

import (
	"hank/runtime/harness"
	"hank/state"
)

// meter adds up what an attempt uses. The agent gives an account of each request with the
// model's message, also of one that failed. It gives none of the requests by which it
// makes its context smaller.
//
// The prices are the agent's own. They are not believed where the agent has none, which it
// calls 0, nor where it does not know the model, for which it takes those of another.
type meter struct {
	model   string
	guessed bool // the agent does not know the model
	sum     state.Tokens
	cost    state.USD
	context int64 // the size of the last request
}

// request counts a request to the model. It reports whether anything was used.
func (m *meter) request(u usage) bool {
	tokens := u.tokens()
	if tokens.Sum() == 0 {
		return false
	}
	m.sum, m.context = m.sum.Add(tokens), tokens.Sum()
	m.cost += max(0, state.Dollars(u.Cost.Total))
	return true
}

func (m *meter) usage() harness.Usage {
	u := harness.Usage{Model: m.model, Tokens: m.sum, Context: m.context, PerRequest: true}
	if m.cost > 0 && !m.guessed {
		u.Cost, u.Priced = m.cost, true
	}
	return u
}
