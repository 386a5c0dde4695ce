package usergit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Stage is a directory in which trees and commits are made: an object store on
// top of the repository's, indexes, and a work tree that only ever holds a
// batch of files. Nothing of it is in the repository before Publish.
type Stage struct {
	r   *Repository
	dir string
	n   int // work trees and indexes so far
}

// NewStage makes a stage in an empty directory.
func (r *Repository) NewStage(dir string) (*Stage, error) {
	info := filepath.Join(dir, "objects", "info")
	if err := os.MkdirAll(info, 0o700); err != nil {
		return nil, err
	}
	if strings.Contains(r.objects, "\n") {
		return nil, fmt.Errorf("the path %q has a line break, which git cannot refer to", r.objects)
	}
	return &Stage{r: r, dir: dir}, os.WriteFile(filepath.Join(info, "alternates"), []byte(r.objects+"\n"), 0o600)
}

// Index is an index of the stage's own.
type Index struct {
	s      *Stage
	file   string
	copied bool // from the work tree's; see CopyIndex
}

// NewIndex returns an index with the files of a commit; "" has none.
func (s *Stage) NewIndex(ctx context.Context, commit string) (*Index, error) {
	s.n++
	x := &Index{s: s, file: filepath.Join(s.dir, "index-"+strconv.Itoa(s.n))}
	if commit == "" {
		commit = "--empty"
	}
	_, err := x.git(ctx, s.dir, nil, "read-tree", commit)
	return x, err
}

// env is the environment with the stage's object store. tree is a work tree.
func (x *Index) env(tree string) []string {
	return append(slices.Clone(x.s.r.env), "GIT_DIR="+x.s.r.gitDir, "GIT_WORK_TREE="+tree,
		"GIT_INDEX_FILE="+x.file, "GIT_OBJECT_DIRECTORY="+filepath.Join(x.s.dir, "objects"))
}

func (x *Index) git(ctx context.Context, tree string, stdin []byte, args ...string) ([]byte, error) {
	c := call{dir: tree, env: x.env(tree), args: args, stdin: bytes.NewReader(stdin), own: x.copied}
	if x.copied { // a split one would become a file beside the user's
		c.env = append(c.env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.splitIndex", "GIT_CONFIG_VALUE_0=false")
	}
	return x.s.r.output(ctx, c)
}

// File is one to be put into an index.
type File struct {
	Path string // from the repository's root
	Mode os.FileMode
	Size int64
	Open func() (io.ReadCloser, error)
}

// A batch of files is in a work tree of the stage at one time.
const (
	batchFiles = 4096
	batchBytes = 256 << 20
)

// Apply removes paths and adds files, as git add would: with the attributes
// that the index and the added files have, and the user's filters. A name that
// git does not allow is not added.
func (x *Index) Apply(ctx context.Context, remove []string, add []File) error {
	if len(remove) > 0 {
		in := []byte(strings.Join(remove, "\x00") + "\x00")
		if _, err := x.git(ctx, x.s.dir, in, "update-index", "--force-remove", "-z", "--stdin"); err != nil {
			return err
		}
	}
	// Attributes come first: git reads them from the work tree, else the index.
	isAttributes := func(f File) bool { return path.Base(f.Path) == ".gitattributes" }
	var first, rest []File
	for _, f := range add {
		if isAttributes(f) {
			first = append(first, f)
		} else {
			rest = append(rest, f)
		}
	}
	for _, list := range [][]File{first, rest} {
		if err := batches(list, func(batch []File) error { return x.add(ctx, batch) }); err != nil {
			return err
		}
	}
	return nil
}

func batches(files []File, fn func([]File) error) error {
	for len(files) > 0 {
		n, size := 0, int64(0)
		for n < len(files) && n < batchFiles && (n == 0 || size+files[n].Size <= batchBytes) {
			size += files[n].Size
			n++
		}
		if err := fn(files[:n]); err != nil {
			return err
		}
		files = files[n:]
	}
	return nil
}

func (x *Index) add(ctx context.Context, files []File) error {
	return x.s.withTree(func(tree string, root *os.Root) error {
		var in bytes.Buffer
		for _, f := range files {
			if err := write(root, f); err != nil {
				return fmt.Errorf("writing %q to the stage: %w", f.Path, err)
			}
			in.WriteString(f.Path + "\x00")
		}
		_, err := x.git(ctx, tree, in.Bytes(), "update-index", "--add", "--replace", "-z", "--stdin")
		return err
	})
}

// withTree gives a work tree, which is gone afterwards.
func (s *Stage) withTree(fn func(tree string, root *os.Root) error) error {
	s.n++
	tree := filepath.Join(s.dir, "tree-"+strconv.Itoa(s.n))
	if err := os.Mkdir(tree, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(tree)
	if err != nil {
		return err
	}
	err = fn(tree, root)
	return errors.Join(err, root.Close(), os.RemoveAll(tree))
}

func write(root *os.Root, f File) (err error) {
	if err := root.MkdirAll(path.Dir(f.Path), 0o700); err != nil {
		return err
	}
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if f.Mode&os.ModeSymlink != 0 {
		to, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		return root.Symlink(string(to), f.Path)
	}
	w, err := root.OpenFile(f.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, f.Mode.Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return errors.Join(err, w.Close())
}

// Tree writes the index as a tree.
func (x *Index) Tree(ctx context.Context) (string, error) {
	args := []string{"write-tree"}
	if x.copied {
		args = append(args, "--missing-ok") // a partial clone need not fetch what is staged
	}
	out, err := x.git(ctx, x.dir(), nil, args...)
	return strings.TrimSpace(string(out)), err
}

// Change is what differs between two trees at a path. Entry is what the second
// has, the zero Entry if that is nothing.
type Change struct {
	Entry
	Added bool // the first has nothing
}

// Changes returns what differs between two trees of the stage, by path.
func (x *Index) Changes(ctx context.Context, from, to string) (map[string]Change, error) {
	out, err := x.git(ctx, x.s.dir, nil, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", from, to)
	if err != nil {
		return nil, err
	}
	changes := map[string]Change{}
	fields := strings.Split(string(out), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		f := strings.Fields(fields[i]) // :mode mode id id status
		c := Change{Added: f[4] == "A"}
		if f[4] != "D" {
			c.Entry = Entry{f[1], f[3]}
		}
		changes[fields[i+1]] = c
	}
	return changes, nil
}

// Ignored returns which of the paths the user's ignore rules leave out, and the
// rule. What the index has is not ignored. The rules are those of the work tree
// as it is now.
func (x *Index) Ignored(ctx context.Context, paths []string) (map[string]string, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	ignored := map[string]string{}
	err := x.s.withTree(func(tree string, root *os.Root) error {
		if err := x.s.r.copyRules(root, paths); err != nil {
			return err
		}
		in := []byte("./" + strings.Join(paths, "\x00./") + "\x00") // one may begin with a colon
		out, err := x.s.r.output(ctx, call{dir: tree, env: x.env(tree), args: []string{"check-ignore", "--verbose", "-z", "--stdin"}, stdin: bytes.NewReader(in), none: 1})
		if err != nil {
			return err
		}
		f := strings.Split(string(out), "\x00") // source, line, pattern, path
		for ; len(f) >= 4; f = f[4:] {
			if !strings.HasPrefix(f[2], "!") {
				ignored[strings.TrimPrefix(f[3], "./")] = fmt.Sprintf("%s:%s: %s", f[0], f[1], f[2])
			}
		}
		return nil
	})
	return ignored, err
}

// copyRules copies the .gitignore files that paths are subject to.
func (r *Repository) copyRules(to *os.Root, paths []string) error {
	from, err := os.OpenRoot(r.Top)
	if err != nil {
		return err
	}
	defer from.Close()
	seen := map[string]bool{}
	for _, p := range paths {
		for dir := path.Dir(p); !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			name := path.Join(dir, ".gitignore")
			if fi, err := from.Lstat(name); err != nil || !fi.Mode().IsRegular() {
				continue // git does not follow links to rules either
			}
			text, err := from.ReadFile(name)
			if err != nil {
				return fmt.Errorf("reading the ignore rules: %w", err)
			}
			if err := to.MkdirAll(dir, 0o700); err != nil {
				return err
			}
			if err := to.WriteFile(name, text, 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// Commit makes a commit on the stage. written is the author's date. It is signed if
// sign says so, as the user's configuration says how.
func (x *Index) Commit(ctx context.Context, tree, parent, message string, written time.Time, sign bool) (string, error) {
	args := []string{"commit-tree", tree}
	if sign {
		args = append(args, "-S")
	}
	if parent != "" {
		args = append(args, "-p", parent)
	}
	c := call{dir: x.s.dir, env: append(x.env(x.s.dir), fmt.Sprintf("GIT_AUTHOR_DATE=@%d +0000", written.Unix())), args: args, stdin: strings.NewReader(message)}
	out, err := x.s.r.output(ctx, c)
	return strings.TrimSpace(string(out)), err
}

// Publish puts what tip has beyond base into the repository's object store, as
// one synced pack, and reads it all back from there.
func (s *Stage) Publish(ctx context.Context, base, tip string) error {
	x := &Index{s: s, file: filepath.Join(s.dir, "no-index")}
	revs := tip + "\n"
	if base != "" {
		revs += "^" + base + "\n"
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	var packErrs, indexErrs bytes.Buffer
	pack := s.r.command(ctx, call{dir: s.dir, env: x.env(s.dir), args: []string{"pack-objects", "--revs", "--stdout", "-q"}, stdin: strings.NewReader(revs)})
	pack.Stdout, pack.Stderr = w, &packErrs
	index := s.r.command(ctx, call{dir: s.r.Top, env: s.r.env, args: []string{"index-pack", "--stdin"}, stdin: r, lasts: true})
	index.Stderr = &indexErrs
	err = pack.Start()
	err = errors.Join(err, index.Start(), w.Close(), r.Close())
	if err != nil {
		reap(pack, index)
		return err
	}
	// A pack that ends too early has no right digest: index-pack refuses it.
	indexed, packed := index.Wait(), pack.Wait()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case packed != nil:
		return &GitError{"pack-objects", packErrs.String(), packed}
	case indexed != nil:
		return &GitError{"index-pack", indexErrs.String(), indexed}
	}
	args := []string{"rev-list", "--objects", "--quiet", tip}
	if base != "" {
		args = append(args, "^"+base)
	}
	_, err = s.r.read(ctx, args...)
	return err
}

// reap ends those that were started.
func reap(cmds ...*exec.Cmd) {
	for _, c := range cmds {
		if c.Process != nil {
			_ = c.Process.Kill()
			_ = c.Wait() // it was killed
		}
	}
}

// CheckOut writes the files of a commit of the repository as git checkout
// would, batch by batch, and calls fn with each batch: an open directory that has
// them. staged takes the commit from the stage instead.
func (s *Stage) CheckOut(ctx context.Context, commit string, files []File, staged bool, fn func(root *os.Root, batch []File) error) error {
	if len(files) == 0 {
		return nil
	}
	x, err := s.NewIndex(ctx, commit)
	if err != nil {
		return err
	}
	return batches(files, func(batch []File) error {
		return s.withTree(func(tree string, root *os.Root) error {
			var in bytes.Buffer
			for _, f := range batch {
				in.WriteString(f.Path + "\x00")
			}
			env := x.env(tree)
			if !staged {
				env = slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, "GIT_OBJECT_DIRECTORY=") })
			}
			if _, err := s.r.output(ctx, call{dir: tree, env: env, args: []string{"checkout-index", "-z", "--stdin"}, stdin: &in}); err != nil {
				return err
			}
			return fn(root, batch)
		})
	})
}

// Branch makes a branch, durably; it must not exist.
func (r *Repository) Branch(ctx context.Context, name, commit, why string) error {
	_, err := r.output(ctx, call{dir: r.Top, env: r.env, lasts: true, args: []string{"update-ref", "-m", why, "refs/heads/" + name, commit, ""}})
	return err
}

// dir is where git is called for the index.
func (x *Index) dir() string {
	if x.copied {
		return x.s.r.Top
	}
	return x.s.dir
}
