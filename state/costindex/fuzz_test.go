package costindex

import (
	"bytes"
	"testing"
	"time"
)

// FuzzTotal: a value of the index is read as what makes the same value, or not
// at all.
func FuzzTotal(f *testing.F) {
	f.Add("key", Total{Key: "key", Entries: 1, Cost: 2}.encode())
	f.Add("", []byte("short"))
	f.Add("\xff", bytes.Repeat([]byte{0xff}, totalSize))
	f.Fuzz(func(t *testing.T, key string, value []byte) {
		total, err := decode(key, value)
		if (err == nil) != (len(value) == totalSize) {
			t.Fatalf("%d bytes: %v", len(value), err)
		}
		if err == nil && (total.Key != key || !bytes.Equal(total.encode(), value)) {
			t.Fatalf("%x is %+v", value, total)
		}
	})
}

// FuzzDay: the memory of the day before never gives the wrong day.
func FuzzDay(f *testing.F) {
	f.Add(int64(0), int64(-1))
	f.Add(int64(86400), int64(86399))
	f.Fuzz(func(t *testing.T, a, b int64) {
		const most = 200_000_000_000
		var d day
		for _, s := range []int64{a % most, b % most, a % most} {
			at := time.Unix(s, 0)
			if got, want := d.of(at), at.UTC().Format(time.DateOnly); got != want {
				t.Fatalf("%d is %s, want %s", s, got, want)
			}
		}
	})
}
