package page

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"hank/runtime/verdict"
	"hank/state"
)

// TestIdleTimeIsDrawnShort, work is drawn to scale, and no bar leaves the picture.
func TestIdleTimeIsDrawnShort(t *testing.T) {
	t.Parallel()
	at := func(minutes int) time.Time {
		return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(minutes) * time.Minute)
	}
	l := newTimeline([]span{{codon: "a", begin: at(0), end: at(10)}, {codon: "b#0", begin: at(610), end: at(620)}, {codon: "b#1", begin: at(620), end: at(620)}}, time.Time{})
	if len(l.Lanes) != 2 || len(l.Lanes[1].Bars) != 2 || len(l.Gaps) != 1 || !strings.HasPrefix(l.Gaps[0].Text, "10h") {
		t.Fatalf("%+v", l)
	}
	a, b := l.Lanes[0].Bars[0], l.Lanes[1].Bars[0]
	if d := a.Width - b.Width; d > 0.01 || d < -0.01 || l.Gaps[0].Width > width/50+1 {
		t.Errorf("as long, drawn %v and %v; the gap %v", a.Width, b.Width, l.Gaps[0].Width)
	}
	for _, lane := range l.Lanes {
		for _, bar := range lane.Bars {
			if bar.X < 0 || bar.X+bar.Width > width+0.001 || bar.Width < narrowest {
				t.Errorf("%+v", bar)
			}
		}
	}
	if newTimeline(nil, time.Time{}) != nil {
		t.Error("there is a timeline of nothing")
	}
}

// TestATimelineGoesUntilNow where a run in progress waits, and as far as its ends say.
func TestATimelineGoesUntilNow(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	work := span{codon: "a", begin: begin, end: begin.Add(40 * time.Millisecond)}
	now := begin.Add(time.Hour)
	l := newTimeline([]span{work}, now)
	if !l.Last.Equal(now) || len(l.Gaps) != 1 || !strings.HasPrefix(l.Gaps[0].Text, "59m59s") {
		t.Errorf("until %s, %+v", l.Last, l.Gaps)
	}
	if a, wait := l.Lanes[0].Bars[0], l.Gaps[0]; a.Width > wait.Width || wait.X+wait.Width < width-0.01 {
		t.Errorf("an hour after 40 ms of work is drawn as %+v after %+v", wait, a)
	}
	if l = newTimeline([]span{work}, time.Time{}); !l.Last.Equal(work.end) || l.Lanes[0].Bars[0].Width < width-0.01 {
		t.Errorf("what ends with its work: until %s, %+v", l.Last, l.Lanes[0].Bars)
	}
}

// TestWhatIsInProgressIsDrawnUntilNow, in each status of an attempt, and is no warning; what a crash
// has cut off has no end.
func TestWhatIsInProgressIsDrawnUntilNow(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now := begin.Add(time.Minute)
	for _, status := range []state.CodonStatus{state.Preparing, state.Starting, state.Initializing, state.Running, state.CompletingSentinels} {
		c := &state.Codon{Status: status, StartTime: state.Time{Time: begin}}
		v := verdict.OfCodon(c, verdict.Running)
		if end := drawnTo(c, v, now); !end.Equal(now) || class(v) != "runs" || mark(v.String()) != "▶" {
			t.Errorf("%s: to %s, as %s %s", status, end, class(v), mark(v.String()))
		}
		if end := drawnTo(c, verdict.OfCodon(c, verdict.Crashed), now); !end.Equal(begin) {
			t.Errorf("%s, with a crash: to %s", status, end)
		}
	}
}

// TestATimelineHasTheNewestCodons: of a thousand those that began last, a loop as one of them, and
// the time from their first attempt on.
func TestATimelineHasTheNewestCodons(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var spans []span
	for i := range 1000 {
		at := begin.Add(time.Duration(i) * time.Minute)
		spans = append(spans, span{codon: state.CodonID(fmt.Sprintf("c%d", i)), begin: at, end: at.Add(time.Second)})
	}
	spans = append(spans, span{codon: "l#0", loop: "l", begin: begin, end: begin}, span{codon: "l#1", loop: "l", begin: begin.Add(1000 * time.Minute), end: begin.Add(1001 * time.Minute)})
	kept, left := newest(spans)
	if left != 1001-mostLanes || len(kept) != mostLanes+1 || kept[0].codon != state.CodonID(fmt.Sprintf("c%d", 1001-mostLanes)) || kept[len(kept)-2].codon != "l#0" {
		t.Errorf("%d left out, %d kept: %v", left, len(kept), kept)
	}
	if kept, left = newest(spans[:mostLanes]); left != 0 || len(kept) != mostLanes {
		t.Errorf("of %d, %d are left out", mostLanes, left)
	}
}
