package sentinel

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"syscall"
)

// place is a file that a sentinel writes. Whatever lies on the way to it, a link included,
// it is inside of its directory, or it is not written: the agent works there too.
type place struct {
	dir  string // absolute
	name string // relative, with slashes
}

// placeOf is where a path of a configuration leads: one with a slash is relative to the
// workspace, a bare name is in the directory that hank keeps for the codon.
func placeOf(workspace, managed, name string) place {
	if strings.Contains(name, "/") {
		return place{workspace, path.Clean(name)}
	}
	return place{managed, name}
}

var errIrregular = errors.New("is no regular file")

// open opens the file for writing, and makes the directories to it. Nothing that waits for
// somebody else, as a pipe does, is opened.
func (p place) open(root *os.Root, name string, flags int) (*os.File, error) {
	if dir := path.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|syscall.O_NONBLOCK|flags, 0o644)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errIrregular
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// add appends a text, with what joins it to what is there already.
func (p place) add(text, join string) error {
	return p.in(func(root *os.Root) error {
		f, err := p.open(root, p.name, os.O_APPEND)
		if err != nil {
			return err
		}
		info, err := f.Stat()
		if err == nil && info.Size() > 0 {
			text = join + text
		}
		if err == nil {
			_, err = f.WriteString(text)
		}
		return errors.Join(err, f.Close())
	})
}

// replace makes a text all that the file has. Who reads the file finds the old text or the
// new one.
func (p place) replace(text string) error {
	return p.in(func(root *os.Root) error {
		if info, err := root.Lstat(p.name); err == nil && !info.Mode().IsRegular() {
			return errIrregular
		}
		next := path.Join(path.Dir(p.name), "."+path.Base(p.name)+".hank-new")
		_ = root.Remove(next)
		f, err := p.open(root, next, os.O_EXCL)
		if err != nil {
			return err
		}
		_, err = f.WriteString(text)
		if err = errors.Join(err, f.Close()); err == nil {
			err = root.Rename(next, p.name)
		}
		if err != nil {
			_ = root.Remove(next)
		}
		return err
	})
}

func (p place) in(do func(*os.Root) error) error {
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return err
	}
	if err = errors.Join(do(root), root.Close()); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return nil
}
