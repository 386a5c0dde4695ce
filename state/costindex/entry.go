// Package costindex adds up what a hank cost: by run, codon, loop, model, harness and
// quarter of an hour, in a Badger database that is a projection of the journal. Deleting it
// is always safe; whatever is doubtful about it is answered by rebuilding it.
//
// Badger maps its files into memory, and a full disk or a failing one can end
// the process with SIGBUS. The index is therefore never open in the runtime,
// nor in a command, only in a child that either starts.
//
//   - An Entry is one cost as an event of the journal has it.
//   - A Total is the sum of the entries with one key, in one way (By) to add them up.
//   - An Index is the open database. Its position is the last event that it has counted;
//     CatchUp counts those after it.
//
// The amounts that limits and records go by are the state's, never the index's.
package costindex

import (
	"encoding/binary"
	"errors"
	"time"

	"hank/state"
)

// Entry is one cost, as the journal has it.
type Entry struct {
	// Seq is the number of the journal's event. It makes catching up
	// idempotent: an entry is counted once. Entries of one event stand
	// together.
	Seq     uint64
	Time    time.Time
	RunID   string
	CodonID string
	Loop    string // "" outside of loops
	Model   string
	Harness string
	state.Bill
	Tokens state.Tokens
	// Observer: the cost is that of a sentinel, which is no attempt of its own.
	Observer bool
}

// Attempts is how many attempts the entry stands for.
func (e Entry) Attempts() int64 {
	if e.Observer {
		return 0
	}
	return 1
}

// By is a way to add costs up.
type By byte

// The ways. A quarter of an hour is that of UTC in which the attempt ended, as
// 2006-01-02T15:04Z: the days of every time zone are made of whole ones.
const (
	ByRun     By = 'r'
	ByCodon   By = 'c'
	ByLoop    By = 'l'
	ByModel   By = 'm'
	ByHarness By = 'h'
	ByQuarter By = 'q'
)

var ways = [...]By{ByRun, ByCodon, ByLoop, ByModel, ByHarness, ByQuarter}

// QuarterForm is the form of the keys of ByQuarter, for package time.
const QuarterForm = "2006-01-02T15:04Z"

// Total is the sum of all entries that share a key. Every entry is in one
// total of each way: what belongs to no loop is under the key "".
type Total struct {
	Key     string `json:"key"`
	Entries int64  `json:"entries"`
	state.Bill
	Tokens state.Tokens `json:"tokens"`
}

func (t *Total) add(o Total) {
	t.Entries += o.Entries
	t.Bill = t.Bill.Plus(o.Bill)
	t.Tokens = t.Tokens.Add(o.Tokens)
}

// encode appends the length of the key, the key, and the sums, as varints.
func (t *Total) encode(b []byte) []byte {
	b = append(binary.AppendUvarint(b, uint64(len(t.Key))), t.Key...)
	for _, n := range [...]int64{t.Entries, int64(t.Cost), t.Tokens.Input, t.Tokens.Output, t.Tokens.CacheCreation, t.Tokens.CacheRead, int64(t.Replayed)} {
		b = binary.AppendVarint(b, n)
	}
	return b
}

// maxKey is the length in bytes of the longest key.
const maxKey = 4096

var errTotal = errors.New("a total cannot be read")

// decode reads the total that begins at a place of a block, and returns where
// it ends. names is the text of the block, which the key becomes a part of.
func (t *Total) decode(block []byte, names string, at int) (end int, err error) {
	length, n := binary.Uvarint(block[at:])
	if at += n; n <= 0 || length > maxKey || int(length) > len(block)-at {
		return at, errTotal
	}
	t.Key = names[at : at+int(length)]
	at += int(length)
	var sums [7]int64
	for i := range sums {
		u, n := binary.Uvarint(block[at:])
		if n <= 0 {
			return at, errTotal
		}
		sums[i] = int64(u>>1) ^ -int64(u&1)
		at += n
	}
	t.Entries, t.Bill = sums[0], state.Bill{Cost: state.USD(sums[1]), Replayed: state.USD(sums[6])}
	t.Tokens = state.Tokens{Input: sums[2], Output: sums[3], CacheCreation: sums[4], CacheRead: sums[5]}
	return at, nil
}

// Quarter is the key of ByQuarter that a moment belongs to.
func Quarter(t time.Time) string { return time.Unix(quarterOf(t)*900, 0).UTC().Format(QuarterForm) }

func quarterOf(t time.Time) int64 {
	n := t.Unix() / 900
	if t.Unix()%900 < 0 {
		n-- // before 1970 division rounds up
	}
	return n
}

// quarter memorises the key of the entry before, which is mostly that of the next.
type quarter struct {
	number int64
	text   string
}

func (q *quarter) of(t time.Time) string {
	if n := quarterOf(t); q.text == "" || n != q.number {
		q.number, q.text = n, Quarter(t)
	}
	return q.text
}
