//go:build unix

package verdict

import (
	"testing"

	"hank/state"
)

func TestALimitIsRaisedByWholeCents(t *testing.T) {
	t.Parallel()
	for in, want := range map[state.USD]string{state.Dollars(2.0545): "2.06", state.Dollars(2): "2", state.Dollars(0.001): "0.01"} {
		if got := upToCents(in).String(); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
