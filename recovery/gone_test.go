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
		began := time.Now()
		for range 20 {
			_, _ = Read(root) // there is nothing to tell
		}
		if took := time.Since(began) / 20; took >= beginning {
			t.Errorf("%s: each read took %s", name, took)
		}
	}
}
