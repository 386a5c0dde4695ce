//go:build unix

package layout

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"hank/internal/shell"
	"hank/recovery/finding"
)

// CheckOwner refuses an execution of which this user cannot use every file: another
// one's, as a run of root (sudo) leaves them, or own ones that are closed. It is
// asked before anything is begun: what such a run does would be paid for, and could
// not be recorded. It is a *DecisionError.
func CheckOwner(l Layout) error {
	var closed []string
	for _, want := range l.needed() {
		for _, name := range want.names {
			if fi, err := os.Lstat(name); err == nil && want.how&unix.X_OK != 0 && !fi.IsDir() {
				continue // a file where a directory must be is put into quarantine
			}
			mine, err := l.usable(name, want.how)
			if err != nil {
				return err
			}
			if !mine {
				closed = append(closed, name)
			}
		}
	}
	if len(closed) > 0 {
		return needPermission(closed, "hank doctor")
	}
	return nil
}

// needed are the files and directories that hank must be able to use, and how.
func (l Layout) needed() []struct {
	how   uint32
	names []string
} {
	objects, refs := filepath.Join(l.Store(), "objects"), filepath.Join(l.Store(), "refs")
	packs, heads := filepath.Join(objects, "pack"), filepath.Join(refs, "heads")
	return []struct {
		how   uint32
		names []string
	}{
		{unix.R_OK | unix.W_OK | unix.X_OK, []string{l.Hankweave(), l.Events(), l.Runs(), l.Index(), l.Quarantine(), l.Homes(), l.Temps(),
			filepath.Dir(l.Store()), l.Store(), objects, packs, refs, heads}},
		{unix.R_OK, append(append(FilesIn(packs), FilesIn(heads)...), l.State(), l.State()+".bak", l.Meta(), l.Lock(), l.Manifest(), filepath.Join(l.Store(), "HEAD"), filepath.Join(l.Store(), "config"), filepath.Join(l.Store(), "packed-refs"))},
		{unix.R_OK | unix.W_OK, FilesIn(l.Events())},
	}
}

// FilesIn lists what is in a directory; what cannot be listed is looked at by who
// reads it.
func FilesIn(dir string) []string {
	entries, _ := os.ReadDir(dir)
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = filepath.Join(dir, e.Name())
	}
	return names
}

// checkWorkspaceOwner refuses a workspace of another user in which this one cannot
// work.
func checkWorkspaceOwner(l Layout) error {
	_, err := l.usable(l.Workspace, unix.R_OK|unix.W_OK|unix.X_OK)
	return err
}

// ClosedWorkspace asks for a workspace of this user that cannot be read; nil: it can
// be. One that only takes no file is opened by a move where it has to be.
func ClosedWorkspace(l Layout) *finding.DecisionError {
	if mine, err := l.usable(l.Workspace, unix.R_OK|unix.X_OK); err != nil || mine {
		return nil // of another one see Meta.replaced
	}
	return needPermission([]string{l.Workspace}, "hank run")
}

// ClosedPlace refuses directories that this user may not write to, or not read, where an execution
// that is not made yet, its workspace and its output files would be. It is a *DecisionError.
func ClosedPlace(l Layout, output string) error {
	return cmp.Or(closed("the execution", l.Hankweave(), "-e DIR begins it in another directory", unix.R_OK),
		closed("the workspace", l.Workspace, "--workspace DIR names another one", unix.R_OK), ClosedOutput(output))
}

// ClosedOutput is ClosedPlace for an output directory alone.
func ClosedOutput(dir string) error {
	return closed("the output directory", dir, "--output DIR names another one", 0)
}

// closed refuses a directory that this user may not write to; also is what else it must permit
// if it is there.
func closed(what, dir, way string, also uint32) error {
	if dir == "" {
		return nil
	}
	at := dir
	fi, err := os.Stat(at)
	for ; errors.Is(err, fs.ErrNotExist) && at != filepath.Dir(at); fi, err = os.Stat(at) {
		at = filepath.Dir(at)
	}
	if err == nil && !fi.IsDir() {
		return nil // see Impossible
	}
	verb, mode := "write to", "writable"
	err = unix.Faccessat(unix.AT_FDCWD, at, unix.W_OK|unix.X_OK, unix.AT_EACCESS)
	if err == nil && at == dir {
		verb, mode = "read", "readable"
		err = unix.Faccessat(unix.AT_FDCWD, at, also, unix.AT_EACCESS)
	}
	if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, unix.EROFS) {
		return nil
	}
	return &finding.DecisionError{What: fmt.Sprintf("hank may not %s %s, where %s is to be: %v; nothing was begun", verb, at, what, err),
		Options: []string{way, "make the directory " + mode + ", and then the same command"}, Barred: true}
}

// usable reports whether this user may use a file; an error if it is somebody else's
// and this user may not. What is not there, or a link, is for who needs it.
func (l Layout) usable(name string, how uint32) (bool, error) {
	fi, err := os.Lstat(name)
	if err != nil || fi.Mode()&fs.ModeSymlink != 0 || !fi.IsDir() && !fi.Mode().IsRegular() {
		return true, nil
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok || !errors.Is(unix.Faccessat(unix.AT_FDCWD, name, how, unix.AT_EACCESS), fs.ErrPermission) {
		return true, nil
	}
	if int(st.Uid) == os.Geteuid() {
		return false, nil
	}
	chown := fmt.Sprintf("sudo chown -R %d %s", os.Geteuid(), l.ownPaths())
	return false, &finding.DecisionError{
		What:    fmt.Sprintf("%s belongs to user %s, and hank runs as user %s, who may not use it; nothing was begun", name, userName(int(st.Uid)), userName(os.Geteuid())),
		Options: []string{chown + " gives the execution to this user, then the same command"},
		Command: chown + " && hank doctor", Barred: true,
	}
}

// needPermission asks for files of this user's own that their modes close.
func needPermission(names []string, then string) *finding.DecisionError {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = shell.Quote(name)
	}
	chmod, more := "chmod u+rwX "+strings.Join(quoted, " "), ""
	if n := len(names) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return &finding.DecisionError{
		What:    names[0] + more + " cannot be used: permission denied by the mode; nothing was begun",
		Options: []string{chmod + " opens it to its owner, then the same command"},
		Command: chmod + " && " + then, Barred: true,
	}
}

// ownPaths are the directories of an execution as words of a command line: the
// workspace with them, unless it is a directory elsewhere.
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
