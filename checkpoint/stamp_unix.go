//go:build unix

package checkpoint

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// youngest returns the time from which on a change of a file is too young to
// be told from a later one: the present time of the file system's own clock,
// which is coarse. It is read off a stamp file beside the store, if that is on
// the workspace's file system; nothing is written into the workspace. Else it
// is this process's clock, and a margin.
func (s *Store) youngest(w *Workspace) (int64, error) {
	margin := s.opts.Now().Add(-clockTick).UnixNano()
	if s.opts.ReadOnly {
		return margin, nil
	}
	name := filepath.Join(s.dir, "stamp.tmp")
	f, err := s.fs.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, err
	}
	_, err = f.Write([]byte("now"))
	fi, serr := f.Stat()
	if err = errors.Join(err, serr, f.Close(), s.fs.Remove(name)); err != nil {
		return 0, err
	}
	stamp, ok := fi.Sys().(*syscall.Stat_t)
	var root unix.Stat_t
	if err := unix.Fstat(w.Fd(), &root); err != nil {
		return 0, err
	}
	if !ok || uint64(stamp.Dev) != uint64(root.Dev) {
		return margin, nil
	}
	return fi.ModTime().UnixNano(), nil
}
