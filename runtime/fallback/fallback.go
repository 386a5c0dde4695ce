// Package fallback decides which model an attempt at a codon works with: the codon's own, or
// one of its list fallback, because the provider did not let the attempt before it work.
//
//   - A cause is a failure after which the next model of the list is taken: see isCause. The
//     list of causes is closed.
//   - Whoever fell back is recorded: the record of an attempt that its provider did not let
//     work is interrupted by a fallback, and the next one has its own model and harness, and
//     the codon's model in FallbackOf. So what comes next follows from the records alone.
//   - A model that cannot be used here, because its agent is not installed or has no
//     credentials, is passed over, the codon's own too. The record of such an attempt says so.
//   - After a failure that was not a cause the next attempt begins with the codon's own model
//     again, and so it does after a rollback or a retry. An attempt that was stopped, crashed,
//     or waited for its provider is followed by one with the same model.
//
// The package decides, and looks at records. It starts nothing, waits for nothing, and
// records nothing.
package fallback

import (
	"fmt"

	"hank/plan"
	"hank/plan/model"
	"hank/runtime/harness"
	"hank/runtime/usagelimit"
	"hank/state"
)

// isCause reports whether the next model is taken after a failure: the provider refuses the
// credential or has none (auth), has no money from its user (billing), does not have the
// model, refuses more requests for now (rate_limit, usage_limit), or is overloaded.
func isCause(f *state.FailureReason) bool {
	switch f.Class {
	case harness.ClassAuth, harness.ClassBilling, harness.ClassRateLimit, harness.ClassUsageLimit, harness.ClassOverloaded:
		return true
	}
	return harness.Refused(f)
}

// models are those that a codon can work with, its own first; those that cannot be used here
// are passed over. Where none can be used it is its own, whose agent says what is wrong.
func models(c *plan.Codon, usable func(model.Ref) bool) (all []model.Ref) {
	if usable(c.Model) {
		all = append(all, c.Model)
	}
	for _, f := range c.Fallback {
		if f.Model.String() != c.Model.String() && usable(f.Model) {
			all = append(all, f.Model)
		}
	}
	if len(all) == 0 {
		return []model.Ref{c.Model}
	}
	return all
}

// at is the index of the model with which the next attempt of a series works.
func at(all []model.Ref, series []*state.Codon) int {
	if len(series) == 0 {
		return 0
	}
	last := series[len(series)-1]
	if last.Interrupted == "" {
		return 0
	}
	for i, m := range all {
		if m.String() != last.Model {
			continue
		}
		if last.Interrupted == state.InterruptedByFallback {
			i++
		}
		if i < len(all) {
			return i
		}
	}
	return 0
}

// Choose is a codon as the next attempt of a series works at it: with the model that is its
// turn. A session of another agent cannot be continued, so that of a codon that continues the
// previous one begins anew.
func Choose(c *plan.Codon, series []*state.Codon, usable func(model.Ref) bool) *plan.Codon {
	all := models(c, usable)
	i := at(all, series)
	if all[i].String() == c.Model.String() {
		return c
	}
	chosen := *c
	if chosen.Model = all[i]; chosen.Model.Kind().Name != c.Model.Kind().Name {
		return Fresh(&chosen)
	}
	return &chosen
}

// Fresh is a codon that begins a new session.
func Fresh(c *plan.Codon) *plan.Codon {
	anew := *c
	anew.ContinuationMode = plan.Fresh
	return &anew
}

// Decide is what follows when an attempt of a series at a codon fails with a failure: what is
// decided about limits (waits), or the next model instead. Who waits for a limit does not fall
// back, but of an overloaded provider nobody knows the end.
func Decide(c *plan.Codon, series []*state.Codon, usable func(model.Ref) bool, f *state.FailureReason, waits usagelimit.Decision) usagelimit.Decision {
	all := models(c, usable)
	i := at(all, series) + 1
	if i >= len(all) || !isCause(f) || !waits.Until.IsZero() && f.Class != harness.ClassOverloaded {
		return waits
	}
	return usagelimit.Decision{Instead: all[i].String()}
}

// Taken is a fall back, as the event codon.fallback has it.
type Taken struct {
	CodonID    state.CodonID `json:"codonId"`
	Attempt    int           `json:"attempt"` // that the provider did not let work
	From       string        `json:"from"`    // its model
	To         string        `json:"to"`      // the model of the next attempt
	Harness    string        `json:"harness"` // of the next attempt
	OtherAgent bool          `json:"otherAgent"`
	Class      string        `json:"class"` // of the failure
	Message    string        `json:"message"`
}

// Of is the fall back that follows an attempt.
func Of(last *state.Codon, next *plan.Codon) Taken {
	t := Taken{CodonID: last.CodonID, Attempt: last.Attempt, From: last.Model, To: next.Model.String(), Harness: next.Model.Kind().Name}
	t.OtherAgent = last.Harness != t.Harness
	if f := last.FailureReason; f != nil {
		t.Class, t.Message = f.Class, f.Message
	}
	return t
}

// String is the fall back in words.
func (t Taken) String() string {
	with := ""
	if t.OtherAgent {
		with = " in a new session of " + t.Harness
	}
	return fmt.Sprintf("%s falls back from %s to %s%s (%s: %s)", t.CodonID, t.From, t.To, with, t.Class, t.Message)
}

// Fits reports whether an agent can continue a session: it is one of its own. Of a session
// that no record has nobody knows.
func Fits(s *state.State, session string, c *plan.Codon) bool {
	if session == "" {
		return true
	}
	for _, r := range s.Runs {
		for _, record := range r.Codons() {
			if record.ClaudeSessionID == session && record.Harness != "" && record.Harness != state.HarnessReplay {
				return record.Harness == c.Model.Kind().Name
			}
		}
	}
	return true
}
