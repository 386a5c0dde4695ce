package term

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/dustin/go-humanize"
	"golang.org/x/term"
)

// When work is long enough to be shown, and how often.
const (
	shownAfter = 500 * time.Millisecond // on a terminal
	saidAfter  = 2 * time.Second        // elsewhere
	redrawn    = 200 * time.Millisecond
)

// Work shows that something takes its time, until end is called: on a terminal
// one line that is written again and again, and is gone in the end; elsewhere
// a line when it has become long, and one at its end. done says how far it is,
// if that is counted; it is called by another goroutine.
func Work(out *os.File, what string, done func() (files, bytes int64)) (end func()) {
	live := IsTerminal(out) && os.Getenv("TERM") != "dumb"
	m := meter{out: out, what: what, done: done, live: live, begun: time.Now(), width: func() int {
		if w, _, err := term.GetSize(int(out.Fd())); err == nil {
			return w
		}
		return 80
	}}
	over := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(redrawn)
		defer tick.Stop()
		for {
			select {
			case now := <-tick.C:
				m.tick(now)
			case <-over:
				m.end(time.Now())
				return
			}
		}
	}()
	return func() {
		close(over)
		select {
		case <-ended:
		case <-time.After(time.Second): // out takes nothing, and the work goes on
		}
	}
}

// meter draws the progress of one piece of work.
type meter struct {
	out   io.Writer
	what  string
	done  func() (files, bytes int64)
	live  bool // on a terminal
	begun time.Time
	width func() int
	shown bool
}

func (m *meter) tick(now time.Time) {
	took := now.Sub(m.begun)
	switch {
	case m.live && took >= shownAfter:
		line := m.line(took) + ", " + took.Truncate(time.Second).String()
		if w := m.width(); w > 0 && len(line) >= w {
			line = line[:w-1]
		}
		fmt.Fprintf(m.out, "\r\x1b[K%s", line)
		m.shown = true
	case !m.live && took >= saidAfter && !m.shown:
		fmt.Fprintf(m.out, "%s ...\n", m.what)
		m.shown = true
	}
}

func (m *meter) end(now time.Time) {
	switch {
	case m.shown && m.live:
		fmt.Fprint(m.out, "\r\x1b[K")
	case m.shown:
		fmt.Fprintf(m.out, "%s in %s\n", m.line(now.Sub(m.begun)), Duration(now.Sub(m.begun)))
	}
}

func (m *meter) line(took time.Duration) string {
	files, bytes := m.done()
	if files == 0 {
		return m.what
	}
	line := fmt.Sprintf("%s: %s files, %s", m.what, humanize.Comma(files), Bytes(bytes))
	if rate := float64(bytes) / took.Seconds(); took > 0 && rate >= 1 {
		line += ", " + Bytes(int64(rate)) + "/s"
	}
	return line
}
