package term

import "testing"

func TestABarIsAsLongAsItsShare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		share   float64
		columns int
		want    string
	}{
		{0, 10, ""}, {1, 3, "███"}, {0.5, 3, "█▌"}, {1e-9, 10, "▏"}, {2, 2, "██"}, {-1, 2, ""}, {1, 0, ""}, {0.25, 1, "▎"},
	} {
		if got := Bar(c.share, c.columns); got != c.want || Columns(got) > c.columns {
			t.Errorf("%g in %d columns is %q, want %q", c.share, c.columns, got, c.want)
		}
	}
}
