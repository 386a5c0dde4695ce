package main

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

func (b *bench) measureMemory(r *results) error {
	m := &memoryUse{Files: pick(b.quick, 200, 100_000), BigFile: pick(b.quick, int64(20<<20), 3<<30)}
	if err := b.room(pick(b.quick, 0.1, 7)); err != nil {
		return err
	}
	if err := b.manyFiles(m); err != nil {
		return err
	}
	b.say("memory: one file of %d MiB", m.BigFile>>20)
	if err := b.bigFile(m); err != nil {
		return err
	}
	r.Memory = m
	return nil
}

func (b *bench) manyFiles(m *memoryUse) (err error) {
	t, err := b.newTree(m.Files)
	if err != nil {
		return err
	}
	defer os.RemoveAll(t.Dir)
	b.settle()
	w, err := b.start(b.newStore(), t.Dir, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.stop(), os.RemoveAll(filepath.Dir(w.store))) }()
	var looks [3]memory
	for i := range looks {
		if i > 0 { // before, after the first, and after a small one
			if err := t.Change(10); err != nil {
				return err
			}
			if _, err := w.checkpoint(); err != nil {
				return err
			}
		}
		a, err := w.ask(command{Do: "memory"})
		if err != nil {
			return err
		}
		looks[i] = a.Memory
	}
	m.HeapPerFile = float64(looks[2].Heap-looks[0].Heap) / float64(m.Files)
	m.RSSPerFile = float64(looks[2].Resident-looks[0].Resident) / float64(m.Files)
	m.PeakFirst = looks[1].Peak
	return nil
}

// bigFile makes the first checkpoint of one file that nothing deflates. Where
// it is over 2 GiB, the tree and the commit behind it have 64-bit offsets.
func (b *bench) bigFile(m *memoryUse) (err error) {
	dir := b.folder("big")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := writeRandom(filepath.Join(dir, "big"), m.BigFile, b.seed); err != nil {
		return err
	}
	b.settle()
	w, err := b.start(b.newStore(), dir, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.stop(), os.RemoveAll(filepath.Dir(w.store))) }()
	if _, err := w.checkpoint(); err != nil {
		return err
	}
	a, err := w.ask(command{Do: "memory"})
	if err != nil {
		return err
	}
	m.PeakBigFile = a.Memory.Peak
	g := &repository{dir: w.store, tree: dir}
	want, err := g.git("hash-object", "--no-filters", "big")
	if err != nil {
		return err
	}
	have, err := g.git("ls-tree", branch)
	if err != nil {
		return err
	}
	if m.BlobVerified = strings.Contains(have, " "+want+"\t"); !m.BlobVerified {
		return fmt.Errorf("the file is the blob %s, and the checkpoint has %s", want, have)
	}
	return nil
}

func writeRandom(name string, size int64, seed uint64) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	var key [32]byte
	key[0] = byte(seed)
	rng := rand.NewChaCha8(key)
	w := bufio.NewWriterSize(f, 1<<20)
	block := make([]byte, 1<<16)
	for left := size; left > 0; {
		n, _ := rng.Read(block[:min(left, int64(len(block)))]) // never fails
		if _, err := w.Write(block[:n]); err != nil {
			return errors.Join(err, f.Close())
		}
		left -= int64(n)
	}
	return errors.Join(w.Flush(), f.Close())
}
