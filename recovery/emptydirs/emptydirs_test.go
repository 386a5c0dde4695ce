package emptydirs

import (
	"fmt"
	"slices"
	"testing"
)

// What a message does not name is left: names that are not UTF-8, and those above the bound.
func TestLeft(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range most + 2 {
		many = append(many, fmt.Sprintf("d%05d", i))
	}
	for _, c := range []struct{ empty, left []string }{
		{nil, nil},
		{[]string{"a", "\xffb", "c"}, []string{"\xffb"}},
		{many, many[most:]},
	} {
		if got := Left(c.empty); !slices.Equal(got, c.left) {
			t.Errorf("of %d directories %q are left, and not %q", len(c.empty), got, c.left)
		}
	}
}
