// Package testkit has what tests of several packages of the runtime need.
package testkit

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"hank/internal/consent"
	"hank/plan/kind"
	"hank/runtime/harness/replay"
	"hank/runtime/keeper"
)

// Parts are what the test binary does when it is started again to be killed:
// __part NAME ARGS... Files of tests add theirs.
var Parts = map[string]func(args []string) error{}

// Main runs the tests of a package. The test binary is its own keeper, and plays its own recordings.
func Main(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == keeper.Subcommand {
		os.Exit(keeper.Main())
	}
	if len(os.Args) > 1 && os.Args[1] == replay.Argument {
		os.Exit(replay.Main(os.Args[2:]))
	}
	if len(os.Args) > 2 && os.Args[1] == "__part" {
		if err := Parts[os.Args[2]](os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// The race detector lets every process sleep for a second at its end.
	os.Setenv("GORACE", strings.TrimSpace(os.Getenv("GORACE")+" atexit_sleep_ms=0"))
	os.Exit(run(m))
}

// run keeps the executions of tests out of the user's registry.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "hank-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	os.Setenv("HANK_STATE_DIR", dir)
	for agent := range kind.All() { // what they may do is asked about in tests of its own
		if err := consent.Give(agent.Name, time.Now()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return m.Run()
}
