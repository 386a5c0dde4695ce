//go:build unix

package repair_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"hank/checkpoint"
	"hank/checkpoint/internal/checkpointtest"
	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/match"
	"hank/checkpoint/repair"
)

// A store of another system has loose objects: they are counted, and read.
func TestLooseObjectsAreCheckedAndCounted(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	r.Write("a", "the text of a")
	r.Commit(r.Snapshot(match.Selection{All: true}))
	packed, err := repair.Check(t.Context(), r.Store.DB)
	testkit.Must(t, err)
	testkit.Must(t, r.Store.Close())
	packs, err := filepath.Glob(filepath.Join(r.Opts.Dir, "objects", "pack", "*.pack"))
	testkit.Must(t, err)
	for _, pack := range packs {
		text, err := os.ReadFile(pack)
		testkit.Must(t, err)
		base := strings.TrimSuffix(pack, ".pack")
		for _, end := range []string{".pack", ".idx", ".keep"} {
			_ = os.Remove(base + end)
		}
		unpack := exec.Command("git", "--git-dir", r.Opts.Dir, "unpack-objects", "-q")
		unpack.Stdin = bytes.NewReader(text)
		if out, err := unpack.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	r.Store, err = checkpoint.Open(r.Opts)
	testkit.Must(t, err)
	loose, err := repair.Check(t.Context(), r.Store.DB)
	testkit.Must(t, err)
	if loose.Objects != packed.Objects || loose.Objects < 3 || len(loose.Problems) > 0 {
		t.Errorf("%d objects in packs, %d loose, problems %q", packed.Objects, loose.Objects, loose.Problems)
	}
	blob := plumbing.ComputeHash(plumbing.BlobObject, []byte("the text of a")).String()
	name := filepath.Join(r.Opts.Dir, "objects", blob[:2], blob[2:])
	testkit.Must(t, os.Chmod(name, 0o600))
	testkit.Must(t, os.WriteFile(name, []byte("no object"), 0o600))
	damaged, err := repair.Check(t.Context(), r.Store.DB)
	testkit.Must(t, err)
	if len(damaged.Problems) != 1 || !strings.Contains(damaged.Problems[0], blob) {
		t.Errorf("a damaged loose blob: %q", damaged.Problems)
	}
}
