package state

import (
	"hank/state/money"
	"hank/state/observer"
)

// The amounts of package money, which records are made of.
type (
	USD           = money.USD
	Tokens        = money.Tokens
	Bill          = money.Bill
	BudgetSummary = money.BudgetSummary
	BudgetRow     = money.BudgetRow
	BudgetLimits  = money.BudgetLimits
	BudgetUse     = money.BudgetUse
	BudgetTotals  = money.BudgetTotals
)

// The accounts of package observer, which records have.
type (
	Sentinels = observer.Sentinels
	Sentinel  = observer.Sentinel
)

// Dollar is one US dollar.
const Dollar = money.Dollar

// BudgetSummaryEvent is the type of the event that carries a BudgetSummary.
const BudgetSummaryEvent = money.BudgetSummaryEvent

// Dollars is money.Dollars.
func Dollars(f float64) USD { return money.Dollars(f) }
