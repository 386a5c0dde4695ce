package gc

import (
	"os"
	"testing"

	"hank/recovery/layout"
	"hank/state/costindex"
)

// TestDeletingTheIndexLeavesOneThatIsOpen: gc takes what nobody uses, and is no
// error where the cost index is in use.
func TestDeletingTheIndexLeavesOneThatIsOpen(t *testing.T) {
	t.Parallel()
	l := layout.Layout{Root: t.TempDir()}
	x, _, err := costindex.Open(l.CostIndex(), "journal")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.StatCache(), []byte("cache"), 0o600); err != nil {
		t.Fatal(err)
	}
	g, err := dropIndex(l)
	if err != nil || g.Files != 1 || g.Bytes != 5 {
		t.Errorf("beside an open index: %+v, %v", g, err)
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
	if _, discarded, err := costindex.Open(l.CostIndex(), "journal"); discarded != "" || err != nil {
		t.Errorf("the open index was harmed: %s, %v", discarded, err)
	}
}
