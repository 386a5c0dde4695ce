// Command bench measures hank's checkpoint engine against stock git, and its
// state against the disk, in the same run, see docs/benchmarks.md.
// scripts/bench/checkpoint and scripts/bench/state start it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
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
	case len(args) > 1 && args[0] == "peak":
		err = sayPeak(args[1:])
	case len(args) == 2 && args[0] == "worker":
		err = work(args[1])
	case len(args) > 1 && args[0] == "unsynced":
		err = runUnsynced(args[1:])
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

type options struct {
	cases       []string
	quick       bool
	runs        int
	seed        uint64
	checkpoints int
	out, dir    string
	profiles    string
	growth      bool
	memory      bool
	disk        bool
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("scripts/bench/checkpoint", flag.ContinueOnError)
	f.SetOutput(io.Discard) // what is wrong is said once, by dispatch
	all := false
	f.Func("case", "measure only the case `NAME`; may be given several times", func(name string) error {
		if caseNamed(name) == nil {
			return fmt.Errorf("there is no such case; there are %s", strings.Join(caseNames(), ", "))
		}
		o.cases = append(o.cases, name)
		return nil
	})
	f.BoolVar(&o.quick, "quick", false, "small sizes: shows that everything works, and nothing about speed")
	f.IntVar(&o.runs, "runs", minimalRuns, "measure each side `N` times, at least 7")
	f.Uint64Var(&o.seed, "seed", 1, "`SEED` of the trees")
	f.IntVar(&o.checkpoints, "checkpoints", 10_000, "make `N` checkpoints for --growth and --disk")
	f.StringVar(&o.out, "out", "", "write table.txt, checkpoint.json and checkpoint.svg to `DIR`")
	f.StringVar(&o.dir, "dir", "", "work below `DIR` (default: the folder for temporary files)")
	f.StringVar(&o.profiles, "cpuprofile", "", "write CPU profiles of hank's side to `DIR`")
	f.BoolVar(&o.growth, "growth", false, "cost against files, changed files, and checkpoints made before")
	f.BoolVar(&o.memory, "memory", false, "memory for each file, and at its peak")
	f.BoolVar(&o.disk, "disk", false, "room that many checkpoints take")
	f.BoolVar(&all, "all", false, "the cases, growth, memory and disk")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			f.SetOutput(os.Stdout)
			f.PrintDefaults()
			return o, err
		}
		return o, usageError(err.Error())
	}
	switch {
	case f.NArg() > 0:
		return o, usageError(fmt.Sprintf("%q is no flag; see --help", f.Arg(0)))
	case o.runs < minimalRuns && !o.quick:
		return o, usageError(fmt.Sprintf("--runs %d: a median takes at least %d", o.runs, minimalRuns))
	case o.runs < 1 || o.checkpoints < 1:
		return o, usageError("--runs and --checkpoints are at least 1")
	}
	if all {
		o.growth, o.memory, o.disk = true, true, true
	}
	if len(o.cases) == 0 && (all || !o.growth && !o.memory && !o.disk) {
		o.cases = caseNames()
	}
	return o, nil
}
