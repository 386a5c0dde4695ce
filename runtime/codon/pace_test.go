//go:build unix

package codon

import (
	"slices"
	"testing"
	"time"

	"hank/plan"
)

func TestWhatIsUsedIsRecordedOnceASecond(t *testing.T) {
	t.Parallel()
	start := time.Unix(1_700_000_000, 0)
	var p pace
	var recorded []time.Duration
	for _, step := range []struct {
		at  time.Duration
		new bool
	}{{0, false}, {100, true}, {300, true}, {400, false}, {1000, false}, {1100, false}, {1350, false}, {5000, true}, {5900, true}, {5950, true}, {6100, false}} {
		at := step.at * time.Millisecond
		p.owed = p.owed || step.new
		if now := start.Add(at); p.due(now) {
			p.done(now)
			recorded = append(recorded, step.at)
		}
	}
	if want := []time.Duration{100, 1100, 5000, 6100}; !slices.Equal(recorded, want) {
		t.Errorf("recorded at %d ms, want %d", recorded, want)
	}
}

// Recording what sentinels report leaves the agent four fifths of the time, on a slow disk too.
func TestWhatTakesLongIsDoneLessOften(t *testing.T) {
	t.Parallel()
	var r rest
	now := time.Unix(1e9, 0)
	if !r.due(now) {
		t.Error("the first is not due")
	}
	r.done(now, now.Add(time.Second))
	if r.due(now.Add(4900*time.Millisecond)) || !r.due(now.Add(5*time.Second)) {
		t.Error("a second is not followed by four others")
	}
}

// A skip of a codon that has ended when the request is taken skips no other one.
func TestASkipIsForTheCodonThatItNames(t *testing.T) {
	t.Parallel()
	a := &attempt{Spec: Spec{Entry: plan.Entry{CodonID: "next"}}}
	if stop, force := a.signalled(Request{Signal: SkipCodon, Codon: "before"}); stop || force || a.skip {
		t.Errorf("%v %v %v", stop, force, a.skip)
	}
}
