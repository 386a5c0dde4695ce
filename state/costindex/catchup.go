package costindex

import (
	"errors"
	"fmt"
	"iter"

	"github.com/dgraph-io/badger/v4"
	"github.com/go-json-experiment/json"
)

// The bounds of a batch, which is one transaction: Badger's limit, with the
// memory that open gives it, is about 600 KB.
const (
	batchKeys  = 4096
	batchBytes = 256 << 10
	maxKey     = 4096
)

// CatchUp counts the entries behind Position; older ones are skipped. They
// must come in the order of the journal. Totals and position go to disk in one
// transaction, so that no entry is counted twice and none is lost, whatever
// happens in between. An error of the iterator ends it; what came before it is
// counted.
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

// write adds a batch to what is on disk.
func (x *Index) write(b *batch) error {
	if b.head.Position == x.head.Position {
		return nil
	}
	text, err := json.Marshal(b.head)
	if err != nil {
		return fmt.Errorf("writing the cost index: %w", err)
	}
	err = x.db.Update(func(txn *badger.Txn) error {
		for i, by := range ways {
			for name, t := range b.totals[i] {
				key := append([]byte{'t', byte(by)}, name...)
				if err := addTo(txn, key, *t); err != nil {
					return err
				}
			}
		}
		return txn.Set(headKey, text)
	})
	if err != nil {
		return fmt.Errorf("writing the cost index: %w", err)
	}
	x.head = b.head
	return nil
}

func addTo(txn *badger.Txn, key []byte, t Total) error {
	item, err := txn.Get(key)
	if err == nil {
		err = item.Value(func(b []byte) error {
			old, err := decode("", b)
			t.add(old)
			return err
		})
	} else if errors.Is(err, badger.ErrKeyNotFound) {
		err = nil
	}
	if err != nil {
		return err
	}
	return txn.Set(key, t.encode())
}

// batch is what one transaction will add.
type batch struct {
	head   head // as it will be
	totals [len(ways)]map[string]*Total
	// The totals of the entry before: mostly those of the next.
	recent [len(ways)]*Total
	keys   int
	bytes  int
	day    day
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
		if n := max(len(e.RunID), len(e.CodonID), len(e.Loop), len(e.Model)); n > maxKey {
			return fmt.Errorf("the cost entry of event %d has a name of %d bytes; the index holds at most %d", e.Seq, n, maxKey)
		}
	}
	for _, e := range event {
		one := Total{Entries: 1, Cost: e.Cost, Tokens: e.Tokens}
		for i, name := range [len(ways)]string{e.RunID, e.CodonID, e.Loop, e.Model, b.day.of(e.Time)} {
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
		b.bytes += 2*len(name) + 2*totalSize
	}
	b.recent[i] = t
	return t
}
