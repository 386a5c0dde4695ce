//go:build !unix

package recovery

import "os"

// inodeOf has nothing to go by here; the path alone tells executions apart.
func inodeOf(path string) (string, error) {
	_, err := os.Stat(path)
	return "", err
}

// folderOf cannot tell here.
func folderOf(os.FileInfo) Folder { return Folder{} }
