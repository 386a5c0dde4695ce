package agents

import (
	"testing"

	"hank/plan/kind"
)

// A hank is validated by the table, and run by what is here.
func TestTheTableOfKindsNamesTheHarnesses(t *testing.T) {
	t.Parallel()
	driven := 0
	for h := range kind.All() {
		if _, is := Harnesses[h.Name]; is != h.Driven {
			t.Errorf("%s: the table says that hank has it: %v; it is here: %v", h.Name, h.Driven, is)
		}
		if h.Driven {
			driven++
		}
	}
	if driven != len(Harnesses) {
		t.Errorf("%d harnesses, of which the table has %d", len(Harnesses), driven)
	}
	for name, h := range Harnesses {
		if h.Name() != name {
			t.Errorf("%s is called %s in records", name, h.Name())
		}
	}
}
