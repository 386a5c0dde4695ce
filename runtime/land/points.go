package land

import (
	"context"
	"slices"

	"hank/checkpoint/diff"
	"hank/recovery/finding"
	"hank/runtime/exitcode"
	"hank/runtime/history"
	"hank/runtime/usergit"
	"hank/state"
)

func (l *lander) checkIdentity(ctx context.Context) error {
	if err := l.repo.CheckIdentity(ctx); err != nil {
		return &finding.DecisionError{What: "Git does not know the author of the commits; nothing was written", Options: []string{
			"git config --global user.name NAME && git config --global user.email ADDRESS"}}
	}
	return nil
}

// choosePoints finds from where to where the landing goes, and onto what.
func (l *lander) choosePoints(ctx context.Context) (err error) {
	if err := l.checkIdentity(ctx); err != nil {
		return err
	}
	if l.out.Base, err = l.repo.Commit(ctx, orElse(l.o.Onto, "HEAD")); err != nil {
		return &exitcode.UsageError{Why: err.Error()}
	}
	if l.base, err = l.repo.Entries(ctx, l.out.Base); err != nil {
		return err
	}
	if err := l.chooseTargets(); err != nil {
		return err
	}
	s := l.v.State
	var points []point
	l.lineagePath, points = way(s, l.store, l.to)
	if l.o.From == "" {
		l.continueFrom(ctx, points)
	}
	if l.parts, err = partsOf(s, l.store, l.from, points); err == nil {
		l.passCommitted()
	}
	return err
}

// passCommitted leaves out the files that the base has as the user left them by hand
// between two codons, up to there: that has been committed. A landing that continues
// another begins after what the base has all of.
func (l *lander) passCommitted() {
	has := func(path string, e diff.Entry) bool {
		want := usergit.Entry{}
		if e != (diff.Entry{}) {
			want = sameBytes(e)
		}
		return l.base[l.inRepository(path)] == want
	}
	begin := map[string]diff.Entry{} // what the landing begins from, where it changes something
	for _, p := range slices.Backward(l.parts) {
		for _, c := range p.changes {
			begin[c.Path] = c.From
		}
	}
	l.committed = map[string]bool{}
	for i, p := range slices.Backward(l.parts) {
		if p.target.Kind != state.KindManual {
			continue
		}
		passed := map[string]bool{}
		for _, c := range p.changes {
			if path := l.inRepository(c.Path); !l.committed[path] && has(c.Path, c.To) && !has(c.Path, begin[c.Path]) {
				passed[c.Path], l.committed[path] = true, true
			}
		}
		for j := range l.parts[:i+1] {
			l.parts[j].changes = slices.DeleteFunc(l.parts[j].changes, func(c diff.Change) bool { return passed[c.Path] })
		}
	}
	for l.had != nil && len(l.parts) > 0 && l.parts[0].target.Kind == state.KindManual && len(l.parts[0].changes) == 0 {
		l.from, l.parts = l.parts[0].target, l.parts[1:]
		l.out.From = l.from
	}
}

// continueFrom begins where the latest landing that the base has has ended, so that
// what was merged is not landed again, as a squash or a rebase neither. Where there is none
// it begins at the beginning.
func (l *lander) continueFrom(ctx context.Context, points []point) {
	for _, had := range slices.Backward(landings(l.v.Layout)) {
		on := slices.ContainsFunc(points, func(p point) bool { return p.sha == had.To.SHA })
		if on && l.out.Base != "" && (l.repo.Has(ctx, l.out.Base, had.Tip) || l.carries(ctx, had)) {
			l.had, l.from = had, had.To
			l.out.From, l.out.After = had.To, had.Branch
			return
		}
	}
}

// carries reports whether the base has the commits of a landing as others: each with its
// trailers, in whatever commit, or with its changes.
func (l *lander) carries(ctx context.Context, had *Landing) bool {
	begin, commits := had.Base, had.Commits
	for _, before := range slices.Backward(landings(l.v.Layout)) { // an update has the commits that it added alone
		if had.Update && before.Branch == had.Branch && before.Tip == begin && before.Time.Before(had.Time) {
			begin, commits = before.Base, slices.Concat(before.Commits, commits)
			if !before.Update {
				break
			}
		}
	}
	trailers := make([]string, len(commits))
	for i, c := range commits {
		trailers[i] = checkpointTrailer(c.Checkpoint)
	}
	return len(commits) > 0 && (l.repo.HasLines(ctx, l.out.Base, begin, trailers) || l.repo.HasChanges(ctx, l.out.Base, begin, had.Tip))
}

func (l *lander) chooseTargets() (err error) {
	if l.from, err = history.ResolveTarget(l.v.State, l.store, orElse(l.o.From, "initial")); err != nil {
		return err
	}
	l.out.From = l.from
	return l.chooseEnd()
}

func (l *lander) chooseEnd() (err error) {
	if l.o.To == "" {
		l.to, err = landTo(l.v.State, l.store)
	} else {
		l.to, err = history.ResolveTarget(l.v.State, l.store, l.o.To)
	}
	l.out.To = l.to
	return err
}
