// Package short tells tests that they are too long for a quick check.
package short

import "testing"

// Skip skips a test that takes seconds where go test has the flag -short: scripts/check
// leaves it to scripts/test.
func Skip(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes seconds: scripts/test runs it")
	}
}
