package land

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"hank/internal/advice"
	"hank/recovery"
	"hank/recovery/finding"
	"hank/runtime/exitcode"
)

// existing decides what becomes of a branch that is there, at tip.
func (l *lander) existing(ctx context.Context, tip, why string) (finished bool, err error) {
	if finished, err := l.finish(ctx, tip); err != nil || finished {
		return finished, err
	}
	had := l.landed(tip)
	switch {
	case l.o.Update && had == nil:
		return false, l.notOurs(ctx, tip)
	case l.o.Update:
		return l.prepareUpdate(ctx, had)
	case l.o.Switch && had != nil:
		if err := l.chooseTargets(); err != nil {
			return false, err
		}
		if l.to.SHA != had.To.SHA {
			return false, &finding.DecisionError{What: fmt.Sprintf("branch %s ends with %s, and what lands now ends with %s", l.o.Branch, had.To, l.to), Options: []string{
				advice.Quote(l.o.with(func(o *Options) { o.Update, o.From, o.To = true, "", "" }).command("")) + " adds what is new",
				advice.Quote(l.o.with(func(o *Options) { o.To = string(had.To.SHA[:12]) }).command("")) + " switches to the branch as it is"}}
		}
		return true, l.switchTo(ctx, had, "")
	case had != nil && !l.o.trial:
		o := l.o.with(func(o *Options) { o.Update, o.From, o.Onto = true, "", "" })
		if at, err := l.repo.Position(ctx); err == nil && at.Ref == l.ref() { // the index has to follow
			o.Switch = true
		}
		if err := try(ctx, l.v, o); err == nil {
			why += " (" + advice.Quote(o.command("")) + " adds what is new to it)"
		}
	}
	return false, &exitcode.UsageError{Why: fmt.Sprintf("branch %q cannot be made in %s: %s; name another one", l.o.Branch, l.repo.Top, why)}
}

// notOurs is the error where the branch is not where a landing has left it.
func (l *lander) notOurs(ctx context.Context, tip string) error {
	what := fmt.Sprintf("branch %s is at %.12s, and no landing of this execution has left it there", l.o.Branch, tip)
	if last := l.lastOf(); last != nil {
		what = fmt.Sprintf("branch %s is at %.12s, and the last landing has left it at %.12s: somebody has changed it since", l.o.Branch, tip, last.Tip)
	}
	return l.another(ctx, what+"; nothing was written", "")
}

// try reports why another landing would be refused; nil: it would not be.
func try(ctx context.Context, v *recovery.View, o Options) error {
	o.DryRun, o.trial = true, true
	_, err := Land(ctx, v, o)
	return err
}

// refuse is an error that names another landing, on a commit, if that is not refused in turn.
func (l *lander) refuse(ctx context.Context, what string, o Options, onto, does string) error {
	refused := &finding.DecisionError{What: what}
	if l.o.trial {
		return refused
	}
	o.Onto = onto
	if err := try(ctx, l.v, o); ctx.Err() != nil {
		return ctx.Err()
	} else if err == nil {
		refused.Options = []string{advice.Quote(o.command(onto)) + does}
	}
	return refused
}

// another is an error that names the landing on another branch, if that is not refused in turn.
func (l *lander) another(ctx context.Context, what, onto string) error {
	o := l.o.with(func(o *Options) { o.Update, o.Branch, o.Onto = false, l.freeName(), onto })
	refused := &finding.DecisionError{What: what}
	if l.o.trial {
		return refused
	}
	var ask *finding.DecisionError
	switch err := try(ctx, l.v, o); {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &ask):
		refused.What += "; another branch would be refused as well: " + ask.What
	case err != nil:
		refused.What += "; another branch would be refused as well: " + err.Error()
	default:
		refused.Options = []string{advice.Quote(o.command(onto)) + " makes another branch"}
	}
	return refused
}

// prepareUpdate chooses what a branch does not have yet.
func (l *lander) prepareUpdate(ctx context.Context, had *Landing) (finished bool, err error) {
	if l.position, err = l.repo.Position(ctx); err != nil {
		return false, err
	}
	if err := l.chooseEnd(); err != nil {
		return false, err
	}
	if !l.o.Switch {
		if l.position.Ref == l.ref() && l.to.SHA != had.To.SHA {
			return false, &finding.DecisionError{What: fmt.Sprintf("HEAD is on %s, and the index would not follow; nothing was written", l.o.Branch),
				Options: []string{advice.Quote(l.o.with(func(o *Options) { o.Switch = true }).command("")) + " moves the index, too, and no file"}}
		}
		if err := l.repo.CheckFree(ctx, l.o.Branch); err != nil {
			return false, err
		}
	}
	if had.unfinished { // its record is needed when it is nobody's next
		if err := had.save(l.v.Layout); err != nil {
			return false, err
		}
	}
	l.had, l.from = had, had.To
	l.out.Update, l.out.Base, l.out.Tip = true, had.Tip, had.Tip
	if err := l.checkIdentity(ctx); err != nil {
		return false, err
	}
	if l.base, err = l.repo.Entries(ctx, had.Tip); err != nil {
		return false, err
	}
	l.out.From = l.from
	steps, points := way(l.v.State, l.store, l.to)
	if i := slices.IndexFunc(points, func(p point) bool { return p.sha == l.from.SHA }); i < 0 && l.from.SHA != l.to.SHA {
		return false, l.another(ctx, fmt.Sprintf("branch %s ends with %s, which is not on the lineage path that leads to %s: a rollback or a retry has left it; nothing was written", l.o.Branch, l.from, l.to), l.begin(had))
	}
	l.lineagePath = steps
	if l.from.SHA != l.to.SHA {
		l.parts, err = partsOf(l.v.State, l.store, l.from, points)
	}
	if err == nil && l.o.Switch {
		err = l.checkBegin(ctx, append([]string{had.Tip}, l.bases(had.Tip)...)...)
	}
	return false, err
}

// begin is the commit from which another branch can begin instead of an update: HEAD
// with a switch, which goes nowhere else.
func (l *lander) begin(had *Landing) string {
	if l.o.Switch {
		return ""
	}
	return had.Base
}

// upToDate is the end of an update that has nothing to add.
func (l *lander) upToDate(ctx context.Context) error {
	if l.o.Switch && l.position.Ref != l.ref() {
		return l.switchTo(ctx, l.had, "")
	}
	if l.position.Ref == l.ref() {
		l.out = l.had
		l.out.here = true
	}
	l.out.DryRun, l.out.Already = l.o.DryRun, true
	return nil
}

// landed is the latest landing that has left the branch at a commit.
func (l *lander) landed(tip string) *Landing {
	for _, had := range slices.Backward(landings(l.v.Layout)) {
		if had.Branch == l.o.Branch && had.Tip == tip {
			had.CutShort = false                                        // it is whole now
			had.Repository, had.Execution = l.repo.Top, l.v.Layout.Root // which may have been moved
			return had
		}
	}
	return nil
}

// lastOf is the latest landing on the branch.
func (l *lander) lastOf() *Landing {
	for _, had := range slices.Backward(landings(l.v.Layout)) {
		if had.Branch == l.o.Branch && !had.unfinished {
			return had
		}
	}
	return nil
}

// finish finishes the same landing, if one was interrupted when its branch was made
// or after.
func (l *lander) finish(ctx context.Context, tip string) (bool, error) {
	if l.o.DryRun {
		return false, nil
	}
	if err := l.chooseTargets(); err != nil {
		return false, err
	}
	anywhere := l.o.From == "" // it began at the beginning, or where another has ended
	for _, had := range announced(l.v.Layout) {
		if had.Branch != l.o.Branch || had.Repository != l.repo.Top || had.To.SHA != l.to.SHA || had.Squash != l.o.Squash ||
			had.Update != l.o.Update && had.Switch == nil || !had.Update && !anywhere && had.From.SHA != l.from.SHA {
			continue
		}
		here := had.Switch != nil && had.Switch.Ref == l.ref()
		if tip != had.Tip && (!here || tip != had.Base) {
			continue
		}
		had.CutShort = true
		fresh := l.out
		l.out = had
		if had.Switch != nil {
			if done, err := l.finishSwitch(ctx, had, tip); done || err != nil {
				return done, err
			}
			l.out = fresh
			continue
		}
		if err := had.save(l.v.Layout); err != nil || !l.o.Switch {
			return true, err
		}
		return true, l.switchTo(ctx, had, "")
	}
	return false, nil
}
