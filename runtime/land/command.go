package land

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hank/checkpoint"
	"hank/checkpoint/diff"
	"hank/internal/shell"
	"hank/recovery"
	"hank/recovery/finding"
	"hank/recovery/layout"
	"hank/runtime/history"
	"hank/runtime/usergit"
	"hank/state"
)

// Command is the command that lands the work of an execution where its workspace is
// the user's checkout, or a directory of it that the user has named; empty if it is none. refused is why it has no --switch, or why it
// would be refused.
func Command(ctx context.Context, at layout.Layout) (command, refused string) {
	if !usergit.HasRepository(at.Workspace, at.Named()) {
		return "", ""
	}
	repo, err := usergit.Open(ctx, at.Workspace)
	switch {
	case err != nil, repo.Prefix != "" && !at.Named():
		return "", ""
	case repo.Prefix != "" && len(usergit.NotIgnored(ctx, repo.Top, "./"+repo.Prefix)) == 0:
		return "", "" // nothing of it would land
	}
	head, err := repo.Commit(ctx, "HEAD")
	if err != nil {
		return "", ""
	}
	v, err := recovery.Read(at.Root)
	if err != nil {
		return "", ""
	}
	o := Options{Switch: true, Now: time.Now()}
	list := landings(at)
	if len(list) > 0 {
		branch, decided := after(ctx, repo, head, v, list)
		if decided && branch == "" {
			return "", ""
		}
		o.Branch, o.Update = branch, decided
	}
	for n := 1; o.Branch == "" && n < 100; n++ {
		name := "hank-work"
		if n > 1 {
			name = fmt.Sprintf("hank-work-%d", n)
		}
		if why, err := repo.CheckBranch(ctx, name); err != nil || why == "" {
			o.Branch = name
		}
	}
	if o.Branch == "" {
		return "", ""
	}
	begin := history.HeadAt(v.State, history.Target{SHA: v.State.InitialCheckpoint})
	if len(list) == 0 && begin == head && repo.CheckIdle() == nil && !repo.Staged(ctx) {
		return o.short(), "" // nothing can be in its way
	}
	return foresee(ctx, v, o)
}

// short is the command that the end of a run names.
func (o Options) short() string {
	text := "hank land --branch " + shell.Quote(o.Branch)
	if o.Update {
		text += " --update"
	}
	if o.Switch {
		text += " --switch"
	}
	return text
}

// foresee tries a landing at the end of a run, unless that has changed much: without
// --switch, where that is refused.
func foresee(ctx context.Context, v *recovery.View, o Options) (command, refused string) {
	o.most = mostTried
	var ask *finding.DecisionError
	if !errors.As(try(ctx, v, o), &ask) {
		return o.short(), ""
	}
	ask.What = strings.TrimSuffix(ask.What, "; nothing was written")
	plain := o.with(func(o *Options) { o.Switch = false })
	if try(ctx, v, plain) == nil {
		return plain.short(), "--switch would be refused: " + ask.Error()
	}
	return "", "hank land would be refused: " + ask.Error()
}

// mostTried is how many bytes of files a landing has that is tried at the end of a run.
const mostTried = 64 << 20

var errMuch = errors.New("the run has changed too much to try the landing")

// checkMuch returns errMuch where the files that land are larger than the trial may be.
func (l *lander) checkMuch() error {
	var sum int64
	for _, c := range net(l.parts) {
		if l.o.most == 0 || c.To == (diff.Entry{}) {
			continue
		}
		size, err := l.store.BlobSize(c.To.Blob)
		if err != nil {
			return err
		}
		if sum += size; sum > l.o.most {
			return errMuch
		}
	}
	return nil
}

// after is the branch to update where there were landings: none if HEAD has all of it, or
// one that HEAD can follow. decided: no new branch is needed.
func after(ctx context.Context, repo *usergit.Repository, head string, v *recovery.View, list []*Landing) (branch string, decided bool) {
	store, err := v.Store()
	if err != nil {
		return "", true // as the landing would
	}
	defer store.Close()
	to, err := landTo(v.State, store)
	if err != nil {
		return "", true
	}
	_, points := way(v.State, store, to)
	newest := true // of those that HEAD has
	for _, had := range slices.Backward(list) {
		if head != "" && repo.Has(ctx, head, had.Tip) {
			if had.To.SHA == to.SHA || newest && sameTree(store, had.To.SHA, to.SHA) {
				return "", true
			}
			newest = false
		}
		if head != "" && !repo.Has(ctx, had.Tip, head) || !slices.ContainsFunc(points, func(p point) bool { return p.sha == had.To.SHA }) {
			continue // HEAD is on commits that the branch has not, or a rollback or a retry has left what it ends with
		}
		if tip, err := repo.Commit(ctx, "refs/heads/"+had.Branch); err == nil && tip == had.Tip {
			return had.Branch, true
		}
	}
	return "", false
}

// sameTree reports whether two checkpoints have the same files.
func sameTree(store *checkpoint.Store, a, b state.SHA) bool {
	one, err := history.TreeOf(store, a)
	other, errOther := history.TreeOf(store, b)
	return err == nil && errOther == nil && one == other
}
