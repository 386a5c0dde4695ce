//go:build unix

package packdb_test

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"hank/checkpoint/internal/layouttest"
	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/packdb"
)

// What a tree that was not made by git's own programs has for a mode is what
// stock git takes it for.
func TestOddModesAreWhatGitTakesThemFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	layouttest.Git(t, dir, nil, "init", "-q")
	blob := strings.TrimSpace(string(layouttest.Git(t, dir, []byte("x"), "hash-object", "-w", "--stdin")))
	id, err := hex.DecodeString(blob)
	testkit.Must(t, err)
	for _, mode := range []string{"100644", "100600", "100664", "100611", "100654", "100674", "100700", "100755", "100777", "120777"} {
		raw := append([]byte(mode+" a\x00"), id...)
		entries, err := packdb.ParseTree(raw)
		testkit.Must(t, err)
		tree := strings.TrimSpace(string(layouttest.Git(t, dir, raw, "hash-object", "-w", "-t", "tree", "--literally", "--stdin")))
		layouttest.Git(t, dir, nil, "read-tree", tree)
		staged := string(layouttest.Git(t, dir, nil, "ls-files", "-s"))
		if want := fmt.Sprintf("%06o ", uint32(entries[0].Mode)); !strings.HasPrefix(staged, want) {
			t.Errorf("%s is %s here, and git has %s", mode, want, staged)
		}
	}
}
