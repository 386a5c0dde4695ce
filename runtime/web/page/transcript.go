package page

import (
	"errors"
	"io/fs"
	"net/url"
	"strconv"
	"strings"

	"hank/runtime/agents"
	"hank/runtime/harness/transcript"
	"hank/runtime/lines"
	"hank/runtime/logview"
	"hank/state"
)

// log is a range of the lines of a transcript.
type log struct {
	Entries        []entry
	Total          int    // lines
	Find           string // what is searched for
	Found          int    // entries that have it
	First, Last    int    // lines that are shown, from 1
	Earlier, Later int    // where the ranges beside it begin; 0: there is none
	Follows        bool   // the end is shown, and more may come
	Missing        string // why there is none
}

// How much of a transcript a page shows.
const (
	perRange    = 200
	mostMatches = 200
	mostOfLine  = 1 << 20 // bytes; what is longer is named, and not shown
)

// transcript reads what of an attempt's transcript is asked for: the lines from a number on,
// the last ones, or those that have a text.
func (e *execution) transcript(c *state.Codon, q url.Values) (t log) {
	path := e.live.Transcript(c)
	if path == "" {
		t.Missing = "No start of its agent is recorded."
		return t
	}
	t.Find = q.Get("q")
	err := e.p.open.file(path, func(f *lines.File) error {
		t.Total = f.Lines()
		if f.Rest() > 0 && c.EndTime != nil { // torn by a crash, or a last line without an end
			t.Total++
		}
		if t.Find != "" {
			return t.search(f, c, e.p.printer.mask)
		}
		first, _ := strconv.Atoi(q.Get("from"))
		if first < 1 || first > t.Total {
			first = max(1, t.Total-perRange+1)
		}
		t.First, t.Last = first, min(first+perRange-1, t.Total)
		if t.First > 1 {
			t.Earlier = max(1, t.First-perRange)
		}
		if t.Last < t.Total {
			t.Later = t.Last + 1
		}
		t.Follows = e.view.Live && c.EndTime == nil && t.Later == 0
		return t.each(f, c, first, perRange, func(n entry) { t.Entries = append(t.Entries, n) })
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.Missing = "The transcript is not there any more."
	case err != nil:
		t.Missing = err.Error()
	}
	return t
}

// each calls fn for the entries of a range of lines.
func (t *log) each(f *lines.File, c *state.Codon, first, n int, fn func(entry)) error {
	parser := logview.NewParser(logview.Formats{ByName: agents.Harnesses, Other: agents.Foreign}, transcript.Start{Harness: c.Harness, Model: c.Model})
	return f.Window(first-1, n, mostOfLine, func(line int, text []byte, size int64) error {
		var l logview.Line
		if size > mostOfLine {
			l = parser.Long(size)
		} else {
			l = parser.Line(text)
		}
		for _, one := range l.Entries {
			fn(entry{N: line + 1, At: l.At, Entry: one})
		}
		return nil
	})
}

// search looks through all lines, as they are shown: who searches must not find out what is
// masked.
func (t *log) search(f *lines.File, c *state.Codon, mask func(string) string) error {
	find := strings.ToLower(t.Find)
	return t.each(f, c, 1, max(1, t.Total), func(n entry) {
		if !strings.Contains(strings.ToLower(mask(n.Text)), find) && !strings.Contains(strings.ToLower(mask(n.Tool)), find) {
			return
		}
		if t.Found++; len(t.Entries) < mostMatches {
			t.Entries = append(t.Entries, n)
		}
	})
}
