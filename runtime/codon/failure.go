package codon

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"hank/runtime/harness"
	"hank/runtime/keeper"
	"hank/runtime/rig"
	"hank/runtime/usagelimit"
	"hank/state"
)

// isRefusal reports whether a failure is the provider's refusal of what the agent
// asks with. Without a model there is no provider.
func (a *attempt) isRefusal(f *state.FailureReason) bool {
	return a.Entry.Codon.Model.Kind().UsesModel && harness.Refused(f)
}

// interrupted is what interrupted an attempt that failed so by itself: its provider, which
// has refused it, or does not let it work so that the next attempt has another model, or which
// the run now waits for. Empty: nothing, it has failed.
func (a *attempt) interrupted(f *state.FailureReason) string {
	a.Breaker.Ended(f)
	d := usagelimit.Decision{}
	if a.Limit != nil && f != nil {
		d = a.Limit(f, time.Now())
	}
	if d.Instead != "" {
		return state.InterruptedByFallback
	}
	if a.isRefusal(f) {
		return state.InterruptedByRefusal
	}
	if d.Refused != "" {
		a.notes = append(a.notes, "not waited for: "+d.Refused)
	}
	if d.Until.IsZero() {
		return ""
	}
	until := state.At(d.Until)
	f.ResetsAt = &until
	return state.InterruptedByLimit
}

// foreseen is the limit that the attempt would meet, because another run has met it; nil:
// none, or the attempt is made all the same, because nobody would wait. No attempt fails by
// what another run has seen.
func (a *attempt) foreseen() *state.FailureReason {
	f := a.Breaker.Enter()
	if f == nil || a.Limit == nil {
		return nil
	}
	if d := a.Limit(f, time.Now()); d.Until.IsZero() && d.Instead == "" {
		a.Breaker.Pass()
		return nil
	}
	return f
}

// rigFailed makes the reason of a failure of a rig or a check. What hank itself
// could not do is an error instead: trying again would not help, and no
// checkpoint may be taken while something is still alive.
func (a *attempt) rigFailed(f *rig.Failure, class, rule string) (*state.FailureReason, error) {
	var alive *keeper.AliveError
	var save *rig.SaveError
	if errors.As(f, &alive) || errors.As(f, &save) || errors.Is(f, syscall.ENOSPC) || errors.Is(f, syscall.EDQUOT) || errors.Is(f, syscall.EIO) {
		return nil, f
	}
	return &state.FailureReason{Type: f.FailureType(), Retriable: true, Message: f.Message, Class: class, Rule: rule}, nil
}

// verdictFailure is why an agent has not ended well: what its provider refused, also
// before it had a session, what it would have waited for without end, or what it gives as
// the reason.
func (a *attempt) verdictFailure(res ended) *state.FailureReason {
	if a.refused != nil {
		return a.refused
	}
	if a.givenUp != nil {
		return a.givenUp
	}
	if f := res.verdict.Failure; f != nil {
		return f
	}
	return &state.FailureReason{Type: state.FailUnknown, Retriable: true, Class: "protocol", Rule: "no-reason",
		Message: fmt.Sprintf("the agent exited with code %d and no error message", res.exit.Code)}
}
