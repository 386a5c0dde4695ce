package pattern

import (
	"strings"
	"testing"
)

func TestOnlyPatternsThatAreTextAndEndInTimeAreTaken(t *testing.T) {
	t.Parallel()
	for p, want := range map[string]bool{
		"**/*.{go,md}": true, "{a,{b,c}}/x": true, `\{a,b`: true, strings.Repeat("[a]*", 50): true, strings.Repeat("{a,aa}", 9) + "b": true,
		strings.Repeat("{a,aa}", 10) + "b": false, "{" + strings.Repeat("a,", 2000) + "b}": false, "{a": false, "[": false,
		"caf\u00e9?": true, "caf\xe9": false, "caf\ufffd": true,
	} {
		if Valid(p) != want {
			t.Errorf("%.40q: %v", p, !want)
		}
	}
}
