package land

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"hank/checkpoint/diff"
	"hank/internal/advice"
	"hank/internal/secret"
	"hank/internal/shell"
	"hank/runtime/usergit"
	"hank/runtime/verdict"
	"hank/state"
)

// commit makes the commits on the stage, and returns what the last of them has
// at each path that the run changed.
func (l *lander) commit(ctx context.Context) (map[string]landedFile, error) {
	list := l.parts
	if l.o.Squash && len(list) > 0 {
		list = []part{l.squash()}
	}
	x, err := l.stage.NewIndex(ctx, l.out.Base)
	if err != nil {
		return nil, err
	}
	tree, err := x.Tree(ctx)
	if err != nil {
		return nil, err
	}
	sign, err := l.repo.Signs(ctx)
	if err != nil {
		return nil, err
	}
	sign = sign && !l.o.DryRun // it may ask for a passphrase
	first := tree
	landed, made := map[string]landedFile{}, map[state.SHA]string{}
	collided := map[string]bool{}
	l.out.Tip = l.out.Base
	for _, p := range list {
		remove, add, err := l.changesOf(p.changes)
		if err != nil {
			return nil, err
		}
		if err := x.Apply(ctx, remove, add); err != nil {
			return nil, err
		}
		next, err := x.Tree(ctx)
		if err != nil {
			return nil, err
		}
		changes, err := x.Changes(ctx, tree, next)
		if err != nil {
			return nil, err
		}
		l.note(p, changes, landed, collided)
		if next == tree {
			continue
		}
		tip, err := x.Commit(ctx, next, l.out.Tip, l.message(p), p.when, sign)
		if err != nil {
			return nil, err
		}
		l.out.Tip, tree = tip, next
		done := Commit{SHA: tip, Title: oneLine(p.title), Checkpoint: p.target.SHA, Codons: []state.CodonID{}, Files: filesOf(changes)}
		for _, c := range p.codons {
			done.Codons = append(done.Codons, c.CodonID)
			made[c.Checkpoint()] = tip
		}
		l.out.Commits = append(l.out.Commits, done)
	}
	if tree == first { // the base has it all: a way there and back is no landing
		l.out.Commits = []Commit{}
	}
	if len(collided) > 0 {
		return nil, l.conflict(ctx, slices.Sorted(maps.Keys(collided)))
	}
	l.accountCodons(made)
	l.nameNew(landed)
	return landed, nil
}

// squash is all parts as one.
func (l *lander) squash() part {
	last := l.parts[len(l.parts)-1]
	all := part{target: last.target, when: last.when, changes: net(l.parts)}
	for _, p := range l.parts {
		all.codons = append(all.codons, p.codons...)
	}
	all.title = "Run " + string(last.target.RunID)
	if n := len(all.codons); n > 0 {
		all.title = fmt.Sprintf("Run %s to %s", all.codons[0].CodonID, all.codons[n-1].CodonID)
	}
	if l.o.Message != "" {
		all.title = l.o.Message
	}
	return all
}

// changesOf is what a part does to the index.
func (l *lander) changesOf(changes []diff.Change) (remove []string, add []usergit.File, err error) {
	for _, c := range changes {
		if _, out := l.excluded[c.Path]; out {
			continue
		}
		if c.To == (diff.Entry{}) {
			remove = append(remove, l.inRepository(c.Path))
			continue
		}
		f, err := l.file(c.Path, c.To)
		if err != nil {
			return nil, nil, err
		}
		add = append(add, f)
	}
	return remove, add, nil
}

// note brings landed up to date after a part. What git has not taken is left
// out; what had to go although no part says so collides with the base.
func (l *lander) note(p part, changes map[string]usergit.Change, landed map[string]landedFile, collided map[string]bool) {
	mine := map[string]bool{}
	for _, c := range p.changes {
		path := l.inRepository(c.Path)
		if mine[path] = true; l.excluded[c.Path] != "" {
			continue
		}
		entry := l.base[path]
		if now, changed := changes[path]; changed {
			entry = now.Entry
		} else if last, known := landed[path]; known {
			entry = last.entry
		}
		if c.To != (diff.Entry{}) && entry == (usergit.Entry{}) {
			l.excluded[c.Path] = "git does not allow its name"
			l.out.LeftOut = append(l.out.LeftOut, LeftOut{fileName(path), l.excluded[c.Path]})
			continue
		}
		landed[path] = landedFile{entry, c.To}
	}
	for path := range changes {
		if !mine[path] {
			collided[path] = true
		}
	}
}

// filesOf lists the files of a commit.
func filesOf(changes map[string]usergit.Change) []File {
	files := []File{}
	for _, path := range slices.Sorted(maps.Keys(changes)) {
		kind := diff.Modified
		switch c := changes[path]; {
		case c.Added:
			kind = diff.Added
		case c.Entry == usergit.Entry{}:
			kind = diff.Deleted
		}
		files = append(files, File{fileName(path), kind.String()})
	}
	return files
}

func oneLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(line)
}

// message is the text of a commit: its title, and trailers that lead back to
// where it comes from.
func (l *lander) message(p part) string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(p.title) + "\n\n")
	var bill state.Bill
	for _, c := range p.codons {
		fmt.Fprintf(&b, "Hank-Codon: %s\n", c.CodonID)
		bill = bill.Plus(c.Bill())
	}
	if p.target.RunID != "" {
		fmt.Fprintf(&b, "Hank-Run: %s\n", p.target.RunID)
	}
	b.WriteString(checkpointTrailer(p.target.SHA) + "\n")
	if len(p.codons) > 0 {
		fmt.Fprintf(&b, "Hank-Cost: $%s\n", bill.Cost)
		if bill.Replayed != 0 {
			fmt.Fprintf(&b, "Hank-Replayed-Cost: $%s\n", bill.Replayed)
		}
	}
	return b.String()
}

// checkpointTrailer is the line of a commit's text that names the checkpoint.
func checkpointTrailer(sha state.SHA) string { return "Hank-Checkpoint: " + string(sha) }

// accountCodons lists the records that the landing is of.
func (l *lander) accountCodons(made map[state.SHA]string) {
	l.out.Codons = []Codon{}
	option := " -e " + shell.Quote(l.v.Layout.Root) // the report can be read anywhere
	steps := l.lineagePath
	for i, step := range steps {
		if step.Codon.Checkpoint() == l.from.SHA {
			steps = steps[i+1:]
			break
		}
	}
	var landed []*state.Codon
	for _, step := range steps {
		c := step.Codon
		landed = append(landed, c)
		notes := slices.Clone(c.Notes)
		for i, n := range notes {
			notes[i] = advice.Render(n, option)
		}
		l.out.Codons = append(l.out.Codons, Codon{CodonID: c.CodonID, RunID: step.Run.RunID, Attempt: c.Attempt, Status: c.Status, Bill: c.Bill(), Commit: made[c.Checkpoint()], Notes: notes,
			Verdict: verdict.OfCodon(c, verdict.OfRun(l.v, step.Run)), But: verdict.Qualification(c)})
		if c.Checkpoint() == l.to.SHA {
			break
		}
	}
	l.out.Caveats = state.CaveatsOf(landed)
}

// nameNew names the files that the branch brings into the repository, and that may not be
// meant for it: those for secrets, and those that were ignored.
func (l *lander) nameNew(landed map[string]landedFile) {
	for _, name := range slices.Sorted(maps.Keys(landed)) {
		if landed[name].entry == (usergit.Entry{}) || l.base[name] != (usergit.Entry{}) {
			continue
		}
		if secret.IsPrivate(path.Base(name)) {
			l.out.Private = append(l.out.Private, fileName(name))
		}
		if l.uncovered[name] {
			l.out.Uncovered = append(l.out.Uncovered, fileName(name))
		}
	}
}
