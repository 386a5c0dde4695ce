package screen

import (
	"bytes"
	"strings"
	"time"

	"hank/internal/term"
	"hank/runtime/agents"
	"hank/runtime/harness/transcript"
	"hank/runtime/lines"
	"hank/runtime/logview"
)

// together is how many lines of a transcript are made rows of at once. As many before them are
// read, because what a tool answers is named after its use.
const together = 64

// longestShown is how much of a line of a transcript is read.
const longestShown = 1 << 20

// indexedAtOnce is how many bytes of a transcript are indexed before the screen is drawn again.
const indexedAtOnce = 32 << 20

// place is a row of a transcript: of the line, from 0, the row.
type place struct{ line, row int }

// Log is the window of a transcript. It is used by one goroutine at a time.
type Log struct {
	file    *lines.File
	start   transcript.Start
	style   logview.Style
	rows    map[int]chunk // by the number of the chunk
	height  int
	top     place
	follow  bool // the window stays at the end
	partial bool // not all is indexed yet
}

// chunk are the rows of some lines.
type chunk struct {
	lines int // that it was made of
	rows  [][]string
}

// OpenLog opens the transcript of an attempt that began so. Its index is kept in a directory, see
// lines.Open. The window is at the end, and follows it.
func OpenLog(path, index string, start transcript.Start, style logview.Style) (*Log, error) {
	file, err := lines.Open(path, index)
	if err != nil {
		return nil, err
	}
	return &Log{file: file, start: start, style: style, rows: map[int]chunk{}, follow: true, partial: true}, nil
}

// Close closes the file.
func (l *Log) Close() {
	if l != nil {
		_ = l.file.Close()
	}
}

// resize gives the window columns and rows.
func (l *Log) resize(columns, height int) {
	if columns != l.style.Columns {
		l.style.Columns, l.rows = columns, map[int]chunk{}
		l.top.row = 0
	}
	if l.height = max(1, height); l.follow {
		l.bottom()
	}
}

// Refresh takes in what the transcript has got, and reports whether the window has changed.
func (l *Log) Refresh() (bool, error) {
	changed, more, err := l.file.Refresh(indexedAtOnce)
	changed = changed || more != l.partial
	if l.partial = more; l.top.line >= max(1, l.file.Lines()) {
		l.top, l.rows = place{}, map[int]chunk{}
	}
	if changed && l.follow {
		l.bottom()
	}
	return changed, err
}

// follows reports whether the window stays at the end.
func (l *Log) follows() bool { return l.follow }

// window are the rows of the window.
func (l *Log) window() (out []string) {
	at := l.top
	for ok := l.file.Lines() > 0; ok && len(out) < l.height; at, ok = l.after(at) {
		if of := l.line(at.line); at.row < len(of) {
			out = append(out, of[at.row])
		}
	}
	return out
}

// scroll moves the window by rows, up if they are negative. Up ends the following; the end of the
// transcript does not begin it.
func (l *Log) scroll(by int) {
	if by < 0 {
		l.follow = false
	}
	for ; by < 0; by++ {
		at, ok := l.before(l.top)
		if !ok {
			return
		}
		l.top = at
	}
	if by > 0 {
		last := l.lastTop()
		for ; by > 0 && l.top.isBefore(last); by-- {
			at, ok := l.after(l.top)
			if !ok {
				return
			}
			l.top = at
		}
	}
}

func (a place) isBefore(b place) bool { return a.line < b.line || a.line == b.line && a.row < b.row }

// first goes to the first row, and ends the following. The first lines may have no rows.
func (l *Log) first() {
	l.follow, l.top = false, place{}
	if at, ok := l.after(place{0, -1}); ok {
		l.top = at
	}
}

// last goes to the end, and follows it.
func (l *Log) last() {
	l.follow = true
	l.bottom()
}

func (l *Log) bottom() { l.top = l.lastTop() }

// lastTop is where the window is at the end.
func (l *Log) lastTop() place {
	at := place{max(0, l.file.Lines()-1), 0}
	if of := l.line(at.line); len(of) > 0 {
		at.row = len(of) - 1
	} else if up, ok := l.before(at); ok {
		at = up
	}
	for range l.height - 1 {
		up, ok := l.before(at)
		if !ok {
			break
		}
		at = up
	}
	return at
}

// before is the row before another one; false: there is none.
func (l *Log) before(at place) (place, bool) {
	if at.row > 0 {
		return place{at.line, min(at.row, len(l.line(at.line))) - 1}, true
	}
	for line := at.line - 1; line >= 0; line-- {
		if n := len(l.line(line)); n > 0 {
			return place{line, n - 1}, true
		}
	}
	return at, false
}

// after is the row after another one; false: there is none.
func (l *Log) after(at place) (place, bool) {
	if at.row+1 < len(l.line(at.line)) {
		return place{at.line, at.row + 1}, true
	}
	for line := at.line + 1; line < l.file.Lines(); line++ {
		if len(l.line(line)) > 0 {
			return place{line, 0}, true
		}
	}
	return at, false
}

// line are the rows of a line.
func (l *Log) line(line int) []string {
	if line < 0 || line >= l.file.Lines() {
		return nil
	}
	number := line / together
	want := min(together, l.file.Lines()-number*together)
	c, known := l.rows[number]
	if !known || c.lines != want {
		if len(l.rows) >= 64 {
			l.rows = map[int]chunk{}
		}
		c = l.read(number, want)
		l.rows[number] = c
	}
	if at := line - number*together; at < len(c.rows) {
		return c.rows[at]
	}
	return nil
}

// read makes the rows of a chunk.
func (l *Log) read(number, count int) chunk {
	c := chunk{lines: count, rows: make([][]string, count)}
	first := number * together
	from := max(0, first-together)
	parser := logview.NewParser(logview.Formats{ByName: agents.Harnesses, Other: agents.Foreign}, l.start)
	var text bytes.Buffer
	printer := logview.NewPrinter(&text, l.style)
	_ = l.file.Window(from, first+count-from, longestShown, func(line int, raw []byte, size int64) error {
		text.Reset()
		shown := parser.Long(size)
		if size <= longestShown {
			shown = parser.Line(bytes.Clone(raw))
		}
		for _, e := range shown.Entries {
			_ = printer.Entry(e) // a buffer takes everything
		}
		if line >= first && text.Len() > 0 {
			for row := range strings.SplitSeq(strings.TrimSuffix(text.String(), "\n"), "\n") {
				c.rows[line-first] = append(c.rows[line-first], strings.ReplaceAll(term.Printable(row), "\t", "    "))
			}
		}
		return nil
	})
	return c
}

// progress is how much of the transcript is indexed, in percent; 100: all.
func (l *Log) progress() int {
	if !l.partial {
		return 100
	}
	return min(99, l.file.Percent())
}

// findPatience is how long Find looks before the screen is drawn again.
const findPatience = 1500 * time.Millisecond

// find looks for a row that is wanted, after the top of the window or before it, and goes there.
// Of lines whose text has not the needle, unless that is empty, no rows are made. all: there is
// none; else, where found is false as well, the window is where the time was up.
func (l *Log) find(needle string, wanted func(row string) bool, back bool) (found, all bool) {
	end := time.Now().Add(findPatience)
	needle = strings.ToLower(needle)
	if strings.ContainsFunc(needle, func(r rune) bool { return r > 126 || r < 32 || strings.ContainsRune(`"\\<>&`, r) }) {
		needle = "" // it may be written in other ways
	}
	step, by := l.after, 1
	if back {
		step, by = l.before, -1
	}
	at, ok := step(l.top)
	for ok {
		if of := l.line(at.line); at.row < len(of) && wanted(of[at.row]) {
			l.follow, l.top = false, at
			return true, false
		}
		if next, more := step(at); more && next.line/together == at.line/together {
			at = next
			continue
		}
		number := at.line/together + by
		for ; needle != "" && number >= 0 && number*together < l.file.Lines() && !l.mentions(number, needle); number += by {
			if time.Now().After(end) {
				break
			}
		}
		if number < 0 || number*together >= l.file.Lines() {
			return false, true
		}
		if at, ok = l.edge(number, back); time.Now().After(end) {
			l.follow, l.top = false, place{at.line, 0}
			return false, false
		}
	}
	return false, true
}

// findAround is Find from the beginning of the transcript, or back: from its end. Where nothing
// is found, the window stays.
func (l *Log) findAround(needle string, wanted func(row string) bool, back bool) (found, all bool) {
	was := l.top
	l.top = place{0, -1}
	if back {
		l.top = place{l.file.Lines(), 0}
	}
	if found, all = l.find(needle, wanted, back); !found && all {
		l.top = was
	}
	return found, all
}

// edge is the first row from the beginning of a chunk on, or back: the last up to its end.
func (l *Log) edge(number int, back bool) (place, bool) {
	if back {
		return l.before(place{min((number+1)*together, l.file.Lines()), 0})
	}
	at := place{number * together, 0}
	if len(l.line(at.line)) > 0 {
		return at, true
	}
	return l.after(at)
}

// mentions reports whether the lines of a chunk, or those before it whose tools they answer, have
// a text.
func (l *Log) mentions(number int, needle string) (has bool) {
	from := max(0, (number-1)*together)
	_ = l.file.Window(from, (number+1)*together-from, longestShown, func(_ int, raw []byte, size int64) error {
		has = has || size > longestShown || bytes.Contains(bytes.ToLower(raw), []byte(needle))
		return nil
	})
	return has
}

// isError reports whether a row begins what tells of an error.
func isError(row string) bool {
	row = strings.TrimLeft(row, " │")
	return strings.HasPrefix(row, "✗") || strings.HasPrefix(row, "⎿ error:")
}
