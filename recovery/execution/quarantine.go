package execution

import (
	"errors"
	"io"

	"hank/recovery/layout"
)

// ErrOfOrigin is said of what a copy has brought along.
var ErrOfOrigin = errors.New("it is of the execution that this is a copy of; nothing in it is damaged")

// QuarantineObstacles sets the obstacles aside.
func (x *Execution) QuarantineObstacles() error {
	q, obstacles := x.quarantine(), layout.Obstacles(x.FS, x.Layout)
	if err := q.Prepare(); err != nil {
		return err
	}
	for _, o := range obstacles {
		if o.Path != q.Dir { // else it was the first
			if err := q.Move(o.Path, o.Why); err != nil {
				return err
			}
		}
		o.Report(&x.Report)
	}
	return nil
}

func (x *Execution) quarantine() layout.Quarantine {
	return layout.Quarantine{FS: x.FS, Dir: x.Layout.Quarantine(), Now: x.Opts.Now}
}

// QuarantineCopy keeps a copy of damaged bytes, and says why beside it.
func (x *Execution) QuarantineCopy(name string, content io.Reader, why error) error {
	return x.quarantine().Keep(name, content, why)
}

// QuarantineFile moves a damaged file into quarantine, and says why beside it.
func (x *Execution) QuarantineFile(path string, why error) error {
	if errors.Is(why, ErrOfOrigin) {
		why = ErrOfOrigin // and not damaged
	}
	return x.quarantine().Move(path, why)
}
