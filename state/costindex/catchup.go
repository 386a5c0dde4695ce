package costindex

import (
	"errors"
	"fmt"
	"iter"

	"github.com/dgraph-io/badger/v4"
	"github.com/go-json-experiment/json"
)

// The bounds of a batch: what is held in memory before it is added to what is
// on disk. All of it is at most about 30 MB.
const (
	batchKeys  = 64 << 10
	batchBytes = 16 << 20
	sumsSize   = 7 * 8
)

// CatchUp counts the entries after Position; older ones are skipped. They
// must come in the order of the journal. An error of the iterator ends it; what
// came before it is counted. An error of the disk leaves an index that is of no
// use: it must be Reset, and is rebuilt by the next Open otherwise.
//
// Memory: a batch. Complexity: the entries, and for each batch the blocks that
// it touches.
func (x *Index) CatchUp(entries iter.Seq2[Entry, error]) error {
	b := newBatch(x.head)
	var event []Entry // the entries of one event, counted when it is over
	var failed error
	for e, err := range entries {
		if err != nil {
			failed = err
			break
		}
		if e.Seq <= x.head.Position {
			continue
		}
		if len(event) > 0 && e.Seq != event[0].Seq {
			if failed = b.count(event); failed != nil {
				break
			}
			event = event[:0]
			if b.full() {
				if err := x.write(b); err != nil {
					return err
				}
				b = newBatch(x.head)
			}
		}
		event = append(event, e)
	}
	if failed == nil {
		failed = b.count(event)
	}
	return errors.Join(failed, x.write(b))
}

// write adds a batch to what is on disk. The position comes last; but what
// counts is the seal, which an index that was interrupted does not get.
func (x *Index) write(b *batch) error {
	if b.head.Position == x.head.Position {
		return nil
	}
	err := guarded(func() error {
		if err := x.writeTotals(b); err != nil {
			return err
		}
		text, err := json.Marshal(b.head)
		if err != nil {
			return err
		}
		return x.db.Update(func(txn *badger.Txn) error { return txn.Set(headKey, text) })
	})
	if err != nil {
		x.torn = true
		return fmt.Errorf("writing the cost index: %w", err)
	}
	x.head = b.head
	return nil
}

func (x *Index) writeTotals(b *batch) error {
	out := x.db.NewWriteBatch()
	defer out.Cancel()
	err := x.db.View(func(txn *badger.Txn) error {
		for i, by := range ways {
			if err := mergeBlocks(txn, by, b.totals[i], out.Set); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return out.Flush()
}

// batch is what will be added at once.
type batch struct {
	head   head // as it will be
	totals [len(ways)]map[string]*Total
	// The totals of the entry before: mostly those of the next.
	recent  [len(ways)]*Total
	keys    int
	bytes   int
	quarter quarter
}

func newBatch(h head) *batch {
	b := &batch{head: h}
	for i := range b.totals {
		b.totals[i] = map[string]*Total{}
	}
	return b
}

func (b *batch) full() bool { return b.keys >= batchKeys || b.bytes >= batchBytes }

// count adds the entries of one event, all or none of them.
func (b *batch) count(event []Entry) error {
	for _, e := range event {
		if e.Seq <= b.head.Position {
			return fmt.Errorf("the cost entry of event %d comes after that of event %d", e.Seq, b.head.Position)
		}
		if n := max(len(e.RunID), len(e.CodonID), len(e.Loop), len(e.Model), len(e.Harness)); n > maxKey {
			return fmt.Errorf("the cost entry of event %d has a name of %d bytes; the index holds at most %d", e.Seq, n, maxKey)
		}
	}
	for _, e := range event {
		one := Total{Entries: e.Attempts(), Bill: e.Bill, Tokens: e.Tokens}
		for i, name := range [len(ways)]string{e.RunID, e.CodonID, e.Loop, e.Model, e.Harness, b.quarter.of(e.Time)} {
			b.total(i, name).add(one)
		}
		b.head.All.add(one)
	}
	if len(event) > 0 {
		b.head.Position = event[0].Seq
	}
	return nil
}

// total returns the sum of one key of the i-th way.
func (b *batch) total(i int, name string) *Total {
	if t := b.recent[i]; t != nil && t.Key == name {
		return t
	}
	t := b.totals[i][name]
	if t == nil {
		t = &Total{Key: name}
		b.totals[i][name] = t
		b.keys++
		b.bytes += 2*len(name) + 2*sumsSize
	}
	b.recent[i] = t
	return t
}
