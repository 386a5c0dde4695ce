//go:build unix

package checkpoint

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// projectRig is a rig whose workspace is a user's own repository with files
// that are tracked although the rules ignore them.
func projectRig(t *testing.T, count int) (*rig, []string) {
	r := newRig(t)
	r.write(".gitignore", "*.log\nbuild/\n")
	var ignoredButTracked []string
	for i := range count {
		name := fmt.Sprintf("build/d%d/f%d", i%7, i)
		if i%3 == 0 {
			name = fmt.Sprintf("x%d.log", i)
		}
		r.write(name, fmt.Sprint(i))
		ignoredButTracked = append(ignoredButTracked, name)
	}
	stock(t, "-C", r.ws.Path(), "init", "-q")
	stock(t, "-C", r.ws.Path(), "add", "-Af", ".")
	r.write("untracked.log", "ignored")
	r.write("build/d0/untracked", "ignored")
	return r, ignoredButTracked
}

func TestEveryFormOfTheUsersIndexSavesItsFilesFromTheRules(t *testing.T) {
	t.Parallel()
	for name, arrange := range map[string]func(t *testing.T, ws string){
		"version 2": func(t *testing.T, ws string) { stock(t, "-C", ws, "update-index", "--index-version", "2") },
		"version 4": func(t *testing.T, ws string) { stock(t, "-C", ws, "update-index", "--index-version", "4") },
		"version 3, with extended flags": func(t *testing.T, ws string) {
			stock(t, "-C", ws, "update-index", "--skip-worktree", ".gitignore")
		},
		"split": func(t *testing.T, ws string) {
			stock(t, "-C", ws, "update-index", "--split-index")
			os.WriteFile(filepath.Join(ws, "late.log"), []byte("late"), 0o644)
			stock(t, "-C", ws, "add", "-f", "late.log")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, want := projectRig(t, 60)
			arrange(t, r.ws.Path())
			var got []string
			snap := r.snapshot(Selection{All: true})
			walk(t, r, snap.Tree, func(path string) { got = append(got, path) })
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
	r := newRig(t)
	main := t.TempDir()
	stock(t, "-C", main, "init", "-q")
	os.WriteFile(filepath.Join(main, "kept.log"), []byte("x"), 0o644)
	stock(t, "-C", main, "add", "-f", "kept.log")
	stock(t, "-C", main, "commit", "-qm", "one")
	stock(t, "-C", main, "worktree", "add", "-q", "--force", filepath.Join(r.ws.Path(), "tree"))
	os.WriteFile(filepath.Join(main, ".git", "info", "exclude"), []byte("*.log\n*.tmp\n"), 0o644)
	ws, err := OpenWorkspace(filepath.Join(r.ws.Path(), "tree"))
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	r.ws.Close()
	r.ws = ws
	r.write("other.log", "ignored")
	r.write("a.tmp", "ignored")
	r.write("a", "recorded")
	var got []string
	walk(t, r, r.snapshot(Selection{All: true}).Tree, func(path string) { got = append(got, path) })
	if want := []string{"a", "kept.log"}; !slices.Equal(got, want) {
		t.Errorf("recorded %q, want %q", got, want)
	}
}

// What a nested repository tracks is not ignored in it, whichever rules say so:
// its own, or those of the workspace around it. If it is ignored as a whole, it
// stays out as a whole.
func TestTheIndexOfANestedRepositorySavesItsFilesFromTheRules(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	stock(t, "-C", r.ws.Path(), "init", "-q")
	r.write(".gitignore", "*.log\n/whole/\n")
	for _, repo := range []string{"with", "deep/without", "with/inner", "whole"} {
		r.write(repo+"/.gitignore", "build/\n")
		for _, name := range []string{"tracked.log", "build/tracked", "plain"} {
			r.write(repo+"/"+name, repo)
		}
		stock(t, "init", "-q", r.path(repo))
		stock(t, "-C", r.path(repo), "add", "-f", "tracked.log", "build/tracked")
		if repo != "deep/without" {
			stock(t, "-C", r.path(repo), "commit", "-qm", "one")
		}
		r.write(repo+"/other.log", "ignored")
		r.write(repo+"/build/other", "ignored")
	}
	want := []string{".gitignore"}
	for _, repo := range []string{"deep/without", "with", "with/inner"} {
		for _, name := range []string{".gitignore", "build/tracked", "plain", "tracked.log"} {
			want = append(want, repo+"/"+name)
		}
	}
	slices.Sort(want)
	snap := r.snapshot(Selection{All: true})
	if got := r.paths(snap.Tree); !slices.Equal(got, want) {
		t.Errorf("recorded\n%q, want\n%q", got, want)
	}
	if want := []string{"deep/without", "with", "with/inner"}; !slices.Equal(snap.Nested, want) {
		t.Errorf("named %q", snap.Nested)
	}
}

// A tracked file whose place an ignored folder has taken says nothing about
// what is in the folder; a submodule's folder is not ignored.
func TestAFolderInThePlaceOfATrackedFileMayBeIgnored(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	stock(t, "-C", r.ws.Path(), "init", "-q")
	r.write("x.log", "tracked")
	module := t.TempDir()
	stock(t, "-C", module, "init", "-q")
	stock(t, "-C", module, "commit", "-q", "--allow-empty", "-m", "one")
	stock(t, "-C", r.ws.Path(), "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", module, "module.log")
	stock(t, "-C", r.ws.Path(), "add", "x.log")
	r.write(".gitignore", "*.log\n")
	must(t, os.Remove(r.path("x.log")))
	r.write("x.log/inside", "ignored")
	r.write("module.log/inside", "not ignored")
	if got, want := r.paths(r.snapshot(Selection{All: true}).Tree), []string{".gitignore", ".gitmodules", "module.log/inside"}; !slices.Equal(got, want) {
		t.Errorf("recorded %q, want %q", got, want)
	}
}

func TestADamagedIndexOrAFIFOInTheUsersRepositoryHoldsNothingUp(t *testing.T) {
	t.Parallel()
	r, _ := projectRig(t, 10)
	index, err := os.ReadFile(r.path(".git/index"))
	if err != nil {
		t.Fatal(err)
	}
	for cut := 0; cut < len(index); cut += 7 {
		indexPaths(index[:cut]) // must not panic
	}
	for _, name := range []string{".git/index", ".git/info/exclude"} {
		os.Remove(r.path(name))
		mkfifo(t, r.path(name))
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.snapshot(Selection{All: true})
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("the snapshot waits for a FIFO")
	}
}

func walk(t testing.TB, r *rig, tree SHA, f func(path string)) {
	t.Helper()
	if err := r.store.Walk(tree, func(path string, _ filemode.FileMode, _ SHA) error { f(path); return nil }); err != nil {
		t.Fatal(err)
	}
}
