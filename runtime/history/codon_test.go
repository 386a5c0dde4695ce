package history

import "testing"

func TestTheNearestCodonIsAskedFor(t *testing.T) {
	t.Parallel()
	names := []string{"publish", "clean#12", "clean#11", "clean#1", "check", "ingest"}
	for text, want := range map[string]string{
		"publihs": "publish", "cleen": "clean#12", "clean": "clean#12", "cleen#11": "clean#11", "clean#99": "clean#12",
		"chek": "check", "check#1": "check", "ingest#": "ingest", "nothing": "", "": "",
	} {
		if got := NearestCodon(text, names); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	dashed := []string{"z", "x-1#2", "x#2", "x-1#1", "x#1"}
	for text, want := range map[string]string{"x": "x#2", "x-1": "x-1#2", "x-1#7": "x-1#2", "X-1": "x-1#2", "X#1": "x#1"} {
		if got := NearestCodon(text, dashed); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := NearestCodon("clean", nil); got != "" {
		t.Errorf("without codons: %q", got)
	}
}
