package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"hank/internal/failpoint"
	"hank/internal/vfs"
)

// SetRef moves a reference from old to new, durably, by git's own protocol:
//
//  1. Take <name>.lock, which no second writer, hank or git, can then take.
//  2. Compare with old; "" means that the reference must not be there. If it
//     is something else: *RefConflictError, nothing changed.
//  3. Write new into the lock file, and sync it.
//  4. Rename it over the reference, and sync the folder.
//
// With new == "" the reference is removed instead.
func (s *Store) SetRef(name string, old, new SHA) error {
	if s.opts.ReadOnly {
		return errReadOnly
	}
	if err := plumbing.ReferenceName(name).Validate(); err != nil || !strings.HasPrefix(name, "refs/") {
		return fmt.Errorf("%q cannot be the name of a reference", name)
	}
	file := filepath.Join(s.dir, filepath.FromSlash(name))
	if err := vfs.MkdirAll(s.fs, filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("moving %s: %w", name, err)
	}
	lock, err := s.fs.OpenFile(file+".lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return &LockedError{file + ".lock"}
	}
	if err != nil {
		return fmt.Errorf("moving %s: %w", name, err)
	}
	failpoint.Hit("ref.locked")
	moved, err := s.setLocked(lock, name, file, old, new)
	if !moved {
		err = errors.Join(err, s.fs.Remove(file+".lock"))
	}
	return err
}

// setLocked is steps 2 to 4. moved tells that the lock file is gone.
func (s *Store) setLocked(lock vfs.File, name, file string, old, new SHA) (moved bool, err error) {
	have, err := s.Ref(name)
	if err == nil && have != old {
		err = &RefConflictError{Name: name, Want: old, Have: have}
	}
	if err != nil || new == "" {
		if err = errors.Join(err, lock.Close()); err == nil && have != "" {
			err = s.removeRef(name, file)
		}
		return false, err
	}
	_, err = lock.Write([]byte(string(new) + "\n"))
	if err == nil {
		err = lock.Sync()
	}
	if err = errors.Join(err, lock.Close()); err != nil {
		return false, fmt.Errorf("moving %s: %w", name, err)
	}
	failpoint.Hit("ref.written")
	if err := s.fs.Rename(file+".lock", file); err != nil {
		return false, fmt.Errorf("moving %s: %w", name, err)
	}
	failpoint.Hit("ref.renamed")
	return true, s.fs.SyncDir(filepath.Dir(file))
}

// removeRef removes a reference from the packed ones, if it is there, and then
// its own file: in the other order a crash would bring back an old value.
func (s *Store) removeRef(name, file string) error {
	packed, err := s.packedRefs()
	if err != nil {
		return err
	}
	if _, there := packed[name]; there {
		delete(packed, name)
		if err := s.writePacked(packed); err != nil {
			return err
		}
	}
	if err := s.fs.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return s.fs.SyncDir(filepath.Dir(file))
}

func (s *Store) writePacked(refs map[string]SHA) error {
	names := make([]string, 0, len(refs))
	for name := range refs {
		names = append(names, name)
	}
	slices.Sort(names)
	text := "# pack-refs with: sorted \n"
	for _, name := range names {
		text += string(refs[name]) + " " + name + "\n"
	}
	return vfs.WriteFile(s.fs, filepath.Join(s.dir, "packed-refs"), []byte(text), 0o600)
}

// Ref returns where a reference leads; "" if it is not there. A file that holds
// no object's name is a *DamagedError: an empty one, above all, which is what
// a careless writer leaves after a power cut, is not the same as none.
func (s *Store) Ref(name string) (SHA, error) {
	file := filepath.Join(s.dir, filepath.FromSlash(name))
	text, err := vfs.ReadFile(s.fs, file)
	if fi, serr := s.fs.Lstat(file); err != nil && (errors.Is(err, fs.ErrNotExist) || serr == nil && fi.IsDir()) {
		packed, err := s.packedRefs()
		return packed[name], err
	}
	if err != nil {
		return "", err
	}
	return parseRef(file, string(text))
}

func parseRef(file, text string) (SHA, error) {
	sha := strings.TrimSuffix(text, "\n")
	if !isSHA(sha) {
		return "", &DamagedError{Path: file, Why: "it holds no object's name"}
	}
	return SHA(sha), nil
}

func isSHA(s string) bool { return len(s) == 40 && strings.Trim(s, "0123456789abcdef") == "" }

// Refs returns all references whose names begin with prefix, such as
// refs/heads/.
func (s *Store) Refs(prefix string) (map[string]SHA, error) {
	refs, damaged, err := s.ReadableRefs(prefix)
	if err == nil && len(damaged) > 0 {
		err = damaged[0]
	}
	return refs, err
}

// ReadableRefs is Refs that passes over files which hold no reference, and
// names them.
func (s *Store) ReadableRefs(prefix string) (map[string]SHA, []*DamagedError, error) {
	var damaged []*DamagedError
	passOver := func(err error) error {
		var d *DamagedError
		if errors.As(err, &d) {
			damaged = append(damaged, d)
			return nil
		}
		return err
	}
	all, err := s.packedRefs()
	if err = passOver(err); err != nil {
		return nil, nil, err
	}
	if all == nil {
		all = map[string]SHA{}
	}
	err = s.walkRefs("refs", func(name string) error {
		if strings.HasSuffix(name, ".lock") {
			return nil
		}
		file := filepath.Join(s.dir, filepath.FromSlash(name))
		text, err := vfs.ReadFile(s.fs, file)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed since it was listed
		}
		var sha SHA
		if err == nil {
			sha, err = parseRef(file, string(text))
		}
		if err != nil {
			delete(all, name) // what was packed of it is older
			return passOver(err)
		}
		all[name] = sha
		return nil
	})
	for name := range all {
		if !strings.HasPrefix(name, prefix) {
			delete(all, name)
		}
	}
	return all, damaged, err
}

// walkRefs calls fn for each file below a folder of references.
func (s *Store) walkRefs(dir string, fn func(name string) error) error {
	list, err := s.fs.ReadDir(filepath.Join(s.dir, filepath.FromSlash(dir)))
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

// packedRefs reads the references that stock git has packed into one file.
func (s *Store) packedRefs() (map[string]SHA, error) {
	refs := map[string]SHA{}
	file := filepath.Join(s.dir, "packed-refs")
	text, err := vfs.ReadFile(s.fs, file)
	if errors.Is(err, fs.ErrNotExist) {
		return refs, nil
	}
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' || line[0] == '^' {
			continue
		}
		sha, name, ok := strings.Cut(line, " ")
		if !ok || !isSHA(sha) {
			return nil, &DamagedError{Path: file, Why: fmt.Sprintf("the line %q is no reference", line)}
		}
		refs[name] = SHA(sha)
	}
	return refs, nil
}

// writeSynced writes a new file durably; its name is made durable by the
// caller.
func writeSynced(fsys vfs.FS, name string, data []byte) error {
	f, err := fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
