package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"hank/scripts/bench/system"
)

// repository is stock git's side: a repository of its own that looks at a
// work tree. Nobody's settings are read. Only its collection of garbage is off,
// which would go on in the background while hank is measured.
type repository struct {
	dir, tree string
	config    []string // of how it syncs
}

// What git does to make its writes durable.
var (
	byDefault []string
	byFsync   = []string{"core.fsync=all", "core.fsyncMethod=fsync"}
	byBatch   = []string{"core.fsync=all", "core.fsyncMethod=batch"}
)

func newRepository(dir, tree string, config []string) (*repository, error) {
	r := &repository{dir: dir, tree: tree, config: config}
	_, err := r.git("init", "-q")
	return r, err
}

func (r *repository) git(args ...string) (string, error) {
	return r.with(nil, args...)
}

// with is git with additions to its environment.
func (r *repository) with(env []string, args ...string) (string, error) {
	all := []string{"-c", "gc.auto=0"}
	for _, c := range r.config {
		all = append(all, "-c", c)
	}
	cmd := exec.Command("git", append(all, args...)...)
	cmd.Dir = r.tree
	cmd.Env = append(gitEnvironment(), "GIT_DIR="+r.dir, "GIT_WORK_TREE="+r.tree)
	cmd.Env = append(cmd.Env, env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}

func gitEnvironment() []string {
	var env []string
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "GIT_") {
			env = append(env, e)
		}
	}
	return append(env, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "XDG_CONFIG_HOME="+os.DevNull,
		"GIT_AUTHOR_NAME=bench", "GIT_AUTHOR_EMAIL=bench@localhost", "GIT_COMMITTER_NAME=bench", "GIT_COMMITTER_EMAIL=bench@localhost")
}

// checkpoint is what a person would call: add everything, and commit.
func (r *repository) checkpoint() (sample, error) {
	start := time.Now()
	if _, err := r.git("add", "-A"); err != nil {
		return sample{}, err
	}
	added := time.Since(start)
	if _, err := r.git("commit", "-q", "--allow-empty", "-m", "checkpoint"); err != nil {
		return sample{}, err
	}
	s := sample{elapsed: time.Since(start)}
	s.parts = map[string]time.Duration{"add": added, "commit": s.elapsed - added}
	var err error
	s.tree, err = r.git("rev-parse", "HEAD^{tree}")
	return s, err
}

// treeOf is the tree that git makes of all files below dir, every byte read.
func (r *repository) treeOf(dir string) (string, error) {
	index := r.dir + ".index"
	defer os.Remove(index)
	other := &repository{dir: r.dir, tree: dir}
	env := []string{"GIT_INDEX_FILE=" + index}
	if _, err := other.with(env, "add", "-A"); err != nil {
		return "", err
	}
	return other.with(env, "write-tree")
}

// reset is stock git's rollback, with a sync after it if asked for. The tree
// is that of the commit, which must be clean then.
func (r *repository) reset(commit, tree string, sync bool) (sample, error) {
	start := time.Now()
	if _, err := r.git("reset", "-q", "--hard", commit); err != nil {
		return sample{}, err
	}
	if sync {
		system.SyncDisks()
	}
	s := sample{elapsed: time.Since(start), tree: tree}
	dirty, err := r.git("status", "--porcelain")
	if err == nil && dirty != "" {
		err = fmt.Errorf("git reset --hard left changes: %s", dirty)
	}
	return s, err
}

func (b *bench) sameAsGit(dir, tree string) error {
	g, err := newRepository(b.folder("git"), dir, nil)
	if err != nil {
		return err
	}
	defer os.RemoveAll(g.dir)
	have, err := g.treeOf(dir)
	if err == nil && have != tree {
		err = fmt.Errorf("after a rollback git reads the tree %s, and hank has said %s", have, tree)
	}
	return err
}
