//go:build unix

package programtest_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"hank/internal/programtest"
)

// TestAProgramCanBeStartedAtOnce: also while others are started. Without the lock some of 320
// starts find the file busy.
func TestAProgramCanBeStartedAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 40 {
				file := filepath.Join(dir, fmt.Sprintf("%d-%d", i, j))
				programtest.Write(t, file, "#!/bin/sh\n")
				if err := exec.Command(file).Run(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}
