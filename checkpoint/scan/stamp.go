package scan

import (
	"errors"
	"os"
	"path/filepath"
)

// stamp is the time at which a scan began. A file that was changed then or
// later is too young to be told from one that is changed once more.
type stamp struct {
	device uint64 // the file system whose own clock, which is coarse, says clock
	clock  int64  // nanoseconds
	margin int64  // by this process's clock, for other file systems
}

// youngest returns the time from which on changes on a device are too young.
func (s stamp) youngest(device uint64) int64 {
	if s.clock != 0 && s.device == device {
		return s.clock
	}
	return s.margin
}

// stampFor reads the clock of the store's file system off a file beside the
// store: nothing is written into a workspace.
func (s *Scanner) stampFor() (stamp, error) {
	now := stamp{margin: s.db.Opts.Now().Add(-clockTick).UnixNano()}
	if s.db.Opts.ReadOnly {
		return now, nil
	}
	name := filepath.Join(s.db.Dir, "stamp.tmp")
	f, err := s.db.FS.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return now, err
	}
	_, err = f.Write([]byte("now"))
	fi, serr := f.Stat()
	if err = errors.Join(err, serr, f.Close(), s.db.FS.Remove(name)); err != nil {
		return now, err
	}
	if device, ok := deviceOf(fi); ok {
		now.device, now.clock = device, fi.ModTime().UnixNano()
	}
	return now, nil
}
