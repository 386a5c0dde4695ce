package recovery

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"hank/internal/vfs"
)

// quarantine is the folder of what was found damaged, or in the way of what
// hank must write. Beside each thing a file says why it is there.
type quarantine struct {
	fs  vfs.FS
	dir string
	now func() time.Time
}

// keep keeps a copy of damaged bytes.
func (q quarantine) keep(name string, content io.Reader, why error) error {
	if err := q.prepare(); err != nil {
		return err
	}
	bytes, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	path := q.path(name)
	if err := vfs.WriteFile(q.fs, path, bytes, 0o600); err != nil {
		return err
	}
	return q.explain(path, name, why)
}

// setAside moves what is damaged, or in the way, into the folder.
func (q quarantine) setAside(path string, why error) error {
	if err := q.prepare(); err != nil {
		return err
	}
	to := q.path(filepath.Base(path))
	if err := q.fs.Rename(path, to); err != nil {
		return fmt.Errorf("setting %s aside: %w", path, err)
	}
	return errors.Join(q.explain(to, path, why), q.fs.SyncDir(filepath.Dir(path)))
}

// prepare makes the folder. Something else that has its name is the first
// thing that is kept in it.
func (q quarantine) prepare() error {
	why := inTheWay(q.fs, q.dir)
	if why == nil {
		return vfs.MkdirAll(q.fs, q.dir, 0o700)
	}
	other := q.dir + "-" + newID(3)
	if err := q.fs.Rename(q.dir, other); err != nil {
		return fmt.Errorf("setting %s aside: %w", q.dir, err)
	}
	if err := vfs.MkdirAll(q.fs, q.dir, 0o700); err != nil {
		return err
	}
	return q.setAside(other, why)
}

func (q quarantine) path(name string) string {
	return filepath.Join(q.dir, q.now().Format("20060102T150405Z")+"-"+newID(3)+"-"+filepath.Base(name))
}

func (q quarantine) explain(path, name string, why error) error {
	return vfs.WriteFile(q.fs, path+".why", fmt.Appendf(nil, "%s was set aside: %v\n", name, why), 0o600)
}

// inTheWay says what has the name of a folder and is none; nil: nothing. A
// link to a folder is one: a person may have put it on another disk.
func inTheWay(fsys vfs.FS, dir string) error {
	fi, err := fsys.Lstat(dir)
	if err != nil || fi.IsDir() {
		return nil // one that cannot be looked at is for whoever opens it
	}
	if fi.Mode()&fs.ModeSymlink != 0 {
		if _, err := fsys.ReadDir(dir); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%s stood where a folder must be", what(dir, fi))
}

// what names the kind of something that is not what it must be. A link is
// told with its target, for it does not lead there from elsewhere.
func what(path string, fi fs.FileInfo) string {
	switch mode := fi.Mode(); {
	case mode.IsRegular():
		return "a file"
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeSymlink != 0:
		to, _ := os.Readlink(path) // one that cannot be read leads nowhere
		return "a link to " + to
	case mode&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// irregular lists what is no file in the folder of the journal, where only
// files belong, and says what each is.
func irregular(fsys vfs.FS, dir string) (paths []string, whys []error) {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, nil
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if fi, err := fsys.Lstat(path); err == nil && !fi.Mode().IsRegular() {
			paths, whys = append(paths, path), append(whys, fmt.Errorf("%s stood where a file of the journal must be", what(path, fi)))
		}
	}
	return paths, whys
}

// clearWay sets aside what stands where hank's folders, the stat cache and the
// files of the journal must be.
func (x *Execution) clearWay() error {
	q := x.aside()
	if err := q.prepare(); err != nil {
		return err
	}
	for _, dir := range x.Layout.ownFolders() {
		if why := inTheWay(x.fs, dir); why != nil {
			if err := q.setAside(dir, why); err != nil {
				return err
			}
			x.Report.add(Mended, "%s: %v; it is in quarantine", filepath.Base(dir), why)
		}
	}
	cache := x.Layout.StatCache()
	if fi, err := x.fs.Lstat(cache); err == nil && !fi.Mode().IsRegular() { // it could not be kept any more
		why := fmt.Errorf("%s stood where the stat cache must be", what(cache, fi))
		if err := q.setAside(cache, why); err != nil {
			return err
		}
		x.Report.add(Mended, "%v; it is in quarantine", why)
	}
	paths, whys := irregular(x.fs, x.Layout.Events())
	for i, path := range paths {
		if err := q.setAside(path, whys[i]); err != nil {
			return err
		}
	}
	return nil
}

func (x *Execution) aside() quarantine {
	return quarantine{x.fs, x.Layout.Quarantine(), x.opts.Now}
}

// quarantine keeps a copy of damaged bytes, and says why beside it.
func (x *Execution) quarantine(name string, content io.Reader, why error) error {
	return x.aside().keep(name, content, why)
}

// setAside moves a damaged file into quarantine, and says why beside it.
func (x *Execution) setAside(path string, why error) error {
	if errors.Is(why, errOfOrigin) {
		why = errOfOrigin // and not damaged
	}
	return x.aside().setAside(path, why)
}
