package harness

import (
	"strings"
	"unicode/utf8"

	"hank/internal/secret"
)

// MaxMessage bounds the messages that go into records, in bytes.
const MaxMessage = 2000

// Excerpt returns text as valid UTF-8 in at most max bytes: its beginning and
// its end, where errors say what and why, around a mark of what was left out.
// Secrets are masked.
func Excerpt(text string, max int) string {
	text = strings.TrimSpace(secret.Text(strings.ToValidUTF8(text, "\uFFFD"))) // a key that is cut is not known any more
	if len(text) <= max {
		return text
	}
	const mark = " […] "
	if max < 4*len(mark) {
		return cutEnd(text, max)
	}
	head := (max - len(mark)) / 2
	tail := max - len(mark) - head
	return cutEnd(text, head) + mark + cutStart(text, tail)
}

// cutEnd keeps at most n bytes of the beginning, and whole runes.
func cutEnd(text string, n int) string {
	if n >= len(text) {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// cutStart keeps at most n bytes of the end, and whole runes.
func cutStart(text string, n int) string {
	if n >= len(text) {
		return text
	}
	i := len(text) - n
	for i < len(text) && !utf8.RuneStart(text[i]) {
		i++
	}
	return text[i:]
}

// Tail keeps the last lines of an output. The zero Tail is empty; it holds at
// most MaxMessage bytes.
type Tail struct{ buf []byte }

// Add appends a line.
func (t *Tail) Add(line []byte) {
	line = []byte(secret.Line(string(line)))
	if len(line) > MaxMessage {
		line = line[len(line)-MaxMessage:]
	}
	t.buf = append(append(t.buf, line...), '\n')
	if over := len(t.buf) - MaxMessage; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
}

// String returns the lines as valid UTF-8, without the last newline.
func (t *Tail) String() string {
	return strings.TrimSpace(secret.Text(strings.ToValidUTF8(string(t.buf), "\uFFFD")))
}
