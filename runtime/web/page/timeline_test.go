package page

import (
	"strings"
	"testing"
	"time"
)

// TestIdleTimeIsDrawnShort, work is drawn to scale, and no bar leaves the picture.
func TestIdleTimeIsDrawnShort(t *testing.T) {
	t.Parallel()
	at := func(minutes int) time.Time {
		return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(minutes) * time.Minute)
	}
	l := newTimeline([]span{{codon: "a", begin: at(0), end: at(10)}, {codon: "b#0", begin: at(610), end: at(620)}, {codon: "b#1", begin: at(620), end: at(620)}})
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
	if newTimeline(nil) != nil {
		t.Error("there is a timeline of nothing")
	}
}
