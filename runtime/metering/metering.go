// Package metering computes what an attempt has used, in tokens and money, from what its
// agent reports.
//
//   - A use is charged when it is priced: by the agent's own figure, or by the price of the
//     model.
//   - OfTranscript charges what a transcript tells of, as it was charged when it was written.
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

// OfTranscript is what a transcript tells of: all turns together. What an agent keeps in files
// of its own is not asked for. A last line that is torn tells nothing.
func OfTranscript(in io.Reader, h harness.Harness, m model.Ref) (harness.Usage, error) {
	var before, turn harness.Usage
	var reader harness.Reader
	charge := func(list []harness.Observation) {
		for _, o := range list {
			if u, is := o.(harness.Usage); is {
				turn = Charged(m, turn, u)
			}
		}
	}
	for e, err := range transcript.Read(bufio.NewReader(in)) {
		if err != nil {
			return Sum(before, turn), err
		}
		switch {
		case e.Stream == transcript.StreamStart:
			before, turn = Sum(before, turn), harness.Usage{}
			s := e.Start
			reader = h.Reader(harness.Request{Model: s.Model, Session: s.Session, SessionCost: s.SessionCost, SessionTokens: s.SessionTokens.Tokens(), Attempt: s.Attempt, Environ: []string{}})
		case reader == nil:
		case e.Stream == transcript.Stdout:
			charge(reader.Line(e.Line))
		case e.Stream == transcript.Stderr:
			charge(reader.Stderr(e.Line))
		case e.Stream == transcript.StreamExit:
			turn = Charged(m, turn, reader.End(e.Exit.Code, e.Exit.Signal).Usage)
			reader = nil
		}
	}
	return Sum(before, turn), nil
}
