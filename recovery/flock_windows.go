package recovery

import (
	"errors"
	"os"
)

const onlyFolder = 0

// flock: Windows cannot lock a folder.
func flock(*os.File) error {
	return errors.New("hank cannot lock an execution on Windows; use WSL")
}

func flockShared(dir *os.File) error { return flock(dir) }
