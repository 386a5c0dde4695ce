package page

import (
	"testing"

	"hank/runtime/liveview"
	"hank/runtime/report"
)

// TestACommandIsShownByItself: what must be done before it is no part of it.
func TestACommandIsShownByItself(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ command, after, next, before string }{
		{"hank run -e x", "hank run -e x; before that: log in", "hank run -e x", "; before that: log in"},
		{"hank retry", "hank retry", "hank retry", ""},
		{"", "hank release", "hank release", ""},
	} {
		got := todoOf(liveview.Execution{Status: &report.Status{Command: c.command}, Need: &liveview.Need{Command: c.after}})
		if got.Next != c.next || got.Before != c.before {
			t.Errorf("%q is shown as %q and %q", c.after, got.Next, got.Before)
		}
	}
}
