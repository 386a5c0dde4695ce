package runtime

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"hank/internal/secret"
	"hank/internal/shell"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/state"
)

// accept makes what the command says about limits part of the execution, before it
// changes the workspace or makes the first checkpoint. The opening has done so where
// it had something to record. withdraw takes that back.
func (d *driver) accept() error {
	if d.allowed != nil {
		return nil
	}
	d.allowed = &execution.Allowances{Limits: d.x.State().Limits, Cap: d.x.Meta().CheckpointCap}
	return errors.Join(d.x.SetLimits(d.opts.limit(d.allowed.Limits)), d.x.KeepCap())
}

// limit changes limits as the command says.
func (o *Options) limit(next state.Limits) state.Limits {
	if c := o.Limits.MaxDollars; c != nil {
		next.MaxDollars = *c
	}
	if c := o.Limits.MaxTimeSeconds; c != nil {
		next.MaxTimeSeconds = *c
	}
	return next
}

// forgetLimits takes accept back.
func (d *driver) forgetLimits() error {
	if d.allowed == nil {
		return nil
	}
	return d.x.Disallow(*d.allowed)
}

// sayUnkept says of a command that ends with a question which of its limits its
// answer has to give again.
func sayUnkept(o Options) {
	var given []string
	for _, l := range []struct {
		flag  string
		given bool
	}{
		{"--max-cost", o.Limits.MaxDollars != nil},
		{"--max-time", o.Limits.MaxTimeSeconds != nil},
		{"--checkpoint-cap", o.Layers.Flags.CheckpointCap != ""},
	} {
		if l.given {
			given = append(given, l.flag)
		}
	}
	switch n := len(given); n {
	case 0:
	case 1:
		secret.Say(o.Say, "note: "+given[0]+" of this command is not kept: give it again with the answer")
	default:
		secret.Say(o.Say, fmt.Sprintf("note: %s and %s of this command are not kept: give them again with the answer", strings.Join(given[:n-1], ", "), given[n-1]))
	}
}

// DescribeLimits says in words what an execution may use and has used. A
// negative time is not known.
func DescribeLimits(l state.Limits, spent state.USD, worked time.Duration) string {
	var parts []string
	if l.MaxDollars > 0 {
		parts = append(parts, fmt.Sprintf("%s for this execution, %s spent", l.MaxDollars.Text(), spent.Text()))
	}
	if l.MaxTimeSeconds > 0 {
		text := fmt.Sprintf("%s of work for this execution", seconds(l.MaxTimeSeconds))
		if worked >= 0 {
			text += fmt.Sprintf(", %s used", worked.Round(time.Millisecond))
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// Continue is the command that continues an execution, given its verb. A limit
// of the execution that is reached is raised by what it was. Where a budget of
// the hank has ended the run, it is raised in its hank.json and adopted, for
// which a person has to edit it first: see RaiseFirst. A limit of the execution
// that has ended the run, and is not reached any more, needs nothing.
func Continue(s *state.State, verb string, budget bool) string {
	a, raised := newAccounts(s), false
	if l := s.Limits.MaxDollars; l > 0 && a.total.cost >= l {
		verb, raised = verb+" --max-cost "+upToCents(a.total.cost+l).String(), true
	}
	if l := s.Limits.MaxTimeSeconds; l > 0 && a.total.time >= seconds(l) {
		verb, raised = verb+fmt.Sprintf(" --max-time %.0f", math.Ceil(a.total.time.Seconds()+l)), true
	}
	if budget && !raised && !endedByLimit(s) {
		verb += adoptOption
	}
	return verb
}

const adoptOption = " --adopt"

// limitOfExecution is how what a run says of its end names a limit of the execution.
const limitOfExecution = "limit of this execution"

// endedByLimit reports whether a limit of the execution, and no budget of the
// hank, has ended the run.
func endedByLimit(s *state.State) bool {
	run := lastRun(s)
	if run == nil {
		return false
	}
	if last := lastRecord(s); last != nil && !last.Settled() && last.BudgetExceeded != nil {
		return last.BudgetExceeded.Scope == scopeExecution
	}
	return strings.Contains(run.EndDetail, limitOfExecution)
}

// RaiseFirst is what a person must do before a command of Continue; empty if that
// is nothing.
func RaiseFirst(command string) string {
	if strings.HasSuffix(command, adoptOption) {
		return "raise the budget in hank.json"
	}
	return ""
}

// PersonDecides reports whether a command, which a person may give, is withheld from
// a program: it raises a limit or a budget, names a model, or continues after a crash
// loop (nil if there is none). why is the reason for which it would be refused as it is; empty if it
// would not be. raise: a budget has to be raised before the command of Continue.
func PersonDecides(command string, raise bool, loop *finding.DecisionError) (why string, decides bool) {
	switch {
	case strings.Contains(command, " --max-"), strings.Contains(command, " MODEL"):
		return "", true
	case raise && RaiseFirst(command) != "":
		return "a budget is used up; nothing runs before it is raised", true
	case loop != nil:
		return loop.What + "; an unattended start is refused", true
	}
	return "", false
}

// Finish is the command that does a codon again that a budget has cut off on the
// way to where the execution stands, the first such codon where none is named, and
// what a person must do before it; empty if none was cut off. The codon has a new
// budget then, of which the old size would end it the same way.
func Finish(s *state.State, id state.CodonID) (command, first string) {
	for _, cut := range s.Caveats().CutOff {
		if id != "" && cut.CodonID != id {
			continue
		}
		command = Continue(s, "hank retry "+shell.Quote(string(cut.CodonID)), false)
		if cut.BudgetExceeded.Scope == scopeExecution {
			return command, ""
		}
		return command + adoptOption, fmt.Sprintf("raise %s in hank.json", whose(cut.BudgetExceeded.Scope))
	}
	return "", ""
}

// upToCents rounds up to the next whole cent.
func upToCents(u state.USD) state.USD {
	const cent = state.Dollar / 100
	return (u + cent - 1) / cent * cent
}
