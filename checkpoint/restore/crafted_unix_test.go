//go:build unix

package restore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	gitobject "github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/memory"

	"hank/checkpoint/internal/layouttest"
	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/packdb"
	"hank/checkpoint/worktree"
	"hank/internal/race"
	"hank/internal/short"
)

// craftedNames are in no honest tree, but for the first ones, which make the
// others meet what is on the disk.
var craftedNames = []string{
	"a", "b", "l", "d", "..", ".", "", "a/b", "../outside/victim", "/etc/evil", "l/victim", "d/../../outside/victim",
	".git", ".GIT", "git~1", ".git ", ".git::$INDEX_ALLOCATION", `.git\config`, ".g\u200cit", ".hankweave", ".HankWeave", worktree.JournalName, worktree.TempPrefix + "1",
	worktree.EscapePrefix + "..", worktree.EscapePrefix + ".git", worktree.EscapePrefix + "a%2Fb", worktree.EscapePrefix + "%2E%2E", worktree.EscapePrefix + "a", worktree.EscapePrefix + ".GIT", worktree.EscapePrefix + ".hankweave",
	`..\victim`, `a\..\..\victim`, "C:", "CON", "aux.txt", "a:stream", "a.", "a ", "A", "\xff", "new\nline", strings.Repeat("x", 300), strings.Repeat("../", 20) + "x",
}

var craftedModes = []filemode.FileMode{filemode.Regular, filemode.Regular, filemode.Executable, filemode.Symlink, filemode.Symlink, filemode.Dir, filemode.Dir, filemode.Dir,
	filemode.Submodule, filemode.Deprecated, 0, 0o40755, 0o10644, 0o120777, 0o777}

// craft stores a tree that a person with an editor for bytes might make: any
// names and modes, twice or in no order, ids that lead to the wrong kind of
// object or to none.
func craft(t testkit.Fataler, s *site, rng *rand.Rand, depth int) packdb.SHA {
	var entries []gitobject.TreeEntry
	for range rng.IntN(4) + 1 {
		e := gitobject.TreeEntry{Name: craftedNames[rng.IntN(4)], Mode: craftedModes[rng.IntN(len(craftedModes))]}
		if rng.IntN(5) == 0 {
			e.Name = craftedNames[rng.IntN(len(craftedNames))]
		}
		text := []string{"evil", "../outside", "../../outside", "/etc", ".", "../outside/victim", "l/x", ""}[rng.IntN(8)]
		switch {
		case rng.IntN(30) == 0:
			e.Hash = plumbing.NewHash(strings.Repeat("ab", 20))
		case rng.IntN(30) == 0 || e.Mode == filemode.Dir && depth == 0:
			e.Hash = plumbing.NewHash(string(layouttest.PutTree(t, s.st, layouttest.Layout{"victim": layouttest.File("evil")})))
		case e.Mode == filemode.Dir:
			e.Hash = plumbing.NewHash(string(craft(t, s, rng, depth-1)))
		default:
			e.Hash = layouttest.PutObject(t, s.st, plumbing.BlobObject, []byte(text))
		}
		entries = append(entries, e)
	}
	if rng.IntN(3) > 0 { // in order, and each name once, so that more of it gets through
		slices.SortFunc(entries, packdb.CompareEntries)
		entries = slices.CompactFunc(entries, func(a, b gitobject.TreeEntry) bool { return a.Name == b.Name })
	}
	return layouttest.PutRawTree(t, s.st, entries...)
}

// Nothing is written or deleted outside the workspace, nor in the user's .git
// or hank's own directory, whatever two trees made by hand say, in whatever
// workspace, for whatever paths.
func TestCraftedTreesNeverReachOutside(t *testing.T) {
	t.Parallel()
	race.Without(t)
	short.Skip(t)
	rounds := 300
	if os.Getenv(testkit.LongEnv) != "" {
		rounds = 20_000
	}
	dir := t.TempDir()
	outcomes := map[string]int{}
	for n := range rounds {
		seed := *testkit.OracleSeed + uint64(n)
		rng := rand.New(rand.NewPCG(seed, 5))
		root, outside := filepath.Join(dir, "root"), filepath.Join(dir, "outside")
		testkit.Must(t, errors.Join(os.RemoveAll(root), os.RemoveAll(outside), os.Mkdir(root, 0o755)))
		guarded := layouttest.Layout{"victim": layouttest.File("precious"), "a/victim": layouttest.File("precious"), "a/b": layouttest.File("precious"), "d/l": layouttest.Link("victim")}
		layouttest.LayDown(t, outside, guarded)
		own := layouttest.Layout{".git/config": layouttest.File("precious"), ".git/a": layouttest.File("precious"), ".hankweave/state.json": layouttest.File("precious")}
		layouttest.LayDown(t, root, own)
		for _, name := range []string{"a", "b", "l", "d"} {
			switch rng.IntN(6) {
			case 0, 1:
				layouttest.LayDown(t, root, layouttest.Layout{name: layouttest.Link([]string{"../outside", outside, ".git", ".", "..", ".hankweave"}[rng.IntN(6)])})
			case 2, 3:
				layouttest.LayDown(t, root, layouttest.Layout{name + "/a": layouttest.File("x"), name + "/l": layouttest.Link("../../outside"), name + "/.git/config": layouttest.File("precious")})
				own[name+"/.git/config"] = layouttest.File("precious")
			case 4:
				layouttest.LayDown(t, root, layouttest.Layout{name: layouttest.File("x")})
			}
		}
		s := &site{root: root, st: memory.NewStorage(), ws: layouttest.OpenWS(t, root)}
		s.ws.SetApart(filepath.Join(root, ".hankweave"))
		req := RestoreRequest{Store: s.st, Workspace: s.ws, From: craft(t, s, rng, 2), To: craft(t, s, rng, 2), Removable: testkit.Anything}
		if rng.IntN(4) == 0 {
			req.From = ""
		}
		if rng.IntN(4) == 0 {
			req.Paths = []string{craftedNames[rng.IntN(len(craftedNames))]}
		}
		_, err := Restore(t.Context(), req)
		_, _ = Conflicts(s.st, s.ws, req.From, req.To)
		outcomes[outcome(err)]++
		testkit.Must(t, s.ws.Close())
		what := fmt.Sprintf("seed %d (%v)", seed, err)
		layouttest.SameLayout(t, what, layouttest.ReadBack(t, outside), guarded)
		now := layouttest.ReadBack(t, root)
		for path, leaf := range own {
			if now[path] != leaf {
				t.Fatalf("%s: %s is %v", what, path, now[path])
			}
		}
		for path := range now {
			if strings.Contains("/"+path, "/"+worktree.TempPrefix) {
				t.Fatalf("%s: %s is left", what, path)
			}
		}
		if names, err := os.ReadDir(dir); err != nil || len(names) != 2 {
			t.Fatalf("%s: beside the workspace there is %v (%v)", what, names, err)
		}
	}
	if outcomes["done"] == 0 || outcomes["unsafe"] == 0 || outcomes["blocked"] == 0 {
		t.Errorf("%v: the trees do not get far enough", outcomes)
	}
	t.Logf("seed %d: %d pairs of crafted trees, %v", *testkit.OracleSeed, rounds, outcomes)
}

// outcome names the way in which a restore ended.
func outcome(err error) string {
	var unsafe *packdb.UnsafeTreeError
	var blocked *BlockedError
	var incomplete *IncompleteError
	switch {
	case err == nil:
		return "done"
	case errors.As(err, &unsafe):
		return "unsafe"
	case errors.As(err, &blocked):
		return "blocked"
	case errors.As(err, &incomplete):
		return "incomplete"
	}
	return "refused"
}
