package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"hank/scripts/bench/corpus"
)

// inodesRest stands between two rounds of rollbacks. ext4 without a journal does
// not give the inode of a deleted file to a new one within a minute, and each new
// file passes over all such inodes one by one (RECENTCY_MIN in the kernel's
// fs/ext4/ialloc.c). git, which deletes a file and writes it at once, meets few of
// them, hank, which writes all files before it deletes one, meets those of every
// round before; and nobody rolls back every ten seconds.
const inodesRest = 65 * time.Second

// rollback goes to and fro between two checkpoints that differ in a tenth of
// the files. Each side has a work tree of its own. hank's part is what a
// rollback asks of the engine, the safety checkpoint included.
//
// git's reset syncs no file whatever core.fsync says; its side with equal
// durability is a reset and a sync after it, and there is one of it only.
func rollback(b *bench, files int) (sides []*side, err error) {
	var prepare []func() error
	for _, kind := range hankKinds() {
		p, err := b.newPlace(files)
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(p.tree.Dir)
		r, err := b.start(b.newStore(), p.tree.Dir, kind.unsynced)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, r.stop(), os.RemoveAll(filepath.Dir(r.store))) }()
		if err := p.commit(func() (string, string, error) {
			a, err := r.ask(command{Do: "checkpoint"})
			return string(a.Commit), string(a.Tree), err
		}); err != nil {
			return nil, err
		}
		// Before a turn the store knows the files that the one before has
		// written, as after a codon, and they must be what it has said.
		now := p.trees[1]
		prepare = append(prepare, func() error {
			a, err := r.ask(command{Do: "scan"})
			if err == nil && string(a.Tree) != now {
				err = fmt.Errorf("%s: the workspace has the tree %s, and should have %s", kind.side, a.Tree, now)
			}
			return err
		})
		sides = append(sides, &side{name: kind.side, turn: func(n int) (sample, error) {
			now = p.trees[n%2]
			a, err := r.ask(command{Do: "rollback", To: p.commits[n%2]})
			return a.sample(), err
		}})
		defer func() { // stock git reads every byte of what came out
			if err == nil {
				err = b.sameAsGit(p.tree.Dir, now)
			}
		}()
	}
	for _, kind := range gitKinds {
		if kind.side == gitBatchSide {
			continue
		}
		p, err := b.newPlace(files)
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(p.tree.Dir)
		g, err := newRepository(b.folder("git"), p.tree.Dir, nil)
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(g.dir)
		if err := p.commitGit(g); err != nil {
			return nil, err
		}
		g.config = kind.config
		prepare = append(prepare, func() error { _, err := g.git("update-index", "-q", "--refresh"); return err })
		sides = append(sides, &side{name: kind.side, turn: func(n int) (sample, error) {
			return g.reset(p.commits[n%2], p.trees[n%2], kind.side == gitFsyncSide)
		}})
	}
	alone, remove, err := b.bare(files)
	if remove != nil {
		defer func() { err = errors.Join(err, remove()) }()
	}
	if err != nil {
		return nil, err
	}
	sides = append(sides, alone)
	return sides, b.turns(sides, 2, b.runs, func(n int) error {
		if n > 0 && !b.quick {
			time.Sleep(inodesRest)
		}
		b.settle()
		for _, f := range prepare {
			if err := f(); err != nil {
				return err
			}
		}
		return nil
	})
}

// place is a work tree with two checkpoints, of which the second is on disk.
type place struct {
	tree    *corpus.Tree
	commits [2]string
	trees   [2]string
}

func (b *bench) newPlace(files int) (*place, error) {
	t, err := b.newTree(files)
	return &place{tree: t}, err
}

func (p *place) commit(commit func() (sha, tree string, err error)) (err error) {
	for i := range p.commits {
		if i == 1 {
			if err := p.tree.Rework(p.tree.Files / 10); err != nil {
				return err
			}
		}
		if p.commits[i], p.trees[i], err = commit(); err != nil {
			return err
		}
	}
	return nil
}

// commitGit packs what it has committed, as git's own maintenance does.
func (p *place) commitGit(g *repository) error {
	err := p.commit(func() (string, string, error) {
		s, err := g.checkpoint()
		if err != nil {
			return "", "", err
		}
		sha, err := g.git("rev-parse", "HEAD")
		return sha, s.tree, err
	})
	if err == nil {
		_, err = g.git("repack", "-adq")
	}
	return err
}
