//go:build unix

package keeper

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// pipes are the runtime's ends of the pipes to one keeper.
type pipes struct {
	report, stdout, stderr *os.File
	stdin                  *os.File // nil if the command gets no input
	reports                *json.Decoder
}

func (p *pipes) close() {
	for _, f := range []*os.File{p.report, p.stdout, p.stderr, p.stdin} {
		if f != nil {
			f.Close()
		}
	}
}

// plumber makes pipes until one fails.
type plumber struct {
	ours, theirs []*os.File
	err          error
}

func (p *plumber) toKeeper(ours **os.File) (theirs *os.File) {
	r, w := p.pipe()
	p.ours, p.theirs, *ours = append(p.ours, w), append(p.theirs, r), w
	return r
}

func (p *plumber) fromKeeper(ours **os.File) (theirs *os.File) {
	r, w := p.pipe()
	p.ours, p.theirs, *ours = append(p.ours, r), append(p.theirs, w), r
	return w
}

func (p *plumber) pipe() (r, w *os.File) {
	if p.err == nil {
		r, w, p.err = os.Pipe()
	}
	return r, w
}

func (p *plumber) closeOurs()   { closeFiles(p.ours) }
func (p *plumber) closeTheirs() { closeFiles(p.theirs) }

func closeFiles(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

const (
	// streamGrace is how long a stream may be silent and yet not end, twice in
	// a row, when the command's whole tree is dead. Then somebody outside
	// holds it open. Twice, because a deadline also runs while this process is
	// suspended or its writer slow.
	streamGrace = time.Second
	// streamRest is more than a pipe can hold: what comes after it was written
	// by somebody outside of the tree.
	streamRest = 16 << 20
)

// errHeld tells that a stream did not end with the command's tree.
var errHeld = errors.New("a process outside of the command's tree holds it open")

// drain copies a stream to its end, whatever the writer does: a command must
// not be blocked because a disk is full. over turns true when the tree is dead.
func drain(name string, from *os.File, to io.Writer, over *atomic.Bool) error {
	defer from.Close()
	if to == nil {
		to = io.Discard
	}
	buf := make([]byte, 64<<10)
	rest, silent := streamRest, 0
	var failed error
	for {
		ending := over.Load()
		if ending {
			_ = from.SetReadDeadline(time.Now().Add(streamGrace))
		}
		n, err := from.Read(buf)
		if n > 0 && failed == nil {
			if _, werr := to.Write(buf[:n]); werr != nil {
				failed = fmt.Errorf("keep the command's %s: %w", name, werr)
			}
		}
		if ending {
			rest -= n
		}
		if silent++; !errors.Is(err, os.ErrDeadlineExceeded) {
			silent = 0
		}
		switch {
		case errors.Is(err, io.EOF):
			return failed
		case silent == 2 || rest < 0:
			return errors.Join(failed, fmt.Errorf("read the command's %s: %w", name, errHeld))
		case err != nil && silent == 0:
			return errors.Join(failed, fmt.Errorf("read the command's %s: %w", name, err))
		}
	}
}
