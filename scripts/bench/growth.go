package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"hank/scripts/bench/corpus"
)

// growthRuns is how often a point is measured: a curve needs less than a ratio.
const growthRuns = 3

// measureGrowth measures checkpoints against the files that are there, and
// against those that have changed.
func (b *bench) measureGrowth(r *results) error {
	firsts := series{Name: "first checkpoint, by files"}
	byFiles := series{Name: "10 files changed, by files"}
	diffs := series{Name: "hank diff and git status, 10 files changed, by files"}
	byChanged := series{Name: "files changed"}
	sizes := pick(b.quick, []int{100, 200}, []int{1_000, 10_000, 100_000, 500_000})
	changes := pick(b.quick, []int{1, 10}, []int{1, 10, 1_000, 10_000})
	at := pick(b.quick, 200, 100_000)
	for _, files := range sizes {
		if err := b.room(float64(files) * 3e4 / 1e9); err != nil {
			return err
		}
		b.say("growth: %d files", files)
		if err := b.grow(files, func(f *field) error {
			firsts.Points = append(firsts.Points, point{files, f.firsts[0], f.firsts[1]})
			p, err := f.changed(10)
			byFiles.Points = append(byFiles.Points, p.at(files))
			if err != nil {
				return err
			}
			if p, err = f.differences(10); err != nil {
				return err
			}
			diffs.Points = append(diffs.Points, p.at(files))
			if files != at {
				return nil
			}
			byChanged.Name = fmt.Sprintf("files changed, of %d", files)
			for _, n := range changes {
				b.say("growth: %d changed", n)
				p, err := f.changed(n)
				if err != nil {
					return err
				}
				byChanged.Points = append(byChanged.Points, p)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	r.Growth = append(r.Growth, firsts, byFiles, diffs, byChanged)
	return nil
}

func (p point) at(x int) point { p.X = x; return p }

// field is a tree with hank and git, both with the first checkpoint made.
type field struct {
	*bench
	tree   *corpus.Tree
	ours   *resident
	theirs *repository
	firsts [2]time.Duration
}

func (b *bench) grow(files int, measure func(*field) error) (err error) {
	t, err := b.newTree(files)
	if err != nil {
		return err
	}
	defer os.RemoveAll(t.Dir)
	f := &field{bench: b, tree: t}
	b.settle()
	if f.ours, err = b.start(b.newStore(), t.Dir, false); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.ours.stop(), os.RemoveAll(filepath.Dir(f.ours.store))) }()
	ours, err := f.ours.checkpoint()
	if err != nil {
		return err
	}
	b.settle()
	if f.theirs, err = newRepository(b.folder("git"), t.Dir, nil); err != nil {
		return err
	}
	defer os.RemoveAll(f.theirs.dir)
	theirs, err := f.theirs.checkpoint()
	if err != nil {
		return err
	}
	if ours.tree != theirs.tree {
		return fmt.Errorf("hank has the tree %s, git %s", ours.tree, theirs.tree)
	}
	f.firsts = [2]time.Duration{ours.elapsed, theirs.elapsed}
	return measure(f)
}

// changed measures checkpoints of n changed files.
func (f *field) changed(n int) (point, error) {
	ours := &side{name: hankSide, turn: func(int) (sample, error) { return f.ours.checkpoint() }}
	theirs := &side{name: gitSide, turn: func(int) (sample, error) { return f.theirs.checkpoint() }}
	err := f.turns([]*side{ours, theirs}, 1, growthRuns, func(int) error { return f.tree.Change(n) })
	return point{n, median(elapsed(ours.samples)), median(elapsed(theirs.samples))}, err
}

// differences measures hank diff, the whole command, and git status, where n files have
// changed since a checkpoint.
func (f *field) differences(n int) (p point, err error) {
	c := &commandBench{bench: f.bench, hankTree: f.tree, repository: f.theirs}
	if err := errors.Join(c.setUp(), c.write("true")); err != nil {
		return point{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(c.execution)) }()
	if _, _, err := c.run("run", c.program, "-e", c.execution, "--workspace", f.tree.Dir, "--yes"); err != nil {
		return point{}, err
	}
	if _, err := f.theirs.checkpoint(); err != nil {
		return point{}, err
	}
	if err := f.tree.Change(n); err != nil {
		return point{}, err
	}
	c.changes = make([]int, n)
	ours, theirs := c.diff(), c.status()
	err = f.turns([]*side{ours, theirs}, 1, growthRuns, unchanged)
	return point{n, median(elapsed(ours.samples)), median(elapsed(theirs.samples))}, err
}
