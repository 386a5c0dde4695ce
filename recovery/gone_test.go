package recovery

import (
	"path/filepath"
	"testing"
	"time"
)

// TestADeletedExecutionIsNotWaitedFor: only a directory that is there, and empty, may be one
// that was just made.
func TestADeletedExecutionIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	there := t.TempDir()
	for name, root := range map[string]string{"deleted": filepath.Join(there, "x"), "without hank's own directory": there} {
		quickest := time.Hour // of many: a slow machine does not look like one that waits
		for range 20 {
			began := time.Now()
			_, _ = Read(root) // there is nothing to tell
			quickest = min(quickest, time.Since(began))
		}
		if quickest >= beginning {
			t.Errorf("%s: each read took at least %s", name, quickest)
		}
	}
}
