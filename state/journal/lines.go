package journal

import (
	"bufio"
	"errors"
	"io"
	"sync"
)

// lines reads a segment line by line.
type lines struct {
	r     *bufio.Reader
	limit int
	off   int64 // where the present line starts
	size  int64 // its bytes, newline included
	long  []byte
}

// buffers are those that nobody reads through: who follows a journal looks at its files several
// times a second, and mostly finds nothing.
var buffers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 64<<10) }}

func newLines(r io.Reader, off int64) *lines {
	b := buffers.Get().(*bufio.Reader)
	b.Reset(r)
	return &lines{r: b, limit: maxLine, off: off}
}

// release gives the buffer back, and with it the last line.
func (l *lines) release() {
	l.r.Reset(nil)
	buffers.Put(l.r)
}

var (
	errTorn = errors.New("it does not end with a newline")
	errLong = errors.New("it is longer than a line of the journal may be")
)

// next returns the next line without its newline, valid until the next call.
// A line that is truncated or too long comes as errTorn or errLong,
// with off and size set. At the end it returns io.EOF.
func (l *lines) next() ([]byte, error) {
	l.off += l.size
	l.size, l.long = 0, l.long[:0]
	tooLong := false
	for {
		part, err := l.r.ReadSlice('\n')
		l.size += int64(len(part))
		if tooLong = tooLong || l.size > int64(l.limit)+1; tooLong {
			l.long = l.long[:0]
		} else if err == bufio.ErrBufferFull || len(l.long) > 0 {
			l.long = append(l.long, part...)
			part = l.long
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && l.size == 0:
			return nil, io.EOF
		case err == io.EOF:
			return nil, errTorn
		case err != nil:
			return nil, err
		case tooLong:
			return nil, errLong
		}
		return part[:len(part)-1], nil
	}
}
