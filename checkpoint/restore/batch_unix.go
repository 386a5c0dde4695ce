//go:build unix

package restore

import (
	"context"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
)

// batchSize bounds the changes of one directory that one goroutine handles.
const batchSize = 128

// batchesAtOnce is more than some machines have cores: what looks at files that
// are not in memory waits for the disk, and so does what frees them, on a file
// system that tells the disk at once of each (ext4 without a journal, mounted
// with discard).
func batchesAtOnce() int { return max(8, runtime.NumCPU()) }

// inBatches calls f in parallel for parts of items that lie in one directory.
func inBatches[T any](items []*T, dirOf func(*T) string, f func(dir string, batch []*T) error) error {
	byDir := map[string][]*T{}
	for _, item := range items {
		dir := dirOf(item)
		byDir[dir] = append(byDir[dir], item)
	}
	g, ctx := errgroup.WithContext(context.Background())
	g.SetLimit(batchesAtOnce())
	for dir, all := range byDir {
		for batch := range slices.Chunk(all, batchSize) {
			g.Go(func() error {
				if ctx.Err() != nil {
					return nil // another batch has failed
				}
				return f(dir, batch)
			})
		}
	}
	return g.Wait()
}

// pointers returns the address of each item for which every pick holds.
func pointers[T any](items []T, picks ...func(*T) bool) []*T {
	var out []*T
	for i := range items {
		if !slices.ContainsFunc(picks, func(pick func(*T) bool) bool { return !pick(&items[i]) }) {
			out = append(out, &items[i])
		}
	}
	return out
}
