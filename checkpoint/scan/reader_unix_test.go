//go:build unix

package scan_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"hank/checkpoint"
	"hank/checkpoint/internal/checkpointtest"
	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/match"
	"hank/checkpoint/scan"
)

// bytesBelow are the modes and digests of everything below some paths.
func bytesBelow(t *testing.T, roots ...string) map[string][sha256.Size]byte {
	t.Helper()
	found := map[string][sha256.Size]byte{}
	for _, root := range roots {
		testkit.Must(t, filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			fi, err := e.Info()
			if err != nil {
				return err
			}
			data := []byte(nil)
			if e.Type().IsRegular() {
				if data, err = os.ReadFile(name); err != nil {
					return err
				}
			}
			found[name] = sha256.Sum256(append(data, fi.Mode().String()+fi.ModTime().String()...))
			return nil
		}))
	}
	return found
}

// A reader believes the cache on disk as far as a writer would, and reads what it would
// read. It writes nothing: neither the cache, which is left as it was even where it is of no
// use, nor into the store. A false entry in the cache shows whether it is believed.
func TestAReaderTrustsTheCacheAsAWriterAndLeavesIt(t *testing.T) {
	t.Parallel()
	all := match.Selection{All: true}
	for name, c := range map[string]struct {
		believed bool
		then     func(t *testing.T, r *checkpointtest.Rig)
	}{
		"nothing":      {true, func(*testing.T, *checkpointtest.Rig) {}},
		"another boot": {false, func(_ *testing.T, r *checkpointtest.Rig) { r.Opts.BootID = "another boot" }},
		"no boot":      {false, func(_ *testing.T, r *checkpointtest.Rig) { r.Opts.BootID = "" }},
		"a missing cache": {false, func(t *testing.T, r *checkpointtest.Rig) {
			testkit.Must(t, os.Remove(r.Opts.CacheFile))
		}},
		"a damaged cache": {false, func(t *testing.T, r *checkpointtest.Rig) {
			data, err := os.ReadFile(r.Opts.CacheFile)
			testkit.Must(t, err)
			data[len(data)/2] ^= 1
			testkit.Must(t, os.WriteFile(r.Opts.CacheFile, data, 0o600))
		}},
		"half a cache": {false, func(t *testing.T, r *checkpointtest.Rig) {
			fi, err := os.Stat(r.Opts.CacheFile)
			testkit.Must(t, err)
			testkit.Must(t, os.Truncate(r.Opts.CacheFile, fi.Size()/2))
		}},
		"another mode": {false, func(t *testing.T, r *checkpointtest.Rig) { testkit.Must(t, os.Chmod(r.Path("old"), 0o600)) }},
		"another content of the same size and time": {false, func(t *testing.T, r *checkpointtest.Rig) {
			fi, err := os.Stat(r.Path("old"))
			testkit.Must(t, err)
			r.Write("old", "3")
			testkit.Must(t, os.Chtimes(r.Path("old"), fi.ModTime(), fi.ModTime()))
		}},
		"another file of the same size and time": {false, func(t *testing.T, r *checkpointtest.Rig) {
			fi, err := os.Stat(r.Path("old"))
			testkit.Must(t, err)
			r.Write("new", "3")
			testkit.Must(t, os.Chtimes(r.Path("new"), fi.ModTime(), fi.ModTime()))
			testkit.Must(t, os.Rename(r.Path("new"), r.Path("old")))
		}},
		"a link to such a file": {false, func(t *testing.T, r *checkpointtest.Rig) {
			testkit.Must(t, os.Remove(r.Path("old")))
			testkit.Must(t, os.Symlink("o", r.Path("old")))
		}},
		"an execution that cannot be written to": {true, func(t *testing.T, r *checkpointtest.Rig) {
			dirs := []string{filepath.Dir(r.Opts.CacheFile), r.Opts.Dir, filepath.Join(r.Opts.Dir, "objects", "pack")}
			for _, dir := range dirs {
				testkit.Must(t, os.Chmod(dir, 0o500))
			}
			t.Cleanup(func() {
				for _, dir := range dirs {
					_ = os.Chmod(dir, 0o700)
				}
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := checkpointtest.NewRig(t)
			r.Opts.CacheFile = filepath.Join(filepath.Dir(r.Opts.Dir), "index", "cache")
			r.Reopen()
			r.Write("old", "1")
			r.Write("other", "2")
			r.Age()
			r.Commit(r.Snapshot(all))
			falsify(r, "old", "other")
			r.Commit(r.Snapshot(all))
			testkit.Must(t, r.Store.Close())
			c.then(t, r)
			before := bytesBelow(t, r.Opts.Dir, filepath.Dir(r.Opts.CacheFile))
			tree := func(o checkpoint.Options) checkpoint.SHA {
				o.ReadOnly = true
				store, err := checkpoint.Open(o)
				testkit.Must(t, err)
				snap, err := store.Snapshot(context.Background(), scan.SnapshotRequest{Workspace: r.Ws, Selection: all, Base: r.Tip})
				testkit.Must(t, err)
				store.KeepLargeCache()
				store.Abort()
				testkit.Must(t, errors.Join(store.KeepCache(), store.Close()))
				return snap.Tree
			}
			blind := r.Opts
			blind.CacheFile = ""
			if got := tree(r.Opts) != tree(blind); got != c.believed {
				t.Errorf("the cache was believed: %v, want %v", got, c.believed)
			}
			if after := bytesBelow(t, r.Opts.Dir, filepath.Dir(r.Opts.CacheFile)); !maps.Equal(before, after) {
				t.Error("the reader has written")
			}
		})
	}
}
