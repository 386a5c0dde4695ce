package harness

import "testing"

func TestVersionsAreComparedAsNumbers(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{
		"2.1.329": true, "2.1.329 (Claude Code)": true, "2.1.1000": true, "2.2.0": true, "10.0.0": true,
		"2.1.328": false, "2.1.33": false, "2.0.999": false, "1.9.999": false, "": false, "unknown": false,
	} {
		if got := AtLeast(version, 2, 1, 329); got != want {
			t.Errorf("AtLeast(%q) = %v", version, got)
		}
	}
}
