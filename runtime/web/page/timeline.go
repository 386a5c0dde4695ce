package page

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"hank/internal/term"
	"hank/state"
)

// span is one attempt on a timeline.
type span struct {
	codon      state.CodonID
	loop       state.CodonID // empty: it is in none
	begin, end time.Time
	verdict    string
	label      string
}

// timeline is when what has run. Times in which nothing ran are drawn short: each at most as a
// fiftieth of all work, or as a second.
type timeline struct {
	Lanes []lane
	Gaps  []gap
	First time.Time
	Last  time.Time

	marks []mark1
}

// lane is what one codon did, with all its iterations.
type lane struct {
	Codon state.CodonID
	Page  state.CodonID // whose page has it: of a codon in a loop, the loop
	Bars  []bar
	Text  string // for who cannot see the bars
}

// bar is an attempt: from X over Width thousandths of the timeline.
type bar struct {
	X, Width float64
	Class    string
	Label    string
}

// gap is a time without work that is drawn short.
type gap struct {
	X, Width float64
	Text     string
}

// mark1 says that a time is drawn at a place.
type mark1 struct {
	at time.Time
	x  float64
}

// width is that of a timeline, in its own units.
const width = 1000

// narrowest is how wide a bar is at least: what took no time can be seen.
const narrowest = 3

// mostLanes is how many codons the timeline of a run has: those that began last.
const mostLanes = 40

// newest are the attempts at the codons that began last, and how many codons are left out.
func newest(spans []span) (kept []span, left int) {
	began := map[state.CodonID]time.Time{}
	for _, s := range spans {
		if id := lineOf(s); s.begin.After(began[id]) {
			began[id] = s.begin
		}
	}
	order := slices.SortedFunc(maps.Keys(began), func(a, b state.CodonID) int { return began[b].Compare(began[a]) })
	if left = len(order) - mostLanes; left <= 0 {
		return spans, 0
	}
	for _, s := range spans {
		if slices.Contains(order[:mostLanes], lineOf(s)) {
			kept = append(kept, s)
		}
	}
	return kept, left
}

// lineOf is the codon in whose lane an attempt is: that of a loop without its iteration.
func lineOf(s span) state.CodonID {
	base, _, _ := strings.Cut(string(s.codon), "#")
	return state.CodonID(base)
}

// newTimeline draws attempts, and what lies between the last one and until.
func newTimeline(spans []span, until time.Time) *timeline {
	if len(spans) == 0 {
		return nil
	}
	slices.SortStableFunc(spans, func(a, b span) int { return a.begin.Compare(b.begin) })
	t := &timeline{First: spans[0].begin}
	t.place(spans, until)
	at := map[state.CodonID]int{}
	for _, s := range spans {
		id := lineOf(s)
		i, known := at[id]
		if !known {
			i = len(t.Lanes)
			at[id] = i
			t.Lanes = append(t.Lanes, lane{Codon: id, Page: cmp.Or(s.loop, id)})
		}
		l := &t.Lanes[i]
		x := t.x(s.begin)
		w := max(narrowest, t.x(s.end)-x)
		l.Bars = append(l.Bars, bar{X: min(x, width-w), Width: w, Class: class(s.verdict), Label: s.label})
	}
	for i := range t.Lanes {
		l := &t.Lanes[i]
		l.Text = term.Count(len(l.Bars), "attempt") + " of " + string(l.Codon)
	}
	return t
}

// place decides where each time is drawn: work to scale, and what lies between short.
func (t *timeline) place(spans []span, until time.Time) {
	type piece struct{ begin, end time.Time }
	var busy []piece
	for _, s := range spans {
		if n := len(busy); n > 0 && !s.begin.After(busy[n-1].end) {
			if s.end.After(busy[n-1].end) {
				busy[n-1].end = s.end
			}
			continue
		}
		busy = append(busy, piece{s.begin, s.end})
	}
	if until.After(busy[len(busy)-1].end) {
		busy = append(busy, piece{until, until})
	}
	var work time.Duration
	for _, b := range busy {
		work += b.end.Sub(b.begin)
	}
	work = max(work, time.Millisecond)
	shortest := max(work/50, time.Second)
	drawn := work
	for i := 1; i < len(busy); i++ {
		drawn += min(busy[i].begin.Sub(busy[i-1].end), shortest)
	}
	scale := width / float64(drawn)
	x := 0.0
	for i, b := range busy {
		if i > 0 {
			idle := b.begin.Sub(busy[i-1].end)
			w := float64(min(idle, shortest)) * scale
			if idle > shortest {
				t.Gaps = append(t.Gaps, gap{X: x, Width: w, Text: term.Duration(idle.Truncate(time.Second))})
			}
			x += w
		}
		t.marks = append(t.marks, mark1{b.begin, x})
		x += float64(b.end.Sub(b.begin)) * scale
		t.marks = append(t.marks, mark1{b.end, x})
	}
	t.Last = busy[len(busy)-1].end
}

// x is where a time is drawn.
func (t *timeline) x(at time.Time) float64 {
	i, found := slices.BinarySearchFunc(t.marks, at, func(m mark1, at time.Time) int { return m.at.Compare(at) })
	switch {
	case found:
		return t.marks[i].x
	case i == 0:
		return 0
	case i == len(t.marks):
		return width
	}
	a, b := t.marks[i-1], t.marks[i]
	return a.x + (b.x-a.x)*float64(at.Sub(a.at))/float64(max(1, b.at.Sub(a.at)))
}

// Compressed says which times are drawn short; empty: none is.
func (t *timeline) Compressed() string {
	if len(t.Gaps) == 0 {
		return ""
	}
	longest := slices.MaxFunc(t.Gaps, func(a, b gap) int { return cmp.Compare(len(a.Text), len(b.Text)) })
	if len(t.Gaps) == 1 {
		return longest.Text + " in which nothing ran is drawn short"
	}
	return term.Count(len(t.Gaps), "time") + " in which nothing ran are drawn short"
}
