// Package usergit is the user's own git repository, as landing needs it: what
// is there, and a stage on which new commits are made and looked at before
// anything is put into the repository. Everything is done by stock git, so that
// filters, attributes and every form of repository mean what they mean there.
//
// The work tree, the index, HEAD and all present references are only read, but by
// MoveIndex, MoveHead and Advance, which write what their names say and never a file
// of the work tree. No hook runs; filters that the user's configuration names do, as
// in git add.
package usergit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// ErrNoGit says that there is no git on this machine.
var ErrNoGit = errors.New("git is not on the PATH; install it")

// NoWorkTreeError says that a directory is in no work tree of Git.
type NoWorkTreeError struct{ Dir, Why string }

func (e *NoWorkTreeError) Error() string {
	return fmt.Sprintf("%s is not in a Git work tree (%s)", e.Dir, e.Why)
}

// GitError is a call of git that failed.
type GitError struct {
	Verb   string
	Stderr string
	Err    error
}

func (e *GitError) Error() string {
	why := strings.Join(strings.FieldsFunc(e.Stderr, func(r rune) bool { return r == '\n' }), "; ")
	if why == "" {
		why = e.Err.Error()
	}
	return fmt.Sprintf("git %s failed: %s", e.Verb, why)
}

// Unwrap returns the cause.
func (e *GitError) Unwrap() error { return e.Err }

// Repository is a work tree with its repository.
type Repository struct {
	Top    string // the work tree's root, absolute
	Prefix string // of the directory it was opened by, below Top: "" or ending in a slash

	git     string
	gitDir  string // of this work tree
	objects string
	env     []string
}

// Open finds the work tree that holds dir. The error is ErrNoGit, a
// *NoWorkTreeError, or what git reports.
func Open(ctx context.Context, dir string) (*Repository, error) {
	git, err := exec.LookPath("git")
	if err != nil {
		return nil, ErrNoGit
	}
	r := &Repository{git: git, env: environment()}
	ask := func(args ...string) (string, error) {
		out, err := r.output(ctx, call{dir: dir, env: r.env, args: append([]string{"rev-parse"}, args...)})
		return strings.TrimSuffix(string(out), "\n"), err
	}
	inside, err := ask("--is-inside-work-tree")
	if err != nil || inside != "true" {
		why := "it is a bare repository, or inside of .git"
		if err != nil {
			why = err.Error()
		}
		return nil, &NoWorkTreeError{dir, why}
	}
	for _, q := range []struct {
		to   *string
		args []string
	}{
		{&r.Top, []string{"--show-toplevel"}},
		{&r.Prefix, []string{"--show-prefix"}},
		{&r.gitDir, []string{"--absolute-git-dir"}},
		{&r.objects, []string{"--git-path", "objects"}},
	} {
		if *q.to, err = ask(q.args...); err != nil {
			return nil, err
		}
	}
	if !filepath.IsAbs(r.objects) {
		r.objects = filepath.Join(dir, r.objects)
	}
	if r.objects, err = filepath.Abs(r.objects); err != nil {
		return nil, err
	}
	return r, nil
}

// foreign are the variables that would lead git to another repository, index
// or object store than the one that it finds by itself.
var foreign = []string{
	"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT", "GIT_OBJECT_DIRECTORY", "GIT_DIR", "GIT_WORK_TREE",
	"GIT_IMPLICIT_WORK_TREE", "GIT_GRAFT_FILE", "GIT_INDEX_FILE", "GIT_INDEX_VERSION", "GIT_REPLACE_REF_BASE", "GIT_PREFIX", "GIT_SHALLOW_FILE",
	"GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS", "GIT_QUARANTINE_PATH", "GIT_TRACE", "GIT_DEFAULT_HASH", "LC_ALL",
}

func environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(foreign, name)
	})
	return append(env, "GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
}

// settings hold for every call: no hooks and helpers, text as it is. Those of plain
// hold for the stage's own indexes: no file beside them, and all that they have.
var (
	settings = []string{"core.hooksPath=" + os.DevNull, "core.fsmonitor=false", "gc.auto=0", "core.safecrlf=false", "i18n.commitEncoding=UTF-8", "user.useConfigOnly=true"}
	plain    = []string{"core.untrackedCache=false", "core.splitIndex=false", "core.sparseCheckout=false", "index.sparse=false"}
)

// call is one call of git.
type call struct {
	dir   string
	env   []string
	args  []string
	stdin io.Reader
	none  int  // exit code that stands for no output and no error; 0: none does
	own   bool // it is on the user's own index, or on a copy: as the user has set it up
	// lasts: what it writes is synced. It would cost the stage a sync for each
	// object, of which Publish makes one pack.
	lasts bool
}

func (r *Repository) command(ctx context.Context, c call) *exec.Cmd {
	args := make([]string, 0, 2*(len(settings)+len(plain)+1)+len(c.args))
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	for _, s := range plain {
		if !c.own {
			args = append(args, "-c", s)
		}
	}
	if c.lasts {
		args = append(args, "-c", "core.fsync=all")
	} else {
		args = append(args, "-c", "core.fsync=none")
	}
	cmd := exec.CommandContext(ctx, r.git, append(args, c.args...)...)
	cmd.Dir, cmd.Env, cmd.Stdin = c.dir, c.env, c.stdin
	return cmd
}

func (r *Repository) output(ctx context.Context, c call) ([]byte, error) {
	var out, errs bytes.Buffer
	cmd := r.command(ctx, c)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err == nil, c.none != 0 && errors.As(err, &exit) && exit.ExitCode() == c.none:
		return out.Bytes(), nil
	}
	return nil, &GitError{c.args[0], strings.TrimSpace(errs.String()), err}
}

// read calls git on the repository as it is.
func (r *Repository) read(ctx context.Context, args ...string) (string, error) {
	out, err := r.output(ctx, call{dir: r.Top, env: r.env, args: args})
	return strings.TrimSuffix(string(out), "\n"), err
}

// Commit returns the commit that a revision names; "" for HEAD without one.
func (r *Repository) Commit(ctx context.Context, rev string) (string, error) {
	if strings.HasPrefix(rev, "-") {
		return "", fmt.Errorf("%q names no commit", rev)
	}
	id, err := r.read(ctx, "rev-parse", "--verify", "--quiet", rev+"^{commit}")
	if err == nil {
		return id, nil
	}
	if rev == "HEAD" {
		if _, unborn := r.read(ctx, "symbolic-ref", "--quiet", "HEAD"); unborn == nil {
			if _, there := r.read(ctx, "rev-parse", "--verify", "--quiet", "HEAD"); there != nil {
				return "", nil
			}
		}
	}
	return "", fmt.Errorf("%q names no commit of %s", rev, r.Top)
}

// Entry is what a tree of the repository has at a path.
type Entry struct{ Mode, ID string }

// Submodule is the mode of another repository's commit.
const Submodule = "160000"

// Entries returns the files of a commit by their paths from the root; "" has
// none.
func (r *Repository) Entries(ctx context.Context, commit string) (map[string]Entry, error) {
	if commit == "" {
		return nil, nil
	}
	return r.entries(ctx, r.Top, r.env, commit)
}

// Entries returns the files of a commit of the stage.
func (s *Stage) Entries(ctx context.Context, commit string) (map[string]Entry, error) {
	return s.r.entries(ctx, s.dir, (&Index{s: s, file: filepath.Join(s.dir, "no-index")}).env(s.dir), commit)
}

func (r *Repository) entries(ctx context.Context, dir string, env []string, commit string) (map[string]Entry, error) {
	out, err := r.output(ctx, call{dir: dir, env: env, args: []string{"ls-tree", "-r", "-z", "--full-tree", commit}})
	if err != nil {
		return nil, err
	}
	entries := map[string]Entry{}
	for line := range strings.SplitSeq(string(out), "\x00") {
		if head, path, ok := strings.Cut(line, "\t"); ok {
			f := strings.Fields(head) // mode, type, id
			entries[path] = Entry{f[0], f[2]}
		}
	}
	return entries, nil
}

// BranchExists is the reason why a branch that is there cannot be made.
const BranchExists = "it exists"

// PlainName reports whether git takes the short name of a branch for that branch in every
// command: not for an option, nor for a full name of another reference.
func PlainName(name string) bool {
	return !strings.HasPrefix(name, "-") && !strings.HasPrefix(name, "+") && !strings.HasPrefix(name, "refs/")
}

// CheckBranch returns why a branch of this name cannot be made; "" if it can.
func (r *Repository) CheckBranch(ctx context.Context, name string) (string, error) {
	said, err := r.read(ctx, "check-ref-format", "--branch", name)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	switch {
	case err != nil || said != name:
		return "git does not allow this name", nil
	case !PlainName(name):
		return "git takes this name for something else in some commands", nil
	}
	list, err := r.read(ctx, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads/")
	if err != nil {
		return "", err
	}
	for have := range strings.Lines(list) {
		have = strings.TrimSpace(have)
		switch {
		case have == name:
			return BranchExists, nil
		case strings.HasPrefix(have, name+"/"), strings.HasPrefix(name, have+"/"):
			return "there is a branch " + have, nil
		}
	}
	if head, err := r.read(ctx, "symbolic-ref", "--quiet", "HEAD"); err == nil && head == "refs/heads/"+name {
		return "HEAD is on it, although it has no commit yet", nil
	}
	return "", nil
}

// CheckIdentity returns nil if the user has said who makes commits.
func (r *Repository) CheckIdentity(ctx context.Context) error {
	for _, who := range []string{"GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"} {
		if _, err := r.read(ctx, "var", who); err != nil {
			return err
		}
	}
	return nil
}
