package costindex

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hank/internal/flock"
)

// BusyError says that another process has the index open.
type BusyError struct{ Dir string }

func (e *BusyError) Error() string {
	return fmt.Sprintf("the cost index %s is in use by another process", e.Dir)
}

// lockFile is the lock of an index, taken.
type lockFile struct {
	f    *os.File
	real bool // no other process can have it: the system has such locks
}

func lockName(dir string) string { return filepath.Join(dir, "lock") }

// lock takes the index for this process, or returns a *BusyError at once. The
// kernel releases it when the process ends, however it ends. Where there are
// no such locks it is left to Badger, and to Windows, which refuses to remove
// the files that another process has open.
func lock(dir string) (*lockFile, error) {
	f, err := os.OpenFile(lockName(dir), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the cost index: %w", err)
	}
	l := &lockFile{f: f}
	switch err := flock.Exclusive(f); {
	case errors.Is(err, flock.ErrHeld):
		_ = f.Close()
		return nil, &BusyError{dir}
	case err != nil && !errors.Is(err, errors.ErrUnsupported):
		_ = f.Close()
		return nil, fmt.Errorf("locking the cost index: %w", err)
	default:
		l.real = err == nil
	}
	if !l.holds(dir) { // it was removed between the two, or is being removed
		_ = l.release()
		return nil, &BusyError{dir}
	}
	return l, nil
}

// holds reports whether the lock is still the one of the index in dir. After
// somebody has removed the files, another process may hold a new one there.
func (l *lockFile) holds(dir string) bool {
	own, err := l.f.Stat()
	if err != nil {
		return false
	}
	present, err := os.Lstat(lockName(dir))
	return err == nil && os.SameFile(own, present)
}

func (l *lockFile) release() error { return flock.Close(l.f) }

// Remove deletes the index in dir, while no process has it open; else the
// error is a *BusyError.
func Remove(dir string) error {
	l, err := lock(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case isBusy(err):
		return err
	case err != nil: // what is there is no index
		return os.RemoveAll(dir)
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if name := filepath.Join(dir, e.Name()); name != lockName(dir) {
			err = errors.Join(err, os.RemoveAll(name))
		}
	}
	// The lock goes last. Whoever has opened it meanwhile sees that it is gone.
	err = errors.Join(err, ifThere(os.Remove(lockName(dir))), l.release())
	_ = os.Remove(dir) // unless the next one has begun in it
	return err
}

func ifThere(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func isBusy(err error) bool {
	var busy *BusyError
	return errors.As(err, &busy)
}
