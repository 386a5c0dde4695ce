package costindex

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/go-json-experiment/json"

	"hank/internal/vfs"
)

// schema is the number of the index's own format.
const schema = 7

// spare is how many bytes must be free on the disk: Badger takes up to half of
// them at once, and where the disk ends it takes the process with it.
const spare = 32 << 20

// Index is an open index. One goroutine may use it at a time.
type Index struct {
	dir  string
	db   *badger.DB
	lock *lockFile
	head head
	torn bool // a write has failed: what is on disk is of no use
}

// head is what is known of all totals together.
type head struct {
	Schema   int    `json:"schema"`
	Source   string `json:"source"`
	Position uint64 `json:"position"`
	All      Total  `json:"all"`
}

var headKey = []byte("head")

// DamagedError says that the index contradicts itself. Reset and CatchUp repair it.
type DamagedError struct {
	Dir string
	Err error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("the cost index %s is damaged (%v); it will be rebuilt from the journal", e.Dir, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// Open opens the index in dir, or makes an empty one. source names the journal
// that it is a projection of; one made from another journal is of no use.
//
// discarded says why an index that was there was thrown away ("" if it was
// not): not closed in order, changed by somebody, made by another version or
// from another journal. Its Position is then 0. Opening never waits: while
// another process has the index open the error is a *BusyError, and the lock
// of a process that is gone is gone with it.
func Open(dir, source string) (x *Index, discarded string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, "", fmt.Errorf("opening the cost index: %w", err)
	}
	if free, total, err := vfs.Free(dir); err == nil && total > 0 && free < spare {
		return nil, "", fmt.Errorf("opening the cost index: the disk of %s has %d MB free, and the index is left alone below %d MB", dir, free>>20, int64(spare)>>20)
	}
	held, err := lock(dir)
	if err != nil {
		return nil, "", err
	}
	x = &Index{dir: dir, lock: held}
	discarded = x.doubt()
	if discarded == "" {
		discarded = x.start(source)
	}
	if discarded != "" {
		err = x.Reset(source)
	}
	if err != nil {
		return nil, discarded, errors.Join(err, held.release())
	}
	return x, discarded, nil
}

func (x *Index) path() string { return filepath.Join(x.dir, "db") }

// doubt returns why the files on disk must not be used.
func (x *Index) doubt() string {
	if _, err := os.Lstat(x.path()); errors.Is(err, os.ErrNotExist) {
		return ""
	}
	if err := checkSeal(x.dir); err != nil {
		return err.Error()
	}
	return ""
}

// start opens the database and reads its head. It returns why that failed.
func (x *Index) start(source string) string {
	if err := x.open(); err != nil {
		return err.Error()
	}
	err := x.view(func(txn *badger.Txn) error {
		item, err := txn.Get(headKey)
		if err != nil {
			return err
		}
		return item.Value(func(b []byte) error { return json.Unmarshal(b, &x.head) })
	})
	switch {
	case errors.Is(err, badger.ErrKeyNotFound):
		x.head = head{Schema: schema, Source: source} // nothing was ever counted
		return ""
	case err != nil:
		return fmt.Sprintf("its head cannot be read: %v", err)
	case x.head.Schema != schema:
		return fmt.Sprintf("it has schema %d and this hank writes schema %d", x.head.Schema, schema)
	case x.head.Source != source:
		return "it was made from another journal"
	}
	return ""
}

// guarded turns a panic of Badger, over files that it does not understand or
// that are gone, into an error like any other.
func guarded(call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("badger: %v", p)
		}
	}()
	return call()
}

// open opens Badger with small files and little memory. After an error there is
// no database: what Badger returns with one is half made. Badger takes no lock where
// this process has that of the index: Badger's own outlives its Close in a child that
// is being started meanwhile, and the index would be thrown away for it.
func (x *Index) open() error {
	opts := badger.DefaultOptions(x.path()).
		WithLogger(nil).
		WithMetricsEnabled(false).
		WithMemTableSize(4 << 20).
		WithNumMemtables(2).
		WithNumLevelZeroTables(2).
		WithNumCompactors(2).
		WithNumGoroutines(2).
		WithValueLogFileSize(1 << 20).
		WithValueThreshold(64 << 10). // a block stays with its key
		WithCompression(options.None).
		WithBlockCacheSize(0).
		WithDetectConflicts(false).
		WithBypassLockGuard(x.lock.real).
		WithChecksumVerificationMode(options.OnTableRead)
	if err := removeSeal(x.dir); err != nil {
		return err
	}
	return guarded(func() error {
		db, err := badger.Open(opts)
		if err == nil {
			x.db = db
		}
		return err
	})
}

func (x *Index) view(read func(*badger.Txn) error) error {
	return guarded(func() error { return x.db.View(read) })
}

// Reset empties the index.
func (x *Index) Reset(source string) error {
	if x.db != nil {
		_ = guarded(x.db.Close) // it is about to be deleted
		x.db = nil
	}
	if err := os.RemoveAll(x.path()); err != nil {
		return fmt.Errorf("removing the old cost index: %w", err)
	}
	if err := x.open(); err != nil {
		return fmt.Errorf("making a cost index: %w", err)
	}
	x.head, x.torn = head{Schema: schema, Source: source}, false
	return nil
}

// Position returns the number of the last journal event that is counted, or 0.
func (x *Index) Position() uint64 { return x.head.Position }

// Close closes the index and seals it. An index that was not closed is made
// again by the next Open.
func (x *Index) Close() error {
	var err error
	if x.db != nil {
		if err = guarded(x.db.Close); err == nil && !x.torn {
			err = writeSeal(x.dir, func() bool { return x.lock.holds(x.dir) })
		}
		x.db = nil
	}
	if err != nil {
		err = fmt.Errorf("closing the cost index: %w", err)
	}
	return errors.Join(err, x.lock.release())
}

// Totals returns the sums of one way, sorted by key. Errors are those of Each.
// Memory and complexity: the keys.
func (x *Index) Totals(by By) ([]Total, error) {
	var list []Total
	err := x.Each(by, func(t Total) error {
		list = append(list, t)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// Each calls fn for the sums of one way, sorted by key, and ends with the error of fn.
// What fn was given is true only if Each returns nil: a *DamagedError means that the
// index must be Reset. Memory: a block. Complexity: the keys.
func (x *Index) Each(by By, fn func(Total) error) error {
	if x.torn {
		return &DamagedError{x.dir, errors.New("a write to it has failed")}
	}
	var all Total
	var refused error
	err := x.view(func(txn *badger.Txn) error {
		it := txn.NewIterator(badger.IteratorOptions{Prefix: blockPrefix(by)})
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			err := it.Item().Value(func(b []byte) error {
				return eachOfBlock(b, func(t Total) error {
					all.add(t)
					refused = fn(t)
					return refused
				})
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if refused != nil {
		return refused
	}
	if err == nil && !bytes.Equal(all.encode(nil), x.head.All.encode(nil)) {
		err = errors.New("its totals do not add up")
	}
	if err != nil {
		return &DamagedError{x.dir, err}
	}
	return nil
}
