package scan

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/sys/unix"

	"hank/checkpoint/worktree"
)

// linux_dirent64, as getdents64(2) has it: inode and offset of 64 bits, the
// record's length, the type, the name with its NUL.
const (
	direntLength = 16
	direntType   = 18
	direntName   = 19
)

// read lists the directory fd.
func (l *listing) read(fd int) error {
	l.names = l.names[:0]
	buf := l.buf
	for {
		if len(buf) < 4096 {
			// What was read stays where it is: names point into it.
			l.buf = make([]byte, 2*len(l.buf))
			buf = l.buf
		}
		n, err := worktree.RetryInterrupted(func() (int, error) { return unix.ReadDirent(fd, buf) })
		if err != nil || n == 0 {
			return err
		}
		for rest := buf[:n]; len(rest) > direntName; {
			size := int(binary.NativeEndian.Uint16(rest[direntLength:]))
			name := rest[direntName:size]
			if end := bytes.IndexByte(name, 0); end >= 0 {
				name = name[: end : size-direntName]
			}
			kind := kindUnknown
			if rest[direntType] == unix.DT_DIR {
				kind = kindDir
			}
			if string(name) != "." && string(name) != ".." {
				l.names = append(l.names, listed{name, kind})
			}
			rest = rest[size:]
		}
		buf = buf[n:]
	}
}
