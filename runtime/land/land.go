package land

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"hank/checkpoint"
	"hank/checkpoint/diff"
	"hank/internal/advice"
	"hank/internal/failpoint"
	"hank/recovery"
	"hank/recovery/emptydirs"
	"hank/recovery/finding"
	"hank/recovery/layout"
	"hank/recovery/lock"
	"hank/runtime/exitcode"
	"hank/runtime/usergit"
)

// Land makes a branch in the repository that the workspace is in: on top of a
// commit of the user's one commit for each codon that changed something. Only
// paths that the run changed differ from that commit. It is a reader of the
// execution, and takes no lock. Work tree, index and HEAD stay as they are, but for
// the index and HEAD where Options.Switch asks for it.
//
// All commits are made on a stage, outside of the repository. Only what was
// checked goes into its object store, as one pack; the branch comes last.
//
// A crash before the branch leaves a repository as it was but for that pack,
// which git gc removes; the same landing starts from scratch. One between the branch and
// the report is finished by the same landing: see Landing.CutShort.
func Land(ctx context.Context, v *recovery.View, o Options) (*Landing, error) {
	if !o.DryRun {
		if err := lock.MayAct(v.Layout.Root); err != nil {
			return nil, err
		}
	}
	store, err := v.Store()
	if err != nil {
		return nil, err
	}
	defer store.Close()
	l := &lander{o: o, v: v, store: store, out: &Landing{Schema: 1, Time: o.Now, Execution: v.Layout.Root, Branch: o.Branch, DryRun: o.DryRun, Squash: o.Squash,
		LeftOut: []LeftOut{}, Mixed: []FileName{}, Deleted: []FileName{}, Uncommitted: []FileName{}, Private: []FileName{}, Commits: []Commit{}, Checks: []Check{}}}
	if err := l.land(ctx); err != nil {
		return nil, landError(err)
	}
	if !o.DryRun {
		l.out.short = l.repo.ShortName(ctx, o.Branch)
		l.out.into, l.out.intoAt = l.mergesInto(ctx)
		if l.out.Switch == nil {
			l.out.follows, l.out.barred = l.mayFollow(ctx)
		}
	}
	return l.out, nil
}

// landError gives errors of the user's repository the exit codes that they
// deserve.
func landError(err error) error {
	var nowhere *usergit.NoWorkTreeError
	var git *usergit.GitError
	var blocked *usergit.BlockedError
	switch {
	case errors.As(err, &blocked):
		return &finding.DecisionError{What: describe(blocked) + "; nothing was written", Options: blocked.Ways}
	case errors.Is(err, usergit.ErrNoGit):
		return &exitcode.AgentError{Why: "hank land needs git: " + err.Error()}
	case errors.As(err, &nowhere):
		return &exitcode.UsageError{Why: fmt.Sprintf("the workspace %s; hank land needs one that is, or is a directory of, your own repository (--workspace of hank run)", err)}
	case errors.As(err, &git):
		return &finding.DecisionError{What: err.Error() + "; fix what Git reports, then run the same command again"}
	}
	return err
}

func (l *lander) land(ctx context.Context) (err error) {
	if l.repo, err = usergit.Open(ctx, l.v.Layout.Workspace); err != nil {
		return err
	}
	l.out.Repository = l.repo.Top
	if finished, err := l.prepare(ctx); err != nil || finished {
		return err
	}
	var before usergit.State
	if !l.o.DryRun {
		if before, err = l.repo.State(ctx, l.o.Branch); err != nil {
			return err
		}
	}
	return l.onStage(func() error {
		failpoint.Hit("land.staged")
		_, end := l.o.Work.Begin("making the commits")
		defer end()
		landed, err := l.make(ctx)
		if err != nil || l.done() {
			return err
		}
		if err := l.readBack(ctx, landed); err != nil || l.o.DryRun {
			return err
		}
		return l.bring(ctx, before)
	})
}

// make makes the commits, and puts them into the repository's object store.
func (l *lander) make(ctx context.Context) (map[string]landedFile, error) {
	if err := l.checkMuch(); err != nil {
		return nil, err
	}
	if err := l.choose(ctx); err != nil {
		return nil, err
	}
	landed, err := l.commit(ctx)
	if err != nil {
		return nil, err
	}
	failpoint.Hit("land.committed")
	if err := l.compareStart(ctx, landed); err != nil {
		return nil, err
	}
	if len(l.out.Commits) == 0 {
		if l.o.Update {
			return nil, l.upToDate(ctx)
		}
		return nil, l.nothing()
	}
	if l.o.Switch {
		if err := l.planSwitch(ctx, ""); err != nil {
			return nil, err
		}
	}
	if !l.o.DryRun {
		if err := l.stage.Publish(ctx, l.out.Base, l.out.Tip); err != nil {
			return nil, err
		}
		failpoint.Hit("land.published")
	}
	return landed, nil
}

// done reports whether there was nothing to commit.
func (l *lander) done() bool { return len(l.out.Commits) == 0 || l.out == l.had }

// bring makes or moves the branch, and with a switch the index and HEAD.
func (l *lander) bring(ctx context.Context, before usergit.State) error {
	if err := l.announceSwitch(ctx); err != nil {
		return err
	}
	failpoint.Hit("land.announced")
	if l.move == nil || !l.move.Here() {
		if err := l.branch(ctx); err != nil {
			return errors.Join(err, l.out.withdraw(l.v.Layout))
		}
		failpoint.Hit("land.branched")
	}
	if l.o.Switch {
		if err := l.applySwitch(ctx); err != nil {
			return l.halfDone(err)
		}
	}
	err := l.checkUntouched(ctx, before)
	if err == nil {
		err = l.out.save(l.v.Layout)
	}
	if err != nil {
		return fmt.Errorf("branch %s is made, but what follows failed: %w", l.o.Branch, err)
	}
	return nil
}

func (l *lander) branch(ctx context.Context) error {
	why := "hank land: " + l.to.String()
	if l.o.Update {
		return l.repo.Advance(ctx, l.o.Branch, l.out.Base, l.out.Tip, why)
	}
	return l.repo.Branch(ctx, l.o.Branch, l.out.Tip, why)
}

// prepare finds everything that the landing is made from, and refuses what
// cannot be. One that was interrupted after its branch was made is finished.
func (l *lander) prepare(ctx context.Context) (finished bool, err error) {
	if l.o.Switch {
		if err := l.checkSwitch(ctx); err != nil {
			return false, err
		}
	}
	why, err := l.repo.CheckBranch(ctx, l.o.Branch)
	if err != nil {
		return false, err
	}
	switch tip, at := l.repo.Commit(ctx, l.ref()); {
	case why == usergit.BranchExists && at == nil:
		return l.existing(ctx, tip, why)
	case why != "":
		return false, &exitcode.UsageError{Why: fmt.Sprintf("branch %q cannot be made in %s: %s; name another one", l.o.Branch, l.repo.Top, why)}
	case l.o.Update:
		return false, &exitcode.UsageError{Why: fmt.Sprintf("there is no branch %q in %s; see: %s", l.o.Branch, l.repo.Top, advice.Quote(l.o.with(func(o *Options) { o.Update = false }).command("")))}
	}
	if err := l.choosePoints(ctx); err != nil || !l.o.Switch {
		return false, err
	}
	return false, l.checkBegin(ctx, l.out.Base)
}

// choose finds out what cannot land.
func (l *lander) choose(ctx context.Context) error {
	l.excluded, l.uncovered = map[string]string{}, map[string]bool{}
	nested, asked := map[string]bool{}, map[string]bool{}
	var ask []string
	for _, p := range l.parts { // what is gone in the end is on the way
		for _, c := range p.changes {
			if why := l.inOther(c.Path, nested); why != "" {
				l.excluded[c.Path] = why
			} else if c.To != (diff.Entry{}) && !asked[c.Path] {
				asked[c.Path] = true
				ask = append(ask, l.inRepository(c.Path))
			}
		}
	}
	x, err := l.stage.NewIndex(ctx, l.out.Base)
	if err != nil {
		return err
	}
	ignored, err := x.Ignored(ctx, ask)
	if err != nil {
		return err
	}
	if err := l.chooseUncovered(); err != nil {
		return err
	}
	for path, rule := range ignored {
		l.excluded[strings.TrimPrefix(path, l.repo.Prefix)] = "your ignore rules leave it out (" + rule + ")"
	}
	for _, c := range net(l.parts) {
		if why, out := l.excluded[c.Path]; out {
			l.out.LeftOut = append(l.out.LeftOut, LeftOut{fileName(l.inRepository(c.Path)), why})
		}
	}
	return l.chooseOthers()
}

// chooseOthers names what is in no checkpoint's tree: new empty directories, and
// the data.
func (l *lander) chooseOthers() error {
	from, err := l.store.CommitInfo(checkpoint.SHA(l.from.SHA))
	if err != nil {
		return err
	}
	to, err := l.store.CommitInfo(checkpoint.SHA(l.to.SHA))
	if err != nil {
		return err
	}
	had := emptydirs.Of(from)
	for _, name := range emptydirs.Of(to) {
		if !slices.Contains(had, name) {
			l.out.LeftOut = append(l.out.LeftOut, LeftOut{fileName(l.inRepository(name)), "it is an empty directory, which Git does not track"})
		}
	}
	if _, err := os.Lstat(l.v.Layout.Data()); err == nil {
		l.out.LeftOut = append(l.out.LeftOut, LeftOut{fileName(l.inRepository(layout.DataName)), "it is the data that codons read, which no checkpoint has"})
	}
	return nil
}

// nothing is the error of a landing without a commit.
func (l *lander) nothing() error {
	what := fmt.Sprintf("nothing can land: between %s and %s the run changed nothing that %.12s does not have", l.from, l.to, orElse(l.out.Base, "the empty repository"))
	var options []string
	if l.out.After != "" {
		what = fmt.Sprintf("nothing can land: %.12s has what was landed up to %s (branch %s), and the run has changed nothing since", l.out.Base, l.from, l.out.After)
		options = append(options, advice.Quote(l.o.with(func(o *Options) { o.From = "initial" }).command(l.o.Onto))+" lands all of it, where a commit has undone it")
	}
	if n := len(l.out.LeftOut); n > 0 {
		first := l.out.LeftOut[0]
		what += fmt.Sprintf("; what it changed is left out: %q, because %s", first.FileName, first.Why)
		if n > 1 {
			what += fmt.Sprintf(", and %d more", n-1)
		}
	}
	return &finding.DecisionError{What: what + "; no branch was made", Options: options}
}
