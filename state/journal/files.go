package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"hank/internal/vfs"
)

// current is the name of the segment being written.
const current = "events.jsonl"

// closedName names a closed segment after its first event.
func closedName(first uint64) string { return fmt.Sprintf("events.%020d.jsonl", first) }

func closedNumber(name string) (uint64, bool) {
	digits, ok := strings.CutPrefix(name, "events.")
	if !ok {
		return 0, false
	}
	digits, ok = strings.CutSuffix(digits, ".jsonl")
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, ok && err == nil && closedName(n) == name
}

// list returns the segments' names in order, the current one last whether it
// is there or not. What is no file is no segment, whatever its name: a FIFO
// would hang its reader, and a link may lead anywhere. leftover is the closed name of a segment whose closing was
// interrupted: the same bytes still are in the current one. Without any
// segment the error matches fs.ErrNotExist.
func list(fsys vfs.FS, dir string) (segments []string, leftover string, err error) {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, "", fmt.Errorf("reading the journal: %w", err)
	}
	there := false
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		if _, closed := closedNumber(e.Name()); closed {
			segments = append(segments, e.Name()) // sorted: the numbers have one width
		}
		there = there || e.Name() == current
	}
	if !there {
		if segments == nil {
			return nil, "", fmt.Errorf("reading the journal: %w", &fs.PathError{Op: "open", Path: filepath.Join(dir, current), Err: fs.ErrNotExist})
		}
		return append(segments, current), "", nil
	}
	first, err := firstOf(fsys, filepath.Join(dir, current))
	if err != nil {
		return nil, "", fmt.Errorf("reading the journal: %w", err)
	}
	if n := len(segments); n > 0 && segments[n-1] == closedName(first) {
		same, err := isPrefix(fsys, filepath.Join(dir, segments[n-1]), filepath.Join(dir, current))
		if err != nil {
			return nil, "", fmt.Errorf("reading the journal: %w", err)
		}
		if same {
			leftover, segments = segments[n-1], segments[:n-1]
		}
	}
	return append(segments, current), leftover, nil
}

// openSegment opens a segment. What is no file is not there, as in list.
func openSegment(fsys vfs.FS, name string) (vfs.File, error) {
	f, err := vfs.Open(fsys, name)
	if errors.Is(err, vfs.ErrNotRegular) {
		err = &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return f, err
}

// firstOf returns the number that a segment's first event has or would have;
// 0 if no line of it is verified.
func firstOf(fsys vfs.FS, name string) (uint64, error) {
	f, err := openSegment(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	l := newLines(f, 0)
	defer l.release()
	for {
		text, err := l.next()
		if err == io.EOF || err == errTorn {
			return 0, nil
		}
		if err == errLong {
			continue
		}
		if err != nil {
			return 0, err
		}
		if p, err := parse(text); err == nil {
			if p.isHeader() {
				return p.seq + 1, nil
			}
			return p.seq, nil
		}
	}
}

// isPrefix reports whether the bytes of file a are the first bytes of file b.
func isPrefix(fsys vfs.FS, a, b string) (bool, error) {
	fa, err := openSegment(fsys, a)
	if err != nil {
		return false, err
	}
	defer fa.Close()
	fb, err := openSegment(fsys, b)
	if err != nil {
		return false, err
	}
	defer fb.Close()
	bufA, bufB := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, errA := io.ReadFull(fa, bufA)
		m, errB := io.ReadFull(fb, bufB[:n])
		switch {
		case errA != nil && errA != io.EOF && errA != io.ErrUnexpectedEOF:
			return false, errA
		case errB != nil && errB != io.EOF && errB != io.ErrUnexpectedEOF:
			return false, errB
		case n != m || !bytes.Equal(bufA[:n], bufB[:n]):
			return false, nil
		case errA != nil:
			return true, nil
		}
	}
}

// copyPart durably writes the first n bytes of src under the name dst. A
// temporary name is renamed over dst; the caller syncs the directory.
func copyPart(fsys vfs.FS, src, dst string, n int64) error {
	in, err := openSegment(fsys, src)
	if err != nil {
		return err
	}
	defer in.Close()
	tmp := dst + ".tmp"
	out, err := fsys.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.CopyN(out, in, n)
	if err == nil {
		err = out.Sync()
	}
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return fsys.Rename(tmp, dst)
}
