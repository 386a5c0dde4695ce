//go:build unix

package checkpoint

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

// A store of another system has loose objects: they are counted, and read.
func TestLooseObjectsAreCheckedAndCounted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a", "the text of a")
	r.commit(r.snapshot(Selection{All: true}))
	packed, err := r.store.Check(t.Context())
	must(t, err)
	must(t, r.store.Close())
	packs, err := filepath.Glob(filepath.Join(r.opts.Dir, "objects", "pack", "*.pack"))
	must(t, err)
	for _, pack := range packs {
		text, err := os.ReadFile(pack)
		must(t, err)
		base := strings.TrimSuffix(pack, ".pack")
		for _, end := range []string{".pack", ".idx", ".keep"} {
			_ = os.Remove(base + end)
		}
		unpack := exec.Command("git", "--git-dir", r.opts.Dir, "unpack-objects", "-q")
		unpack.Stdin = bytes.NewReader(text)
		if out, err := unpack.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	r.store, err = Open(r.opts)
	must(t, err)
	loose, err := r.store.Check(t.Context())
	must(t, err)
	if loose.Objects != packed.Objects || loose.Objects < 3 || len(loose.Problems) > 0 {
		t.Errorf("%d objects in packs, %d loose, problems %q", packed.Objects, loose.Objects, loose.Problems)
	}
	blob := objectID(plumbing.BlobObject, []byte("the text of a")).String()
	name := filepath.Join(r.opts.Dir, "objects", blob[:2], blob[2:])
	must(t, os.Chmod(name, 0o600))
	must(t, os.WriteFile(name, []byte("no object"), 0o600))
	damaged, err := r.store.Check(t.Context())
	must(t, err)
	if len(damaged.Problems) != 1 || !strings.Contains(damaged.Problems[0], blob) {
		t.Errorf("a damaged loose blob: %q", damaged.Problems)
	}
}
