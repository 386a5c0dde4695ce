package page

import (
	"net/url"
	"strconv"
	"strings"

	"hank/internal/secret"
	"hank/runtime/agents"
	"hank/runtime/harness/transcript"
	"hank/runtime/lines"
	"hank/runtime/logview"
	"hank/runtime/losses"
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
	Lost           string // what is known to be wrong with it, where its end is shown
}

// How much of a transcript a page shows.
const (
	perRange    = 200
	mostMatches = 200
	mostOfLine  = 1 << 20 // bytes; what is longer is named, and not shown
	mostAtOnce  = 8 << 10 // bytes of one line among others; the rest with the line by itself
)

// transcript reads what of an attempt's transcript is asked for: so many lines from a number on,
// the last ones, those that have a text, or one by itself.
func (e *execution) transcript(run state.RunID, c *state.Codon, q url.Values, count int) (t log) {
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
		add := e.shortened(run, c, func(n entry) { t.Entries = append(t.Entries, n) })
		if t.Find != "" {
			return t.search(f, c, e.p.printer.mask, add)
		}
		first, _ := strconv.Atoi(q.Get("from"))
		one, _ := strconv.Atoi(q.Get("line"))
		if one > 0 {
			first, count = one, 1
			add = func(n entry) { t.Entries = append(t.Entries, n) }
		}
		if first < 1 || first > t.Total {
			first = max(1, t.Total-count+1)
		}
		t.First, t.Last = first, min(first+count-1, t.Total)
		if t.First > 1 {
			t.Earlier = max(1, t.First-perRange)
		}
		if t.Last < t.Total {
			t.Later = t.Last + 1
		}
		t.Follows = e.view.Live && c.EndTime == nil && t.Later == 0 && one == 0
		return t.each(f, c, first, count, add)
	})
	switch {
	case err == nil && t.Later == 0 && t.Find == "" && q.Get("line") == "":
		if text := losses.Text(e.view.Layout, c); text != "" {
			t.Lost = strings.ToUpper(text[:1]) + text[1:] + "."
		}
	case err == nil:
	case losses.IsGone(nil, err):
		t.Missing = "The transcript is not there any more."
	default:
		t.Missing = err.Error()
	}
	return t
}

// shortened calls add with entries, of each line as far as there is room for it among others.
func (e *execution) shortened(run state.RunID, c *state.Codon, add func(entry)) func(entry) {
	const each = 64 // bytes that an entry needs besides its text
	line, room := 0, 0
	return func(n entry) {
		if n.N != line {
			line, room = n.N, mostAtOnce
		}
		if room < 0 {
			return
		}
		most := room - each
		if room = most - len(n.Text); room < 0 {
			n.Text, _ = secret.Beginning(n.Text, max(0, most), e.p.printer.mask)
			if n.Cut = true; !e.Static {
				n.Whole = e.ofTranscript(run, c, "line", n.N)
			}
		}
		n.Tool = e.p.printer.brief(n.Tool)
		add(n)
	}
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
func (t *log) search(f *lines.File, c *state.Codon, mask func(string) string, add func(entry)) error {
	find := strings.ToLower(t.Find)
	return t.each(f, c, 1, max(1, t.Total), func(n entry) {
		if !strings.Contains(strings.ToLower(mask(n.Text)), find) && !strings.Contains(strings.ToLower(mask(n.Tool)), find) {
			return
		}
		if t.Found++; len(t.Entries) < mostMatches {
			add(n)
		}
	})
}
