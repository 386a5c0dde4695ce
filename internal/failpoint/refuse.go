package failpoint

import (
	"os"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// HANK_REFUSE=PATH=ERRNO,… makes every removal and every write of the name PATH
// in a workspace fail as if the system had refused it: EBUSY (a mount point), EPERM
// (an immutable file), EACCES (another user's directory), EROFS. "DIR/" stands for
// every name in the directory DIR. Only root can make such things, and tests are not
// run by root.
var (
	asked   = parseRefused(os.Getenv("HANK_REFUSE"))
	byTests sync.Map // full path to syscall.Errno
	tests   atomic.Bool
)

func parseRefused(text string) map[string]syscall.Errno {
	errnos := map[string]syscall.Errno{"EBUSY": syscall.EBUSY, "EPERM": syscall.EPERM, "EACCES": syscall.EACCES, "EROFS": syscall.EROFS, "EIO": syscall.EIO}
	var list map[string]syscall.Errno
	for entry := range strings.SplitSeq(text, ",") {
		if name, errno, _ := strings.Cut(entry, "="); errnos[errno] != 0 {
			if list == nil {
				list = map[string]syscall.Errno{}
			}
			list[name] = errnos[errno]
		}
	}
	return list
}

// Refuse is HANK_REFUSE for one workspace of a test, until undo is called.
func Refuse(workspace, name string, errno syscall.Errno) (undo func()) {
	full := workspace + "/" + name
	byTests.Store(full, errno)
	tests.Store(true)
	return func() { byTests.Delete(full) }
}

// Refused returns the error that the removal or the write of a name in a
// workspace is to fail with; nil where no test asks for one. The root is "".
func Refused(workspace, name string) error {
	if asked == nil && !tests.Load() {
		return nil
	}
	directory := ""
	if dir := path.Dir(name); dir != "." {
		directory = dir + "/"
	}
	for _, key := range []string{name, directory} {
		if errno, ok := asked[key]; ok {
			return errno
		}
		if errno, ok := byTests.Load(workspace + "/" + key); ok {
			return errno.(syscall.Errno)
		}
	}
	return nil
}
