package execution

import (
	"errors"
	"io"

	"hank/recovery/layout"
)

// ErrOfOrigin is said of what a copy has brought along.
var ErrOfOrigin = errors.New("it is of the execution that this is a copy of; nothing in it is damaged")

// ClearWay sets the obstacles aside.
func (x *Execution) ClearWay() error {
	q, obstacles := x.aside(), layout.Obstacles(x.FS, x.Layout)
	if err := q.Prepare(); err != nil {
		return err
	}
	for _, o := range obstacles {
		if o.Path != q.Dir { // else it was the first
			if err := q.SetAside(o.Path, o.Why); err != nil {
				return err
			}
		}
		o.Report(&x.Report)
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
