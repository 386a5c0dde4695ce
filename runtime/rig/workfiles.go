package rig

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"hank/internal/vfs"
	"hank/recovery/layout"
)

// badTarget says why something must not be written to a path in the workspace;
// empty if it may.
func badTarget(rel string) string {
	switch {
	case rel == ".":
		return "is the workspace itself"
	case !fs.ValidPath(rel) || strings.ContainsRune(rel, 0):
		return "is not a plain path inside the workspace"
	case layout.Protected(rel), namesExecution(rel):
		return "touches a protected name"
	}
	return ""
}

// namesExecution reports whether a path has a name that an execution gives its own
// directories. hank validate refuses it in a hank, which may be run anywhere.
func namesExecution(rel string) bool {
	first, _, _ := strings.Cut(rel, "/")
	return strings.EqualFold(first, layout.ArchiveName) || slices.ContainsFunc(strings.Split(rel, "/"), func(step string) bool {
		return strings.HasPrefix(strings.ToLower(step), layout.Dir)
	})
}

// openDir opens a directory of the workspace. A link in its path is an error,
// wherever it leads; where there is nothing the error is fs.ErrNotExist.
//
// os.Root follows links inside of it. A directory is therefore opened a component
// at a time, and each must afterwards be a real directory by its name and the
// same that was opened: a link that takes its place meanwhile is noticed.
func openDir(root *os.Root, rel string) (*os.Root, error) {
	at, err := root.OpenRoot(".")
	if err != nil || rel == "." {
		return at, err
	}
	for step := range strings.SplitSeq(rel, "/") {
		next, err := openStep(at, step)
		at.Close()
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", rel, err)
		}
		at = next
	}
	return at, nil
}

func openStep(at *os.Root, name string) (*os.Root, error) {
	before, err := at.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !before.IsDir() {
		return nil, notADir(name, before)
	}
	next, err := at.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	opened, err := next.Stat(".")
	if err == nil {
		var now fs.FileInfo
		if now, err = at.Lstat(name); err == nil && (!now.IsDir() || !os.SameFile(now, opened)) {
			err = notADir(name, now)
		}
	}
	if err != nil {
		return nil, errors.Join(err, next.Close())
	}
	return next, nil
}

func notADir(name string, info fs.FileInfo) error {
	what := "is not a directory"
	if info.Mode()&fs.ModeSymlink != 0 {
		what = "is a symbolic link, which hank does not follow"
	}
	return fmt.Errorf("%q %s", name, what)
}

// walkDir visits everything below the directory at rel, directories before what is
// in them, and goes down where visit says so. It follows no link.
func walkDir(root *os.Root, rel string, visit func(rel string, e fs.DirEntry) (descend bool, err error)) error {
	dir, err := openDir(root, rel)
	if err != nil {
		return err
	}
	defer dir.Close()
	return walkOpen(dir, rel, visit)
}

func walkOpen(dir *os.Root, rel string, visit func(string, fs.DirEntry) (bool, error)) error {
	entries, err := readDir(dir)
	if err != nil {
		return fmt.Errorf("list %s: %w", rel, err)
	}
	for _, e := range entries {
		at := path.Join(rel, e.Name())
		descend, err := visit(at, e)
		if err != nil {
			return err
		}
		if !descend || !e.IsDir() {
			continue
		}
		sub, err := openStep(dir, e.Name())
		if errors.Is(err, fs.ErrNotExist) {
			continue // gone meanwhile
		}
		if err != nil {
			return fmt.Errorf("open %s: %w", at, err)
		}
		err = walkOpen(sub, at, visit)
		sub.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func readDir(dir *os.Root) ([]fs.DirEntry, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// RemoveTree deletes a name and all below it, directories that their owner may not
// write included: Go's module cache is made of them.
func RemoveTree(dir *os.Root, name string) error {
	err := dir.RemoveAll(name)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	if opened := openUp(dir, name); opened != nil {
		return errors.Join(err, opened)
	}
	return dir.RemoveAll(name)
}

// openUp lets the owner write in a directory and in all below it.
func openUp(dir *os.Root, name string) error {
	let := func(rel string) error {
		info, err := dir.Lstat(rel)
		if err != nil || !info.IsDir() || info.Mode()&0o700 == 0o700 {
			return ignoreMissing(err)
		}
		return dir.Chmod(rel, info.Mode().Perm()|0o700)
	}
	if err := let(name); err != nil {
		return err
	}
	return walkDir(dir, name, func(rel string, e fs.DirEntry) (bool, error) { return true, let(rel) })
}

// openRegular opens a file of the workspace. A link or a special file in its
// path or in its place is an error.
func openRegular(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	dir, err := openDir(root, path.Dir(name))
	if err != nil {
		return nil, nil, err
	}
	defer dir.Close()
	before, err := dir.Lstat(path.Base(name))
	if err != nil {
		return nil, nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, nil, errors.New("it is no longer a regular file")
	}
	f, err := dir.OpenFile(path.Base(name), os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !os.SameFile(before, info) {
		err = errors.New("the file was replaced while it was opened")
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// pour copies an open file of the workspace into a new one, syncs that and
// closes it. It fails if the file changes meanwhile.
func pour(to vfs.File, from *os.File, info fs.FileInfo) (err error) {
	defer func() { err = errors.Join(err, to.Close()) }()
	n, err := io.Copy(to, from)
	if err != nil {
		return err
	}
	if err := unchanged(from, info, n); err != nil {
		return err
	}
	return to.Sync()
}

// unchanged reports whether an open file, of which n bytes were read, is still
// what it was.
func unchanged(f *os.File, was fs.FileInfo, n int64) error {
	now, err := f.Stat()
	if err != nil {
		return err
	}
	if n != was.Size() || now.Size() != was.Size() || !now.ModTime().Equal(was.ModTime()) {
		return errors.New("the file changed while it was copied")
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
