package verdict

import (
	"fmt"
	"math"
	"strings"
	"time"

	"hank/internal/shell"
	"hank/plan"
	"hank/recovery"
	"hank/recovery/finding"
	"hank/runtime/budget"
	"hank/runtime/history"
	"hank/runtime/retry"
	"hank/state"
)

// DescribeLimits says in words what an execution may use and has used. A
// negative time is not known.
func DescribeLimits(l state.Limits, spent state.USD, worked time.Duration) string {
	var parts []string
	if l.MaxDollars > 0 {
		used, limit := spent.Beside(l.MaxDollars)
		parts = append(parts, fmt.Sprintf("%s for this execution, %s spent", limit, used))
	}
	if l.MaxTimeSeconds > 0 {
		text := fmt.Sprintf("%s of work for this execution", budget.Seconds(l.MaxTimeSeconds))
		if worked >= 0 {
			text += fmt.Sprintf(", %s used", worked.Round(time.Millisecond))
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// Continue is the command that continues an execution, given its first words. A limit
// of the execution that is reached is raised by what it was, or by what an attempt has cost that it
// has interrupted, if that is more: it would end the same way. Where a budget of
// the hank has ended the run, it is raised in its hank.json and adopted, for
// which the user has to edit it first: see RaiseFirst. A limit of the execution
// that has ended the run, and is not reached any more, needs nothing.
func Continue(s *state.State, verb string, byBudget bool) string {
	a, raised := budget.NewAccounts(s, false), false
	if l := s.Limits.MaxDollars; l > 0 && a.Total.Cost >= l {
		verb, raised = RaiseLimit(verb, a.Total.Cost+max(l, interrupted(s))), true
	}
	if l := s.Limits.MaxTimeSeconds; l > 0 && a.Total.Time >= budget.Seconds(l) {
		verb, raised = verb+fmt.Sprintf(" --max-time %.0f", math.Ceil(a.Total.Time.Seconds()+l)), true
	}
	if AtCap(s) {
		verb += " --checkpoint-cap SIZE"
	}
	if byBudget && !raised && !endedByLimit(s) {
		verb += AdoptOption
	}
	return verb
}

// interrupted is what the newest attempt has cost that the execution's limit of dollars has
// interrupted on the way to where the execution is; 0: it has interrupted none.
func interrupted(s *state.State) state.USD {
	for step := range s.Backward() {
		if b := step.Codon.BudgetExceeded; b != nil && !b.Finished && b.Scope == budget.ScopeExecution {
			return step.Codon.Bill().Paid()
		}
	}
	return 0
}

// RaiseLimit is a command that allows the execution to spend so much.
func RaiseLimit(verb string, limit state.USD) string {
	return verb + " --max-cost " + upToCents(limit).String()
}

// AtCap reports whether the newest run has ended, or is paused, because its next checkpoint does
// not fit into the checkpoint cap.
func AtCap(s *state.State) bool {
	run := history.LastRun(s)
	if run == nil || s.MovedTo() != nil {
		return false
	}
	detail := run.EndDetail
	if run.Paused != nil {
		if detail = run.Paused.Detail; run.Status != state.StatusRunning { // its checkpoint was made
			return false
		}
	}
	return strings.Contains(detail, "the next checkpoint does not fit into the limit of ")
}

// AdoptOption follows the command that continues with a changed hank.
const AdoptOption = " --adopt"

// limitOfExecution is how what a run recorded of its end names a limit of the execution.
const limitOfExecution = "limit of this execution"

// endedByLimit reports whether a limit of the execution, and no budget of the
// hank, has ended the run.
func endedByLimit(s *state.State) bool {
	run := history.LastRun(s)
	if run == nil {
		return false
	}
	if last := history.LastRecord(s); last != nil && !last.Settled() && last.BudgetExceeded != nil {
		return last.BudgetExceeded.Scope == budget.ScopeExecution
	}
	return strings.Contains(run.EndDetail, limitOfExecution)
}

// StillEnds reports whether a budget of the frozen program would end the next attempt
// as one has ended the newest run, or would not let it begin. Records of hanks that kept no limit of an execution
// do not say whose budget it was: a limit of their command line is in force no more.
func StillEnds(s *state.State, p *plan.Program) bool {
	entries, at := s.ExecutionPlan(), s.Next()
	var earlier budget.Use
	a := budget.NewAccounts(s, false)
	if run := history.LastRun(s); run != nil && run.EndReason == state.EndCodonFailed { // it is to be retried
		return a.Reached(p)
	}
	if at >= len(entries) {
		return true
	}
	e, last := entries[at].Entry, history.LastRecord(s)
	cut := last != nil && !last.Settled() && last.BudgetExceeded != nil
	if !cut || last.Interrupted != "" { // it is continued, and not tried again
		earlier = a.UsedBefore(s, retry.Last(s), e.CodonID)
	}
	switch l := a.Limits(p, e, earlier); {
	case !cut:
		return l.Over != nil
	case last.BudgetExceeded.Scope != "":
		return last.BudgetExceeded.Scope != budget.ScopeExecution
	default:
		return l.EndAs(last.BudgetExceeded)
	}
}

// Raise is what the user must do before a command that takes a changed hank over, whose budgets would
// not let the next attempt begin, or end it as one has ended the last; empty if that is nothing.
// s has the plan of the hank, and is where the command starts; the attempts of before count.
func Raise(s *state.State, p *plan.Program, last *state.Codon, before *state.Run) string {
	entries, at := s.ExecutionPlan(), s.Next()
	if at >= len(entries) {
		return ""
	}
	there, e := *s, entries[at].Entry
	there.Limits = state.Limits{} // which the command raises
	a := budget.NewAccounts(&there, false)
	what, l := "", a.Limits(p, e, a.UsedBefore(&there, before, e.CodonID))
	if l.Over != nil {
		what = strings.TrimPrefix(l.Describe(l.Over), budget.Exhausted)
	} else if last != nil && !last.Settled() && last.CodonID == e.CodonID && last.BudgetExceeded != nil && last.BudgetExceeded.Scope != budget.ScopeExecution {
		what = l.Again(last.BudgetExceeded, last.Interrupted != "")
	}
	if what == "" {
		return ""
	}
	return fmt.Sprintf("%s (codon %s: %s)", RaiseFirst(AdoptOption, what), e.CodonID, what)
}

// NeedsBudget reports whether what follows a run that ended for a reason may need more of a
// budget: a failed codon can have used the budget up that its retry would need.
func NeedsBudget(reason state.EndReason) bool {
	return reason == state.EndBudget || reason == state.EndCodonFailed
}

// RaiseFirst is what the user must do before a command of Continue, after a run that has
// ended as detail says; empty if that is nothing.
func RaiseFirst(command, detail string) string {
	switch {
	case !strings.Contains(command+" ", AdoptOption+" "): // the option that names the execution may follow
		return ""
	case strings.Contains(detail, budget.NoPart): // of a larger budget it would be nothing, too
		return "lower the shares of the others in hank.json"
	}
	return "raise the budget in hank.json"
}

// Personal reports whether a command to continue with is the user's to give: it raises a
// limit, or names a model that only the user can choose, or, where a budget has ended the
// run, takes a budget over that the user has raised.
func Personal(command string, byBudget bool) bool {
	return strings.Contains(command, " --max-") || strings.Contains(command, " MODEL") || strings.Contains(command, " --checkpoint-cap ") || byBudget && RaiseFirst(command, "") != ""
}

// PersonDecides reports whether a command, which the user may give, is withheld from
// a program: it raises a limit or a budget, names a model, or continues after a crash
// loop (nil if there is none). why is the reason for which it would be refused as it is; empty if it
// would not be. raise: a budget has to be raised before the command of Continue.
func PersonDecides(command string, raise bool, loop *finding.DecisionError) (why string, decides bool) {
	switch {
	case Personal(command, false):
		return "", true
	case Personal(command, raise):
		return "a budget is used up, and is to be raised first", true
	case loop != nil:
		return loop.What + "; an unattended start is refused", true
	}
	return "", false
}

// Finish is the command that does a codon again that a budget has interrupted on the
// way to where the execution is, the first such codon where none is named, and
// what the user must do before it; empty if none was interrupted. The codon has a new
// budget then, of which the old size would end it the same way. Records of old hanks do not
// say whose budget it was: program is asked then, which may be nil.
func Finish(s *state.State, id state.CodonID, program func() *plan.Program) (command, first string) {
	for _, cut := range s.Caveats().CutOff {
		if id != "" && cut.CodonID != id {
			continue
		}
		command = Continue(s, "hank retry "+shell.Quote(string(cut.CodonID)), false)
		if cut.BudgetExceeded.Scope == budget.ScopeExecution || cut.BudgetExceeded.Scope == "" && !endsAgain(s, cut, program()) {
			return command, ""
		}
		return command + AdoptOption, fmt.Sprintf("raise %s in hank.json", whose(cut.BudgetExceeded.Scope))
	}
	return "", ""
}

// endsAgain reports whether a budget of a program would end another attempt at a codon as one
// has ended the last; where the program is not known, it is so.
func endsAgain(s *state.State, cut state.Caveat, p *plan.Program) bool {
	at := s.PlanIndex(cut.CodonID)
	if p == nil || at < 0 {
		return true
	}
	return budget.NewAccounts(s, false).Limits(p, s.ExecutionPlan()[at].Entry, budget.Use{}).EndAs(cut.BudgetExceeded)
}

// upToCents rounds up to the next whole cent.
func upToCents(u state.USD) state.USD {
	const cent = state.Dollar / 100
	return (u + cent - 1) / cent * cent
}

// TriesAgain reports whether the next run tries a codon again by itself that has failed, because
// its run was interrupted meanwhile. What counts of the records before it is read again: a view
// for a status has the newest ones.
func TriesAgain(v *recovery.View, run *state.Run, last *state.Codon) bool {
	if run == nil || !retry.Interrupted(run) {
		return false
	}
	whole, err := recovery.Read(v.Layout.Root)
	if err != nil {
		return false
	}
	then := retry.Of(whole.State, whole.State.Run(run.RunID), last)
	return then.Again || then.Pause
}
