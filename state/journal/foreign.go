package journal

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"time"
)

// Changed reports whether somebody else has changed the current segment since this
// process wrote to it: an error that says how, or nil. A change that keeps
// size and time is for the checksums to notice.
func (j *Journal) Changed() error {
	if j.foreign != nil {
		return j.foreign
	}
	fi, _, err := j.compare()
	if err == nil {
		j.mark = fi
	}
	return err
}

// unchanged returns why nothing may be appended: somebody else has changed the current
// segment. A change in spite of which that is possible is left to Changed.
func (j *Journal) unchanged() error {
	switch _, touched, err := j.compare(); {
	case touched:
		j.foreign = cmp.Or(j.foreign, err)
		return nil
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%w: %w", ErrForeign, err)
	default:
		return err
	}
}

// compare returns how the current segment differs from what this process has written: an
// error, or nil. touched: only its time does.
func (j *Journal) compare() (fi os.FileInfo, touched bool, err error) {
	fi, err = j.fs.Lstat(j.path(current))
	switch {
	case err != nil:
	case !fi.Mode().IsRegular():
		err = fmt.Errorf("%w: it is no file any more", ErrForeign)
	case fi.Size() != j.size:
		err = fmt.Errorf("%w: it has %d bytes instead of %d", ErrForeign, fi.Size(), j.size)
	case j.mark != nil && !os.SameFile(fi, j.mark):
		err = fmt.Errorf("%w: it is another file", ErrForeign)
	case j.mark != nil && !fi.ModTime().Equal(j.mark.ModTime()):
		touched, err = true, fmt.Errorf("%w at %s", ErrForeign, fi.ModTime().Format(time.TimeOnly))
	}
	return fi, touched, err
}
