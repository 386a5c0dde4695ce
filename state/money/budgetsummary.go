package money

import "hank/plan"

// BudgetSummaryEvent is the type of the event that carries a BudgetSummary.
const BudgetSummaryEvent = "budget.summary"

// BudgetSummary says at the end of a run what was used of the budgets of its
// hank. It changes nothing.
type BudgetSummary struct {
	Ceiling    BudgetLimits    `json:"ceiling"` // of the whole hank: maxDollars, maxTimeSeconds
	Allocation plan.Allocation `json:"allocation"`
	Rows       []BudgetRow     `json:"rows"` // the attempts of the run, in order
	Totals     BudgetTotals    `json:"totals"`
}

// BudgetRow is what one attempt at a codon might use, and has used.
type BudgetRow struct {
	CodonID     plan.CodonID      `json:"codonId"`
	LoopContext *plan.LoopContext `json:"loopContext,omitempty"`
	Status      string            `json:"status"` // its own, or exceeded
	Budget      BudgetLimits      `json:"budget"` // what was left for it when it began
	Actual      BudgetUse         `json:"actual"`
}

// BudgetLimits are limits; what is absent is not limited.
type BudgetLimits struct {
	MaxDollars       USD     `json:"maxDollars,omitzero"`
	MaxTimeSeconds   float64 `json:"maxTimeSeconds,omitzero"`
	MaxOutputTokens  int64   `json:"maxOutputTokens,omitzero"`
	MaxContextTokens int64   `json:"maxContextTokens,omitzero"`
}

// BudgetUse is what was used.
type BudgetUse struct {
	Dollars      USD     `json:"dollars"`
	TimeSeconds  float64 `json:"timeSeconds"`
	OutputTokens int64   `json:"outputTokens"`
}

// BudgetTotals are what counts against the ceiling: all runs together.
type BudgetTotals struct {
	BudgetDollars     USD     `json:"budgetDollars,omitzero"`
	ActualDollars     USD     `json:"actualDollars"`
	ActualTimeSeconds float64 `json:"actualTimeSeconds"`
}
