package packdb

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// removeRef removes a reference from the packed ones, if it is there, and then
// its own file: in the other order a crash would bring back an old value.
func (s *DB) removeRef(name string) error {
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
	file := filepath.Join(s.Dir, filepath.FromSlash(name))
	if err := s.FS.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return s.FS.SyncDir(filepath.Dir(file))
}

// writePacked replaces the file of packed references, under git's lock of it.
func (s *DB) writePacked(refs map[string]SHA) error {
	lock := filepath.Join(s.Dir, packedRefsName+lockSuffix)
	err := untilUnlocked(func() error { return s.FS.Link(filepath.Join(s.Dir, lockMark), lock) })
	if errors.Is(err, fs.ErrExist) {
		return &LockedError{lock}
	}
	var text strings.Builder
	text.WriteString("# pack-refs with: sorted \n")
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		text.WriteString(string(refs[name]) + " " + name + "\n")
	}
	err = s.replace(packedRefsName, text.String())
	if rerr := s.FS.Remove(lock); !errors.Is(rerr, fs.ErrNotExist) {
		err = errors.Join(err, rerr)
	}
	return err
}
