package term

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
	"golang.org/x/text/width"
)

// OneLine is a text of others as one line: Printable, without what would turn
// or hide a part of it, and with a space for each run of white space.
func OneLine(text string) string {
	return strings.Join(strings.Fields(flat(text)), " ")
}

// flat is OneLine with all of its white space, each as one space.
func flat(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Cf, r):
			return -1
		case unicode.IsSpace(r):
			return ' '
		}
		return r
	}, Printable(text))
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
	used, end := 0, -1 // where it is cut if it is too long
	for i, r := range line {
		if used += columns(r); end < 0 && used > most-1 {
			end = i
		}
		if used > most && most < 1 {
			return ""
		}
		if used > most { // the rest may be long
			return line[:end] + "…"
		}
	}
	return line
}

// FitMiddle shortens a name to so many columns in its middle: its end may tell it from others.
func FitMiddle(name string, most int) string {
	if Columns(name) <= most {
		return name
	}
	begin, end := Fit(name, min(most, most/2+1)), len(name)
	for left := most - Columns(begin); end > 0; {
		r, size := utf8.DecodeLastRuneInString(name[:end])
		if left -= columns(r); left < 0 {
			break
		}
		end -= size
	}
	return begin + name[end:]
}

// Live are a few lines at the bottom of a terminal that are drawn again and again
// over themselves. Whatever else goes to the terminal must be printed by Print, so
// that it does not mix with them. A nil Live is one that is never drawn.
//
// The cursor waits at the beginning of the first of them, and all below it is erased. From
// their end nobody could count back to it when the terminal has become narrower: some
// terminals wrap the lines that are there, and others cut them.
type Live struct {
	mu    sync.Mutex
	out   io.Writer
	size  func() (columns, rows int)
	now   func() time.Time
	drawn []string
	quiet time.Time // until then nothing is drawn: what was printed may take a way of its own, as by a pipe to tee
}

// quietAfter is how long the lines stay away when something else was printed.
const quietAfter = 300 * time.Millisecond

// NewLive returns lines that are not drawn yet; nil where out is no terminal,
// or one that cannot erase a line.
func NewLive(out *os.File) *Live {
	if !IsTerminal(out) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return &Live{out: out, now: time.Now, size: func() (int, int) { return sizeOf(out) }}
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
	columns, _ := sizeOf(out)
	return columns
}

// sizeOf is how many columns and rows a terminal has; 80 and 24 where it does not tell.
func sizeOf(out *os.File) (columns, rows int) {
	if w, h, err := term.GetSize(int(out.Fd())); err == nil && w > 0 && h > 0 {
		return w, h
	}
	return 80, 24
}

// Draw shows what lines makes of the columns and rows that there are: one column
// less than the terminal has, so that no line wraps. No lines, or one that is empty,
// erase. The same lines are not written twice.
func (l *Live) Draw(lines func(columns, rows int) []string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now().Before(l.quiet) {
		return
	}
	columns, rows := l.size()
	text := lines(columns-1, rows)
	if len(text) > rows-1 {
		text = text[:max(rows-1, 1)]
	}
	for i, line := range text {
		text[i] = Fit(strings.TrimRight(flat(line), " "), columns-1)
	}
	if len(text) == 1 && text[0] == "" {
		text = nil
	}
	if slices.Equal(text, l.drawn) {
		return
	}
	back := "\r"
	if up := len(text) - 1; up > 0 {
		back = fmt.Sprintf("\r\x1b[%dA", up)
	}
	_, _ = io.WriteString(l.out, over+strings.Join(text, "\n")+back) // a terminal that is gone is no reason to stop
	l.drawn = text
}

// over erases the lines, or what was typed since they were drawn.
const over = "\r\x1b[J"

// Print runs what prints, with the lines erased. A terminal that does not take
// them (Ctrl-S) does not hold up what is printed elsewhere.
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

// lock waits for lines that are being written; false: it takes too long.
func (l *Live) lock() bool {
	for range 100 {
		if l.mu.TryLock() {
			return true
		}
		time.Sleep(2 * time.Millisecond)
	}
	return false
}

// Erase takes the lines away.
func (l *Live) Erase() { l.Print(func() {}) }

func (l *Live) erase() {
	if len(l.drawn) > 0 {
		_, _ = io.WriteString(l.out, over)
		l.drawn = nil
	}
}
