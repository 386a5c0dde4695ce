package land

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hank/checkpoint"
	"hank/checkpoint/diff"
	"hank/internal/advice"
	"hank/internal/term"
	"hank/internal/vfs"
	"hank/recovery/finding"
	"hank/recovery/layout"
	"hank/runtime/history"
	"hank/runtime/usergit"
	"hank/state"
)

// compareStart compares what was there when the run began with the commit that
// HEAD was at then. A file that differs holds the user's changes too. A file
// that the run changed must be in the base as it was then: else the landing
// would undo what somebody has committed since.
func (l *lander) compareStart(ctx context.Context, landed map[string]landedFile) error {
	head, known := l.headThen(ctx)
	then := l.base
	if known && head != l.out.Base {
		var err error
		if then, err = l.repo.Entries(ctx, head); err != nil {
			return err
		}
	}
	if known {
		l.out.HeadThen = head
	}
	start, whole, err := l.start()
	if err != nil {
		return err
	}
	// What the run found is compared with what was committed: where the base has what
	// the run did before, with that.
	committed, at := then, orElse(head, l.out.Base)
	var landedBefore map[string]usergit.Entry
	if l.had != nil {
		committed, at = l.base, l.out.Base
		landedBefore, _ = l.repo.Entries(ctx, l.had.Tip) // where that is gone, the HEAD decides alone
	}
	differs, err := l.differing(ctx, at, committed, start, landed, whole)
	if err != nil {
		return err
	}
	var moved []string
	touched := l.touched()
	for _, path := range slices.Sorted(maps.Keys(differs)) {
		if l.committed[path] || landedBefore != nil && differs[path] == landedBefore[path] {
			continue // what the user has committed since, or what the run has done
		}
		if have := l.base[path]; have == differs[path] || have != (usergit.Entry{}) && have == landed[path].entry {
			continue // committed since, as the run has found it or left it
		}
		file, changed := landed[path]
		if changed && !touched[path] {
			l.out.ByHand = append(l.out.ByHand, fileName(path))
		}
		if changed && file.entry == (usergit.Entry{}) {
			l.out.Deleted = append(l.out.Deleted, fileName(path))
		} else if changed {
			l.out.Mixed = append(l.out.Mixed, fileName(path))
		} else if l.excluded[strings.TrimPrefix(path, l.repo.Prefix)] == "" {
			l.out.Uncommitted = append(l.out.Uncommitted, fileName(path))
		}
	}
	if err := l.listUntracked(ctx, landed); err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(landed)) {
		if l.committed[path] {
			continue
		}
		b, h := l.base[path], then[path]
		i, dirty := differs[path]
		_, found := start[strings.TrimPrefix(path, l.repo.Prefix)]
		if !dirty && (whole || found) { // else the run found nothing there
			i = committed[path]
		}
		same := known && b == h || b == i || b == landed[path].entry
		if same && b != i && b != landed[path].entry && landedBefore != nil && i == landedBefore[path] {
			// The run found it as an earlier landing has it, whatever HEAD was then: what the
			// base has instead is of an attempt that has been left, or the user's.
			theirs, err := l.repo.OthersChanged(ctx, l.out.Base, l.had.Tip, path, checkpointTrailer(""))
			if err != nil {
				return err
			}
			same = !theirs
		}
		if !same && (known || b != (usergit.Entry{})) {
			moved = append(moved, path)
		}
	}
	if len(moved) > 0 {
		return l.conflict(ctx, moved)
	}
	return nil
}

// touched are the paths (in the repository) that codons or the archive have changed, and not
// only the user by hand.
func (l *lander) touched() map[string]bool {
	paths := map[string]bool{}
	for _, p := range l.parts {
		for _, c := range p.changes {
			if p.target.Kind != state.KindManual {
				paths[l.inRepository(c.Path)] = true
			}
		}
	}
	return paths
}

// listUntracked lists the files whose removal is staged, and which are still there. Whether that was
// so before the run nobody has recorded.
func (l *lander) listUntracked(ctx context.Context, landed map[string]landedFile) error {
	head, err := l.repo.Commit(ctx, "HEAD")
	if err != nil {
		return nil // there is no commit: nothing can be removed from it
	}
	has := l.base
	if head != l.out.Base {
		if has, err = l.repo.Entries(ctx, head); err != nil {
			return err
		}
	}
	x, err := l.stage.CopyIndex()
	if err != nil {
		return err
	}
	index, err := x.Files(ctx)
	if err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(has)) {
		name, inside := strings.CutPrefix(path, l.repo.Prefix)
		_, changed := landed[path]
		if _, tracked := index[path]; tracked || changed || !inside || l.base[path] == (usergit.Entry{}) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(l.v.Layout.Workspace, filepath.FromSlash(name))); err == nil {
			l.out.Untracked = append(l.out.Untracked, fileName(path))
		}
	}
	return nil
}

// headThen is the commit that the user's HEAD was at when the run began.
func (l *lander) headThen(ctx context.Context) (head string, known bool) {
	if head = history.HeadAt(l.v.State, l.from); head != "" {
		if found, err := l.repo.Commit(ctx, head); err == nil {
			return found, true
		}
	}
	// Nobody has written it down. Where there is no commit, there was none; a
	// user who names the base has decided that it was that.
	return l.out.Base, l.out.Base == "" || l.o.Onto != ""
}

// start is what was there when the part that lands began: all files, or only
// those that the run changed.
func (l *lander) start() (files map[string]diff.Entry, whole bool, err error) {
	files = map[string]diff.Entry{}
	if l.from.SHA != l.v.State.InitialCheckpoint {
		for _, c := range net(l.parts) {
			if c.From != (diff.Entry{}) {
				files[c.Path] = c.From
			}
		}
		return files, false, nil
	}
	tree, err := history.TreeOf(l.store, l.from.SHA)
	if err != nil {
		return nil, false, err
	}
	err = l.store.Walk(tree, func(path string, mode checkpoint.Mode, blob checkpoint.SHA) error {
		files[path] = diff.Entry{Mode: mode, Blob: blob}
		return nil
	})
	return files, true, err
}

// differing returns which files differed from a commit, and what git would
// have made of them. Only what is not the same byte for byte is given to git.
func (l *lander) differing(ctx context.Context, head string, then map[string]usergit.Entry, start map[string]diff.Entry, landed map[string]landedFile, whole bool) (map[string]usergit.Entry, error) {
	differs := map[string]usergit.Entry{}
	var add []usergit.File
	var remove []string
	nested, apart := map[string]bool{}, l.v.Layout.Apart()
	for name, e := range start {
		path := l.inRepository(name)
		h, tracked := then[path]
		_, changed := landed[path]
		switch {
		case tracked && (h.Mode == usergit.Submodule || h == sameBytes(e)), l.inOther(name, nested) != "":
			continue
		case !tracked && (!changed || l.base[path] == (usergit.Entry{})):
			differs[path] = sameBytes(e) // nothing is compared with it
			continue
		}
		f, err := l.file(name, e)
		if err != nil {
			return nil, err
		}
		add = append(add, f)
	}
	for path, h := range then {
		name, inside := strings.CutPrefix(path, l.repo.Prefix)
		if _, there := start[name]; inside && whole && !there && h.Mode != usergit.Submodule && !layout.Protected(name) && !apart(name) {
			remove = append(remove, path)
		}
	}
	remove, err := l.checkedOut(ctx, head, remove)
	if err != nil {
		return nil, err
	}
	for _, path := range remove {
		differs[path] = usergit.Entry{}
	}
	if len(add) == 0 {
		return differs, nil
	}
	x, err := l.stage.NewIndex(ctx, head)
	if err != nil {
		return nil, err
	}
	before, err := x.Tree(ctx)
	if err != nil {
		return nil, err
	}
	if err := x.Apply(ctx, remove, add); err != nil {
		return nil, err
	}
	after, err := x.Tree(ctx)
	if err != nil {
		return nil, err
	}
	changes, err := x.Changes(ctx, before, after)
	for path, c := range changes {
		differs[path] = c.Entry
	}
	return differs, err
}

// checkedOut returns those of the paths of a commit that a checkout has in the work tree. A
// file that the user's index or the rules of a sparse checkout leave out of it is not deleted.
func (l *lander) checkedOut(ctx context.Context, commit string, paths []string) ([]string, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	x, err := l.stage.CopyIndex()
	if err != nil {
		return nil, err
	}
	index, err := x.Files(ctx)
	if err != nil {
		return nil, err
	}
	sparse, err := l.stage.Sparse(ctx, commit)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(paths, func(path string) bool { return index[path].Skipped || sparse[path].Skipped }), nil
}

// sameBytes is what git has for a file that no filter changes.
func sameBytes(e diff.Entry) usergit.Entry {
	return usergit.Entry{Mode: fmt.Sprintf("%06o", uint32(e.Mode)), ID: string(e.Blob)}
}

// conflict is the error where the base has something else at paths than the run found.
func (l *lander) conflict(ctx context.Context, paths []string) error {
	base, list := l.out.Base[:min(12, len(l.out.Base))], nameList(paths)
	head, known := l.headThen(ctx)
	o := l.o.with(func(o *Options) { o.Switch = false }) // HEAD is elsewhere
	const apart = " lands there, to be merged or rebased in another work tree"
	hadTip := ""
	if l.had != nil {
		hadTip, _ = l.repo.Commit(ctx, l.had.Tip) // it may be gone
	}
	switch {
	case l.o.Update:
		o.Update, o.Branch, o.From = false, l.freeName(), string(l.from.SHA[:12])
		return l.refuse(ctx, fmt.Sprintf("the run changed what %s, where %s is, does not have as the run found it: %s; nothing was written", base, l.o.Branch, list),
			o, base, " lands it apart")
	case hadTip != "" && hadTip != l.out.Base:
		return l.refuse(ctx, fmt.Sprintf("the run changed what %s has also changed since branch %s ended at %.12s: %s; nothing was written", base, l.had.Branch, hadTip, list),
			o, hadTip[:12], apart)
	case !known:
		return &finding.DecisionError{What: fmt.Sprintf("what %s has at %s is not what the run began from, and hank does not know which commit that was; nothing was written", base, list),
			Options: []string{advice.Quote(o.command("REV")) + " lands on the commit REV, taken as the one that the run began from"}}
	case head == l.out.Base:
		return &finding.DecisionError{What: fmt.Sprintf("what %s has at %s is in the way of what the run made, and is not what the run found there; nothing was written", orElse(base, "the repository"), list)}
	}
	began := "when the run began"
	if l.from.SHA != l.v.State.InitialCheckpoint {
		began = "by the record for " + l.from.String()
	}
	return l.refuse(ctx, fmt.Sprintf("the run changed what %s has also changed since %.12s, where HEAD was %s: %s; nothing was written", base, head, began, list),
		o, head[:12], apart)
}

// readBack compares what the branch's tip gives with the checkpoint, for each
// path that the run changed: by its digest or, where git converts it, as a
// check-out writes it.
func (l *lander) readBack(ctx context.Context, landed map[string]landedFile) error {
	there, err := l.repoEntries(ctx)
	if err != nil {
		return err
	}
	var other []FileName
	var convert []usergit.File
	source := map[string]diff.Entry{}
	for _, path := range slices.Sorted(maps.Keys(landed)) {
		f := landed[path]
		have := there[path]
		switch {
		case have != f.entry:
			return fmt.Errorf("the commit has %v at %q instead of %v; no branch was made", have, path, f.entry)
		case f.source == (diff.Entry{}) || have == sameBytes(f.source):
			continue
		}
		file, err := l.file(strings.TrimPrefix(path, l.repo.Prefix), f.source)
		if err != nil {
			return err
		}
		source[path] = f.source
		convert = append(convert, file)
	}
	check := Check{What: "the last commit has the " + term.Count(len(landed), "changed path") + " as the checkpoint does", Right: true}
	if n := len(convert); n > 0 {
		check.What += fmt.Sprintf(", %d of them through Git's filters", n)
	}
	err = l.stage.CheckOut(ctx, l.out.Tip, convert, l.o.DryRun, func(root *os.Root, batch []usergit.File) error {
		for _, f := range batch {
			same, err := sameFile(root, f)
			if err != nil {
				return err
			}
			if !same {
				other = append(other, fileName(f.Path))
			}
		}
		return nil
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		check.Right, check.Why = false, "git could not check them out: "+err.Error()
	} else if len(other) > 0 {
		check.Right, check.Files, check.Why = false, other, fmt.Sprintf("Git's own conversion gives %d of them a different content or mode than the checkpoint has", len(other))
	}
	l.out.Checks = append(l.out.Checks, check)
	return nil
}

// repoEntries are the files of the tip, from where it is.
func (l *lander) repoEntries(ctx context.Context) (map[string]usergit.Entry, error) {
	if l.o.DryRun {
		return l.stage.Entries(ctx, l.out.Tip)
	}
	return l.repo.Entries(ctx, l.out.Tip)
}

// sameFile reports whether a file that git has written is that of a checkpoint.
func sameFile(root *os.Root, f usergit.File) (bool, error) {
	fi, err := root.Lstat(f.Path)
	if err != nil || fi.Mode().Type() != f.Mode.Type() || f.Mode.IsRegular() && fi.Mode()&0o100 != f.Mode&0o100 {
		return false, nil
	}
	want, err := f.Open()
	if err != nil {
		return false, err
	}
	defer want.Close()
	if fi.Mode()&fs.ModeSymlink != 0 {
		to, err := root.Readlink(f.Path)
		if err != nil {
			return false, err
		}
		text, err := io.ReadAll(want)
		return to == string(text), err
	}
	have, err := root.Open(f.Path)
	if err != nil {
		return false, err
	}
	defer have.Close()
	return vfs.SameBytes(have, want)
}

type comparison struct{ what, before, after string }

// checkUntouched compares the repository with how it was.
func (l *lander) checkUntouched(ctx context.Context, before usergit.State) error {
	after, err := l.repo.State(ctx, l.o.Branch)
	if err != nil {
		return err
	}
	references := []comparison{{"all other references are unchanged", before.References, after.References}}
	rest := []comparison{
		{"your index is unchanged, byte for byte", before.Index, after.Index},
		{"your HEAD is unchanged", before.Head, after.Head},
		{"git status is unchanged", before.Status, after.Status},
	}
	if l.o.Switch {
		rest = nil
	}
	for _, c := range append(rest, references...) {
		check := Check{What: c.what, Right: c.before == c.after}
		if !check.Right {
			check.Why = "it changed meanwhile; hank land does not touch it, so something else changed it"
		}
		l.out.Checks = append(l.out.Checks, check)
	}
	return nil
}
