package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"hank/checkpoint"
	"hank/internal/vfs"
	"hank/recovery"
	"hank/state"
)

// transitions is what acknowledging costs, beside the floor: an append of as
// many bytes to another file in the same directory, and its fsync, in turn.
type transitions struct {
	Hank  percentiles `json:"hank"`
	Floor percentiles `json:"floor"`
	Ratio float64     `json:"ratio"` // of the medians
	Bytes int64       `json:"medianBytes"`
}

// percentiles is what a side took.
type percentiles struct {
	P50 time.Duration `json:"p50Ns"`
	P99 time.Duration `json:"p99Ns"`
	N   int           `json:"samples"`
}

func percentilesOf(list []time.Duration) percentiles {
	sorted := slices.Sorted(slices.Values(list))
	return percentiles{P50: median(sorted), P99: sorted[len(sorted)*99/100], N: len(sorted)}
}

// transitions measures a run of the execution: every transition of a codon is
// acknowledged by itself, while state.json is saved behind it. The end of each
// codon has a real checkpoint, which is not in the figures. With few codons it
// ends after so many samples, because it makes a history itself; with many
// after so long, so that a save has its usual share.
func (h *history) transitions() (t transitions, err error) {
	samples, least := pick(h.b.quick, 12, 420), pick(h.b.quick || h.codons < 5000, 0, 15*time.Second)
	if err := h.open(vfs.OS); err != nil {
		return t, err
	}
	floor, err := os.OpenFile(filepath.Join(h.x.Layout.Index(), "floor"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return t, errors.Join(err, h.x.Close())
	}
	m := meter{h: h, floor: floor, lengths: map[int]int{}}
	for start := time.Now(); err == nil && (len(m.ours) < samples || time.Since(start) < least); {
		err = m.codon()
	}
	if err := errors.Join(err, floor.Close(), os.Remove(floor.Name()), h.close()); err != nil {
		return t, err
	}
	t.Hank, t.Floor, t.Bytes = percentilesOf(m.ours), percentilesOf(m.theirs), median(m.bytes)
	t.Ratio = float64(t.Hank.P50) / float64(t.Floor.P50)
	return t, nil
}

// meter takes the samples.
type meter struct {
	h            *history
	floor        *os.File
	lengths      map[int]int // of the line of each move of a codon
	turn         int
	ours, theirs []time.Duration
	bytes        []int64
}

// codon plays a codon and measures its moves and, in turn before and after
// each, the floor.
func (m *meter) codon() error {
	journal := filepath.Join(m.h.x.Layout.Events(), "events.jsonl")
	for i, next := range m.h.moves() {
		t, err := next()
		if err != nil {
			return err
		}
		if err := m.h.x.Sync(); err != nil { // the notes before it are not its
			return err
		}
		m.turn++
		n, known := m.lengths[i]
		if known && m.turn%2 == 0 {
			if err := m.append(n); err != nil {
				return err
			}
		}
		before := sizeOf(journal)
		start := time.Now()
		if err := m.h.x.Record(t); err != nil {
			return err
		}
		took := time.Since(start)
		if n = int(sizeOf(journal) - before); n > 0 { // else another segment was begun
			m.lengths[i] = n
		}
		if !known {
			continue
		}
		m.ours, m.bytes = append(m.ours, took), append(m.bytes, int64(n))
		if m.turn%2 == 1 {
			if err := m.append(m.lengths[i]); err != nil {
				return err
			}
		}
	}
	return m.h.end(m.h.checkpointed)
}

func (m *meter) append(n int) error {
	line := make([]byte, n)
	start := time.Now()
	if _, err := m.floor.Write(line); err != nil {
		return err
	}
	if err := m.floor.Sync(); err != nil {
		return err
	}
	m.theirs = append(m.theirs, time.Since(start))
	return nil
}

// checkpointed ends a codon with a real checkpoint.
func (h *history) checkpointed(final *state.Codon) error {
	if err := os.WriteFile(filepath.Join(h.x.Layout.Workspace, "log.txt"), fmt.Appendf(nil, "%d\n", h.codons), 0o644); err != nil {
		return err
	}
	return recovery.Finish(context.Background(), h.x, h.run, "One round of work", final, checkpoint.Selection{All: true})
}
