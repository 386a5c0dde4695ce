package runtime

import (
	"testing"

	"hank/runtime/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }
