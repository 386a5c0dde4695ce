package packdb_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
