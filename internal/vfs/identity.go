package vfs

import "io/fs"

// Identity tells a file that was touched since from one that was not, as far
// as a file system tells: a change within one tick of its clock does not show.
type Identity struct {
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
	Size   int64  `json:"size"`
	MTime  int64  `json:"mtime"` // nanoseconds, as ctime
	CTime  int64  `json:"ctime"`
}

// Identify returns the identity of a file; false if it cannot be told, as on
// systems without inodes.
func Identify(fsys FS, name string) (Identity, bool) {
	fi, err := fsys.Lstat(name)
	if err != nil || !fi.Mode().IsRegular() {
		return Identity{}, false
	}
	return identityOf(fi)
}

// IdentityOf is Identify for a file that was looked at.
func IdentityOf(fi fs.FileInfo) (Identity, bool) { return identityOf(fi) }
