package budget

import (
	"cmp"

	"hank/plan"
	"hank/state"
)

// Row is the row of an attempt in the summary of budgets.
func Row(l Limits, c *state.Codon) state.BudgetRow {
	cost, took := used(c, true)
	row := state.BudgetRow{CodonID: c.CodonID, LoopContext: c.LoopContext, Status: string(c.Status),
		Budget: state.BudgetLimits{MaxDollars: l.Dollars, MaxTimeSeconds: l.Time.Seconds(), MaxOutputTokens: l.OutputTokens, MaxContextTokens: l.ContextTokens},
		Actual: state.BudgetUse{Dollars: cost, TimeSeconds: took.Seconds(), OutputTokens: c.TokenCount().Output}}
	if c.BudgetExceeded != nil {
		row.Status = "exceeded"
	}
	return row
}

// Summary is what was used of the budgets of a program by the attempts of a run;
// none if there are no budgets.
func (a *Accounts) Summary(p *plan.Program, rows []state.BudgetRow) (s state.BudgetSummary, budgeted bool) {
	ceiling := a.ceiling(p)
	budgeted = ceiling.dollars > 0 || ceiling.seconds > 0
	for _, item := range p.Hank.Items {
		codons := []plan.Codon{}
		if item.Loop != nil {
			codons, budgeted = item.Loop.Codons, budgeted || item.Loop.Budget != nil
		} else {
			codons = append(codons, *item.Codon)
		}
		for _, c := range codons {
			budgeted = budgeted || c.Budget != nil
		}
	}
	return state.BudgetSummary{
		Ceiling:    state.BudgetLimits{MaxDollars: ceiling.dollars, MaxTimeSeconds: ceiling.seconds},
		Allocation: cmp.Or(ceiling.Allocation, plan.Shared), Rows: append([]state.BudgetRow{}, rows...),
		Totals: state.BudgetTotals{BudgetDollars: ceiling.dollars, ActualDollars: a.Total.Cost, ActualTimeSeconds: a.Total.Time.Seconds()},
	}, budgeted
}
