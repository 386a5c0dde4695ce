package logview

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// longest is how long a line may be that is shown. An agent's line has at most half of
// that before it is written as JSON.
const longest = 32 << 20

// Lines reads lines from a file that may still be written to.
type Lines struct {
	in   *bufio.Reader
	part []byte // of a line whose end is not there yet
	over int64  // how many bytes of it were left out
}

// NewLines reads lines from in, which may have more after it has reached its end.
func NewLines(in io.Reader) *Lines { return &Lines{in: bufio.NewReaderSize(in, 64<<10)} }

// Next returns the next complete line, without its end, until the next call; io.EOF
// means that there is none yet. Of a line that is too long to be shown it returns
// none, and how many bytes it has.
func (l *Lines) Next() (line []byte, tooLong int64, err error) {
	for {
		read, err := l.in.ReadSlice('\n')
		end := err == nil
		switch {
		case l.over > 0:
			l.over += int64(len(read))
		case len(l.part)+len(read) > longest:
			l.over, l.part = int64(len(l.part)+len(read)), nil
		case end && len(l.part) == 0:
			return bytes.TrimSuffix(read, []byte("\n")), 0, nil
		default:
			l.part = append(l.part, read...)
		}
		switch {
		case end && l.over > 0:
			tooLong, l.over = l.over-1, 0
			return nil, tooLong, nil
		case end:
			line, l.part = bytes.TrimSuffix(l.part, []byte("\n")), l.part[:0]
			if cap(l.part) > 1<<20 {
				l.part = nil // one long line is no reason to hold so much for the rest
			}
			return line, 0, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, 0, err
		}
	}
}

// Rest is the beginning of a line whose end is not there: it is being written, or was
// torn by a crash. tooLong is how long it is, if it is too long to be shown.
func (l *Lines) Rest() (part []byte, tooLong int64) { return l.part, l.over }

// Copy writes what there is more, as it is, instead.
func (l *Lines) Copy(to io.Writer) error {
	_, err := io.Copy(to, l.in)
	return err
}
