package claude

import (
	"hank/runtime/harness"
	"hank/state"
)

// meter adds up what an attempt uses.
//
// Until a result line comes, tokens are estimates from the assistant lines:
// the agent prints one line per content block, all with the usage that the
// message began with, so a message counts once, and its output is guessed from
// the length of its text where that is more. While its tools work, and at an
// end without a result line, the agent's file of the session has the figures of the
// messages that are whole. A result line replaces all that since the one before it
// by the agent's own sum.
//
// The figures are those of model_usage_since_last_result (2.1.329) where the
// line has it. The line's usage leaves out what the agent asked its model on
// the side, compaction for instance, though that is paid for; total_cost_usd
// and modelUsage count the whole session, former runs included.
type meter struct {
	model   string
	before  state.USD // of the session before this attempt
	settled state.Tokens
	cost    state.USD
	priced  bool
	context int64

	whole    map[string]state.Tokens // by message, as the agent's file has it; it can come before the lines
	live     map[string]state.Tokens // by message, since the last result
	liveText map[string]int64        // bytes of output, likewise
	liveSum  state.Tokens
}

// bytesPerToken is a common estimate for English text and code.
const bytesPerToken = 4

// settle replaces the estimates of whole messages by the agent's own figures, as its files
// have them. It reports whether they count something else now.
func (m *meter) settle(answers []answer) (changed bool) {
	if m.whole == nil {
		m.whole = map[string]state.Tokens{}
	}
	for _, a := range answers {
		m.whole[a.id] = a.used
		if old, live := m.live[a.id]; live {
			m.live[a.id] = a.used
			m.liveSum = m.liveSum.Add(a.used.Minus(old))
			changed = changed || a.used.Sum() != old.Sum()
		}
	}
	return changed
}

// exact reports whether no message is estimated.
func (m *meter) exact() bool {
	for id := range m.live {
		if _, known := m.whole[id]; !known {
			return false
		}
	}
	return true
}

// message counts an assistant line.
func (m *meter) message(id string, usage state.Tokens, outputBytes int, topLevel bool) {
	if m.live == nil {
		m.live, m.liveText = map[string]state.Tokens{}, map[string]int64{}
	}
	old := m.live[id]
	m.liveText[id] += int64(outputBytes)
	usage.Output = max(usage.Output, m.liveText[id]/bytesPerToken, old.Output)
	if whole, known := m.whole[id]; known {
		usage = whole
	}
	m.live[id] = usage
	m.liveSum = m.liveSum.Add(usage.Minus(old))
	if topLevel {
		m.context = usage.Input + usage.CacheCreation + usage.CacheRead + usage.Output
	}
}

// result settles what was used since the result line before.
func (m *meter) result(line fields) {
	since := line.object("model_usage_since_last_result")
	switch {
	case since != nil:
		for model := range since {
			u := since.object(model)
			m.settled = m.settled.Add(state.Tokens{
				Input:         u.count("inputTokens"),
				Output:        u.count("outputTokens"),
				CacheCreation: u.count("cacheCreationInputTokens"),
				CacheRead:     u.count("cacheReadInputTokens"),
			})
			m.cost += u.money("costUSD")
		}
		m.priced = true
	default:
		if line.has("usage") {
			m.settled = m.settled.Add(line.object("usage").tokens())
		} else {
			m.settled = m.settled.Add(m.liveSum)
		}
		if line.has("total_cost_usd") {
			m.cost, m.priced = line.money("total_cost_usd"), true
			// A total that is less than the session's is the run's own.
			if m.cost >= m.before {
				m.cost -= m.before
			}
		}
	}
	m.live, m.liveText, m.liveSum = nil, nil, state.Tokens{}
}

// usage is the sum so far.
func (m *meter) usage() harness.Usage {
	return harness.Usage{
		Model: m.model, Tokens: m.settled.Add(m.liveSum), Cost: m.cost, Priced: m.priced, Context: m.context,
	}
}
