package main

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"hank/scripts/bench/corpus"
	"hank/scripts/bench/deflate"
)

// measureMany makes checkpoints of ten changed files each, without a pause and
// with merges beside them.
func (b *bench) measureMany(r *results) (err error) {
	files, count := pick(b.quick, 200, 50_000), pick(b.quick, min(b.checkpoints, 20), b.checkpoints)
	if err := b.room(pick(b.quick, 0.1, 10)); err != nil {
		return err
	}
	t, err := b.newTree(files)
	if err != nil {
		return err
	}
	defer os.RemoveAll(t.Dir)
	b.settle()
	w, err := b.start(b.newStore(), t.Dir, false)
	if err != nil {
		return err
	}
	defer os.RemoveAll(filepath.Dir(w.store))
	if _, err := w.checkpoint(); err != nil {
		return errors.Join(err, w.stop())
	}
	all, beside, last, err := b.series(t, w, count)
	if err = errors.Join(err, w.stop()); err != nil {
		return err
	}
	if err := errors.Join(w.isTip(last), b.sameAsGit(t.Dir, last)); err != nil {
		return err
	}
	hundred := min(100, len(all))
	r.Many = &many{Checkpoints: count, Files: files, Early: median(all[:hundred]), Late: median(all[len(all)-hundred:]),
		Beside: median(beside), Worst: slices.Max(all), Bins: bins(all, 50)}
	if b.disk {
		b.say("disk: deflating every object again")
		r.Many.Disk, err = b.weigh(w.store)
	}
	return err
}

func (b *bench) series(t *corpus.Tree, w *resident, count int) (all, beside []time.Duration, last string, err error) {
	for n := range count {
		if n%1000 == 999 {
			b.say("checkpoint %d of %d", n+1, count)
		}
		if err := t.Change(10); err != nil {
			return nil, nil, "", err
		}
		a, err := w.ask(command{Do: "checkpoint"})
		if err != nil {
			return nil, nil, "", err
		}
		all, last = append(all, a.Elapsed), string(a.Tree)
		if a.Merging {
			beside = append(beside, a.Elapsed)
		}
	}
	_, err = w.ask(command{Do: "merged"})
	return all, beside, last, err
}

func bins(all []time.Duration, n int) []bin {
	var list []bin
	size := max(1, len(all)/n)
	for at := 0; at < len(all); at += size {
		part := slices.Sorted(slices.Values(all[at:min(len(all), at+size)]))
		list = append(list, bin{Until: at + len(part), Median: median(part), P90: part[len(part)*9/10]})
	}
	return list
}

// weigh compares what the store takes with what its objects need.
func (b *bench) weigh(store string) (*diskUse, error) {
	var d diskUse
	err := filepath.WalkDir(store, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		d.Entries++
		if !e.Type().IsRegular() {
			return nil
		}
		fi, err := e.Info()
		if err == nil {
			d.Bytes += fi.Size()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("git", "--git-dir="+store, "cat-file", "--batch-all-objects", "--unordered", "--batch=%(objecttype) %(objectsize)")
	cmd.Env = gitEnvironment()
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	d.Own, d.Git, d.Objects, err = deflate.Objects(bufio.NewReaderSize(out, 1<<20))
	if err != nil {
		_ = out.Close() // git ends of it
	}
	return &d, errors.Join(err, cmd.Wait())
}
