package breaker

import (
	"fmt"
	"time"

	"hank/runtime/usagelimit"
	"hank/state"
)

// Account is the breaker of one attempt at a codon. A nil one lets everything through and
// remembers nothing. It is used by one goroutine.
type Account struct {
	Store *Store
	Key   Key
	Who   Holder
	Past  bool // a person has said that the provider is to be asked all the same

	entered  time.Time
	answered bool
	settled  bool // the breaker knows how the attempt has ended
}

// Enter asks whether the attempt may ask its provider, and otherwise returns the failure
// that it would meet, with the time until which it is to wait. Whoever does not want to wait
// calls Pass, and asks.
func (a *Account) Enter() *state.FailureReason {
	if a == nil {
		return nil
	}
	if a.entered = a.Store.now(); a.Past {
		return nil
	}
	b, answer := a.Store.admit(a.Key, a.Who)
	if !answer.Refused {
		return nil
	}
	a.settled = true // it asks nothing
	until := state.At(answer.Until)
	f := &state.FailureReason{Type: state.FailRateLimit, Retriable: true, Class: b.Class, Rule: usagelimit.ForeseenRule, ResetsAt: &until}
	if b.Class == "overloaded" {
		f.Type = state.FailAPI
	}
	if f.Message = "not asked: " + b.says(); answer.Probing != nil {
		f.Rule = usagelimit.ProbedRule
		f.Message = fmt.Sprintf("not asked: %s tries whether %s answers again", answer.Probing, a.Key)
	}
	return f
}

// Pass lets an attempt ask that was refused: nobody would wait.
func (a *Account) Pass() {
	if a != nil {
		a.settled = false
	}
}

// Answered says that the model has answered the attempt. Only the first time counts.
func (a *Account) Answered() {
	if a != nil && !a.answered {
		a.answered = true
		a.Store.answered(a.Key, a.entered)
	}
}

// Ended says how the attempt has ended: f is why it has failed; nil: it has not, or nothing
// is known about the provider.
func (a *Account) Ended(f *state.FailureReason) {
	if a == nil || a.settled || a.entered.IsZero() {
		return
	}
	a.settled = true
	if f == nil || !f.Retriable || !counts(f.Class) {
		a.Store.left(a.Key, a.Who)
		return
	}
	now := a.Store.now()
	a.Store.failed(a.Key, a.Who, f.Class, func(n int) (time.Time, bool) { return usagelimit.Ends(f, n, now) })
}

// IsOpen reports whether the breaker is open.
func (a *Account) IsOpen() bool { return a != nil && a.Store.isOpen(a.Key) }

// String names the attempt.
func (h Holder) String() string {
	return fmt.Sprintf("run %s (codon %s) of %s", h.Run, h.Codon, h.Execution)
}

var met = map[string]string{"usage_limit": "met the usage limit of %s", "rate_limit": "was told by %s that there were too many requests", "overloaded": "found %s overloaded"}

// says is who saw the provider refuse, and when, in words.
func (b Breaker) says() string {
	return fmt.Sprintf("%s "+met[b.Class]+" at %s", b.By, b.Key, b.Last.Local().Format(time.DateTime))
}
