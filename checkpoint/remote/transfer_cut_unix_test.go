//go:build unix

package remote

import (
	"context"
	"errors"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"hank/checkpoint"
	"hank/checkpoint/internal/checkpointtest"
	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/packdb"
)

// overHTTP serves a directory of repositories by stock git over the loopback.
func overHTTP(t *testing.T, dir string) string {
	t.Helper()
	backend := filepath.Join(strings.TrimSpace(testkit.Stock(t, "--exec-path")), "git-http-backend")
	if _, err := os.Stat(backend); err != nil {
		t.Fatalf("git is here without its http-backend: %v", err)
	}
	server := httptest.NewServer(&cgi.Handler{Path: backend, Env: []string{
		"GIT_PROJECT_ROOT=" + filepath.Dir(dir), "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=me", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"}})
	t.Cleanup(server.Close)
	return server.URL + "/" + filepath.Base(dir)
}

// remotes are the ways to a repository in a directory of this machine.
var remotes = map[string]func(t *testing.T, dir string) string{
	"folder":  func(_ *testing.T, dir string) string { return dir },
	"file://": func(_ *testing.T, dir string) string { return "file://" + dir },
	"http://": overHTTP,
}

// cut loses what came before the newest but one checkpoint, as doctor --fix
// leaves a store of which a pack is gone.
func cut(r *checkpointtest.Rig, at packdb.SHA) {
	r.T.Helper()
	if err := r.Store.SetShallow([]plumbing.Hash{plumbing.NewHash(string(at))}); err != nil {
		r.T.Fatal(err)
	}
	if _, err := r.Store.Collect(context.Background(), nil); err != nil {
		r.T.Fatal(err)
	}
	info, err := r.Store.CommitInfo(at)
	if err != nil || len(info.Parents) > 0 {
		r.T.Fatalf("it is not cut: %+v %v", info, err)
	}
	r.CheckWhole()
}

// A store whose history is cut goes into a directory, and comes back from there by
// any way, whole as far as it goes.
func TestACutStoreIsExportedToAFolderAndComesBack(t *testing.T) {
	t.Parallel()
	for kind, address := range remotes {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			r := checkpointtest.NewRig(t)
			made := r.Grow(5)
			cut(r, made[2])
			dir := filepath.Join(t.TempDir(), "mirror")
			for range 2 {
				if got, err := Export(ctx, r.Store.DB, Remote{Address: dir, Prefix: "hank/x"}); err != nil || len(got.Refused) > 0 {
					t.Fatalf("%+v %v", got, err)
				}
			}
			testkit.Stock(t, "--git-dir="+dir, "fsck", "--strict")
			if n := strings.Count(testkit.Stock(t, "--git-dir="+dir, "log", "--format=%H", "hank/x/main"), "\n"); n != 3 {
				t.Errorf("stock git sees %d commits, want 3", n)
			}
			back := checkpointtest.NewRig(t)
			if got, err := Import(ctx, back.Store.DB, Remote{Address: address(t, dir), Prefix: "hank/x"}); err != nil || len(got.Moved) != 1 {
				t.Fatalf("%+v %v", got, err)
			}
			back.Tip = r.Tip
			back.CheckWhole()
			if ends, _ := back.Store.Shallow(); len(ends) != 1 || ends[0].String() != string(made[2]) {
				t.Errorf("it ends at %v, want %s", ends, made[2])
			}
			back.Grow(2) // and continues
			back.CheckWhole()
		})
	}
}

// To a git server a cut history goes where the other side has what came before,
// and else nothing is there and the error says why.
func TestACutStoreIsPushedWhereTheRestIs(t *testing.T) {
	t.Parallel()
	for kind, address := range remotes {
		if kind == "folder" {
			continue
		}
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			dir, empty := filepath.Join(t.TempDir(), "had"), filepath.Join(t.TempDir(), "empty")
			testkit.Stock(t, "init", "-q", "--bare", dir)
			testkit.Stock(t, "init", "-q", "--bare", empty)
			r := checkpointtest.NewRig(t)
			made := r.Grow(3)
			to := Remote{Address: address(t, dir), Prefix: "hank/x"}
			if got, err := Export(ctx, r.Store.DB, to); err != nil || got.Objects == 0 {
				t.Fatalf("%+v %v", got, err)
			}
			made = append(made, r.Grow(3)...)
			cut(r, made[3]) // what came before it is there
			if got, err := Export(ctx, r.Store.DB, to); err != nil || len(got.Moved) != 1 {
				t.Errorf("where the rest is: %+v %v", got, err)
			}
			if got, err := Export(ctx, r.Store.DB, Remote{Address: to.Address, Prefix: "hank/y"}); err != nil || len(got.Moved) != 1 || got.Objects != 0 {
				t.Errorf("below another name: %+v %v", got, err)
			}
			cut(r, made[5])
			r.Grow(1)
			if got, err := Export(ctx, r.Store.DB, to); err != nil || len(got.Moved) != 1 {
				t.Errorf("from where it is: %+v %v", got, err)
			}
			testkit.Stock(t, "--git-dir="+dir, "fsck", "--strict")
			if n := strings.Count(testkit.Stock(t, "--git-dir="+dir, "log", "--format=%H", "hank/x/main"), "\n"); n != 7 {
				t.Errorf("there are %d commits, want 7", n)
			}
			var cut *CutError
			if _, err := Export(ctx, r.Store.DB, Remote{Address: address(t, empty), Prefix: "hank/x"}); !errors.As(err, &cut) || !strings.Contains(err.Error(), "export to a directory") {
				t.Errorf("to an empty one: %v", err)
			}
			if refs := testkit.Stock(t, "--git-dir="+empty, "for-each-ref"); refs != "" {
				t.Errorf("it has %s", refs)
			}
		})
	}
}

// What is lost of a store, or was truncated since, comes back by an import, from
// wherever the branches stand just where they do here.
func TestAnImportBringsBackWhatIsLost(t *testing.T) {
	t.Parallel()
	for kind, address := range remotes {
		for _, loss := range []string{"pack", "cut", "everything but the newest"} {
			t.Run(kind+" "+loss, func(t *testing.T) {
				t.Parallel()
				ctx := context.Background()
				r := checkpointtest.NewRig(t)
				made := r.Grow(6)
				dir := filepath.Join(t.TempDir(), "mirror")
				to := Remote{Address: dir, Prefix: "hank/x"}
				if _, err := Export(ctx, r.Store.DB, to); err != nil {
					t.Fatal(err)
				}
				switch loss {
				case "pack":
					losePackOf(r, made[2])
				case "cut":
					cut(r, made[2])
				default:
					losePackOf(r, made[1])
					losePackOf(r, made[4])
					if err := r.Store.SetShallow([]plumbing.Hash{plumbing.NewHash(string(made[5]))}); err != nil {
						t.Fatal(err)
					}
				}
				to.Address = address(t, dir)
				got, err := Import(ctx, r.Store.DB, to)
				if err != nil || got.Same != 1 || got.Objects == 0 || len(got.Moved)+len(got.Refused) > 0 {
					t.Fatalf("%+v %v", got, err)
				}
				r.CheckWhole()
				if n := strings.Count(testkit.Stock(t, "--git-dir="+r.Opts.Dir, "log", "--format=%H", "main"), "\n"); n != 6 {
					t.Errorf("there are %d commits, want 6", n)
				}
				if ends, _ := r.Store.Shallow(); len(ends) > 0 {
					t.Errorf("it is still cut at %v", ends)
				}
				if _, err := os.Stat(r.Opts.Dir + fetchedSuffix); err == nil {
					t.Error("what was fetched is left over")
				}
				if got, err := Import(ctx, r.Store.DB, to); err != nil || got.Objects != 0 || got.Same != 1 {
					t.Errorf("again: %+v %v", got, err)
				}
			})
		}
	}
}

// A mirror that was made of a cut store gets the rest when that is there again.
func TestAnExportFillsUpACutMirror(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := checkpointtest.NewRig(t)
	made := r.Grow(5)
	whole, mirror := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "cut")
	export := func(dir string) {
		t.Helper()
		if _, err := Export(ctx, r.Store.DB, Remote{Address: dir, Prefix: "hank/x"}); err != nil {
			t.Fatal(err)
		}
		testkit.Stock(t, "--git-dir="+dir, "fsck", "--strict")
	}
	export(whole)
	cut(r, made[3])
	export(mirror)
	if _, err := Import(ctx, r.Store.DB, Remote{Address: whole, Prefix: "hank/x"}); err != nil {
		t.Fatal(err)
	}
	export(mirror)
	if n := strings.Count(testkit.Stock(t, "--git-dir="+mirror, "log", "--format=%H", "hank/x/main"), "\n"); n != 5 {
		t.Errorf("there are %d commits, want 5", n)
	}
	export(mirror) // nothing
}

// losePackOf removes the pack that holds a commit.
func losePackOf(r *checkpointtest.Rig, sha packdb.SHA) {
	r.T.Helper()
	for _, p := range r.Store.Packs {
		if packdb.InPacks([]*packdb.Pack{p}, plumbing.NewHash(string(sha))) {
			base := p.Base
			if err := errors.Join(r.Store.Close(), os.Remove(base+".pack"), os.Remove(base+".idx")); err != nil {
				r.T.Fatal(err)
			}
			var err error
			if r.Store, err = checkpoint.Open(r.Opts); err != nil {
				r.T.Fatal(err)
			}
			return
		}
	}
	r.T.Fatalf("no pack holds %s", sha)
}
