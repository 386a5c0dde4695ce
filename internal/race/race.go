// Package race tells tests whether the race detector is on.
//
// It makes a process take five times as long to begin, and what it does up to ten times as
// long. It looks at what runs at the same time, which is the same in each of many cases. So
// with it tests of many cases take one in Step, or leave it to scripts/test, which runs all of
// these once more without it.
package race

import "testing"

// Without leaves a test to the part of scripts/test that runs without the detector.
func Without(t testing.TB) {
	t.Helper()
	if Step > 1 {
		t.Skip("scripts/test runs it without the race detector")
	}
}
