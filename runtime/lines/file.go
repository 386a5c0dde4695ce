package lines

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// buffers are those of Window that are not in use: each frame of a viewer takes one.
var buffers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 64<<10) }}

// File is a text file that may grow. It is used by one goroutine at a time.
type File struct {
	name  string
	file  *os.File
	dir   string // where the index is saved; empty: nowhere
	index index
	kept  int64 // up to where the index is saved
	size  int64 // of the file, when it was last looked at
	seen  int64 // up to where it was searched for the ends of lines
}

// Open opens a file whose index is saved in a directory, or nowhere if that is empty. Nothing of
// it is read before the first Refresh.
func Open(name, dir string) (*File, error) {
	if fi, err := os.Stat(name); err != nil {
		return nil, err
	} else if !fi.Mode().IsRegular() { // a FIFO would not be opened before somebody writes to it
		return nil, fmt.Errorf("%s is no regular file", name)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	f := &File{name: name, file: file, dir: dir}
	f.load()
	return f, nil
}

// Close saves the index, and closes the file.
func (f *File) Close() error {
	f.save()
	return f.file.Close()
}

// Replaced reports whether another file, or none, has the name now.
func (f *File) Replaced() bool {
	there, err := os.Stat(f.name)
	if err != nil {
		return true
	}
	fi, err := f.file.Stat()
	return err != nil || !os.SameFile(there, fi)
}

// Lines is how many complete lines the file had at the last Refresh.
func (f *File) Lines() int { return f.index.lines }

// readAtOnce is how much Refresh reads before it looks whether to go on.
const readAtOnce = 1 << 20

// Refresh indexes what has come to the file, at most so many bytes, or all if that is 0. more
// reports that there are others. A file that has become shorter is indexed again.
func (f *File) Refresh(most int64) (changed, more bool, err error) {
	fi, err := f.file.Stat()
	if err != nil {
		return false, false, err
	}
	f.size = fi.Size()
	if f.size < f.index.end {
		f.index, f.kept, f.seen, changed = index{}, 0, 0, true
	}
	before, at := f.index.lines, max(f.index.end, f.seen)
	from := at
	defer func() { f.seen = at }()
	buffer := make([]byte, min(readAtOnce, max(1, f.size-at)))
	for at < f.size {
		if most > 0 && at-from >= most {
			return true, true, nil
		}
		n, err := f.file.ReadAt(buffer[:min(int64(len(buffer)), f.size-at)], at)
		f.index.add(buffer[:n], at)
		at += int64(n)
		if errors.Is(err, io.EOF) || err == nil && n == 0 {
			break
		}
		if err != nil {
			return changed, false, err
		}
	}
	return changed || f.index.lines != before, false, nil
}

// Window calls fn with each of the lines from one on, without their ends, at most n of them.
// What fn gets belongs to the window; of a line with more than most bytes it gets the first most,
// and how many it has. A line without an end counts too where it is the last.
func (f *File) Window(line, n, most int, fn func(line int, text []byte, size int64) error) error {
	if line < 0 || n <= 0 {
		return nil
	}
	offset, at := f.index.begin(line)
	in := buffers.Get().(*bufio.Reader)
	defer buffers.Put(in)
	in.Reset(io.NewSectionReader(f.file, offset, max(0, f.size-offset)))
	var text []byte
	for ; at < line+n; at++ {
		keep := most
		if at < line {
			keep = 0
		}
		var size int64
		var err error
		text, size, err = readLine(in, text[:0], keep)
		if errors.Is(err, io.EOF) && size == 0 {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if at < line {
			continue
		}
		if err := fn(at, text, size); err != nil {
			return err
		}
	}
	return nil
}

// readLine reads a line, of which it keeps the first bytes.
func readLine(in *bufio.Reader, text []byte, most int) ([]byte, int64, error) {
	for size := int64(0); ; {
		part, err := in.ReadSlice('\n')
		ended := err == nil
		part = bytes.TrimSuffix(part, []byte("\n"))
		text = append(text, part[:max(0, min(len(part), most-len(text)))]...)
		if size += int64(len(part)); ended {
			return text, size, nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return text, size, err
		}
	}
}

// Rest is how many bytes follow the last complete line.
func (f *File) Rest() int64 { return max(0, f.size-f.index.end) }

// Percent is how much of the file is indexed.
func (f *File) Percent() int {
	if f.size == 0 {
		return 100
	}
	return int(100 * max(f.index.end, f.seen) / f.size)
}
