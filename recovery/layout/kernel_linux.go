package layout

import "golang.org/x/sys/unix"

// ofKernel reports whether a directory is in a file system in which nobody can make a file.
func ofKernel(dir string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(dir, &fs) == nil && (fs.Type == unix.PROC_SUPER_MAGIC || fs.Type == unix.SYSFS_MAGIC)
}
