package liveview

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hank/recovery/layout"
	"hank/state/journal"
)

// TestALookWaitsForTheEndOfATransition: while events are written, and never for longer than a
// moment.
func TestALookWaitsForTheEndOfATransition(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	Settle(t.Context(), root) // nothing is there
	path := journal.Current(layout.Layout{Root: root}.Events())
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	at := func(when time.Time) {
		if err := os.Chtimes(path, when, when); err != nil {
			t.Error(err)
		}
	}
	for when, busy := range map[time.Duration]bool{-time.Hour: false, -still: false, time.Hour: false} {
		if at(time.Now().Add(when)); Busy(root) != busy {
			t.Errorf("an event at %s: busy is %t", when, !busy)
		}
	}
	begun := time.Now()
	at(begun)
	Settle(t.Context(), root)
	if waited := time.Since(begun); waited < still {
		t.Errorf("it has waited for %s", waited)
	}

	stop, stopped := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for stop.Err() == nil {
			at(time.Now())
		}
	}()
	Settle(t.Context(), root) // it returns, although events come all the time
	stopped()
	<-done
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	at(time.Now())
	Settle(gone, root)
}
