package question

import (
	"fmt"
	"strings"

	"hank/plan"
	"hank/plan/config"
	"hank/recovery"
	"hank/recovery/githistory"
	"hank/runtime/budget"
	"hank/runtime/gate"
	"hank/runtime/history"
	"hank/runtime/request"
	"hank/runtime/retry"
	"hank/runtime/startpoint"
	"hank/runtime/verdict"
	"hank/state"
)

// usedUp is a budget that leaves nothing to the codon with which a command would begin.
type usedUp struct {
	codon state.CodonID
	scope string // whose it is, see the scopes of a budget
	what  string
}

func (u *usedUp) String() string {
	if u == nil {
		return ""
	}
	return fmt.Sprintf("codon %s: %s", u.codon, u.what)
}

// findUsedUp finds a budget that leaves nothing to the codon with which a command would begin, so that it
// would end there; nil where it would begin the codon, or where a gate or the end of the plan comes
// first. s is what the next opening makes of a state, and p has the settings that hold.
func findUsedUp(s *state.State, p *plan.Program, mode request.Mode, replays bool) *usedUp {
	there, st, err := taken(s, p, nil, request.Request{Mode: mode})
	if err != nil || st.End != nil {
		return nil
	}
	next, entries := there.Next(), there.ExecutionPlan()
	if g := gate.At(there); next >= len(entries) || g != nil && g.Gate.When == plan.After {
		return nil
	}
	e := entries[next].Entry
	a := budget.NewAccounts(there, replays)
	l := a.Limits(p, e, a.UsedBefore(there, startpoint.Before(there, st, mode), e.CodonID))
	if l.Over == nil {
		return nil
	}
	return &usedUp{e.CodonID, l.Over.Scope, strings.TrimPrefix(l.Describe(l.Over), budget.Exhausted)}
}

// Next is the command to continue with that a run names when it has ended. It is one that begins
// a codon, once what it raises is raised. used says that a budget is to be raised which has not ended
// the run, and what is used of it; empty: none is.
func Next(s *state.State, p *plan.Program, out verdict.Outcome, replays bool) (command, used string) {
	verb, byBudget := "hank run", out.Reason == state.EndBudget
	switch out.Reason {
	case "", state.EndGate, verdict.EndWaits, verdict.EndStuck, verdict.EndWarns: // who answers decides, or it continues by itself
		return "", ""
	case state.EndHeld:
		return "hank release", ""
	case state.EndAgent:
		if _, command := verdict.RefusedModel(history.LastRecord(s)); command != "" {
			verb = command
		}
	case state.EndCodonFailed:
		verb, byBudget = "hank retry", p != nil && budget.NewAccounts(s, false).Reached(p)
	case state.EndBudget, state.EndUntil: // it was stopped before the codon or another attempt, or the codon failed by it
		if last := history.LastRecord(s); last != nil && s.MovedTo() == nil && !last.Settled() && last.Interrupted == "" && !retry.Of(s, history.LastRun(s), last).Again {
			verb = "hank retry"
		}
	}
	return raised(s, p, verb, out.Reason, byBudget, replays)
}

// Continue is Next for a reader, who has the first words of the command: reason is why the run has
// ended at whose end the execution is; empty: it is elsewhere. The view may be a glance: what was used is
// in all records, which are read where something is limited.
func Continue(v *recovery.View, in config.Layers, command string, reason state.EndReason) (advised, used string) {
	if command == "" {
		return "", ""
	}
	p, ended := Program(v, in), verdict.NeedsBudget(reason)
	if !ended && !v.State.Limits.Any() && !verdict.AtCap(v.State) && (p == nil || !budget.Limited(p)) {
		return command, ""
	}
	if v.State == v.Head.State { // a glance
		if whole, err := recovery.Read(v.Layout.Root); err == nil {
			v = whole
		}
	}
	s := v.State
	if opened, err := history.Opened(v, s); err == nil {
		s = opened
	}
	byBudget := ended && (p == nil && reason == state.EndBudget || p != nil && verdict.StillEnds(s, p))
	return raised(s, p, command, reason, byBudget, v.Meta.Replay != "")
}

// raised is a command that raises what is used up.
func raised(s *state.State, p *plan.Program, verb string, reason state.EndReason, byBudget, replays bool) (command, used string) {
	if p == nil || reason == state.EndAgent || strings.HasSuffix(verb, verdict.AdoptOption) {
		return verdict.Continue(s, verb, byBudget), ""
	}
	u := findUsedUp(s, p, modeOf(verb), replays)
	ofHank := u != nil && u.scope != budget.ScopeExecution
	command = verdict.Continue(s, verb, byBudget || ofHank && reason != state.EndBudget)
	switch {
	case u != nil && !ofHank && command == verb: // a part of it, of which the rest is for others
		return raisedShare(s, p, verb, replays)
	case byBudget, !strings.HasSuffix(command, verdict.AdoptOption):
		return command, ""
	}
	return command, u.String()
}

// raisedShare raises the limit of the execution until the used-up part of it has something for the codon.
// Where no limit has, because the shares are for others, these are to be changed.
func raisedShare(s *state.State, p *plan.Program, verb string, replays bool) (command, used string) {
	there := *s
	there.Limits.MaxDollars += budget.NewAccounts(s, replays).Total.Cost
	var u *usedUp
	for range 20 {
		if u = findUsedUp(&there, p, modeOf(verb), replays); u == nil {
			return verdict.RaiseLimit(verb, there.Limits.MaxDollars), ""
		}
		if u.scope != budget.ScopeExecution || strings.Contains(u.what, budget.NoPart) {
			break
		}
		there.Limits.MaxDollars *= 2
	}
	return verb + verdict.AdoptOption, u.String()
}

// endsAtBudget reports whether a command that follows a program would end at a budget of the program
// before it begins a codon, or as the newest attempt has ended. A limit of the execution is raised by the command itself.
func endsAtBudget(s *state.State, p *plan.Program, mode request.Mode, replays bool) bool {
	if u := findUsedUp(s, p, mode, replays); u != nil {
		return u.scope != budget.ScopeExecution
	}
	last := history.LastRecord(s)
	return last != nil && s.MovedTo() == nil && !last.Settled() && last.BudgetExceeded != nil && verdict.StillEnds(s, p)
}

// modeOf is the mode of a command.
func modeOf(command string) request.Mode {
	if strings.HasPrefix(command, "hank retry") {
		return request.ModeRetry
	}
	return request.ModeRun
}

// Program is the frozen program of an execution, with the settings that hold here as a run takes
// them; nil if it cannot be read.
func Program(v *recovery.View, in config.Layers) *plan.Program {
	store, err := v.Store()
	if err != nil {
		return nil
	}
	defer store.Close()
	program, err := githistory.LoadProgram(store, v.State.Program)
	if err != nil {
		return nil
	}
	program.Settings = in.Merge(program.Hank.Overrides.Settings())
	return program
}
