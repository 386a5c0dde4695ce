// Package metering computes what an attempt has used, in tokens and money, from what its
// agent reports.
//
//   - A use is charged when it is priced: by the agent's own figure, or by the price of the
//     model.
//   - OfKilled charges what a transcript tells of, as it was charged when it was written, and what
//     the agent's own files tell of.
//
// The package records nothing, and knows no records.
package metering

import (
	"bufio"
	"io"

	"hank/plan/model"
	"hank/runtime/harness"
	"hank/runtime/harness/transcript"
	"hank/state"
)

// Charged is a use of a turn with its price; before is the last one of the same turn. Of
// requests that are told one by one, what a request costs is added: the price of a request can
// depend on its size.
func Charged(m model.Ref, before, u harness.Usage) harness.Usage {
	switch {
	case u.Priced:
	case u.PerRequest:
		u.Cost = before.Cost + price(m, u.Tokens.Minus(before.Tokens))
	default:
		u.Cost = price(m, u.Tokens)
	}
	return u
}

// price is the registry's; 0 if it has none.
func price(m model.Ref, t state.Tokens) state.USD {
	nano, _ := m.Price(model.Tokens{Input: t.Input, Output: t.Output, CacheRead: t.CacheRead, CacheWrite: t.CacheCreation})
	return state.USD(nano)
}

// Sum is what turns have used together: the last one, and those before it.
func Sum(before, turn harness.Usage) harness.Usage {
	turn.Cost, turn.Tokens = before.Cost+turn.Cost, before.Tokens.Add(turn.Tokens)
	return turn
}

// Killed is what is known of an attempt that was killed with hank.
type Killed struct {
	harness.Usage
	Exact   bool   // the agent's own files have left no estimate
	Session string // of its last turn, if that has no end; empty: it had none
}

// OfKilled is what an attempt that was killed with hank has used, by its transcript: all turns
// together. A last line that is torn tells nothing. Of a turn that had no end the agent may have
// an account in files of its own; home and env are those that the agent had, and an empty home
// is one without such files. What the transcript only estimates counts as they have it, and then
// what tells of more tokens.
func OfKilled(in io.Reader, h harness.Harness, m model.Ref, home string, env map[string]string) (killed Killed, err error) {
	used, open, err := follow(in, h, m)
	killed.Usage = used
	if open == nil {
		return killed, err
	}
	killed.Session = open.session
	req := open.request
	req.Home, req.Env = home, env
	if s, is := open.reader.(harness.Settling); is {
		var turn harness.Usage
		turn, killed.Exact = s.Settle(req)
		killed.Usage = Sum(open.before, Charged(m, harness.Usage{}, turn))
	}
	a, is := h.(harness.Accounting)
	if !is {
		return killed, err
	}
	var turn harness.Usage
	for _, u := range a.Account(req, open.session) {
		turn = Charged(m, turn, u)
	}
	if all := Sum(open.before, turn); all.Tokens.Sum() > killed.Tokens.Sum() {
		all.Cost = max(all.Cost, killed.Cost)
		killed.Usage = all
	}
	return killed, err
}

// unended is a turn that has no end in its transcript.
type unended struct {
	before  harness.Usage // of the turns before it
	request harness.Request
	session string // in which the agent worked
	reader  harness.Reader
}

// follow reads a transcript. last is its last turn, if that has no end.
func follow(in io.Reader, h harness.Harness, m model.Ref) (used harness.Usage, last *unended, err error) {
	var before, turn harness.Usage
	var reader harness.Reader
	heed := func(list []harness.Observation) {
		for _, o := range list {
			switch o := o.(type) {
			case harness.Usage:
				turn = Charged(m, turn, o)
			case harness.SessionStarted:
				last.session = o.ID
			}
		}
	}
	for e, err := range transcript.Read(bufio.NewReader(in)) {
		if err != nil {
			return Sum(before, turn), last, err
		}
		switch {
		case e.Stream == transcript.StreamStart:
			before, turn = Sum(before, turn), harness.Usage{}
			s := e.Start
			last = &unended{before: before, session: s.Session,
				request: harness.Request{Model: s.Model, Session: s.Session, SessionCost: s.SessionCost, SessionTokens: s.SessionTokens.Tokens(), Attempt: s.Attempt, Environ: []string{}}}
			reader = h.Reader(last.request)
			last.reader = reader
		case reader == nil:
		case e.Stream == transcript.Stdout:
			heed(reader.Line(e.Line))
		case e.Stream == transcript.Stderr:
			heed(reader.Stderr(e.Line))
		case e.Stream == transcript.StreamExit:
			turn = Charged(m, turn, reader.End(e.Exit.Code, e.Exit.Signal).Usage)
			reader, last = nil, nil
		}
	}
	return Sum(before, turn), last, nil
}

// Unpriced is how many tokens of a use have no price: what they cost is in no figure.
func Unpriced(m model.Ref, u harness.Usage) int64 {
	if _, known := m.Price(model.Tokens{}); known || u.Priced {
		return 0
	}
	return u.Tokens.Sum()
}
