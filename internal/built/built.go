// Package built has the program for tests that drive it as people have it: without what
// tests add, and without the race detector. Nothing of the program may import it.
package built

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Hank returns the path of hank: of the one that scripts/test has built for all tests, which
// HANK_PLAIN names, or else of one that it builds in a directory.
func Hank(dir string) (string, error) {
	file := cmp.Or(os.Getenv("HANK_PLAIN"), filepath.Join(dir, "hank"))
	if os.Getenv("HANK_PLAIN") == "" {
		if out, err := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-w", "-o", file, "hank/cmd/hank").CombinedOutput(); err != nil {
			return "", fmt.Errorf("building hank: %w\n%s", err, out)
		}
	}
	_, err := os.Stat(file) // go test repeats a test whose program has changed
	return file, err
}
