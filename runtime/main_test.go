package runtime

import (
	"testing"

	"hank/runtime/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// heavy marks a test that takes seconds: scripts/check leaves it to scripts/test.
func heavy(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes seconds: scripts/test runs it")
	}
}
