package packdb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"hank/internal/failpoint"
	"hank/internal/vfs"
)

// SetRef moves a reference from old to new, durably; "" is absent, on either
// side. If it is not at old: *RefConflictError, nothing changed.
//
//  1. Take git's own lock, <name>.lock, so that neither hank nor git moves it.
//  2. Read the reference, and compare with old.
//  3. Write new into a temporary file outside refs/, and sync it.
//  4. Rename it over the reference, and sync the directory.
//  5. Remove the lock.
//
// A crash leaves the old value or the new one, and perhaps the lock and the
// temporary file, which Open knows to be hank's and removes.
func (s *DB) SetRef(name string, old, new SHA) error {
	if s.Opts.ReadOnly {
		return ErrReadOnly
	}
	if err := CheckRefName(name); err != nil {
		return err
	}
	if new != "" && !isSHA(string(new)) {
		return fmt.Errorf("%q is not a commit's name; %s stays as it is", new, name)
	}
	unlock, err := s.lock(name)
	if err != nil {
		return fmt.Errorf("moving %s: %w", name, err)
	}
	failpoint.Hit("ref.locked")
	return errors.Join(s.setLocked(name, old, new), unlock())
}

// setLocked is steps 2 to 4.
func (s *DB) setLocked(name string, old, new SHA) error {
	have, err := s.Ref(name)
	if err != nil {
		return err
	}
	if have != old {
		return &RefConflictError{Name: name, Want: old, Have: have}
	}
	if new == "" {
		err = s.removeRef(name)
	} else {
		err = s.replace(name, string(new)+"\n")
	}
	if err != nil {
		return fmt.Errorf("moving %s: %w", name, err)
	}
	return nil
}

// replace gives a file of references its new text.
func (s *DB) replace(name, text string) error {
	file, tmp := filepath.Join(s.Dir, filepath.FromSlash(name)), filepath.Join(s.Dir, refTemporary)
	if err := s.FS.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := vfs.WriteSynced(s.FS, tmp, []byte(text), os.O_EXCL, 0o644); err != nil {
		return err
	}
	failpoint.Hit("ref.written")
	if fi, err := s.FS.Lstat(file); err == nil && fi.IsDir() {
		// git leaves an empty directory where references once were; one that is
		// not empty stays, and the rename says so.
		_ = s.FS.Remove(file)
	}
	if err := s.FS.Rename(tmp, file); err != nil {
		return err
	}
	failpoint.Hit("ref.renamed")
	return s.FS.SyncDir(filepath.Dir(file))
}

// CheckRefName refuses what git refuses as the name of a reference, and what
// leads out of the store.
func CheckRefName(name string) error {
	if err := plumbing.ReferenceName(name).Validate(); err != nil || !strings.HasPrefix(name, "refs/") || path.Clean(name) != name || strings.HasSuffix(name, lockSuffix) {
		return &RefNameError{name}
	}
	return nil
}

const (
	lockSuffix = ".lock"
	// refTemporary is the value of a reference on its way.
	refTemporary = "hank-ref.tmp"
	// lockMark is a file of the store: hank's locks are hard links to it (or
	// copies, where there are none), which tells them from git's.
	lockMark     = "hank-lock"
	lockMarkText = "held by hank; removed when hank next opens this store for writing\n"
)

// lockPatience is how long a lock of somebody else's is waited for: stock git's
// gc takes one of each reference, for a moment.
const lockPatience = 500 * time.Millisecond

// untilUnlocked takes a lock, again while there is one.
func untilUnlocked(take func() error) error {
	for end := time.Now().Add(lockPatience); ; time.Sleep(10 * time.Millisecond) {
		if err := take(); !errors.Is(err, fs.ErrExist) || time.Now().After(end) {
			return err
		}
	}
}

// lock takes git's lock of a file of references. As a link it has its content
// from the first moment, even after a power cut.
func (s *DB) lock(name string) (unlock func() error, err error) {
	s.refs.Lock()
	defer func() {
		if err != nil {
			s.refs.Unlock()
		}
	}()
	file := filepath.Join(s.Dir, filepath.FromSlash(name))
	if err := vfs.MkdirAll(s.FS, filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	lock := file + lockSuffix
	err = untilUnlocked(func() error {
		err := s.FS.Link(filepath.Join(s.Dir, lockMark), lock)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			err = vfs.WriteSynced(s.FS, lock, []byte(lockMarkText), os.O_EXCL, 0o600)
		}
		return err
	})
	if errors.Is(err, fs.ErrExist) {
		err = &LockedError{lock}
	}
	if err != nil {
		return nil, err
	}
	return func() error {
		defer s.refs.Unlock()
		return s.FS.Remove(lock)
	}, nil
}

// sweepRefs removes the locks and the temporary file of a hank that was killed.
func (s *DB) sweepRefs() error {
	if err := s.FS.Remove(filepath.Join(s.Dir, refTemporary)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	sweep := func(name string) error {
		file := filepath.Join(s.Dir, filepath.FromSlash(name))
		if text, err := vfs.ReadFile(s.FS, file); err != nil || string(text) != lockMarkText {
			return nil // not there, or git's
		}
		return s.FS.Remove(file)
	}
	for _, name := range []string{packedRefsName, shallowName} {
		if err := sweep(name + lockSuffix); err != nil {
			return err
		}
	}
	return s.walkRefs("refs", func(name string) error {
		if strings.HasSuffix(name, lockSuffix) {
			return sweep(name)
		}
		return nil
	})
}

// packedRefsName is the file that stock git's pack-refs makes.
const packedRefsName = "packed-refs"

// Ref returns where a reference leads; "" if it is not there. A file that holds
// no object's name is a *DamagedError: an empty one, above all, which is what
// a careless writer leaves after a power cut, is not the same as none.
func (s *DB) Ref(name string) (SHA, error) {
	if err := CheckRefName(name); err != nil {
		return "", err
	}
	file := filepath.Join(s.Dir, filepath.FromSlash(name))
	text, err := vfs.ReadFile(s.FS, file)
	if fi, serr := s.FS.Lstat(file); err != nil && (errors.Is(err, fs.ErrNotExist) || serr == nil && fi.IsDir() || s.inPlaceOfRefs() != nil) {
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

// packedRefs reads the references that stock git has packed into one file.
func (s *DB) packedRefs() (map[string]SHA, error) {
	refs := map[string]SHA{}
	file := filepath.Join(s.Dir, packedRefsName)
	text, err := vfs.ReadFile(s.FS, file)
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
		if !ok || !isSHA(sha) || CheckRefName(name) != nil {
			return nil, &DamagedError{Path: file, Why: fmt.Sprintf("the line %q is no reference", line)}
		}
		refs[name] = SHA(sha)
	}
	return refs, nil
}
