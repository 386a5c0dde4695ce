package state

import (
	"bytes"
	"testing"
)

// Two readers of one journal must come to the same bytes, or nobody could
// compare them.
func TestTheSameStateIsTheSameText(t *testing.T) {
	t.Parallel()
	s := &State{Lineage: "l", Runs: []*Run{{RunID: "1-aaaaa", Status: StatusFailed, Labels: map[string]string{"a": "1", "b": "2", "c": "3", "d": "4"}}}}
	first, err := s.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		again, err := s.Marshal()
		if err != nil || !bytes.Equal(first, again) {
			t.Fatalf("one state, two texts (%v):\n%s\n%s", err, first, again)
		}
	}
}
