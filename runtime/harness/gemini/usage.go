package gemini

import (
	"strings"

	"hank/runtime/harness"
	"hank/state"
)

// meter adds up what an attempt uses: request by request from the agent's file of the
// session, and at the end from the agent's own sum. That also has what the agent has asked
// its models on the side.
type meter struct {
	model   string
	session *session        // nil: it is not there to be read
	counted map[string]bool // messages whose count is in own
	heard   map[string]bool // messages of the model
	own     state.Tokens
	context int64 // the size of the last request
	answer  int64 // what the model has written in it
}

func newMeter(req harness.Request) meter {
	s, known := follow(req)
	m := meter{model: req.Model, session: s, counted: map[string]bool{}, heard: map[string]bool{}}
	for _, r := range known {
		m.counted[r.ID] = true
	}
	return m
}

// SessionTokens implements harness.Metered. The reader does without; Account cannot.
func (Harness) SessionTokens(req harness.Request) (state.Tokens, error) {
	all := ofFile(req, req.Session)
	if len(all) == 0 {
		return state.Tokens{}, nil
	}
	return all[len(all)-1].Tokens, nil
}

// Account implements harness.Accounting. Where helpers have worked before, the file does not
// say which requests came first, and the turn is told of as one.
func (Harness) Account(req harness.Request, id string) (all []harness.Usage) {
	sums, before := ofFile(req, id), req.SessionTokens
	for i, u := range sums {
		if d := u.Tokens.Minus(before); d.Input == 0 && d.Output == 0 && d.CacheRead == 0 && d.CacheCreation == 0 {
			sums = sums[i+1:]
			break
		} else if i == len(sums)-1 && before.Sum() > 0 {
			sums = sums[i:]
		}
	}
	for _, u := range sums {
		if u.Tokens = u.Tokens.Minus(before); u.Tokens.Sum() > 0 {
			all = append(all, u)
		}
	}
	return all
}

// ofFile is what a session has used by the agent's file, in total after each request.
func ofFile(req harness.Request, id string) []harness.Usage {
	s := &session{dir: directory(req), offsets: map[string]int64{}}
	if s.dir == "" {
		return nil
	}
	s.of(id)
	m := meter{model: req.Model, session: s, counted: map[string]bool{}, heard: map[string]bool{}}
	return m.read()
}

// read takes up what was written since the last time. It reports how often the sum has
// grown, and what it was each time.
func (m *meter) read() (sums []harness.Usage) {
	for _, r := range m.session.read() {
		if m.counted[r.ID] {
			continue
		}
		if r.Type == "gemini" && !r.helper {
			m.heard[r.ID] = true
		}
		if r.Tokens == nil {
			continue
		}
		m.counted[r.ID] = true
		used := r.Tokens.tokens()
		m.own = m.own.Add(used)
		if !r.helper {
			m.context, m.answer = used.Sum(), used.Output
		}
		sums = append(sums, m.usage())
	}
	return sums
}

// settle takes up the agent's own sum. One that is less than what requests have used
// leaves some of them out.
func (m *meter) settle(s *stats) {
	if s == nil {
		return
	}
	sum := s.tokens()
	m.own = state.Tokens{
		Input: max(m.own.Input, sum.Input), Output: max(m.own.Output, sum.Output),
		CacheCreation: m.own.CacheCreation, CacheRead: max(m.own.CacheRead, sum.CacheRead),
	}
}

func (m *meter) usage() harness.Usage {
	return harness.Usage{Model: m.model, Tokens: m.own, Context: m.context, PerRequest: m.session != nil}
}

// unanswered reports whether the model has not answered to what it was to hear last, after
// a number of times in which it has used tools: the agent found no room for the request
// and did not say so.
func (m *meter) unanswered(rounds int) bool { return m.session.find() && len(m.heard) <= rounds }

// cut reports whether the last answer was as long as the model can write. The agent calls
// that a success.
func (m *meter) cut() bool {
	limit := int64(1 << 16)
	if strings.HasPrefix(m.model, "gemini-2.0-") {
		limit = 1 << 13
	}
	return m.answer >= limit-1 // some count the end, and some do not
}
