//go:build unix

package packdb_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hank/checkpoint"
	"hank/checkpoint/internal/checkpointtest"
	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/match"
	"hank/checkpoint/packdb"
	"hank/checkpoint/repair"
	"hank/checkpoint/worktree"
	"hank/internal/vfs"
	"hank/internal/vfs/vfstest"
)

// Whatever becomes of the index of a whole pack: a reader reads the pack and writes nothing,
// and a writer makes the same index again.
func TestAPackIsReadWithoutItsIndexAndGetsTheSameOne(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	made := r.Grow(3)
	testkit.Must(t, r.Store.Close())
	indexes := testkit.Glob(t, r.Opts.Dir, "objects/pack/*.idx")
	good := map[string][]byte{}
	for _, name := range indexes {
		text, err := os.ReadFile(name)
		testkit.Must(t, err)
		testkit.Must(t, os.Chmod(name, 0o600))
		good[name] = text
	}
	one := indexes[1]
	put := func(text []byte) func() error {
		return func() error { return os.WriteFile(one, text, 0o600) }
	}
	flipped := func(at int) func() error {
		text := bytes.Clone(good[one])
		text[at] ^= 4
		return put(text)
	}
	size := len(good[one])
	for name, c := range map[string]struct {
		do      func() error
		unfit   int
		missing bool
	}{
		"all gone": {func() error {
			var err error
			for _, name := range indexes {
				err = errors.Join(err, os.Remove(name))
			}
			return err
		}, len(indexes), true},
		"gone":                 {func() error { return os.Remove(one) }, 1, true},
		"empty":                {put(nil), 1, false},
		"cut":                  {put(good[one][:size-25]), 1, false},
		"longer":               {put(append(bytes.Clone(good[one]), 0)), 1, false},
		"junk":                 {put([]byte("junk")), 1, false},
		"another pack's":       {put(good[indexes[0]]), 1, false},
		"a flipped name":       {flipped(8 + 1024 + 3), 1, false},
		"a flipped checksum":   {flipped(size - 1), 1, false},
		"a flipped pack's sum": {flipped(size - 25), 1, false},
		"a flipped offset":     {flipped(size - 41), 1, false},
		"a flipped count":      {flipped(8 + 4*255 + 3), 1, false},
		"a directory":          {func() error { return errors.Join(os.Remove(one), os.Mkdir(one, 0o700)) }, 1, false},
		"whole":                {put(good[one]), 0, false},
	} {
		for name, text := range good {
			testkit.Must(t, os.RemoveAll(name))
			testkit.Must(t, os.WriteFile(name, text, 0o600))
		}
		testkit.Must(t, c.do())
		before := testkit.List(t, filepath.Join(r.Opts.Dir, "objects", "pack"))
		reader := r.Opts
		reader.ReadOnly = true
		for _, opts := range []packdb.Options{reader, r.Opts} {
			s, err := checkpoint.Open(opts)
			testkit.Must(t, err)
			if rep, err := repair.Check(t.Context(), s.DB); err != nil || !rep.IsComplete() {
				t.Errorf("%s: %v %v", name, rep, err)
			}
			for _, sha := range made {
				if complete, err := s.IsComplete(t.Context(), sha); !complete || err != nil {
					t.Errorf("%s: checkpoint %s: %t, %v", name, sha, complete, err)
				}
			}
			unfit := s.Unindexed()
			if len(unfit) != c.unfit {
				t.Errorf("%s: %d indexes are unfit", name, len(unfit))
			}
			for _, p := range unfit {
				damaged := new(packdb.DamagedError)
				if errors.Is(p.Unfit(), fs.ErrNotExist) != c.missing || errors.As(p.Unfit(), &damaged) == c.missing {
					t.Errorf("%s: %v", name, p.Unfit())
				}
				if opts.ReadOnly {
					if err := s.WriteIndex(p); !errors.Is(err, packdb.ErrReadOnly) {
						t.Errorf("%s: a reader writes: %v", name, err)
					}
					continue
				}
				if !c.missing { // to quarantine
					testkit.Must(t, os.RemoveAll(p.Base+".idx"))
				}
				testkit.Must(t, s.WriteIndex(p))
			}
			if now := testkit.List(t, filepath.Join(r.Opts.Dir, "objects", "pack")); opts.ReadOnly && now != before {
				t.Errorf("%s: a reader has written: %s", name, now)
			} else if !opts.ReadOnly && len(s.Unindexed()) > 0 {
				t.Errorf("%s: still unfit", name)
			}
			testkit.Must(t, s.Close())
		}
		for index, want := range good {
			if have, err := os.ReadFile(index); err != nil || !bytes.Equal(have, want) {
				t.Errorf("%s: %s is not what it was: %v", name, filepath.Base(index), err)
			}
		}
	}
}

// A pack that is damaged, too, is called damaged, and is no reason to doubt the others.
func TestAPackThatIsNeitherIndexedNorWholeIsReported(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	r.Write("a", "one")
	sha := r.Commit(r.Snapshot(match.Selection{All: true}))
	good, err := os.ReadFile(testkit.Glob(t, r.Opts.Dir, "objects/pack/*.pack")[0])
	testkit.Must(t, err)
	good[len(good)/2] ^= 1
	bad := filepath.Join(r.Opts.Dir, "objects/pack/pack-"+strings.Repeat("0", 40))
	testkit.Must(t, os.WriteFile(bad+".pack", good, 0o444))
	for _, index := range []string{"", "junk"} {
		if index != "" {
			testkit.Must(t, os.WriteFile(bad+".idx", []byte(index), 0o600))
		}
		r.Reopen()
		rep, err := repair.Check(t.Context(), r.Store.DB)
		if err != nil || len(rep.Problems) != 1 || !strings.Contains(rep.Problems[0], bad+".pack is damaged: its index is ") || !strings.Contains(rep.Problems[0], "its checksum is wrong") {
			t.Errorf("with the index %q: %v, %v", index, rep, err)
		}
		if len(r.Store.Unindexed()) > 0 || !r.Store.Has(sha) {
			t.Errorf("with the index %q: it counts as whole, or what is whole cannot be read", index)
		}
	}
}

// At every call of a writer that makes checkpoints and merges them, a reader finds every
// checkpoint: a pack gets its index after its name, and loses it before.
func TestAReaderNeedsNoIndexWhileAWriterWorks(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	work := t.TempDir()
	w, err := worktree.OpenWorkspace(work)
	testkit.Must(t, err)
	defer w.Close()
	var made []packdb.SHA
	without, looks, looking := 0, 0, false
	look := func(c vfstest.Call) error {
		if looking || !c.Mutates() || len(made) == 0 || !strings.Contains(c.Name, "pack") {
			return nil
		}
		looking, looks = true, looks+1
		defer func() { looking = false }()
		s, err := checkpoint.Open(packdb.Options{Dir: dir, ReadOnly: true})
		if err != nil {
			t.Errorf("before %s: %v", c, err)
			return nil
		}
		defer s.Close()
		without += len(s.Unindexed())
		rep, err := repair.Check(t.Context(), s.DB)
		if err != nil || !rep.IsComplete() {
			t.Errorf("before %s: %v %v", c, rep, err)
		}
		for _, sha := range made {
			if complete, err := s.IsComplete(t.Context(), sha); !complete || err != nil {
				t.Errorf("before %s: checkpoint %s: %t, %v", c, sha, complete, err)
			}
		}
		return nil
	}
	s, err := checkpoint.Init(packdb.Options{FS: vfstest.Inject(vfs.OS, look), Dir: dir})
	testkit.Must(t, err)
	for i := range checkpointtest.MergeWidth {
		testkit.Must(t, os.WriteFile(filepath.Join(work, "f"), []byte{byte(i)}, 0o600))
		snap, err := s.Snapshot(t.Context(), checkpoint.SnapshotRequest{Workspace: w, Selection: match.Selection{All: true}})
		testkit.Must(t, err)
		sha, err := s.Commit(t.Context(), packdb.CommitRequest{Tree: snap.Tree, Parents: made[max(0, len(made)-1):], Message: "x", When: time.Unix(1, 0)})
		testkit.Must(t, err)
		made = append(made, sha)
	}
	testkit.Must(t, s.Merge(t.Context()))
	testkit.Must(t, s.Close())
	if want := checkpointtest.MergeWidth; without < 2*want-1 {
		t.Errorf("at %d looks, %d packs had no index: this test looks at nothing", looks, without)
	}
}

// In a repository that is somebody's, a pack without an index does not count, as for stock git.
func TestAPackOfSomebodysCountsWithItsIndex(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	sha := r.Grow(1)[0]
	testkit.Must(t, r.Store.Close())
	for _, index := range testkit.Glob(t, r.Opts.Dir, "objects/pack/*.idx") {
		testkit.Must(t, os.Remove(index))
	}
	s, err := packdb.Open(packdb.Options{Dir: r.Opts.Dir, Shared: true, ReadOnly: true})
	testkit.Must(t, err)
	if s.Has(sha) || len(s.Unindexed()) > 0 {
		t.Error("its objects are read")
	}
	testkit.Must(t, s.Close())
	r.Store, err = checkpoint.Open(r.Opts)
	testkit.Must(t, err)
}
