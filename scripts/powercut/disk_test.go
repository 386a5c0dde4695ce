package main

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// entry is a request for a log: what it writes, and where.
type entry struct {
	flags, at uint64
	data      []byte
}

func logOf(entries ...entry) []byte {
	text := make([]byte, sector)
	binary.LittleEndian.PutUint64(text, logMagic)
	binary.LittleEndian.PutUint32(text[24:], sector)
	for _, e := range entries {
		head := make([]byte, sector)
		binary.LittleEndian.PutUint64(head, e.at/sector)
		binary.LittleEndian.PutUint64(head[8:], uint64(len(e.data)/sector))
		binary.LittleEndian.PutUint64(head[16:], e.flags)
		text = append(append(text, head...), e.data...)
	}
	return text
}

// disk is a file in memory.
type disk []byte

func (d disk) WriteAt(p []byte, at int64) (int, error) { return copy(d[at:], p), nil }

func filled(b byte, pages int) []byte { return bytes.Repeat([]byte{b}, pages*page) }

func TestWhatWasFlushedStaysAndTheRestIsDrawn(t *testing.T) {
	t.Parallel()
	log := logOf(entry{at: 0, data: filled('a', 1)}, entry{flags: flagFlush}, entry{at: page, data: filled('b', 1)},
		entry{at: 2 * page, flags: flagFUA, data: filled('c', 1)}, entry{at: 3 * page, data: filled('d', 2)})
	for share, want := range map[float64]struct {
		pages string
		cut   cut
	}{0: {"a.c..", cut{0, 2}}, 1: {"abcdd", cut{2, 0}}} {
		d := disk(filled('.', 5))
		c, err := apply(d, bytes.NewReader(log), share, rand.New(rand.NewPCG(1, 1)))
		if err != nil || c != want.cut {
			t.Errorf("share %g: %+v, %v", share, c, err)
		}
		for i, b := range []byte(want.pages) {
			if !bytes.Equal(d[i*page:][:page], filled(b, 1)) {
				t.Errorf("share %g: page %d is %c…, want %c", share, i, d[i*page], b)
			}
		}
	}
	torn := 0 // a write of two pages may be on the disk by half
	for seed := range uint64(20) {
		d := disk(filled('.', 5))
		if _, err := apply(d, bytes.NewReader(log), 0.5, rand.New(rand.NewPCG(seed, 0))); err != nil {
			t.Fatal(err)
		}
		if d[3*page] != d[4*page] {
			torn++
		}
	}
	if torn == 0 || torn == 20 {
		t.Errorf("%d of 20 are torn", torn)
	}
}

func TestALogThatWasCutOffAnywhereIsReadAsFarAsItGoes(t *testing.T) {
	t.Parallel()
	log := logOf(entry{at: 0, data: filled('a', 1)}, entry{flags: flagFlush}, entry{at: page, data: filled('b', 1)})
	for n := 32; n <= len(log); n += 100 {
		if _, err := readLog(bytes.NewReader(log[:n])); err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if _, err := apply(disk(filled('.', 2)), bytes.NewReader(log[:n]), 0, rand.New(rand.NewPCG(1, 1))); err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
	if _, err := readLog(bytes.NewReader(make([]byte, 100))); err == nil {
		t.Error("no log was read as one")
	}
}

func TestACopyIsTheSameWithItsHoles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from, to := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	want := append(append(make([]byte, 200_000), "middle"...), make([]byte, 100_001)...)
	if err := os.WriteFile(from, want, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := copySparse(to, from); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(to); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestWhatTheMachineSaysIsUnderstood(t *testing.T) {
	t.Parallel()
	var s sight
	s.has = map[string]bool{}
	for _, line := range []string{"POWER doctor 0", "POWER has 111111111111", "POWER listed", "initial checkpoint 222222222222: 0 files",
		"  completed in 23ms, checkpoint 333333333333", "completed in 1s, checkpoint 444444444444", "POWER ended 0", "POWER tree 00ff", "POWER off"} {
		s.hear(line)
	}
	if !s.listed || !s.has["111111111111"] || len(s.acked) != 2 || s.acked[1] != "333333333333" || s.ended != "0" || s.tree != "00ff" || !s.off {
		t.Errorf("%+v", s)
	}
	w := world{acked: []string{"999999999999"}}
	if err := w.settle(s, 1, nil); err == nil {
		t.Error("a lost checkpoint went unnoticed")
	}
}
