package land

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hank/internal/advice"
	"hank/internal/failpoint"
	"hank/internal/shell"
	"hank/recovery/finding"
	"hank/recovery/lock"
	"hank/runtime/usergit"
)

// checkBegin refuses a switch from a commit that the branch does not begin at: what
// differs between the two would be taken for the user's changes.
func (l *lander) checkBegin(ctx context.Context, bases ...string) error {
	for _, base := range bases {
		if base == l.position.Commit {
			return nil
		}
	}
	refused := &finding.DecisionError{What: fmt.Sprintf("HEAD is at %.12s, and the branch %s begins at %.12s: with a switch, what differs between them would look like changes of yours; nothing was written",
		l.position.Commit, l.o.Branch, orElse(bases[len(bases)-1], "nothing"))}
	if l.o.trial {
		return refused
	}
	o := Options{Branch: l.freeName(), Switch: true, Now: l.o.Now}
	if err := try(ctx, l.v, o); err == nil { // else it would be refused in turn
		refused.Options = []string{advice.Quote("hank land --switch "+shell.Quote("--branch="+o.Branch)) + " lands on HEAD"}
	} else if ctx.Err() != nil {
		return ctx.Err()
	} else {
		refused.What += "; without --switch the branch can be merged or rebased in another work tree"
	}
	return refused
}

// mayFollow reports whether HEAD is where a switch to the branch can begin, and why it
// would be refused all the same; empty: it would not.
func (l *lander) mayFollow(ctx context.Context) (begins bool, barred string) {
	at, err := l.repo.Position(ctx)
	if err != nil || at.Ref == l.ref() || !slices.Contains(append([]string{l.out.Tip}, l.bases(l.out.Tip)...), at.Commit) {
		return false, ""
	}
	if err = l.checkSwitch(ctx); err == nil {
		err = l.onStage(func() error {
			_, err := l.stage.PlanMove(ctx, at, l.o.Branch, l.out.Tip, "")
			return err
		})
	}
	var blocked *usergit.BlockedError
	var held *lock.HeldError
	switch {
	case errors.As(err, &blocked):
		return true, (&finding.DecisionError{What: describe(blocked), Options: blocked.Ways}).Error()
	case errors.As(err, &held):
		return true, held.Why
	}
	return err == nil, ""
}

// freeName is a name for another branch.
func (l *lander) freeName() string {
	for n := 2; ; n++ {
		name := fmt.Sprintf("%s-%d", l.o.Branch, n)
		if why, err := l.repo.CheckBranch(context.Background(), name); err != nil || why == "" {
			return name
		}
	}
}

// planSwitch tries the switch on a copy of the index. before is what the index had
// when an earlier try began, of which this is the end; empty: there was none.
func (l *lander) planSwitch(ctx context.Context, before string) (err error) {
	if l.move, err = l.stage.PlanMove(ctx, l.position, l.o.Branch, l.out.Tip, before); err != nil {
		return err
	}
	switch {
	case before != "":
		l.move.Was = l.out.Switch.Was
	case l.o.Update && !l.out.made && !l.move.Here():
		l.move.Was = l.out.Base
	}
	s := &Switch{Ref: l.position.Ref, Commit: l.position.Commit, Index: l.move.Index, Plain: l.move.Plain, Staged: []FileName{}, Was: l.move.Was, Back: l.move.Back(inTree(l.repo.Top))}
	for _, path := range l.move.Staged {
		s.Staged = append(s.Staged, fileName(path))
	}
	l.out.Switch = s
	return nil
}

// announceSwitch keeps what the way back needs, and the report.
func (l *lander) announceSwitch(ctx context.Context) error {
	if l.move != nil && !l.move.Moved {
		if err := l.stage.KeepIndex(ctx, l.move.Index); err != nil {
			return err
		}
	}
	return l.out.announce(l.v.Layout)
}

// applySwitch moves the index and then HEAD. A kill between the two leaves what the
// run changed staged; the next landing finishes it.
func (l *lander) applySwitch(ctx context.Context) error {
	if err := l.stage.MoveIndex(ctx, l.move); err != nil {
		return err
	}
	failpoint.Hit("land.indexed")
	if err := l.stage.MoveHead(ctx, l.move); err != nil {
		return err
	}
	failpoint.Hit("land.switched")
	at, err := l.repo.Position(ctx)
	if err != nil {
		return err
	}
	n := len(l.out.Switch.Staged)
	staged := "the index is as on the branch; nothing is staged"
	if n > 0 {
		staged = fmt.Sprintf("the index is as on the branch but for what was staged before and is staged still (%d)", n)
	}
	l.out.Checks = append(l.out.Checks,
		Check{What: "HEAD is on " + l.o.Branch, Right: at == usergit.Position{Ref: l.ref(), Commit: l.out.Tip}, Why: "something else has moved it meanwhile"},
		Check{What: staged, Right: true})
	return nil
}

// switchTo puts HEAD and the index on a branch that an earlier landing has made.
func (l *lander) switchTo(ctx context.Context, had *Landing, before string) error {
	l.out = had
	l.out.DryRun, l.out.Checks, l.out.made = l.o.DryRun, []Check{}, true
	if l.position.Ref == l.ref() && l.position.Commit == had.Tip {
		l.out.Already, l.out.here = true, true
		return nil
	}
	if err := l.checkBegin(ctx, append([]string{had.Tip}, l.bases(had.Tip)...)...); err != nil {
		return err
	}
	return l.onStage(func() error {
		if err := l.planSwitch(ctx, before); err != nil || l.o.DryRun {
			return err
		}
		if err := l.announceSwitch(ctx); err != nil {
			return err
		}
		failpoint.Hit("land.announced")
		if err := l.applySwitch(ctx); err != nil {
			return l.halfDone(err)
		}
		return l.out.save(l.v.Layout)
	})
}

// mergesInto is the branch that gets the work by a merge that only moves it forward, and its
// commit: the one that HEAD was on, or, where an update has found HEAD on the branch, before that.
// It is none where git would take the name for something else.
func (l *lander) mergesInto(ctx context.Context) (branch, commit string) {
	list := append(landings(l.v.Layout), l.out)
	for _, had := range slices.Backward(list) {
		s := had.Switch
		if s == nil || had.Branch != l.out.Branch || s.Ref == "" || s.Ref == "refs/heads/"+had.Branch {
			continue
		}
		name, isBranch := strings.CutPrefix(s.Ref, "refs/heads/")
		if !isBranch || !usergit.PlainName(name) {
			return "", ""
		}
		if at, err := l.repo.Commit(ctx, s.Ref); err == nil && at != l.out.Tip && l.repo.Has(ctx, l.out.Tip, at) {
			return name, at
		}
		return "", ""
	}
	return "", ""
}

// halfDone is the error of a switch that ended after its branch was made.
func (l *lander) halfDone(err error) error {
	var blocked *usergit.BlockedError
	if errors.As(err, &blocked) {
		return &finding.DecisionError{What: fmt.Sprintf("branch %s has the commits, and HEAD and the index could not be put on it: %s", l.o.Branch, describe(blocked)),
			Options: append(blocked.Ways, "then "+advice.Quote(l.o.command(""))+" finishes it")}
	}
	return fmt.Errorf("branch %s has the commits, but what follows failed: %w", l.o.Branch, err)
}

// finishSwitch finishes a switch that was interrupted; tip is where the branch is.
func (l *lander) finishSwitch(ctx context.Context, had *Landing, tip string) (done bool, err error) {
	if !l.o.Switch {
		if l.position, err = l.repo.Position(ctx); err != nil {
			return false, err
		}
	}
	s := had.Switch
	switch {
	case l.position == usergit.Position{Ref: l.ref(), Commit: had.Tip}:
		return true, had.save(l.v.Layout)
	case l.position != s.begin():
		had.Switch = nil // HEAD has gone elsewhere since
		if err := had.save(l.v.Layout); err != nil || !l.o.Switch {
			return true, err
		}
		return true, l.switchTo(ctx, had, "")
	case l.o.Switch && tip == had.Tip:
		return true, l.switchTo(ctx, had, s.Index)
	}
	// The branch is what HEAD is on and has not moved yet, or nobody asks for a
	// switch any more.
	l.out = had
	if err := l.onStage(func() error { return l.planSwitch(ctx, s.Index) }); err != nil {
		return true, err
	}
	switch {
	case l.o.Switch:
		return true, l.switchTo(ctx, had, s.Index)
	case l.move.Moved:
		return true, &finding.DecisionError{What: fmt.Sprintf("a switch to %s was interrupted after the index was moved and before HEAD was", l.o.Branch),
			Options: []string{advice.Quote(l.o.with(func(o *Options) { o.Switch = true }).command("")) + " finishes it", l.move.BackHalfway(inTree(l.repo.Top)) + " undoes it"}}
	case tip == had.Tip:
		had.Switch = nil
		return true, had.save(l.v.Layout)
	}
	return false, had.withdraw(l.v.Layout)
}

// describe is what is in the way, with the paths.
func describe(e *usergit.BlockedError) string {
	if len(e.Paths) == 0 {
		return e.What
	}
	return e.What + ": " + nameList(e.Paths)
}

// nameList names paths in a sentence.
func nameList(paths []string) string {
	names := make([]string, min(len(paths), mostNamed))
	for i := range names {
		names[i] = fmt.Sprintf("%q", paths[i])
	}
	list := strings.Join(names, ", ")
	if more := len(paths) - len(names); more > 0 {
		list += fmt.Sprintf(", and %d more", more)
	}
	return list
}

// mostNamed is how many paths an error names.
const mostNamed = 10

// bases are the commits that a branch began from, and that updates of it did.
func (l *lander) bases(tip string) (list []string) {
	of := map[string]string{}
	for _, had := range landings(l.v.Layout) {
		if had.Branch == l.o.Branch {
			of[had.Tip] = had.Base
		}
	}
	for base, known := of[tip]; known; base, known = of[base] {
		list = append(list, base)
		delete(of, tip)
		tip = base
	}
	return list
}

// checkSwitch refuses a switch before anything is made for it.
func (l *lander) checkSwitch(ctx context.Context) (err error) {
	if l.v.Live {
		return &lock.HeldError{Path: l.v.Layout.Root, Holder: l.v.Holder, Why: "HEAD and the index are not moved during a run"}
	}
	if l.position, err = l.repo.Position(ctx); err != nil {
		return err
	}
	if err := l.repo.CheckIdle(); err != nil {
		return err
	}
	return l.repo.CheckFree(ctx, l.o.Branch)
}
