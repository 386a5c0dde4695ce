package runtime

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"hank/runtime/keeper"
)

// parts are what the test binary does when it is started again to be killed:
// __part NAME ARGS... Files of tests add theirs.
var parts = map[string]func(args []string) error{}

// The test binary is its own keeper.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == keeper.Verb {
		os.Exit(keeper.Main())
	}
	if len(os.Args) > 2 && os.Args[1] == "__part" {
		if err := parts[os.Args[2]](os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// The race detector lets every process sleep for a second at its end.
	os.Setenv("GORACE", strings.TrimSpace(os.Getenv("GORACE")+" atexit_sleep_ms=0"))
	os.Exit(m.Run())
}
