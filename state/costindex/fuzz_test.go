package costindex

import (
	"reflect"
	"testing"
	"time"

	"hank/state"
)

// FuzzBlock: a block of the index is read as what makes a block that is read
// the same, or not at all.
func FuzzBlock(f *testing.F) {
	one := Total{Key: "key", Entries: 1, Bill: state.Bill{Cost: 2, Replayed: 1}}
	f.Add(one.encode(nil))
	f.Add(one.encode((&Total{Entries: -1}).encode(nil)))
	f.Add([]byte("\x05short"))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\x7f"))
	f.Fuzz(func(t *testing.T, block []byte) {
		totals, err := decodeBlock(block)
		if err != nil {
			return
		}
		var again []byte
		for i := range totals {
			again = totals[i].encode(again)
		}
		if got, err := decodeBlock(again); err != nil || !reflect.DeepEqual(got, totals) {
			t.Fatalf("%x is %+v, and %x is %+v, %v", block, totals, again, got, err)
		}
	})
}

// FuzzQuarter: the memory of the quarter before never gives the wrong one.
func FuzzQuarter(f *testing.F) {
	f.Add(int64(0), int64(-1))
	f.Add(int64(900), int64(899))
	f.Fuzz(func(t *testing.T, a, b int64) {
		const most = 200_000_000_000
		var q quarter
		for _, s := range []int64{a % most, b % most, a % most} {
			at := time.Unix(s, 0)
			if got, want := q.of(at), at.UTC().Truncate(15*time.Minute).Format(QuarterForm); got != want {
				t.Fatalf("%d is %s, want %s", s, got, want)
			}
		}
	})
}
