// Command bench measures hank's checkpoint engine against stock git, and its
// state against the disk, in the same run, see docs/benchmarks.md.
// scripts/bench/checkpoint and scripts/bench/state start it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"hank/scripts/bench/system"
)

func main() {
	os.Exit(dispatch(os.Args[1:]))
}

// dispatch knows the bench and, behind it, the children that it starts of
// itself.
func dispatch(args []string) int {
	var err error
	switch {
	case len(args) > 0 && args[0] == "checkpoint":
		err = checkpointBench(args[1:])
	case len(args) > 0 && args[0] == "state":
		err = stateBench(args[1:])
	case len(args) == 2 && args[0] == "open":
		err = openOnce(args[1])
	case len(args) == 3 && args[0] == "adopt":
		err = adoptOnce(args[1], args[2])
	case len(args) > 1 && args[0] == "peak":
		err = sayPeak(args[1:])
	case len(args) == 2 && args[0] == "worker":
		err = work(args[1])
	case len(args) > 1 && args[0] == "unsynced":
		err = system.RunUnsynced(args[1:])
	default:
		err = usageError("the benchmarks are checkpoint and state")
	}
	var usage usageError
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &usage):
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		return 2
	}
	fmt.Fprintf(os.Stderr, "bench: %v\n", err)
	return 1
}

type usageError string

func (e usageError) Error() string { return string(e) }

// minimalRuns is how often each side is measured at least.
const minimalRuns = 7
