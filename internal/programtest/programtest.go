// Package programtest writes small programs that a test starts. It may not start them.
package programtest

import (
	"os"
	"syscall"
	"testing"
)

// Write writes a program for everybody's use, whole, such that it can be started at once.
//
// A file that is open for writing cannot be started (ETXTBSY). A process that another test forks
// while the file is written has it open until it becomes its own program
// (https://go.dev/issue/22315). So nothing is forked meanwhile.
func Write(t testing.TB, file, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}
