//go:build unix

package match_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"hank/checkpoint/internal/checkpointtest"
	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/match"
	"hank/checkpoint/worktree"
)

// projectRig is a rig whose workspace is a user's own repository with files
// that are tracked although the rules ignore them.
func projectRig(t *testing.T, count int) (*checkpointtest.Rig, []string) {
	r := checkpointtest.NewRig(t)
	r.Write(".gitignore", "*.log\nbuild/\n")
	var ignoredButTracked []string
	for i := range count {
		name := fmt.Sprintf("build/d%d/f%d", i%7, i)
		if i%3 == 0 {
			name = fmt.Sprintf("x%d.log", i)
		}
		r.Write(name, fmt.Sprint(i))
		ignoredButTracked = append(ignoredButTracked, name)
	}
	testkit.Stock(t, "-C", r.Ws.Path(), "init", "-q")
	testkit.Stock(t, "-C", r.Ws.Path(), "add", "-Af", ".")
	r.Write("untracked.log", "ignored")
	r.Write("build/d0/untracked", "ignored")
	return r, ignoredButTracked
}

func TestEveryFormOfTheUsersIndexSavesItsFilesFromTheRules(t *testing.T) {
	t.Parallel()
	for name, arrange := range map[string]func(t *testing.T, ws string){
		"version 2": func(t *testing.T, ws string) { testkit.Stock(t, "-C", ws, "update-index", "--index-version", "2") },
		"version 4": func(t *testing.T, ws string) { testkit.Stock(t, "-C", ws, "update-index", "--index-version", "4") },
		"version 3, with extended flags": func(t *testing.T, ws string) {
			testkit.Stock(t, "-C", ws, "update-index", "--skip-worktree", ".gitignore")
		},
		"split": func(t *testing.T, ws string) {
			testkit.Stock(t, "-C", ws, "update-index", "--split-index")
			os.WriteFile(filepath.Join(ws, "late.log"), []byte("late"), 0o644)
			testkit.Stock(t, "-C", ws, "add", "-f", "late.log")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, want := projectRig(t, 60)
			arrange(t, r.Ws.Path())
			var got []string
			snap := r.Snapshot(match.Selection{All: true})
			checkpointtest.Walk(t, r, snap.Tree, func(path string) { got = append(got, path) })
			for _, path := range want {
				if !slices.Contains(got, path) {
					t.Errorf("%s is tracked, and lost", path)
				}
			}
			if slices.Contains(got, "untracked.log") || slices.Contains(got, "build/d0/untracked") {
				t.Error("what is ignored and not tracked was recorded")
			}
		})
	}
}

func TestAProjectsIndexIsFoundThroughALinkedWorktree(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	main := t.TempDir()
	testkit.Stock(t, "-C", main, "init", "-q")
	os.WriteFile(filepath.Join(main, "kept.log"), []byte("x"), 0o644)
	testkit.Stock(t, "-C", main, "add", "-f", "kept.log")
	testkit.Stock(t, "-C", main, "commit", "-qm", "one")
	testkit.Stock(t, "-C", main, "worktree", "add", "-q", "--force", filepath.Join(r.Ws.Path(), "tree"))
	os.WriteFile(filepath.Join(main, ".git", "info", "exclude"), []byte("*.log\n*.tmp\n"), 0o644)
	ws, err := worktree.OpenWorkspace(filepath.Join(r.Ws.Path(), "tree"))
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	r.Ws.Close()
	r.Ws = ws
	r.Write("other.log", "ignored")
	r.Write("a.tmp", "ignored")
	r.Write("a", "recorded")
	var got []string
	checkpointtest.Walk(t, r, r.Snapshot(match.Selection{All: true}).Tree, func(path string) { got = append(got, path) })
	if want := []string{"a", "kept.log"}; !slices.Equal(got, want) {
		t.Errorf("recorded %q, want %q", got, want)
	}
}

// The workspace may be a directory of the repository, at any depth, and be named by a link.
func TestTheIndexOfTheRepositoryAroundTheWorkspaceSavesItsFilesFromTheRules(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	inside := filepath.Join(top, "a", "ws")
	testkit.Must(t, os.MkdirAll(inside, 0o755))
	for _, name := range []string{"a/ws/own.log", "a/ws.log", "a/wsx/other.log", "here.log", "a/ws/a/ws/deep.log"} {
		testkit.Must(t, os.MkdirAll(filepath.Dir(filepath.Join(top, name)), 0o755))
		testkit.Must(t, os.WriteFile(filepath.Join(top, name), []byte(name), 0o644))
	}
	testkit.Stock(t, "-C", top, "init", "-q")
	testkit.Stock(t, "-C", top, "add", "-Af", ".")
	link := filepath.Join(t.TempDir(), "link")
	testkit.Must(t, os.Symlink(inside, link))
	ws, err := worktree.OpenWorkspace(link)
	if err != nil {
		t.Fatal(err)
	}
	r := checkpointtest.NewRig(t)
	r.Ws.Close()
	r.Ws = ws
	r.Write(".gitignore", "*.log\n")
	for _, name := range []string{"here.log", "other.log", "ws.log"} {
		r.Write(name, "ignored")
	}
	tree := r.Snapshot(match.Selection{All: true}).Tree
	if got, want := r.Paths(tree), []string{".gitignore", "a/ws/deep.log", "own.log"}; !slices.Equal(got, want) {
		t.Errorf("recorded %q, want %q", got, want)
	}
	if ignored := match.Ignored(r.Store.DB, tree, ws); ignored("own.log") || !ignored("here.log") {
		t.Error("the rules of a tree do not know what the repository tracks")
	}
}

// What a nested repository tracks is not ignored in it, whichever rules say so:
// its own, or those of the workspace around it. If it is ignored as a whole, it
// stays out as a whole.
func TestTheIndexOfANestedRepositorySavesItsFilesFromTheRules(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	testkit.Stock(t, "-C", r.Ws.Path(), "init", "-q")
	r.Write(".gitignore", "*.log\n/whole/\n")
	for _, repo := range []string{"with", "deep/without", "with/inner", "whole"} {
		r.Write(repo+"/.gitignore", "build/\n")
		for _, name := range []string{"tracked.log", "build/tracked", "plain"} {
			r.Write(repo+"/"+name, repo)
		}
		testkit.Stock(t, "init", "-q", r.Path(repo))
		testkit.Stock(t, "-C", r.Path(repo), "add", "-f", "tracked.log", "build/tracked")
		if repo != "deep/without" {
			testkit.Stock(t, "-C", r.Path(repo), "commit", "-qm", "one")
		}
		r.Write(repo+"/other.log", "ignored")
		r.Write(repo+"/build/other", "ignored")
	}
	want := []string{".gitignore"}
	for _, repo := range []string{"deep/without", "with", "with/inner"} {
		for _, name := range []string{".gitignore", "build/tracked", "plain", "tracked.log"} {
			want = append(want, repo+"/"+name)
		}
	}
	slices.Sort(want)
	snap := r.Snapshot(match.Selection{All: true})
	if got := r.Paths(snap.Tree); !slices.Equal(got, want) {
		t.Errorf("recorded\n%q, want\n%q", got, want)
	}
	if want := []string{"deep/without", "with", "with/inner"}; !slices.Equal(snap.Nested, want) {
		t.Errorf("named %q", snap.Nested)
	}
}

// A tracked file whose place an ignored directory has taken says nothing about
// what is in the directory; a submodule's directory is not ignored.
func TestAFolderInThePlaceOfATrackedFileMayBeIgnored(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	testkit.Stock(t, "-C", r.Ws.Path(), "init", "-q")
	r.Write("x.log", "tracked")
	module := t.TempDir()
	testkit.Stock(t, "-C", module, "init", "-q")
	testkit.Stock(t, "-C", module, "commit", "-q", "--allow-empty", "-m", "one")
	testkit.Stock(t, "-C", r.Ws.Path(), "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", module, "module.log")
	testkit.Stock(t, "-C", r.Ws.Path(), "add", "x.log")
	r.Write(".gitignore", "*.log\n")
	testkit.Must(t, os.Remove(r.Path("x.log")))
	r.Write("x.log/inside", "ignored")
	r.Write("module.log/inside", "not ignored")
	if got, want := r.Paths(r.Snapshot(match.Selection{All: true}).Tree), []string{".gitignore", ".gitmodules", "module.log/inside"}; !slices.Equal(got, want) {
		t.Errorf("recorded %q, want %q", got, want)
	}
}

func TestADamagedIndexOrAFIFOInTheUsersRepositoryHoldsNothingUp(t *testing.T) {
	t.Parallel()
	r, _ := projectRig(t, 10)
	index, err := os.ReadFile(r.Path(".git/index"))
	if err != nil {
		t.Fatal(err)
	}
	for cut := 0; cut < len(index); cut += 7 {
		match.IndexPaths(index[:cut]) // must not panic
	}
	for _, name := range []string{".git/index", ".git/info/exclude"} {
		os.Remove(r.Path(name))
		testkit.Mkfifo(t, r.Path(name))
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Snapshot(match.Selection{All: true})
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("the snapshot waits for a FIFO")
	}
}
