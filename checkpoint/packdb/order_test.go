package packdb_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"hank/checkpoint"
	"hank/checkpoint/packdb"
	"hank/internal/vfs"
	"hank/internal/vfs/vfstest"
)

// At no call is there an index whose pack has no name yet: whoever reads then, and
// stock git, would meet an index without its pack.
func TestNoIndexHasItsNameBeforeItsPack(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	renamed := 0
	look := func(c vfstest.Call) error {
		if c.Op == vfstest.OpRename && (strings.HasSuffix(c.Name, ".pack") || strings.HasSuffix(c.Name, ".idx")) {
			renamed++
		}
		indexes, err := filepath.Glob(filepath.Join(dir, "objects", "pack", "*.idx"))
		if err != nil {
			t.Error(err)
		}
		for _, index := range indexes {
			if _, err := os.Lstat(strings.TrimSuffix(index, ".idx") + ".pack"); errors.Is(err, os.ErrNotExist) {
				t.Errorf("before %s, %s has no pack", c, filepath.Base(index))
			}
		}
		return nil
	}
	s, err := checkpoint.Init(packdb.Options{FS: vfstest.Inject(vfs.OS, look), Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, message := range []string{"one", "two"} {
		tree, err := s.AddTree(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Commit(context.Background(), checkpoint.CommitRequest{Tree: tree, Message: message, When: time.Unix(0, 0)}); err != nil {
			t.Fatal(err)
		}
	}
	if renamed != 4 {
		t.Errorf("%d files of two packs were renamed", renamed)
	}
}

// A limit holds for a pack with its index as they are on the disk, of many small objects
// and of one that is too large for memory, and until it is lifted.
func TestALimitHoldsForAPackWithItsIndex(t *testing.T) {
	t.Parallel()
	const limit = 60_000
	noise := func(seed, n int) []byte {
		text := make([]byte, n)
		_, _ = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(text) // never fails
		return text
	}
	for name, c := range map[string]struct {
		put   func(s *checkpoint.Store, i int) error
		least int
	}{
		"small ones": {func(s *checkpoint.Store, i int) error {
			_, _, err := s.PutObject(plumbing.BlobObject, noise(i, 20))
			return err
		}, limit - 200},
		"large ones": {func(s *checkpoint.Store, i int) error {
			_, _, err := s.PutStream(plumbing.BlobObject, 9000, bytes.NewReader(noise(i, 9000)))
			return err
		}, limit - 10_000},
	} {
		dir := filepath.Join(t.TempDir(), "store")
		s, err := checkpoint.Init(packdb.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		lift := s.LimitPending(limit)
		room := 0
		for err = nil; err == nil && room < limit; room++ {
			err = c.put(s, room)
		}
		if room--; !errors.Is(err, packdb.ErrNoRoom) {
			t.Errorf("%s: object %d: %v", name, room, err)
		}
		s.Abort()
		for i := range room {
			if err := c.put(s, i); err != nil {
				t.Fatalf("%s: object %d again: %v", name, i, err)
			}
		}
		if err := s.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		size := 0
		files, err := filepath.Glob(filepath.Join(dir, "objects", "pack", "pack-*"))
		for _, file := range files {
			fi, serr := os.Stat(file)
			if err = errors.Join(err, serr); err == nil {
				size += int(fi.Size())
			}
		}
		if err != nil || size > limit || size < c.least {
			t.Errorf("%s: %d objects take %d bytes of %d, %v", name, room, size, limit, err)
		}
		lift()
		for i := range room + 1 {
			if err := c.put(s, 1000+i+room); err != nil {
				t.Fatalf("%s: object %d without a limit: %v", name, i, err)
			}
		}
		if err := s.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// A reference is compared under its lock: one that moves while SetRef waits for the lock
// stays where it has moved.
func TestAReferenceIsComparedUnderItsLock(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	const name = "refs/heads/main"
	file, theirs := filepath.Join(dir, filepath.FromSlash(name)), ""
	s, err := checkpoint.Init(packdb.Options{Dir: dir, FS: vfstest.Inject(vfs.OS, func(c vfstest.Call) error {
		if c.Op != vfstest.OpLink || c.Name != file+".lock" || theirs == "" {
			return nil
		}
		return os.WriteFile(file, []byte(theirs+"\n"), 0o600)
	})})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var commits []packdb.SHA
	for _, message := range []string{"one", "two", "theirs"} {
		sha, err := s.Commit(context.Background(), packdb.CommitRequest{Tree: packdb.EmptyTree, Message: message, When: time.Unix(1, 0)})
		if err != nil {
			t.Fatal(err)
		}
		commits = append(commits, sha)
	}
	if err := s.SetRef(name, "", commits[0]); err != nil {
		t.Fatal(err)
	}
	theirs = string(commits[2])
	var conflict *packdb.RefConflictError
	if err := s.SetRef(name, commits[0], commits[1]); !errors.As(err, &conflict) || conflict.Have != commits[2] {
		t.Errorf("it moved while its lock was taken: %v", err)
	}
	if got, err := s.Ref(name); err != nil || got != commits[2] {
		t.Errorf("it is at %q, not at %q (%v)", got, commits[2], err)
	}
}

// Where SetRef has moved, begun or removed a reference, that is so after a power cut that
// keeps nothing but what was synced.
func TestAReferenceIsWhereItWasMovedAfterAPowerCut(t *testing.T) {
	t.Parallel()
	mem := vfstest.NewMem()
	if err := vfs.MkdirAll(mem, "/x", 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := checkpoint.Init(packdb.Options{FS: mem, Dir: "/x/store"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	way := []packdb.SHA{""}
	for _, message := range []string{"one", "two"} {
		sha, err := s.Commit(context.Background(), packdb.CommitRequest{Tree: packdb.EmptyTree, Message: message, When: time.Unix(1, 0)})
		if err != nil {
			t.Fatal(err)
		}
		way = append(way, sha)
	}
	const name = "refs/heads/recovery/a"
	for i, to := range append(way[1:], "") {
		if err := s.SetRef(name, way[i], to); err != nil {
			t.Fatal(err)
		}
		after, err := checkpoint.Open(packdb.Options{FS: mem.Crash(rand.New(rand.NewPCG(1, 1)), 0), Dir: "/x/store"})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := after.Ref(name); err != nil || got != to {
			t.Errorf("moved from %q to %q, it is at %q (%v)", way[i], to, got, err)
		}
		if err := after.Close(); err != nil {
			t.Error(err)
		}
	}
}
