package budget

import (
	"time"

	"hank/plan"
	"hank/state"
)

// Watched is one limit that an attempt is under, whole, or the part of it that an allocation
// gives one child. Such a part can be another one for the next attempt, as others save and
// spend; while an attempt works it stays what it is. Amounts are billionths of a dollar, nanoseconds or
// tokens.
type Watched struct {
	Scope    string
	Loop     plan.CodonID // of a loop's budget; else empty
	Currency string       // as in state.BudgetExceeded
	Limit    int64
	Used     int64        // before the attempt
	Part     plan.CodonID // the codon or loop whose part it is; empty: it is the whole limit
}

// Of is what of a use counts for the limit. The size of a request is no sum, but the limit of
// it is one of an attempt, so that nothing was used before.
func (w Watched) Of(u Use) int64 {
	switch w.Currency {
	case currencyCost:
		return int64(u.Cost)
	case currencyTime:
		return int64(u.Time)
	case currencyOutput:
		return u.Output
	}
	return u.Context
}

// With is what is used of the limit when an attempt has used so much.
func (w Watched) With(u Use) int64 { return w.Used + max(0, w.Of(u)) }

// Float is an amount of the limit in dollars, seconds or tokens.
func (w Watched) Float(amount int64) float64 {
	switch w.Currency {
	case currencyCost:
		return dollars(state.USD(amount))
	case currencyTime:
		return time.Duration(amount).Seconds()
	}
	return float64(amount)
}

// Watched are the limits that the next attempt at an entry is under, before its chain of
// attempts, which has used earlier.
func (a *Accounts) Watched(p *plan.Program, e plan.Entry, earlier Use) (list []Watched) {
	add := func(scope string, loop plan.CodonID, currency string, limit, used int64) {
		if limit > 0 {
			list = append(list, Watched{Scope: scope, Loop: loop, Currency: currency, Limit: limit, Used: used})
		}
	}
	both := func(scope string, loop plan.CodonID, money state.USD, seconds float64, used account) {
		add(scope, loop, currencyCost, int64(money), int64(used.Cost))
		add(scope, loop, currencyTime, int64(Seconds(seconds)), int64(used.Time))
	}
	if own := e.Codon.Budget; own != nil {
		both(ScopeCodon, "", price(own.MaxDollars), own.MaxTimeSeconds, account{earlier.Cost, earlier.Time})
		add(ScopeCodon, "", currencyOutput, own.MaxOutputTokens, earlier.Output)
		add(ScopeCodon, "", currencyContext, own.MaxContextTokens, 0)
	}
	if e.LoopContext != nil {
		b := loopBudget(p, e)
		both(ScopeLoop, e.LoopContext.LoopID, price(b.MaxDollars), b.MaxTimeSeconds, a.loopOf(e))
	}
	b := hankBudget(p)
	both(ScopeHank, "", price(b.MaxDollars), b.MaxTimeSeconds, a.Total)
	both(ScopeExecution, "", a.granted.MaxDollars, a.granted.MaxTimeSeconds, a.Total)
	part := func(m money, loop, child plan.CodonID) {
		if m.share && m.limit > 0 {
			list = append(list, Watched{m.scope, loop, currencyCost, int64(m.limit), int64(m.used), child})
		}
	}
	if e.LoopContext == nil {
		part(a.hankMoney(p, e.Codon.ID), "", e.Codon.ID)
		return list
	}
	id := e.LoopContext.LoopID
	part(a.hankMoney(p, id), "", id)
	if around := a.loopMoney(p, e); around.limited {
		part(a.inLoop(p, e, around), id, e.Codon.ID)
	}
	return list
}
