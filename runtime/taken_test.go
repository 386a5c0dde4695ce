package runtime

import (
	"testing"

	"hank/runtime/codon"
	"hank/runtime/control"
)

// TestAnAcceptedStopIsNotLost: a stop that was accepted for an attempt, and is taken in when that
// attempt has ended, ends the run; one for another run and a skip do nothing.
func TestAnAcceptedStopIsNotLost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		signal codon.Signal
		target control.Target
		ends   bool
	}{
		{codon.StopNow, control.Target{}, true},
		{codon.StopNow, control.Target{Run: "run", Codon: "ended", Attempt: 1}, true},
		{codon.StopAfterCodon, control.Target{Codon: "ended"}, true},
		{codon.StopNow, control.Target{Run: "before", Codon: "ended"}, false},
		{codon.SkipCodon, control.Target{Run: "run", Codon: "ended"}, false},
	} {
		d := &driver{run: "run"}
		if d.take(codon.Request{Signal: c.signal, Target: c.target}); (d.stop != nil) != c.ends {
			t.Errorf("signal %d for %+v ends the run: %t", c.signal, c.target, d.stop != nil)
		}
	}
}
