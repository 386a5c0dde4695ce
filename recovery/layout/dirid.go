package layout

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// DirID is what tells one directory from another, and who may put a new one in its
// place.
type DirID struct {
	Path   string `json:"path"`  // without links
	Place  string `json:"place"` // the same but for its last name, which may be a link
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
	Owner  uint32 `json:"owner"`
}

// DirAt looks at the directory that a path leads to.
func DirAt(path string) (DirID, error) {
	fi, err := os.Stat(path)
	if err == nil && !fi.IsDir() {
		err = &fs.PathError{Op: "open", Path: path, Err: syscall.ENOTDIR}
	}
	if err != nil {
		return DirID{}, err
	}
	f := DirOf(fi)
	if f.Path, err = filepath.EvalSymlinks(path); err != nil {
		return DirID{}, err
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(path))
	f.Place = filepath.Join(parent, filepath.Base(path))
	return f, err
}

// Same reports whether it is one directory, whatever leads to it.
func (f DirID) Same(g DirID) bool {
	return f.Device == g.Device && f.Inode == g.Inode && f.Owner == g.Owner
}
