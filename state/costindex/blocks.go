package costindex

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dgraph-io/badger/v4"
)

// The totals of one way are in blocks, sorted by key: reading a hundred
// thousand of them from Badger one by one takes longer than all the rest of a
// question. The key of a block is that of its first total; the first block of
// a way has the empty one, so that every name has its block. A block that gets
// too big is split, and keeps its key; none is ever removed.
//
// blockBytes is the size from which on a block is split. One total takes up to
// maxKey more.
const blockBytes = 16 << 10

func blockPrefix(by By) []byte { return []byte{'b', byte(by)} }

// eachOfBlock calls fn for the totals of a block, in order, until it returns an error.
func eachOfBlock(block []byte, fn func(Total) error) error {
	names := string(block)
	for at := 0; at < len(block); {
		var t Total
		var err error
		if at, err = t.decode(block, names, at); err != nil {
			return err
		}
		if err := fn(t); err != nil {
			return err
		}
	}
	return nil
}

// decodeBlock returns the totals of a block.
func decodeBlock(block []byte) (list []Total, err error) {
	err = eachOfBlock(block, func(t Total) error {
		list = append(list, t)
		return nil
	})
	return list, err
}

// mergeBlocks adds totals to the blocks of a way, and passes on what changes.
func mergeBlocks(txn *badger.Txn, by By, totals map[string]*Total, set func(key, block []byte) error) error {
	names := make([]string, 0, len(totals))
	for name := range totals {
		names = append(names, name)
	}
	slices.Sort(names)
	firsts := blockNames(txn, by)
	for len(names) > 0 {
		i, found := slices.BinarySearch(firsts, names[0])
		if !found {
			i--
		}
		n := len(names)
		if i+1 < len(firsts) {
			n, _ = slices.BinarySearch(names, firsts[i+1])
		}
		if err := mergeBlock(txn, by, firsts[i], names[:n], totals, set); err != nil {
			return err
		}
		names = names[n:]
	}
	return nil
}

// blockNames are the keys of a way's blocks, without the prefix, sorted; the
// empty one is there in any case.
func blockNames(txn *badger.Txn, by By) []string {
	list := []string{""}
	it := txn.NewIterator(badger.IteratorOptions{Prefix: blockPrefix(by)})
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		if name := string(it.Item().Key()[len(blockPrefix(by)):]); name != "" {
			list = append(list, name)
		}
	}
	return list
}

// mergeBlock adds the totals of sorted names to one block.
func mergeBlock(txn *badger.Txn, by By, first string, names []string, totals map[string]*Total, set func(key, block []byte) error) error {
	key := append(blockPrefix(by), first...)
	var old []Total
	item, err := txn.Get(key)
	if err == nil {
		err = item.Value(func(b []byte) error {
			old, err = decodeBlock(b)
			return err
		})
	}
	if err != nil && err != badger.ErrKeyNotFound {
		return fmt.Errorf("the block %q of way %c: %w", first, by, err)
	}
	var block []byte
	put := func(t Total) error {
		if len(block) >= blockBytes {
			if err := set(key, block); err != nil {
				return err
			}
			key, block = append(blockPrefix(by), t.Key...), nil
		}
		block = t.encode(block)
		return nil
	}
	for len(old) > 0 || len(names) > 0 {
		var t Total
		order := 0
		switch {
		case len(old) == 0:
			order = 1
		case len(names) == 0:
			order = -1
		default:
			order = strings.Compare(old[0].Key, names[0])
		}
		if order <= 0 {
			t, old = old[0], old[1:]
		}
		if order >= 0 {
			if order > 0 {
				t = Total{Key: names[0]}
			}
			t.add(*totals[names[0]])
			names = names[1:]
		}
		if err := put(t); err != nil {
			return err
		}
	}
	return set(key, block)
}
