//go:build unix

package remote

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hank/checkpoint/internal/checkpointtest"
	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/packdb"
)

// addresses are the ways to name another repository in a test.
var addresses = map[string]func(dir string) string{
	"folder": func(dir string) string { return dir },
	"file://": func(dir string) string {
		return "file://" + dir
	},
}

func TestAnExportComesBackByAnImport(t *testing.T) {
	t.Parallel()
	for kind, address := range addresses {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			r := checkpointtest.NewRig(t)
			r.Write("large", strings.Repeat("0123456789abcdef", packdb.InMemory/8))
			r.Grow(3)
			r.Abandon(2)
			dir := filepath.Join(t.TempDir(), "deep", "mirror")
			if kind != "folder" {
				testkit.Stock(t, "init", "-q", "--bare", dir)
			}
			to := Remote{Address: address(dir), Prefix: "hank/abc"}
			want := []string{"refs/heads/abandoned", "refs/heads/main"}
			for turn := range 3 {
				got, err := Export(ctx, r.Store.DB, to)
				if err != nil || len(got.Refused) > 0 {
					t.Fatalf("turn %d: %+v %v", turn, got, err)
				}
				if turn == 0 && !slices.Equal(got.Moved, want) || turn == 1 && !slices.Equal(got.Moved, want[1:]) || turn == 2 && len(got.Moved) > 0 {
					t.Errorf("turn %d: moved %q", turn, got.Moved)
				}
				if turn == 0 {
					r.Grow(2)
				}
			}
			testkit.Stock(t, "--git-dir="+dir, "fsck", "--strict")
			if tip := strings.TrimSpace(testkit.Stock(t, "--git-dir="+dir, "rev-parse", "refs/heads/hank/abc/main")); packdb.SHA(tip) != r.Tip {
				t.Errorf("main is exported at %s, is at %s", tip, r.Tip)
			}
			if prefixes, err := Prefixes(ctx, address(dir)); err != nil || !slices.Equal(prefixes, []string{"hank/abc"}) {
				t.Errorf("prefixes %q %v", prefixes, err)
			}
			back := checkpointtest.NewRig(t)
			got, err := Import(ctx, back.Store.DB, to)
			if err != nil || !slices.Equal(got.Moved, want) || len(got.Refused) > 0 {
				t.Fatalf("import: %+v %v", got, err)
			}
			back.Tip = r.Tip
			back.CheckWhole()
			refs, _ := r.Store.Refs("refs/")
			theirs, _ := back.Store.Refs("refs/")
			if len(refs) != len(theirs) || refs["refs/heads/main"] != theirs["refs/heads/main"] || refs["refs/heads/abandoned"] != theirs["refs/heads/abandoned"] {
				t.Errorf("exported %v, imported %v", refs, theirs)
			}
			if got, err := Import(ctx, back.Store.DB, to); err != nil || got.Same != 2 || len(got.Moved) > 0 {
				t.Errorf("a second import: %+v %v", got, err)
			}
		})
	}
}

// What the other side has under the names of the export and did not come from
// here stays, as do a person's own branches.
func TestAnExportMovesNothingBackOrAside(t *testing.T) {
	t.Parallel()
	for kind, address := range addresses {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			mine, other := checkpointtest.NewRig(t), checkpointtest.NewRig(t)
			mine.Grow(2)
			other.Write("x", "theirs")
			other.Grow(3)
			dir := t.TempDir()
			work := filepath.Join(dir, "project")
			testkit.Stock(t, "init", "-q", "-b", "main", work)
			os.WriteFile(filepath.Join(work, "f"), []byte("a person's"), 0o644)
			testkit.Stock(t, "-C", work, "add", ".")
			testkit.Stock(t, "-C", work, "commit", "-qm", "theirs")
			before := testkit.Stock(t, "-C", work, "rev-parse", "main")
			to := Remote{Address: address(work), Prefix: "hank/one"}
			if _, err := Export(ctx, mine.Store.DB, to); err != nil {
				t.Fatal(err)
			}
			got, err := Export(ctx, other.Store.DB, to)
			if err != nil || len(got.Moved) > 0 || !slices.Equal(got.Refused, []string{"refs/heads/main"}) {
				t.Errorf("over another's: %+v %v", got, err)
			}
			if got, err := Import(ctx, other.Store.DB, to); err != nil || len(got.Moved) > 0 || !slices.Equal(got.Refused, []string{"refs/heads/main"}) {
				t.Errorf("from another's: %+v %v", got, err)
			}
			if tip := strings.TrimSpace(testkit.Stock(t, "-C", work, "rev-parse", "hank/one/main")); packdb.SHA(tip) != mine.Tip {
				t.Error("another execution's export was overwritten")
			}
			if testkit.Stock(t, "-C", work, "rev-parse", "main") != before || testkit.Stock(t, "-C", work, "status", "--porcelain") != "" {
				t.Error("the project itself was touched")
			}
			if refs, err := mine.Store.Refs("refs/"); err != nil || len(refs) != 1 {
				t.Errorf("the export left references here: %v %v", refs, err)
			}
		})
	}
}

func TestAnExportRefusesWhatIsNoRepository(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	r.Grow(1)
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "f"), []byte("a person's"), 0o644)
	if _, err := Export(context.Background(), r.Store.DB, Remote{Address: dir, Prefix: "hank/x"}); err == nil || !strings.Contains(err.Error(), "neither a git repository nor an empty directory") {
		t.Errorf("into a folder of files: %v", err)
	}
	if list, _ := os.ReadDir(dir); len(list) != 1 {
		t.Errorf("the folder has %d entries now", len(list))
	}
	for _, prefix := range []string{"", "..", "a..b", "x.lock"} {
		if _, err := Export(context.Background(), r.Store.DB, Remote{Address: filepath.Join(dir, "new"), Prefix: prefix}); err == nil {
			t.Errorf("prefix %q is taken", prefix)
		}
	}
	if _, err := Import(context.Background(), r.Store.DB, Remote{Address: filepath.Join(dir, "absent"), Prefix: "hank/x"}); err == nil {
		t.Error("imported from nowhere")
	}
	_, err := Export(context.Background(), r.Store.DB, Remote{Address: "https://user:geheim@127.0.0.1:1/x", Prefix: "hank/x"})
	if err == nil || strings.Contains(err.Error(), "geheim") {
		t.Errorf("an address with a password: %v", err)
	}
}

// An export that was killed has left its locks; the next one removes them, but
// neither stock git's nor those of an export that is under way.
func TestAnExportThatWasKilledIsFinishedByTheNext(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := checkpointtest.NewRig(t)
	r.Grow(2)
	dir := filepath.Join(t.TempDir(), "mirror")
	to := Remote{Address: dir, Prefix: "hank/abc"}
	if _, err := Export(ctx, r.Store.DB, to); err != nil {
		t.Fatal(err)
	}
	lock := filepath.Join(dir, "refs", "heads", "hank", "abc", "main.lock")
	leave := func() {
		mark, err := os.ReadFile(filepath.Join(dir, "hank-lock"))
		testkit.Must(t, err)
		testkit.Must(t, os.WriteFile(lock, mark, 0o600))
	}
	leave()
	under, err := openOther(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	leave()
	r.Grow(1)
	var locked *packdb.LockedError
	if _, err := Export(ctx, r.Store.DB, to); !errors.As(err, &locked) {
		t.Errorf("beside another export: %v", err)
	}
	if err := under.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := Export(ctx, r.Store.DB, to); err != nil || len(got.Moved) != 1 {
		t.Errorf("behind a killed one: %+v %v", got, err)
	}
	if err := os.WriteFile(lock, nil, 0o600); err != nil { // git's
		t.Fatal(err)
	}
	r.Grow(1)
	if _, err := Export(ctx, r.Store.DB, to); !errors.As(err, &locked) {
		t.Errorf("beside git: %v", err)
	}
}
