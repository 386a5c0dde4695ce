package layout

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"hank/internal/vfs"
	"hank/recovery/finding"
)

// Quarantine is the directory of what was found damaged, or in the way of what
// hank must write. Beside each thing a file says why it is there.
type Quarantine struct {
	FS  vfs.FS
	Dir string
	Now func() time.Time
}

// Quarantined lists what was set aside.
func (l Layout) Quarantined() []string {
	entries, err := os.ReadDir(l.Quarantine())
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".why" {
			names = append(names, e.Name())
		}
	}
	return names
}

// Keep keeps a copy of damaged bytes.
func (q Quarantine) Keep(name string, content io.Reader, why error) error {
	if err := q.Prepare(); err != nil {
		return err
	}
	bytes, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	path := q.path(name)
	if err := vfs.ReplaceFile(q.FS, path, bytes, 0o600, vfs.Durable); err != nil {
		return err
	}
	return q.explain(path, name, why)
}

// Move moves what is damaged, or in the way, into the directory.
func (q Quarantine) Move(path string, why error) error {
	if err := q.Prepare(); err != nil {
		return err
	}
	to := q.path(filepath.Base(path))
	if err := q.FS.Rename(path, to); err != nil {
		return fmt.Errorf("setting %s aside: %w", path, err)
	}
	return errors.Join(q.explain(to, path, why), q.FS.SyncDir(filepath.Dir(path)))
}

// Prepare makes the directory. Something else that has its name is the first
// thing that is kept in it.
func (q Quarantine) Prepare() error {
	why := InTheWay(q.FS, q.Dir)
	if why == nil {
		return vfs.MkdirAll(q.FS, q.Dir, 0o700)
	}
	other := q.Dir + "-" + NewID(3)
	if err := q.FS.Rename(q.Dir, other); err != nil {
		return fmt.Errorf("setting %s aside: %w", q.Dir, err)
	}
	if err := vfs.MkdirAll(q.FS, q.Dir, 0o700); err != nil {
		return err
	}
	return q.Move(other, why)
}

func (q Quarantine) path(name string) string {
	return filepath.Join(q.Dir, q.Now().Format("20060102T150405Z")+"-"+NewID(3)+"-"+filepath.Base(name))
}

func (q Quarantine) explain(path, name string, why error) error {
	return vfs.ReplaceFile(q.FS, path+".why", fmt.Appendf(nil, "%s was set aside: %v\n", name, why), 0o600, vfs.Durable)
}

// InTheWay says what has the name of a directory and is none; nil: nothing. A
// link to a directory is one: the user may have put it on another disk.
func InTheWay(fsys vfs.FS, dir string) error {
	fi, err := fsys.Lstat(dir)
	if err != nil || fi.IsDir() {
		return nil // one that cannot be looked at is for whoever opens it
	}
	if fi.Mode()&fs.ModeSymlink != 0 {
		if _, err := fsys.ReadDir(dir); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%s is where a directory must be", What(dir, fi))
}

// What names the kind of something that is not what it must be. A link is
// told with its target, for it does not lead there from elsewhere.
func What(path string, fi fs.FileInfo) string {
	switch mode := fi.Mode(); {
	case mode.IsRegular():
		return "a file"
	case mode.IsDir():
		return "a directory"
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

// Irregular lists what is no file in the directory of the journal, where only
// files belong, and says what each is.
func Irregular(fsys vfs.FS, dir string) (paths []string, whys []error) {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, nil
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if fi, err := fsys.Lstat(path); err == nil && !fi.Mode().IsRegular() {
			paths, whys = append(paths, path), append(whys, fmt.Errorf("%s is where a file of the journal must be", What(path, fi)))
		}
	}
	return paths, whys
}

// Obstacle is what has the name of a directory or file of hank's own and is none.
type Obstacle struct {
	Path string
	Why  error
}

// Obstacles lists what is where hank's directories, the stat cache and the files of
// the journal must be.
func Obstacles(fsys vfs.FS, l Layout) []Obstacle {
	var found []Obstacle
	for _, dir := range l.ownDirs() {
		if why := InTheWay(fsys, dir); why != nil {
			found = append(found, Obstacle{dir, why})
		}
	}
	cache := l.StatCache()
	if fi, err := fsys.Lstat(cache); err == nil && !fi.Mode().IsRegular() { // it could not be kept any more
		found = append(found, Obstacle{cache, fmt.Errorf("%s is where the stat cache must be", What(cache, fi))})
	}
	paths, whys := Irregular(fsys, l.Events())
	for i, path := range paths {
		found = append(found, Obstacle{path, whys[i]})
	}
	return found
}

// Report adds the obstacle to a report.
func (o Obstacle) Report(rep *finding.Report) {
	rep.Repair(finding.Mended, fmt.Sprintf("%s: %v", filepath.Base(o.Path), o.Why), "it is in quarantine", "the next command puts it into quarantine")
}
