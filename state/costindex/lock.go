package costindex

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"hank/internal/flock"
)

// lock takes the index for this process, or returns a *BusyError at once. The
// kernel releases it when the process ends, however it ends. Where there are
// no such locks it is left to Badger, and to Windows, which refuses to remove
// the files that another process has open.
func lock(dir string) (unlock func() error, err error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the cost index: %w", err)
	}
	switch err := flock.Exclusive(f); {
	case errors.Is(err, flock.ErrHeld):
		_ = f.Close()
		return nil, &BusyError{dir}
	case err != nil && !errors.Is(err, errors.ErrUnsupported):
		_ = f.Close()
		return nil, fmt.Errorf("locking the cost index: %w", err)
	}
	return func() error { return flock.Close(f) }, nil
}
