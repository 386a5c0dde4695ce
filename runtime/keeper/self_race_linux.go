//go:build race

package keeper

import (
	"cmp"
	"os"
)

// selfPath leads to a hank without the race detector, where scripts/test has built one: a
// process with it takes five times as long to begin, and a keeper is tested by itself.
func selfPath() (string, error) { return cmp.Or(os.Getenv("HANK_PLAIN"), "/proc/self/exe"), nil }
