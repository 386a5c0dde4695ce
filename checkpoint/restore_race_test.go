//go:build unix

package checkpoint

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"testing"

	"github.com/go-git/go-git/v5/storage/memory"
)

// actsAt is a context that calls act at the n-th look at it: between two
// steps of a restore.
type actsAt struct {
	context.Context
	n    int64
	seen atomic.Int64
	act  func()
}

func (c *actsAt) Err() error {
	if c.seen.Add(1) == c.n {
		c.act()
	}
	return nil
}

// Someone writes to a file, or makes one where one will be, while the restore
// runs. Whatever the moment, what they wrote is not lost: it is there, or the
// restore came later and says that it did not get through. (Once the file has
// its place, their writing is simply a later change.)
func TestRestoreDestroysNothingThatIsWrittenMeanwhile(t *testing.T) {
	t.Parallel()
	from := layout{"replaced": file("old"), "deleted": file("old"), "d/x": file("old"), "swapped": file("old")}
	to := layout{"replaced": file("new"), "added": file("new"), "d/new": file("new"), "swapped/in": file("new")}
	for _, name := range []string{"replaced", "deleted", "added", "d/x", "d/new", "swapped"} {
		for n := int64(1); ; n++ {
			s := newSite(t, memory.NewStorage(), from)
			wrote := false
			ctx := &actsAt{Context: t.Context(), n: n, act: func() {
				must(t, os.RemoveAll(s.path("aside")))
				// A new inode, so that a file is not written while it is renamed.
				must(t, os.WriteFile(s.path("aside"), []byte("precious"), 0o600))
				wrote = os.Rename(s.path("aside"), s.path(name)) == nil
			}}
			_, err := Restore(ctx, s.request(from, to))
			if ctx.seen.Load() < n {
				if n < 8 {
					t.Fatalf("only %d moments: the test does not interfere", n)
				}
				break
			}
			if got, _ := os.ReadFile(s.path(name)); wrote && string(got) != "precious" {
				t.Fatalf("%s, written at moment %d, now holds %q; the restore said %v", name, n, got, err)
			}
			var incomplete *IncompleteError
			if err != nil && !errors.As(err, &incomplete) {
				t.Fatalf("%s at moment %d: %v", name, n, err)
			}
			for path := range readBack(t, s.root) {
				if len(path) >= len(tempPrefix) && path[:len(tempPrefix)] == tempPrefix {
					t.Fatalf("%s at moment %d: %s is left", name, n, path)
				}
			}
		}
	}
}
