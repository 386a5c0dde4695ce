//go:build unix

package restore

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"golang.org/x/sys/unix"

	"hank/checkpoint/packdb"
	"hank/checkpoint/worktree"
)

// ClearUp ends what a restore of the workspace that was interrupted has begun:
// what it had displaced comes back, its temporary files go, and directories get
// their permissions back. It returns the paths of files whose places were taken
// and that the store does not hold: they have new names now. What the system does
// not let be brought back or removed stays where it is, in refused.
func ClearUp(st storer.EncodedObjectStorer, ws *worktree.Workspace) (kept []string, refused []Refused, err error) {
	if err := ws.StillThere(); err != nil {
		return nil, nil, err
	}
	c := clearer{holds: holdsIn(st)}
	if err = c.clearUp(ws.Fd()); err != nil {
		err = fmt.Errorf("clear up after an interrupted restore of %s: %w", ws.Path(), err)
	}
	return c.kept, c.refused, err
}

// clearer ends what one journal tells of.
type clearer struct {
	holds   func(packdb.SHA) bool // reports whether the store has a blob
	kept    []string
	refused []Refused
}

func holdsIn(st storer.EncodedObjectStorer) func(packdb.SHA) bool {
	return func(blob packdb.SHA) bool { return st.HasEncodedObject(plumbing.NewHash(string(blob))) == nil }
}

func (c *clearer) clearUp(root int) (err error) {
	text, err := readJournal(root)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return &os.PathError{Op: "read", Path: worktree.JournalName, Err: err}
	}
	dirs := parseJournal(text)
	for _, d := range dirs {
		if d.path == "" { // closed last: the journal is in it
			closeAgain, failed := d.makeWritable(root)
			if failed != nil {
				return &os.PathError{Op: "make writable", Path: ".", Err: failed}
			}
			defer func() { err = errors.Join(err, closeAgain()) }()
		}
	}
	// All come back before temporary names go: two records may be one directory.
	for _, work := range []func(*journaledDir, int) error{
		c.restoreDisplaced, c.sweep,
	} {
		for i := range dirs {
			d := &dirs[i]
			if err := c.tolerate(d, "", "cannot be cleared up", d.within(root, work)); err != nil {
				return &os.PathError{Op: "clear up", Path: d.path, Err: err}
			}
		}
	}
	return unix.Unlinkat(root, worktree.JournalName, 0)
}

// tolerate notes a refusal of what was to be done to a name in a directory, and
// returns any other error. Trying again would not help.
func (c *clearer) tolerate(d *journaledDir, name, why string, err error) error {
	if isRefusal(err) {
		c.refused = append(c.refused, Refused{path.Join(d.path, name), fmt.Sprintf("%s: %v", why, err)})
		return nil
	}
	return err
}

// journaledDir is what the journal says of a directory.
type journaledDir struct {
	path      string
	perm      uint32
	displaced []journaledFile
}

// parseJournal reads a journal. What is no record is left out: the torn end of a
// journal that was never begun on, or what no restore has written.
func parseJournal(text string) (dirs []journaledDir) {
	text = text[:strings.LastIndexByte(text, 0)+1]
	whole := strings.HasSuffix(text, "\x00!\x00") // else what is staged may be torn, and nothing has changed places
	for record := range strings.SplitSeq(text, "\x00") {
		head, rest, _ := strings.Cut(record, " ")
		if files := parseDisplaced(head, rest); files != nil {
			if len(dirs) > 0 && (whole || head[0] == '@') {
				last := &dirs[len(dirs)-1]
				last.displaced = append(last.displaced, files...)
			}
			continue
		}
		if perm, err := strconv.ParseUint(head, 8, 12); err == nil && len(record) > len(head) {
			dirs = append(dirs, journaledDir{path: rest, perm: uint32(perm)})
		}
	}
	return dirs
}

// parseDisplaced reads a record of a file that may be displaced, under one name or two.
func parseDisplaced(head, rest string) []journaledFile {
	fields := strings.SplitN(rest, " ", 4)
	var files []journaledFile
	switch {
	case strings.HasPrefix(head, "@"):
		content, name, _ := strings.Cut(rest, " ")
		files = []journaledFile{{temp: head[1:], content: packdb.SHA(content), name: name}}
	case strings.HasPrefix(head, "=") && len(fields) == 4:
		f := journaledFile{temp: head[1:], staged: packdb.SHA(fields[1]), content: packdb.SHA(fields[2]), name: fields[3]}
		g := f
		g.temp = fields[0]
		files = []journaledFile{f, g}
	}
	for _, f := range files {
		if !isTemporary(f.temp) || worktree.IsPathComponent(f.temp) != nil || worktree.IsPathComponent(f.name) != nil {
			return nil
		}
	}
	return files
}

func isTemporary(name string) bool {
	return strings.HasPrefix(name, worktree.TempPrefix) && name != worktree.JournalName
}

// within calls work with the directory open and writable.
func (d *journaledDir) within(root int, work func(*journaledDir, int) error) (err error) {
	fd, err := worktree.OpenBeneath(root, d.path)
	if isMissing(err) || errors.Is(err, unix.EXDEV) || errors.Is(err, unix.EINVAL) {
		return nil // removed since; or a path that no restore has written
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if d.path != "" {
		closeAgain, failed := d.makeWritable(fd)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, closeAgain()) }()
	}
	return work(d, fd)
}

// makeWritable makes the directory fd writable, and returns what gives it the
// permissions that it had before the restore.
func (d *journaledDir) makeWritable(fd int) (closeAgain func() error, err error) {
	closeAgain = func() error { return nil }
	if d.perm&0o300 == 0o300 {
		return closeAgain, nil // was never changed
	}
	err = unix.Fchmod(fd, d.perm|0o300)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EROFS) {
		return closeAgain, nil // another's directory, which was not changed
	}
	return func() error { return os.NewSyscallError("fchmod", unix.Fchmod(fd, d.perm)) }, err
}

func (c *clearer) restoreDisplaced(d *journaledDir, fd int) error {
	for _, f := range d.displaced {
		name, err := f.restore(fd, c.holds)
		if err := c.tolerate(d, f.temp, fmt.Sprintf("was %q, and cannot be brought back", f.name), err); err != nil {
			return fmt.Errorf("bring %s back: %w", f.name, err)
		}
		if name != "" {
			c.kept = append(c.kept, path.Join(d.path, name))
		}
	}
	return nil
}

// sweep removes temporary files.
func (c *clearer) sweep(d *journaledDir, fd int) error {
	names, err := readNames(fd)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !isTemporary(name) {
			continue
		}
		err := unix.Unlinkat(fd, name, 0)
		if err := c.tolerate(d, name, "is a temporary file of a restore, and cannot be removed", err); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("remove %s: %w", name, err)
		}
	}
	return nil
}

// maxJournal bounds the journal that is read: one of millions of files is smaller.
const maxJournal = 1 << 30

func readJournal(root int) (string, error) {
	fd, err := worktree.OpenFileAt(root, worktree.JournalName)
	if err != nil {
		return "", err
	}
	f := os.NewFile(uintptr(fd), worktree.JournalName)
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > maxJournal {
		return "", errors.New("no restore has made it; remove it")
	}
	text, err := io.ReadAll(f)
	return string(text), err
}
