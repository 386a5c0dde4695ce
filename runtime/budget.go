package runtime

import (
	"cmp"
	"time"

	"hank/plan"
	"hank/state"
)

// usage is what a codon has used. In a check of limits it is that of one
// attempt so far.
type usage struct {
	Cost    state.USD
	Time    time.Duration // since the attempt began
	Output  int64         // tokens that the agent wrote, all requests together
	Context int64         // the largest request in tokens, caches included
}

// limits are what one attempt at a codon may use. They are fixed before it
// starts: nothing else spends while it works.
type limits struct {
	Dollars       state.USD // 0 is no limit, here and below
	Time          time.Duration
	OutputTokens  int64
	ContextTokens int64
	OnExceeded    plan.OnExceeded // never empty
	// Sources say where the limits come from, for messages.
	DollarsSource, TimeSource string
	// Over is set if something is used up before the attempt starts.
	Over *state.BudgetExceeded
}

// The currencies of a budget, as state.json names them.
const (
	currencyCost    = "cost"
	currencyTime    = "duration"
	currencyOutput  = "outputTokens"
	currencyContext = "contextTokens"
)

// exceeded tells which limit is reached, or nil. A limit that is exactly
// reached counts.
func (l limits) exceeded(u usage) *state.BudgetExceeded {
	switch {
	case l.Over != nil:
		return l.Over
	case l.Dollars > 0 && u.Cost >= l.Dollars:
		return overCost(l.Dollars, u.Cost)
	case l.Time > 0 && u.Time >= l.Time:
		return overTime(l.Time, u.Time)
	case l.OutputTokens > 0 && u.Output >= l.OutputTokens:
		return &state.BudgetExceeded{Currency: currencyOutput, Limit: float64(l.OutputTokens), Used: float64(u.Output)}
	case l.ContextTokens > 0 && u.Context >= l.ContextTokens:
		return &state.BudgetExceeded{Currency: currencyContext, Limit: float64(l.ContextTokens), Used: float64(u.Context)}
	}
	return nil
}

func overCost(limit, used state.USD) *state.BudgetExceeded {
	return &state.BudgetExceeded{Currency: currencyCost, Limit: dollars(limit), Used: dollars(used)}
}

func overTime(limit, used time.Duration) *state.BudgetExceeded {
	return &state.BudgetExceeded{Currency: currencyTime, Limit: limit.Seconds(), Used: used.Seconds()}
}

func dollars(u state.USD) float64 { return float64(u) / float64(state.Dollar) }

// timeLeft is how long an attempt may go on that has worked for spent: 0 if
// there is no limit, and else never 0.
func (l limits) timeLeft(spent time.Duration) time.Duration {
	if l.Time == 0 {
		return 0
	}
	return max(1, l.Time-spent)
}

// timeExceeded is the verdict on an attempt that was stopped by timeLeft.
func (l limits) timeExceeded() *state.BudgetExceeded { return overTime(l.Time, l.Time) }

// source says where the limit of a currency comes from; empty if the codon
// itself sets it.
func (l limits) source(currency string) string {
	switch currency {
	case currencyCost:
		return l.DollarsSource
	case currencyTime:
		return l.TimeSource
	}
	return ""
}

// describe says which limit was reached, in words.
func (l limits) describe(e *state.BudgetExceeded) string {
	text := e.String()
	if source := l.source(e.Currency); source != "" {
		text += " (" + source + ")"
	}
	return text
}

// seconds converts a number of seconds of hank.json; what does not fit is the
// longest duration.
func seconds(s float64) time.Duration {
	const longest = 1<<63 - 1
	if d := s * float64(time.Second); d < longest {
		return time.Duration(d)
	}
	return longest
}

// limits are what the next attempt at an entry of the plan may use, before its
// chain of attempts, which has used earlier.
func (a *accounts) limits(p *plan.Program, e plan.Entry, earlier usage) limits {
	own := e.Codon.Budget
	if own == nil {
		own = &plan.CodonBudget{}
	}
	hank, loop := hankBudget(p), loopBudget(p, e)
	l := limits{OnExceeded: cmp.Or(own.OnExceeded, loop.OnExceeded, hank.OnExceeded, plan.Complete)}
	l.set(a.money(p, e, earlier.Cost))
	l.setTime(seconds(own.MaxTimeSeconds), earlier.Time, "")
	l.setTime(seconds(loop.MaxTimeSeconds), a.loopOf(e).time, "the time of its loop")
	l.setTime(seconds(hank.MaxTimeSeconds), a.total.time, "the time of the hank")
	l.OutputTokens, l.ContextTokens = own.MaxOutputTokens, own.MaxContextTokens
	if own.MaxOutputTokens > 0 {
		if l.OutputTokens = own.MaxOutputTokens - earlier.Output; l.OutputTokens <= 0 {
			l.over(&state.BudgetExceeded{Currency: currencyOutput, Limit: float64(own.MaxOutputTokens), Used: float64(earlier.Output)})
			l.OutputTokens = 1
		}
	}
	return l
}

// set takes the tightest limit of money.
func (l *limits) set(m money) {
	if !m.limited {
		return
	}
	l.Dollars, l.DollarsSource = max(1, m.left), m.source
	if m.left <= 0 {
		l.over(overCost(m.limit, m.used))
	}
}

// setTime takes a limit of time if it is the tightest so far.
func (l *limits) setTime(limit, used time.Duration, source string) {
	if limit <= 0 {
		return
	}
	left := max(1, limit-used)
	if l.Time != 0 && l.Time <= left {
		return
	}
	l.Time, l.TimeSource = left, source
	if used >= limit {
		l.over(overTime(limit, used))
	}
}

// over keeps the first limit that was used up before the start.
func (l *limits) over(e *state.BudgetExceeded) {
	if l.Over == nil {
		l.Over = e
	}
}

// hankBudget is the budget of the whole hank: divided as hank.json says, with
// the ceiling that the settings around it leave.
func hankBudget(p *plan.Program) *plan.Budget {
	var b plan.Budget
	if o := p.Hank.Overrides; o != nil && o.Budget != nil {
		b = *o.Budget
	}
	if c := p.Settings.Budget; c != nil {
		b.MaxDollars, b.MaxTimeSeconds = c.MaxDollars, c.MaxTimeSeconds
	}
	return &b
}

// loopBudget is the budget of an entry's loop: the program's, or what the
// entry was laid out with if the program has no such loop. It limits nothing
// if the entry is in no loop.
func loopBudget(p *plan.Program, e plan.Entry) *plan.Budget {
	var b *plan.Budget
	if e.LoopContext != nil {
		b = e.LoopContext.LoopBudget
		if loop := p.Loop(e.LoopContext.LoopID); loop != nil {
			b = loop.Budget
		}
	}
	if b == nil {
		b = &plan.Budget{}
	}
	return b
}

// loopOf is what the loop of an entry has used.
func (a *accounts) loopOf(e plan.Entry) account {
	if e.LoopContext == nil {
		return account{}
	}
	return a.loops[e.LoopContext.LoopID]
}

// loopOver tells whether the budget of an entry's loop is used up, so that the
// loop ends; nil if it is not, or the entry is in no loop.
func (a *accounts) loopOver(p *plan.Program, e plan.Entry) *state.BudgetExceeded {
	if e.LoopContext == nil {
		return nil
	}
	var l limits
	l.set(a.loopMoney(p, e))
	l.setTime(seconds(loopBudget(p, e).MaxTimeSeconds), a.loopOf(e).time, "")
	return l.Over
}
