package packdb

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"hank/internal/vfs"
)

// Branches begins the names of branches.
const Branches = "refs/heads/"

// Sessions begins the names of the references to what agents remember, which are no branches.
const Sessions = "refs/hank/sessions/"

// Refs returns all references whose names begin with prefix, such as Branches.
func (s *DB) Refs(prefix string) (map[string]SHA, error) {
	refs, damaged, err := s.ReadableRefs(prefix)
	if err == nil && len(damaged) > 0 {
		err = damaged[0]
	}
	return refs, err
}

// ReadableRefs is Refs that passes over files which hold no reference, and
// names them.
func (s *DB) ReadableRefs(prefix string) (map[string]SHA, []*DamagedError, error) {
	var damaged []*DamagedError
	passOver := func(err error) error {
		var d *DamagedError
		if errors.As(err, &d) {
			damaged = append(damaged, d)
			return nil
		}
		return err
	}
	// First the files, then what is packed: stock git writes that before it
	// deletes the files, so that no reference is missed.
	all, hidden := map[string]SHA{}, map[string]bool{}
	if d := s.inPlaceOfRefs(); d != nil {
		damaged = append(damaged, d)
	}
	err := s.walkRefs("refs", func(name string) error {
		if strings.HasSuffix(name, lockSuffix) {
			return nil
		}
		file := filepath.Join(s.Dir, filepath.FromSlash(name))
		text, err := vfs.ReadFile(s.FS, file)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed since it was listed
		}
		var sha SHA
		if err == nil {
			sha, err = parseRef(file, string(text))
		}
		if err != nil {
			hidden[name] = true // what was packed of it is older
			return passOver(err)
		}
		all[name] = sha
		return nil
	})
	packed, perr := s.packedRefs()
	if perr = passOver(perr); perr != nil {
		return nil, nil, perr
	}
	for name, sha := range packed {
		if _, there := all[name]; !there && !hidden[name] {
			all[name] = sha
		}
	}
	for name := range all {
		if !strings.HasPrefix(name, prefix) {
			delete(all, name)
		}
	}
	return all, damaged, err
}

// inPlaceOfRefs says what has the place of the directory of references; nil: nothing. A link
// may lead to one.
func (s *DB) inPlaceOfRefs() *DamagedError {
	name := filepath.Join(s.Dir, "refs")
	if fi, err := s.FS.Lstat(name); err == nil && !fi.IsDir() && fi.Mode()&fs.ModeSymlink == 0 {
		return &DamagedError{Path: name, Why: "it must be the directory of the references, and is none"}
	}
	return nil
}

// walkRefs calls fn for each file below a directory of references.
func (s *DB) walkRefs(dir string, fn func(name string) error) error {
	if dir == "refs" && s.inPlaceOfRefs() != nil {
		return nil // for ReadableRefs to say
	}
	list, err := s.FS.ReadDir(filepath.Join(s.Dir, filepath.FromSlash(dir)))
	if errors.Is(err, fs.ErrNotExist) && s.Opts.ReadOnly {
		return nil // Open has let it pass; else it has made it, and somebody has removed it since
	}
	if err != nil {
		return fmt.Errorf("listing references: %w", err)
	}
	for _, e := range list {
		name := path.Join(dir, e.Name())
		if e.IsDir() {
			err = s.walkRefs(name, fn)
		} else {
			err = fn(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
