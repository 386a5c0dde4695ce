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
	fi, err := j.unchanged()
	if err == nil && j.foreign == nil {
		j.mark = fi
	}
	return cmp.Or(err, j.foreign)
}

// unchanged returns why nothing may be appended: somebody else has changed the current
// segment. A change in spite of which that is possible is left to Changed.
func (j *Journal) unchanged() (os.FileInfo, error) {
	fi, err := j.fs.Lstat(j.path(current))
	switch {
	case errors.Is(err, os.ErrNotExist):
		err = fmt.Errorf("%w: %w", ErrForeign, err)
	case err != nil:
	case !fi.Mode().IsRegular():
		err = fmt.Errorf("%w: it is no file any more", ErrForeign)
	case fi.Size() != j.size:
		err = fmt.Errorf("%w: it has %d bytes instead of %d", ErrForeign, fi.Size(), j.size)
	case j.mark != nil && !os.SameFile(fi, j.mark):
		err = fmt.Errorf("%w: it is another file", ErrForeign)
	case j.mark != nil && j.foreign == nil && !fi.ModTime().Equal(j.mark.ModTime()):
		j.foreign = fmt.Errorf("%w at %s", ErrForeign, fi.ModTime().Format(time.TimeOnly)) // Changed tells it
	}
	return fi, err
}
