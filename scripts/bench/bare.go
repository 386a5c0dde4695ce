package main

import (
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// bareAtOnce is how many directories are worked in beside each other: as many as in
// a restore of hank's.
var bareAtOnce = max(8, runtime.NumCPU())

// bare does to files what a rollback cannot do without: it writes each file that
// differs under another name and renames it into place. It reads, compares,
// inflates and syncs nothing, and saves nothing before. The difference to a
// rollback is what hank does; what is left is the file system's.
func (b *bench) bare(files int) (*side, func() error, error) {
	t, err := b.newTree(files)
	if err != nil {
		return nil, nil, err
	}
	remove := func() error { return os.RemoveAll(t.Dir) }
	if err := t.Change(files / 10 * 95 / 100); err != nil { // as many as rework makes anew
		return nil, remove, err
	}
	type file struct{ content [2][]byte }
	dirs := map[string]map[string]*file{}
	for i, content := range t.Versions() {
		f := &file{content}
		dir, name := filepath.Split(t.Path(i))
		if dirs[dir] == nil {
			dirs[dir] = map[string]*file{}
		}
		dirs[dir][name] = f
	}
	each := func(do func(path string, f *file) error) error {
		var g errgroup.Group
		g.SetLimit(bareAtOnce)
		for _, dir := range slices.Sorted(maps.Keys(dirs)) {
			g.Go(func() error {
				for name, f := range dirs[dir] {
					if err := do(filepath.Join(dir, name), f); err != nil {
						return err
					}
				}
				return nil
			})
		}
		return g.Wait()
	}
	return &side{name: bareSide, unchecked: true, turn: func(n int) (sample, error) {
		start := time.Now()
		err := each(func(path string, f *file) error { return os.WriteFile(path+".new", f.content[n%2], 0o644) })
		if err == nil {
			err = each(func(path string, _ *file) error { return os.Rename(path+".new", path) })
		}
		return sample{elapsed: time.Since(start)}, err
	}}, remove, nil
}
