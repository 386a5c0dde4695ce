//go:build unix

package layouttest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/storer"

	"hank/checkpoint/internal/testkit"
)

// CountingStore counts the objects that are read.
type CountingStore struct {
	storer.EncodedObjectStorer
	Reads int
}

func (c *CountingStore) EncodedObject(k plumbing.ObjectType, h plumbing.Hash) (plumbing.EncodedObject, error) {
	c.Reads++
	return c.EncodedObjectStorer.EncodedObject(k, h)
}

func Git(t testkit.Fataler, dir string, stdin []byte, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(stdin)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %s: %v\n%s\n%s", strings.Join(args, " "), err, stderr.String(), stdin)
	}
	return out
}
