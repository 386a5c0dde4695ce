package liveview

import (
	"context"
	"os"
	"time"

	"hank/recovery/layout"
	"hank/state/journal"
)

// Between two codons the runtime itself has work to do, and writes an event every few
// milliseconds. A viewer that looks then takes the processor from it, and reads what has changed
// once more a moment later. So it waits until the runtime waits for an agent again.
const (
	still    = 50 * time.Millisecond  // without an event: the transition is over
	patience = 200 * time.Millisecond // that a viewer waits for it at most
)

// Busy reports whether the runtime of an execution has written an event a moment ago.
func Busy(root string) bool { return stillFor(root) < still }

// stillFor is for how long no event was written; as far as the clock of the files tells.
func stillFor(root string) time.Duration {
	fi, err := os.Stat(journal.Current(layout.Layout{Root: root}.Events()))
	if err != nil {
		return still // the look says what is wrong
	}
	if d := time.Since(fi.ModTime()); d >= 0 {
		return d
	}
	return still // another clock
}

// Settle waits until the runtime of an execution is not busy, for a moment at most.
func Settle(ctx context.Context, root string) {
	for end := time.Now().Add(patience); time.Now().Before(end); {
		d := stillFor(root)
		if d >= still {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(still - d):
		}
	}
}
