//go:build !unix

package layout

import "os"

// InodeOf has nothing to go by here; the path alone tells executions apart.
func InodeOf(path string) (string, error) {
	_, err := os.Stat(path)
	return "", err
}

// DirOf cannot tell here.
func DirOf(os.FileInfo) DirID { return DirID{} }
