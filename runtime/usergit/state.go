package usergit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// State is what must not change: digests of the index's bytes and time, of
// HEAD, of all references, and of what git status prints.
type State struct{ Index, Head, References, Status string }

// State reads it. The branch named without is left out of the references.
func (r *Repository) State(ctx context.Context, without string) (State, error) {
	var s State
	for _, f := range []struct {
		to   *string
		name string
	}{{&s.Index, "index"}, {&s.Head, "HEAD"}} {
		data, err := os.ReadFile(filepath.Join(r.gitDir, f.name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return s, err
		}
		if fi, err := os.Stat(filepath.Join(r.gitDir, f.name)); err == nil {
			data = fmt.Appendf(data, "\x00%d", fi.ModTime().UnixNano())
		}
		*f.to = digest(data)
	}
	list, err := r.read(ctx, "for-each-ref", "--format=%(objectname) %(refname)")
	if err != nil {
		return s, err
	}
	var kept []string
	for line := range strings.SplitSeq(list, "\n") {
		if !strings.HasSuffix(line, " refs/heads/"+without) {
			kept = append(kept, line)
		}
	}
	s.References = digest([]byte(strings.Join(kept, "\n")))
	out, err := r.output(ctx, call{dir: r.Top, env: r.env, args: []string{"status", "--porcelain=v2", "-z", "--untracked-files=normal"}})
	s.Status = digest(out)
	return s, err
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
