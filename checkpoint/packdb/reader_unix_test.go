//go:build unix

package packdb_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hank/checkpoint"
	"hank/checkpoint/packdb"
)

// A reader that is killed while it has objects of its own leaves no file.
func TestAReaderHasNoFileThatItCouldLeaveBehind(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	o := packdb.Options{Dir: filepath.Join(t.TempDir(), "store")}
	w, err := checkpoint.Init(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	o.ReadOnly = true
	s, err := checkpoint.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	tree, err := s.AddTree(context.Background(), nil)
	if err != nil || !s.Has(tree) {
		t.Fatalf("%s: %v", tree, err)
	}
	for _, at := range []string{dir, filepath.Join(o.Dir, "objects", "pack")} {
		list, err := os.ReadDir(at)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			if strings.HasPrefix(e.Name(), packdb.Temporary) {
				t.Errorf("%s is in %s", e.Name(), at)
			}
		}
	}
}
