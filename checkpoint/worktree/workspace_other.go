//go:build !unix

package worktree

import (
	"fmt"
	"os"
	"runtime"
)

func openRoot(path string) (*os.File, error) {
	return nil, fmt.Errorf("%s: workspaces need openat with no-follow semantics, which %s does not have; use Linux, macOS or WSL", path, runtime.GOOS)
}
