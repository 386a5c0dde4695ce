package typo

import "testing"

func TestNearest(t *testing.T) {
	t.Parallel()
	words := []string{"after-codon", "continuationMode", "fresh", "json", "run", "status", "stop", "x"}
	for word, want := range map[string]string{
		"stauts": "status", "rnu": "run", "jsn": "json", "AFTER_CODON": "after-codon", "afer-codn": "after-codon",
		"continuaton_mode": "continuationMode", "stpo": "stop", "fly": "", "y": "", "x": "x", "": "", "frozen": "",
		"after": "after-codon", "cont": "continuationMode", "st": "", "sta": "status", "co": "",
	} {
		if got := Nearest(word, words); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}
