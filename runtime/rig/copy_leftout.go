package rig

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"hank/checkpoint/worktree"
)

// A file that is left out of every checkpoint has no copy anywhere. A copy that
// replaces the directory it is in leaves it where it is; where the copy has something of
// its own there, the file gets a name beside its own, which is left out as well.

// isLeftOut reports whether a path of the workspace is left out of every checkpoint, or
// below one that is.
func (p placement) isLeftOut(rel string) bool {
	return slices.ContainsFunc(p.leftOut, func(out string) bool { return rel == out || strings.HasPrefix(rel, out+"/") })
}

// findLeftOut lists what is left out of every checkpoint and is at the target, or
// below it, by paths in the workspace.
func (p placement) findLeftOut(parent *os.Root, name string, old fs.FileInfo) (found []string, err error) {
	if p.isLeftOut(p.target) {
		if p.isCopy(parent, name, "") {
			return nil, nil // nothing is lost
		}
		return []string{p.target}, nil
	}
	if len(p.leftOut) == 0 || !old.IsDir() {
		return nil, nil
	}
	err = walkDir(parent, name, func(rel string, e fs.DirEntry) (descend bool, err error) {
		if full := p.full(rel); p.isLeftOut(full) {
			found = append(found, full)
			return false, nil
		}
		return true, nil
	})
	return found, err
}

// full is the path in the workspace of one in the directory that holds the target.
func (p placement) full(rel string) string { return path.Join(path.Dir(p.target), rel) }

// rel is the opposite of full.
func (p placement) rel(full string) string {
	return strings.TrimPrefix(full, strings.TrimPrefix(path.Dir(p.target)+"/", "./"))
}

// merge makes the target, a directory, what was built, but for what is left out of every
// checkpoint: that stays, with the directories it is in. Everything else is recorded by
// now, so a crash on the way loses nothing, and the next run begins the rig again.
func (p placement) merge(parent *os.Root, name string, leftOut []string) error {
	if err := p.keepRepositories(parent, name); err != nil {
		return err
	}
	holds := map[string]bool{} // the directories that a file that stays is in
	for _, out := range leftOut {
		for dir := path.Dir(out); dir != path.Dir(p.target); dir = path.Dir(dir) {
			holds[dir] = true
		}
	}
	for dir := range holds {
		info, err := parent.Lstat(p.rel(dir))
		if err == nil && info.Mode()&0o700 != 0o700 {
			err = parent.Chmod(p.rel(dir), info.Mode().Perm()|0o700)
		}
		if err != nil {
			return err
		}
	}
	err := walkDir(parent, name, func(rel string, e fs.DirEntry) (descend bool, err error) {
		switch full := p.full(rel); {
		case p.isLeftOut(full):
			return false, nil
		case holds[full]:
			return true, nil
		}
		return false, RemoveTree(parent, rel)
	})
	if err != nil {
		return fmt.Errorf("remove what is replaced: %w", err)
	}
	err = walkDir(parent, PlaceNew, func(rel string, e fs.DirEntry) (descend bool, err error) {
		to := path.Join(name, strings.TrimPrefix(rel, PlaceNew+"/"))
		full := p.full(to)
		_, err = parent.Lstat(to)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return false, err
		case holds[full] && e.IsDir():
			return true, nil
		case holds[full]:
			below := slices.DeleteFunc(slices.Clone(leftOut), func(out string) bool { return !strings.HasPrefix(out, full+"/") })
			if err := errors.Join(p.displaceLeftOut(parent, path.Dir(to), below...), RemoveTree(parent, to)); err != nil {
				return false, err
			}
		case p.isCopy(parent, to, strings.TrimPrefix(rel, PlaceNew+"/")):
			if err := RemoveTree(parent, to); err != nil {
				return false, err
			}
		default:
			if err := p.displaceLeftOut(parent, path.Dir(to), full); err != nil {
				return false, err
			}
		}
		return false, parent.Rename(rel, to)
	})
	if err != nil {
		return err
	}
	return RemoveTree(parent, PlaceNew)
}

// isCopy reports whether what is at a name is what the source has at rel, so that
// nothing of the user's is lost where it is replaced.
func (p placement) isCopy(parent *os.Root, name, rel string) bool {
	for _, f := range p.source.Files {
		if f.Rel == rel {
			return isFile(parent, name, f.Digest)
		}
	}
	files := map[string]string{}
	for _, f := range p.source.Files {
		if at, below := strings.CutPrefix(f.Rel, rel+"/"); below || rel == "" {
			files[path.Join(name, at)] = f.Digest
		}
	}
	if info, err := parent.Lstat(name); err != nil || !info.IsDir() {
		return false
	}
	err := walkDir(parent, name, func(at string, e fs.DirEntry) (descend bool, err error) {
		if digest, known := files[at]; !e.IsDir() && (!known || !isFile(parent, at, digest)) {
			return false, fs.ErrExist // something else
		}
		return true, nil
	})
	return err == nil
}

// isFile reports whether there is a regular file with that content.
func isFile(dir *os.Root, name, digest string) bool {
	f, _, err := openRegular(dir, name)
	if err != nil {
		return false
	}
	defer f.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return err == nil && "sha256:"+hex.EncodeToString(sum.Sum(nil)) == digest
}

// displaceLeftOut gives files that no checkpoint holds new names in a directory, which tell what
// they were.
func (p placement) displaceLeftOut(parent *os.Root, dir string, files ...string) error {
	for _, full := range files {
		for n := 1; ; n++ {
			to := path.Join(dir, worktree.KeptName(path.Base(full), n))
			if _, err := parent.Lstat(to); err == nil {
				continue
			} else if !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("keep %s, which no checkpoint holds: %w", full, err)
			}
			if err := p.aside(full, p.full(to)); err != nil {
				return fmt.Errorf("keep %s, which no checkpoint holds: %w", full, err)
			}
			if err := parent.Rename(p.rel(full), to); err != nil {
				return fmt.Errorf("keep %s, which no checkpoint holds: %w", full, err)
			}
			break
		}
	}
	return nil
}
