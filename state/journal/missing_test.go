package journal

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"
)

// TestMissingEventsAreNamed damages a journal of two bases in several ways, and asks which
// events it lacks before it is opened and after it was opened and continued.
func TestMissingEventsAreNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		damage func(segments map[string][]byte)
		want   []Range
	}{
		"none":                          {func(map[string][]byte) {}, nil},
		"the segment before the base":   {func(s map[string][]byte) { delete(s, closedName(1)) }, []Range{{1, 6}}},
		"an event before the base":      {func(s map[string][]byte) { flip(s[closedName(1)], 3) }, []Range{{3, 6}}},
		"the base itself":               {func(s map[string][]byte) { flip(s[current], 1) }, []Range{{7, 12}}},
		"an event after the base":       {func(s map[string][]byte) { flip(s[current], 3) }, []Range{{9, 12}}},
		"the current segment":           {func(s map[string][]byte) { delete(s, current) }, []Range{{7, 12}}},
		"an event before and one after": {func(s map[string][]byte) { flip(s[closedName(1)], 2); flip(s[current], 2) }, []Range{{2, 6}, {8, 12}}},
		"the first event":               {func(s map[string][]byte) { flip(s[closedName(1)], 1) }, []Range{{1, 6}}},
		"no event, but bytes are among them": {func(s map[string][]byte) {
			s[current] = bytes.Replace(s[current], []byte("\n{\"seq\":9,"), []byte("\nx\n{\"seq\":9,"), 1)
		}, []Range{{9, 12}}},
		"the header of the segment of a base": {func(s map[string][]byte) { flip(s[current], 0) }, []Range{{7, 12}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newDisk(t)
			j := fill(t, m, 6, 0)
			must(t, j.NewSegment(event(7)))
			for n := uint64(8); n <= 12; n++ {
				must(t, j.Append(event(n)))
			}
			must(t, j.Sync())
			must(t, j.Close())
			segments := map[string][]byte{}
			for _, name := range names(t, m) {
				segments[name] = get(t, m, name)
			}
			c.damage(segments)
			for _, name := range names(t, m) {
				must(t, m.Remove(filepath.Join(dir, name)))
			}
			for name, text := range segments {
				put(t, m, name, text)
			}
			found, err := Inspect(m, dir)
			must(t, err)
			if got := found.Missing(12); !slices.Equal(got, c.want) {
				t.Errorf("before it is opened: %v, want %v", got, c.want)
			}
			j, _, err = Open(m, dir, box(m, "/x/quarantine"))
			must(t, err)
			if len(c.want) > 0 {
				must(t, j.NewSegment(event(13)))
			}
			must(t, j.Close())
			found, err = Inspect(m, dir)
			must(t, err)
			if got := found.Missing(found.Last); !slices.Equal(got, c.want) || !found.Whole() {
				t.Errorf("after it was opened: %v, want %v", got, c.want)
			}
		})
	}
}

// flip changes a byte in the n-th line of a segment.
func flip(text []byte, n int) {
	at := 0
	for range n {
		at += bytes.IndexByte(text[at:], '\n') + 1
	}
	text[at+8] ^= 1
}
