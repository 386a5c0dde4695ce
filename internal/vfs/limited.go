package vfs

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// ReadLimited returns the content of a regular file that a user names, or one that a
// link leads to, if it has at most limit bytes. Anything else is refused before it is
// read: a FIFO or a terminal would hold hank up, a device never ends.
func ReadLimited(name string, limit int64) ([]byte, error) {
	fi, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: ErrNotRegular}
	}
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be another file by now
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err = f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !fi.Mode().IsRegular():
		return nil, &fs.PathError{Op: "read", Path: name, Err: ErrNotRegular}
	case fi.Size() > limit:
		return nil, &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("it has %d bytes, and the most is %d", fi.Size(), limit)}
	}
	text, err := io.ReadAll(io.LimitReader(f, limit+1)) // a file of /proc has no size
	if err == nil && int64(len(text)) > limit {
		err = &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("it has more than %d bytes", limit)}
	}
	if err != nil {
		return nil, err
	}
	return text, nil
}
