package secret

import (
	"strings"
	"testing"
)

// TestNoBeginningHasAPartOfASecret, wherever the secret is.
func TestNoBeginningHasAPartOfASecret(t *testing.T) {
	t.Parallel()
	const value, most = "plainsecretvalue12345", 100
	mask := func(text string) string { return strings.ReplaceAll(text, value, Mask) }
	for _, after := range []int{0, 50, longest - 10, longest, 3 * longest} {
		for before := range most + longest + 10 {
			if before > most+10 && before < longest-len(value)-10 {
				continue
			}
			text := strings.Repeat("a", before) + value + strings.Repeat("b", after)
			got, isCut := Beginning(text, most, mask)
			if strings.Contains(got, value[:3]) || len(got) > most || isCut != (len(mask(text)) > most) {
				t.Fatalf("%d bytes before it and %d after it: %q, %t", before, after, got, isCut)
			}
			if whole := mask(text); !strings.HasPrefix(whole, got) || isCut && len(got) < most-len(value) {
				t.Fatalf("%d bytes before it and %d after it: %q of %d bytes", before, after, got, len(whole))
			}
		}
	}
}
