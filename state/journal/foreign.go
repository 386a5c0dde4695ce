package journal

import (
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
	fi, err := j.fs.Lstat(j.path(current))
	switch {
	case err != nil:
		return err
	case !fi.Mode().IsRegular():
		return fmt.Errorf("%w: it is no file any more", ErrForeign)
	case fi.Size() != j.size:
		return fmt.Errorf("%w: it has %d bytes instead of %d", ErrForeign, fi.Size(), j.size)
	case j.mark != nil && !os.SameFile(fi, j.mark):
		return fmt.Errorf("%w: it is another file", ErrForeign)
	case j.mark != nil && !fi.ModTime().Equal(j.mark.ModTime()):
		return fmt.Errorf("%w at %s", ErrForeign, fi.ModTime().Format(time.TimeOnly))
	}
	j.mark = fi
	return nil
}
