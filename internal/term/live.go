package term

import (
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/term"
	"golang.org/x/text/width"
)

// OneLine is a text of others as one line: Printable, without what would turn
// or hide a part of it, and with a space for each run of white space.
func OneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, Printable(text))
	return strings.Join(strings.Fields(text), " ")
}

// emoji is the mark after what is to be shown as an emoji, which takes two columns then.
const emoji = '\uFE0F'

// Columns is how many columns of a terminal a line needs at most.
func Columns(line string) int {
	n := 0
	for _, r := range line {
		n += columns(r)
	}
	return n
}

func columns(r rune) int {
	if r == emoji {
		return 1 // with the one of what is before it
	}
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Fit shortens a line to so many columns.
func Fit(line string, most int) string {
	if Columns(line) <= most {
		return line
	}
	if most < 1 {
		return ""
	}
	used := 0
	for i, r := range line {
		if used += columns(r); used > most-1 {
			return line[:i] + "…"
		}
	}
	return line
}

// Live is one line at the bottom of a terminal that is drawn again and again
// over itself. Whatever else goes to the terminal must be printed by Print, so
// that it does not mix with the line. A nil Live is one that is never drawn.
type Live struct {
	mu    sync.Mutex
	out   io.Writer
	width func() int
	now   func() time.Time
	drawn string
	quiet time.Time // until then nothing is drawn: what was printed may take a way of its own, as by a pipe to tee
}

// quietAfter is how long the line stays away when something else was printed.
const quietAfter = 300 * time.Millisecond

// NewLive returns a line that is not drawn yet; nil where out is no terminal,
// or one that cannot erase a line.
func NewLive(out *os.File) *Live {
	if !IsTerminal(out) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return &Live{out: out, now: time.Now, width: func() int { return widthOf(out) }}
}

// Width is how many columns a terminal has; 0 where there is none.
func Width(out *os.File) int {
	if !IsTerminal(out) {
		return 0
	}
	return widthOf(out)
}

// widthOf is how many columns a terminal has; 80 where it does not tell.
func widthOf(out *os.File) int {
	if w, _, err := term.GetSize(int(out.Fd())); err == nil && w > 0 {
		return w
	}
	return 80
}

// Draw shows what line makes of the columns that there are: one less than the
// terminal has, so that it never wraps. An empty line erases. The same line is
// not written twice.
func (l *Live) Draw(line func(columns int) string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now().Before(l.quiet) {
		return
	}
	most := l.width() - 1
	text := Fit(OneLine(line(most)), most)
	if text == l.drawn {
		return
	}
	_, _ = io.WriteString(l.out, "\r\x1b[K"+text) // a terminal that is gone is no reason to stop
	l.drawn = text
}

// Print runs what prints, with the line erased. A terminal that does not take
// the line (Ctrl-S) does not hold up what is printed elsewhere.
func (l *Live) Print(print func()) {
	if l == nil || !l.lock() {
		print()
		return
	}
	defer l.mu.Unlock()
	l.erase()
	print()
	l.quiet = l.now().Add(quietAfter)
}

// lock waits for a line that is being written; false: it takes too long.
func (l *Live) lock() bool {
	for range 100 {
		if l.mu.TryLock() {
			return true
		}
		time.Sleep(2 * time.Millisecond)
	}
	return false
}

// Erase takes the line away.
func (l *Live) Erase() { l.Print(func() {}) }

func (l *Live) erase() {
	if l.drawn != "" {
		_, _ = io.WriteString(l.out, "\r\x1b[K")
		l.drawn = ""
	}
}
