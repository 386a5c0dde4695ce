package budget

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"hank/plan"
	"hank/state"
)

// Limits are what one attempt at a codon may use. They are fixed before it
// starts: nothing else spends while it works.
type Limits struct {
	Dollars       state.USD // 0 is no limit, here and below
	Time          time.Duration
	OutputTokens  int64
	ContextTokens int64
	OnExceeded    plan.OnExceeded // never empty
	// What Dollars and Time are left of.
	money money
	span  span
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

// The scopes of a budget, as state.json names them.
const (
	ScopeCodon     = "codon"
	ScopeLoop      = "loop"
	ScopeHank      = "hank"
	ScopeExecution = "execution" // --max-cost and --max-time
)

// span is a limit of time together with what was used of it before.
type span struct {
	limit, used time.Duration
	of          string // what it is, in words
	scope       string
}

// Exceeded reports which limit is reached, or nil. A limit that is exactly
// reached counts.
func (l Limits) Exceeded(u Use) *state.BudgetExceeded {
	switch {
	case l.Over != nil:
		return l.Over
	case l.Dollars > 0 && u.Cost >= l.Dollars:
		return overCost(l.Dollars, u.Cost, l.money)
	case l.Time > 0 && u.Time >= l.Time:
		return overTime(l.Time, u.Time, l.span.scope)
	case l.OutputTokens > 0 && u.Output >= l.OutputTokens:
		return &state.BudgetExceeded{Currency: currencyOutput, Limit: float64(l.OutputTokens), Used: float64(u.Output), Scope: ScopeCodon}
	case l.ContextTokens > 0 && u.Context >= l.ContextTokens:
		return &state.BudgetExceeded{Currency: currencyContext, Limit: float64(l.ContextTokens), Used: float64(u.Context), Scope: ScopeCodon}
	}
	return nil
}

// EndAs reports whether an attempt with these limits ends where another one was
// stopped, or before it.
func (l Limits) EndAs(e *state.BudgetExceeded) bool {
	most := 0.0
	switch e.Currency {
	case currencyCost:
		most = dollars(l.Dollars)
	case currencyTime:
		most = l.Time.Seconds()
	case currencyOutput:
		most = float64(l.OutputTokens)
	case currencyContext:
		most = float64(l.ContextTokens)
	}
	return l.Over != nil || most > 0 && most <= e.Limit
}

// Again says how little of what an attempt was stopped by is left to another one, which would end as
// it did; empty if more is left. One that is continued has the rest of a budget, and its context.
func (l Limits) Again(e *state.BudgetExceeded, continued bool) string {
	if !l.EndAs(e) || continued && e.Currency != currencyContext {
		return ""
	}
	switch e.Currency {
	case currencyCost:
		return fmt.Sprintf("%s is left of %s, and the last attempt has spent %s", l.Dollars.Text(), l.money.of, state.Dollars(e.Used).Text())
	case currencyTime:
		return fmt.Sprintf("%s is left of %s, and the last attempt has used %s", l.Time.Round(time.Millisecond), l.span.of, Seconds(e.Used).Round(time.Millisecond))
	case currencyOutput:
		return fmt.Sprintf("%d output tokens are left, and the last attempt has used %.0f", l.OutputTokens, e.Used)
	}
	return fmt.Sprintf("it may have %d tokens of context, and the last attempt had %.0f", l.ContextTokens, e.Used)
}

func overCost(limit, used state.USD, of money) *state.BudgetExceeded {
	return &state.BudgetExceeded{Currency: currencyCost, Limit: dollars(limit), Used: dollars(used), Scope: of.scope, Share: of.share}
}

func overTime(limit, used time.Duration, scope string) *state.BudgetExceeded {
	return &state.BudgetExceeded{Currency: currencyTime, Limit: limit.Seconds(), Used: used.Seconds(), Scope: scope}
}

func dollars(u state.USD) float64 { return float64(u) / float64(state.Dollar) }

// TimeLeft is how long an attempt may continue that has worked for spent: 0 if
// there is no limit, and else never 0.
func (l Limits) TimeLeft(spent time.Duration) time.Duration {
	if l.Time == 0 {
		return 0
	}
	return max(1, l.Time-spent)
}

// TimeExceeded is the verdict on an attempt that was stopped by TimeLeft.
func (l Limits) TimeExceeded() *state.BudgetExceeded { return overTime(l.Time, l.Time, l.span.scope) }

// NoPart is how Describe names the part of a budget of which the shares leave nothing.
const NoPart = " of its $0.00 "

// Exhausted is how what Describe says begins.
const Exhausted = "budget exhausted: "

// Describe says which limit was reached, in words. What was used of it before
// the attempt counts.
func (l Limits) Describe(e *state.BudgetExceeded) string {
	switch e.Currency {
	case currencyCost:
		used := state.Dollars(e.Used)
		if e != l.Over {
			used += l.money.used
		}
		return fmt.Sprintf(Exhausted+"%s of %s is spent", used.Text(), l.money.of)
	case currencyTime:
		used := Seconds(e.Used)
		if e != l.Over {
			used += l.span.used
		}
		return fmt.Sprintf(Exhausted+"%s of %s is used", used.Round(time.Millisecond), l.span.of)
	case currencyOutput:
		return fmt.Sprintf(Exhausted+"%.0f of its %.0f output tokens are used", e.Used, e.Limit)
	}
	return fmt.Sprintf(Exhausted+"%.0f of its %.0f tokens of context are used", e.Used, e.Limit)
}

// Seconds converts a number of seconds of hank.json; what does not fit is the
// longest duration.
func Seconds(s float64) time.Duration {
	const longest = 1<<63 - 1
	if d := s * float64(time.Second); d < longest {
		return time.Duration(d)
	}
	return longest
}

// Limits are what the next attempt at an entry of the plan may use, before its
// chain of attempts, which has used earlier.
func (a *Accounts) Limits(p *plan.Program, e plan.Entry, earlier Use) Limits {
	own := e.Codon.Budget
	if own == nil {
		own = &plan.CodonBudget{}
	}
	hank, loop := a.ceiling(p), loopBudget(p, e)
	l := Limits{OnExceeded: cmp.Or(own.OnExceeded, loop.OnExceeded, hank.OnExceeded, plan.Complete)}
	l.set(a.money(p, e, earlier.Cost))
	l.setTime(spanOf(own.MaxTimeSeconds, earlier.Time, "its own %s of time", ScopeCodon))
	l.setTime(spanOf(loop.MaxTimeSeconds, a.loopOf(e).Time, "the %s time budget of its loop", ScopeLoop))
	l.setTime(hank.span(a.Total.Time))
	l.OutputTokens, l.ContextTokens = own.MaxOutputTokens, own.MaxContextTokens
	if own.MaxOutputTokens > 0 {
		if l.OutputTokens = own.MaxOutputTokens - earlier.Output; l.OutputTokens <= 0 {
			l.over(&state.BudgetExceeded{Currency: currencyOutput, Limit: float64(own.MaxOutputTokens), Used: float64(earlier.Output), Scope: ScopeCodon})
			l.OutputTokens = 1
		}
	}
	return l
}

// set takes the tightest limit of money.
func (l *Limits) set(m money) {
	if !m.limited {
		return
	}
	l.Dollars, l.money = max(1, m.left), m
	if m.left <= 0 {
		l.over(overCost(m.limit, m.used, m))
	}
}

// spanOf is a limit of seconds, of which the text says in words what it is.
func spanOf(limit float64, used time.Duration, text, scope string) span {
	return span{Seconds(limit), used, fmt.Sprintf(text, Seconds(limit)), scope}
}

// setTime takes a limit of time if it is the tightest so far.
func (l *Limits) setTime(s span) {
	if s.limit <= 0 {
		return
	}
	left := max(1, s.limit-s.used)
	if l.Time != 0 && l.Time <= left {
		return
	}
	l.Time, l.span = left, s
	if s.used >= s.limit {
		l.over(overTime(s.limit, s.used, s.scope))
	}
}

// over keeps the first limit that was used up before the start.
func (l *Limits) over(e *state.BudgetExceeded) {
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

// ceiling is what all codons together may use: the lower of the hank's budget
// and the execution's limits, divided as hank.json says.
type ceiling struct {
	*plan.Budget
	dollars                 state.USD // 0 is no limit
	seconds                 float64
	dollarsScope, timeScope string
}

func (a *Accounts) ceiling(p *plan.Program) ceiling {
	b := hankBudget(p)
	c := ceiling{Budget: b, dollars: price(b.MaxDollars), seconds: b.MaxTimeSeconds, dollarsScope: ScopeHank, timeScope: ScopeHank}
	if limit := a.granted.MaxDollars; limit > 0 && (c.dollars == 0 || limit < c.dollars) {
		c.dollars, c.dollarsScope = limit, ScopeExecution
	}
	if limit := a.granted.MaxTimeSeconds; limit > 0 && (c.seconds == 0 || limit < c.seconds) {
		c.seconds, c.timeScope = limit, ScopeExecution
	}
	return c
}

// Limited reports whether a budget limits anything of a program, in its hank or in the settings around it.
func Limited(p *plan.Program) bool {
	if b := hankBudget(p); b.MaxDollars > 0 || b.MaxTimeSeconds > 0 {
		return true
	}
	return slices.ContainsFunc(p.Hank.Items, func(item plan.Item) bool {
		if item.Loop == nil {
			return item.Codon.Budget != nil
		}
		return item.Loop.Budget != nil || slices.ContainsFunc(item.Loop.Codons, func(c plan.Codon) bool { return c.Budget != nil })
	})
}

// Reached reports whether what was ever spent has reached the ceiling of the whole hank, or a
// limit of the execution: no attempt begins any more, also after the user has gone back.
func (a *Accounts) Reached(p *plan.Program) bool {
	c := a.ceiling(p)
	return c.dollars > 0 && a.Total.Cost >= c.dollars || c.seconds > 0 && a.Total.Time >= Seconds(c.seconds)
}

// ofDollars and span say what the ceiling is, in words.
func (c ceiling) ofDollars() string {
	if c.dollarsScope == ScopeExecution {
		return fmt.Sprintf("the %s limit of this execution", c.dollars.Text())
	}
	return fmt.Sprintf("the %s hank budget", c.dollars.Text())
}

func (c ceiling) span(used time.Duration) span {
	text := "the %s time budget of the hank"
	if c.timeScope == ScopeExecution {
		text = "the %s time limit of this execution"
	}
	return spanOf(c.seconds, used, text, c.timeScope)
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
func (a *Accounts) loopOf(e plan.Entry) account {
	if e.LoopContext == nil {
		return account{}
	}
	return a.Loops[e.LoopContext.LoopID]
}

// LoopLimits are what is left to the loop of an entry of its own: its budget, and its
// part of the hank's. What is left to all codons together is no part of it.
func (a *Accounts) LoopLimits(p *plan.Program, e plan.Entry) Limits {
	l := Limits{OnExceeded: cmp.Or(loopBudget(p, e).OnExceeded, hankBudget(p).OnExceeded, plan.Complete)}
	if e.LoopContext == nil {
		return l
	}
	own := a.loopsOwn(p, e)
	if part := a.hankMoney(p, e.LoopContext.LoopID); part.share {
		own = tightest(own, part)
	}
	l.set(own)
	l.setTime(spanOf(loopBudget(p, e).MaxTimeSeconds, a.loopOf(e).Time, "the %s time budget of its loop", ScopeLoop))
	return l
}
