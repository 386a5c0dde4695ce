// Package snapshot keeps a file that must last: one name, the copy before it,
// and an order of steps in which a crash at any moment leaves at least one
// whole version.
//
// For a Path of state.json the files are
//
//	state.json          the primary
//	state.json.bak      the version before, only ever made from a verified primary
//	state.json.tmp      a version being written; never loaded, set aside when found
//	state.json.bak.tmp  a second name of the primary on its way to be .bak
//
// A candidate is what Load has found under one of the first two names. The package does
// not know what the file contains: its caller's Verify decides whether a version is whole,
// and its caller which of two to use. A primary that is found damaged, and a backup that
// Load has found damaged, go to its caller's Quarantine; a save replaces the backup
// without reading it.
package snapshot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hank/internal/failpoint"
	"hank/internal/vfs"
)

// Store is one such file. Only one goroutine of the one process that holds the
// execution's lock may call Save and QuarantineDamaged; Load is for everybody.
type Store struct {
	FS   vfs.FS
	Path string
	// Verify returns nil if the content is whole and one's own. It decides
	// what may become the backup, and may be called by two goroutines at once.
	Verify func([]byte) error
	// Quarantine moves the damaged file name away and leaves nothing under
	// that name. The move must be durable when it returns nil.
	Quarantine func(name string, why error) error
	// Replacing, if set, is told by a save of the file that is about to become the
	// primary, right before it does.
	Replacing func(fs.FileInfo)
}

func (s *Store) backup() string    { return s.Path + ".bak" }
func (s *Store) tmp() string       { return s.Path + ".tmp" }
func (s *Store) backupTmp() string { return s.Path + ".bak.tmp" }

// QuarantineDamaged sends to quarantine what is damaged of what Load has found, and what
// an interrupted save left. It is for the time when the caller has a whole
// version from somewhere, and may have found more to be damaged.
func (s *Store) QuarantineDamaged(found []Candidate) error {
	for _, c := range found {
		var damaged *DamagedError
		if errors.As(c.Err, &damaged) {
			if err := s.Quarantine(c.Path, c.Err); err != nil {
				return fmt.Errorf("setting %s aside: %w", c.Path, err)
			}
		}
	}
	return s.clear()
}

// clear takes left-over temporary names away. What was being written may be
// the only trace of something, so it is kept in quarantine; the second name of
// a verified file holds nothing of its own.
func (s *Store) clear() error {
	if _, err := s.FS.Lstat(s.tmp()); err == nil {
		err := s.Quarantine(s.tmp(), errors.New("an interrupted save left it behind"))
		if err != nil {
			return fmt.Errorf("setting %s aside: %w", s.tmp(), err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return s.remove(s.backupTmp())
}

// Save makes data the primary, durably, and the present primary the backup:
//
//  1. Left-over temporary names are set aside.
//  2. The present primary is verified. A damaged one goes to quarantine and
//     the backup stays as it is.
//  3. A verified one gets a second name (a synced copy where the file system
//     has no links), which is renamed over the backup and then removed: a
//     rename of two links of one file does nothing and leaves both.
//  4. The new version is written under a temporary name and synced.
//  5. It is renamed over the primary.
//  6. The directory is synced. Now the new version is durable.
//
// The backup's name need not be synced before 5: whichever of the two versions
// it leads to after a crash, it was verified. After an error the old primary
// or the new one is there, and the same call may be made again.
func (s *Store) Save(data []byte) error {
	if err := s.save(data); err != nil {
		return fmt.Errorf("saving %s: %w", s.Path, err)
	}
	return nil
}

func (s *Store) save(data []byte) error {
	if err := s.Verify(data); err != nil {
		return fmt.Errorf("the new content would be damaged: %w", err) // 0: never replace a good file by a bad one
	}
	if err := s.clear(); err != nil { // 1
		return err
	}
	present := s.candidate(Primary, s.Path) // 2
	s.verify(&present)
	var damaged *DamagedError
	switch err := present.Err; {
	case err == nil:
		if err := s.backUp(present.Data); err != nil { // 3
			return fmt.Errorf("making the backup: %w", err)
		}
		failpoint.Hit("snapshot.backedup")
	case errors.As(err, &damaged):
		if err := s.Quarantine(s.Path, err); err != nil {
			return fmt.Errorf("setting the damaged file aside: %w", err)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := s.write(s.tmp(), data); err != nil { // 4
		return errors.Join(err, s.remove(s.tmp()))
	}
	failpoint.Hit("snapshot.written")
	if s.Replacing != nil {
		next, err := s.FS.Lstat(s.tmp())
		if err != nil {
			return err
		}
		s.Replacing(next)
	}
	if err := s.FS.Rename(s.tmp(), s.Path); err != nil { // 5
		return errors.Join(err, s.remove(s.tmp()))
	}
	failpoint.Hit("snapshot.renamed")
	return s.FS.SyncDir(filepath.Dir(s.Path)) // 6
}

// backUp makes the primary, whose verified content is data, the backup too.
func (s *Store) backUp(data []byte) error {
	if err := s.FS.Link(s.Path, s.backupTmp()); err != nil {
		if err := s.write(s.backupTmp(), data); err != nil {
			return errors.Join(err, s.remove(s.backupTmp()))
		}
	}
	if err := s.FS.Rename(s.backupTmp(), s.backup()); err != nil {
		return err
	}
	return s.remove(s.backupTmp())
}

// write creates a synced file. It never opens one that is there: that could be
// a second name of the primary.
func (s *Store) write(name string, data []byte) error {
	return vfs.WriteSynced(s.FS, name, data, os.O_EXCL, 0o600)
}

func (s *Store) remove(name string) error {
	if err := s.FS.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
