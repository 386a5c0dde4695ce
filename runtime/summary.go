package runtime

import (
	"cmp"

	"hank/plan"
	"hank/state"
)

// summed is the row of an attempt in the summary of budgets.
func summed(l limits, c *state.Codon) state.BudgetRow {
	cost, took := used(c)
	row := state.BudgetRow{CodonID: c.CodonID, LoopContext: c.LoopContext, Status: string(c.Status),
		Budget: state.BudgetLimits{MaxDollars: l.Dollars, MaxTimeSeconds: l.Time.Seconds(), MaxOutputTokens: l.OutputTokens, MaxContextTokens: l.ContextTokens},
		Actual: state.BudgetUse{Dollars: cost, TimeSeconds: took.Seconds(), OutputTokens: c.TokenCount().Output}}
	if c.BudgetExceeded != nil {
		row.Status = "exceeded"
	}
	return row
}

// summarize says at the end of a run what was used of the budgets, if there
// are any.
func (d *driver) summarize() {
	ceiling := d.accounts.ceiling(d.program)
	budgeted := ceiling.dollars > 0 || ceiling.seconds > 0
	for _, item := range d.program.Hank.Items {
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
	if !budgeted {
		return
	}
	d.note(state.BudgetSummaryEvent, state.BudgetSummary{
		Ceiling:    state.BudgetLimits{MaxDollars: ceiling.dollars, MaxTimeSeconds: ceiling.seconds},
		Allocation: cmp.Or(ceiling.Allocation, plan.Shared), Rows: append([]state.BudgetRow{}, d.rows...),
		Totals: state.BudgetTotals{BudgetDollars: ceiling.dollars, ActualDollars: d.accounts.total.cost, ActualTimeSeconds: d.accounts.total.time.Seconds()},
	})
}
