//go:build unix

package recovery

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// checkOwner refuses an execution of which another user has files that this one
// cannot use, as a run of root (sudo) leaves them. It is asked before anything is
// begun: what such a run does would be paid for, and could not be recorded.
func checkOwner(l Layout) error {
	dirs := []string{l.Hankweave(), l.Events(), l.Runs(), l.Index(), l.Quarantine(), l.Homes(), l.Temps(),
		filepath.Dir(l.Store()), l.Store(), filepath.Join(l.Store(), "objects", "pack"), filepath.Join(l.Store(), "refs", "heads")}
	for _, dir := range dirs {
		if err := usable(l, dir, unix.R_OK|unix.W_OK|unix.X_OK); err != nil {
			return err
		}
	}
	for _, name := range []string{l.State(), l.State() + ".bak", l.Meta(), l.Lock(), l.Manifest(), filepath.Join(l.Store(), "HEAD"), filepath.Join(l.Store(), "config")} {
		if err := usable(l, name, unix.R_OK); err != nil {
			return err
		}
	}
	segments, _ := os.ReadDir(l.Events()) // what cannot be listed is looked at by who reads it
	for _, e := range segments {
		if err := usable(l, filepath.Join(l.Events(), e.Name()), unix.R_OK|unix.W_OK); err != nil {
			return err
		}
	}
	return nil
}

// checkWorkspaceOwner refuses a workspace of another user in which this one cannot
// work.
func checkWorkspaceOwner(l Layout) error {
	return usable(l, l.Workspace, unix.R_OK|unix.W_OK|unix.X_OK)
}

// usable returns an error if somebody else's file may not be used by this user.
func usable(l Layout, name string, how uint32) error {
	fi, err := os.Lstat(name)
	if err != nil || fi.Mode()&fs.ModeSymlink != 0 {
		return nil // whoever needs it says so
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) == os.Geteuid() || unix.Faccessat(unix.AT_FDCWD, name, how, unix.AT_EACCESS) == nil {
		return nil
	}
	return &fs.PathError{Op: "use", Path: name, Err: fmt.Errorf(
		"it belongs to user %s, and hank runs as user %s, who may not use it; nothing was begun; give the execution back with: sudo chown -R %d %s (%w)",
		userName(int(st.Uid)), userName(os.Geteuid()), os.Geteuid(), l.ownPaths(), fs.ErrPermission)}
}

// ownPaths are the folders of an execution as words of a command line: the
// workspace with them, unless it is a folder elsewhere.
func (l Layout) ownPaths() string {
	quoted := func(path string) string { return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'" }
	if l.Workspace == DefaultWorkspace(l.Root) {
		return quoted(l.Hankweave()) + " " + quoted(l.Workspace)
	}
	return quoted(l.Hankweave())
}

func userName(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return u.Username
	}
	return strconv.Itoa(uid)
}
