package execution

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"hank/recovery/finding"
	"hank/recovery/layout"
)

// ErrOfOrigin is said of what a copy has brought along.
var ErrOfOrigin = errors.New("it is of the execution that this is a copy of; nothing in it is damaged")

// ClearWay sets aside what stands where hank's folders, the stat cache and the
// files of the journal must be.
func (x *Execution) ClearWay() error {
	q := x.aside()
	if err := q.Prepare(); err != nil {
		return err
	}
	for _, dir := range x.Layout.OwnFolders() {
		if why := layout.InTheWay(x.FS, dir); why != nil {
			if err := q.SetAside(dir, why); err != nil {
				return err
			}
			x.Report.Add(finding.Mended, "%s: %v; it is in quarantine", filepath.Base(dir), why)
		}
	}
	cache := x.Layout.StatCache()
	if fi, err := x.FS.Lstat(cache); err == nil && !fi.Mode().IsRegular() { // it could not be kept any more
		why := fmt.Errorf("%s stood where the stat cache must be", layout.What(cache, fi))
		if err := q.SetAside(cache, why); err != nil {
			return err
		}
		x.Report.Add(finding.Mended, "%v; it is in quarantine", why)
	}
	paths, whys := layout.Irregular(x.FS, x.Layout.Events())
	for i, path := range paths {
		if err := q.SetAside(path, whys[i]); err != nil {
			return err
		}
	}
	return nil
}

func (x *Execution) aside() layout.Quarantine {
	return layout.Quarantine{FS: x.FS, Dir: x.Layout.Quarantine(), Now: x.Opts.Now}
}

// Quarantine keeps a copy of damaged bytes, and says why beside it.
func (x *Execution) Quarantine(name string, content io.Reader, why error) error {
	return x.aside().Keep(name, content, why)
}

// SetAside moves a damaged file into quarantine, and says why beside it.
func (x *Execution) SetAside(path string, why error) error {
	if errors.Is(why, ErrOfOrigin) {
		why = ErrOfOrigin // and not damaged
	}
	return x.aside().SetAside(path, why)
}
