package rig

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"hank/internal/failpoint"
	"hank/internal/shell"
	"hank/plan"
	"hank/recovery/layout"
)

// placement puts what a copy operation copies into the workspace.
type placement struct {
	root    *os.Root // of the workspace
	source  *plan.Source
	target  string // relative to the workspace, clean
	attempt string
	apart   func(rel string) bool // as in rigging
	save    func(targets []string) error
	leftOut []string                     // as in rigging
	aside   func(path, now string) error // as rigging.Aside
}

// Names in the workspace. No checkpoint holds the first two: see
// worktree.IsTemporary.
const (
	PlaceNew = ".hankweave-rig-new" // what a copy is building
	PlaceOld = ".hankweave-rig-old" // what it has replaced and is about to delete
	// AsideName holds what no checkpoint can hold and a copy had to remove:
	// repositories inside of what it replaced.
	AsideName = ".hankweave-replaced"
)

// SaveError says that what a copy replaces could not be recorded. Nothing was
// replaced.
type SaveError struct{ err error }

func (e *SaveError) Error() string {
	return fmt.Sprintf("what is there could not be recorded, so it is not replaced: %v", e.err)
}

func (e *SaveError) Unwrap() error { return e.err }

// run makes the target what the source is.
//
//  1. The directory that holds the target is opened, and no component of its path
//     may be a link: a link could lead out of the workspace or to a protected
//     name. Left-overs of a copy that was interrupted are removed.
//  2. The new files are written under another name in that directory, each
//     checked against its digest in the program.
//  3. What is at the target is recorded. Repositories in it, which no
//     checkpoint holds, are moved to AsideName. What is left out of every
//     checkpoint stays where it is: see merge.
//  4. The new name takes the target's place. A file replaces a file in one
//     step; where directories are in the game the old one steps aside first.
//  5. What was replaced is deleted.
//
// A crash before 4 leaves the target as it was. The codon has not begun to
// work then: the next run restores the tree and runs the rig again.
func (p placement) run(ctx context.Context) error {
	if why := badTarget(p.target); why != "" {
		return fmt.Errorf("the target %s", why)
	}
	dir, name := path.Split(p.target)
	parent, err := openDir(p.root, path.Clean(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the workspace has no directory %q: create it by a command before the copy, such as mkdir -p %s", path.Clean(dir), shell.Path(path.Clean(dir)))
	}
	if err != nil {
		return err
	}
	defer parent.Close()
	if err := errors.Join(RemoveTree(parent, PlaceNew), RemoveTree(parent, PlaceOld)); err != nil {
		return fmt.Errorf("remove what an earlier copy has left: %w", err)
	}
	if err := p.build(ctx, parent); err != nil {
		return errors.Join(err, parent.RemoveAll(PlaceNew))
	}
	failpoint.Hit("rig.built")
	if err := p.replace(parent, name); err != nil {
		return errors.Join(err, parent.RemoveAll(PlaceNew))
	}
	return nil
}

// build writes the source under the name PlaceNew.
func (p placement) build(ctx context.Context, parent *os.Root) error {
	if !p.source.Dir {
		return placeFile(parent, PlaceNew, p.source.Files[0].File)
	}
	if err := parent.Mkdir(PlaceNew, 0o777); err != nil {
		return err
	}
	for _, dir := range p.source.Dirs {
		if err := refuseOwn(dir); err != nil {
			return err
		}
		if err := parent.Mkdir(path.Join(PlaceNew, dir), 0o777); err != nil {
			return err
		}
	}
	for _, f := range p.source.Files {
		if err := refuseOwn(f.Rel); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := placeFile(parent, path.Join(PlaceNew, f.Rel), f.File); err != nil {
			return err
		}
	}
	return nil
}

// refuseOwn refuses to copy what no checkpoint would hold.
func refuseOwn(rel string) error {
	for step := range strings.SplitSeq(rel, "/") {
		if layout.IsOwn(step) {
			return fmt.Errorf("the directory has %q: checkpoints never have such names; move it out of the directory that is copied", rel)
		}
	}
	return nil
}

// placeFile writes a file of the program. It exists under that name only if
// its content is right.
func placeFile(dir *os.Root, name string, f plan.File) (err error) {
	from, err := f.Open()
	if err != nil {
		return fmt.Errorf("read %s: %w", f.Path, err)
	}
	defer from.Close()
	perm := fs.FileMode(0o666)
	if f.Mode&0o111 != 0 {
		perm = 0o777
	}
	to, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(to, sum), from); err != nil {
		return fmt.Errorf("copy %s: %w", f.Path, err)
	}
	if got := "sha256:" + hex.EncodeToString(sum.Sum(nil)); got != f.Digest {
		return fmt.Errorf("%s has changed since the hank was read: it was %.19s and is %.19s; run hank again", f.Path, f.Digest, got)
	}
	return nil
}

// replace puts what was built in the place of the target.
func (p placement) replace(parent *os.Root, name string) error {
	old, err := parent.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return parent.Rename(PlaceNew, name)
	}
	if err != nil {
		return err
	}
	leftOut, err := p.findLeftOut(parent, name, old)
	if err != nil {
		return err
	}
	if err := p.save([]string{p.target}); err != nil {
		return &SaveError{err}
	}
	if len(leftOut) > 0 && old.IsDir() && p.source.Dir && leftOut[0] != p.target {
		return p.merge(parent, name, leftOut)
	}
	if len(leftOut) > 0 {
		if err := p.displaceLeftOut(parent, ".", leftOut...); err != nil {
			return err
		}
		if old, err = parent.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			return parent.Rename(PlaceNew, name)
		} else if err != nil {
			return err
		}
	}
	if old.IsDir() {
		if err := p.keepRepositories(parent, name); err != nil {
			return err
		}
	}
	failpoint.Hit("rig.saved")
	if !old.IsDir() && !p.source.Dir {
		return parent.Rename(PlaceNew, name)
	}
	if err := parent.Rename(name, PlaceOld); err != nil {
		return err
	}
	failpoint.Hit("rig.removed")
	if err := parent.Rename(PlaceNew, name); err != nil {
		return errors.Join(err, parent.Rename(PlaceOld, name))
	}
	failpoint.Hit("rig.placed")
	if err := RemoveTree(parent, PlaceOld); err != nil {
		return fmt.Errorf("the copy is done, but what it replaced cannot be deleted: %w", err)
	}
	return nil
}

// keepRepositories moves what checkpoints never hold out of a directory that is
// about to be deleted: the histories of repositories. A directory that holds the
// execution itself is not replaced.
func (p placement) keepRepositories(parent *os.Root, name string) error {
	var found []string
	err := walkDir(parent, name, func(rel string, e fs.DirEntry) (descend bool, err error) {
		if p.apart != nil && p.apart(path.Join(path.Dir(p.target), rel)) {
			return false, fmt.Errorf("it holds %q, which is of the execution itself; copy to another place", rel)
		}
		if p.isLeftOut(path.Join(path.Dir(p.target), rel)) {
			return false, nil
		}
		if layout.IsOwn(path.Base(rel)) {
			found = append(found, rel)
			return false, nil
		}
		return true, nil
	})
	if err != nil || len(found) == 0 {
		return err
	}
	aside, err := makeAside(p.root, plan.SafeFileName(plan.CodonID(p.attempt)))
	if err != nil {
		return fmt.Errorf("make room for the repositories in %s: %w", p.target, err)
	}
	for _, rel := range found {
		from := path.Join(path.Dir(p.target), rel)
		to := path.Join(aside, from)
		if err := p.root.MkdirAll(path.Dir(to), 0o777); err != nil {
			return err
		}
		if err := p.root.Rename(from, to); err != nil {
			return fmt.Errorf("keep %s, which no checkpoint holds: %w", from, err)
		}
	}
	return nil
}

// makeAside makes a new directory for one attempt.
func makeAside(root *os.Root, attempt string) (string, error) {
	if err := root.Mkdir(AsideName, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	if info, err := root.Lstat(AsideName); err != nil || !info.IsDir() {
		return "", errors.Join(err, fmt.Errorf("%s in the workspace is not a directory: remove it", AsideName))
	}
	for n := 1; ; n++ {
		dir := path.Join(AsideName, attempt+"."+strconv.Itoa(n))
		if err := root.Mkdir(dir, 0o777); !errors.Is(err, fs.ErrExist) {
			return dir, err
		}
	}
}
