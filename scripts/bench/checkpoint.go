package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hank/scripts/bench/system"
)

// checkpointBench measures what the flags ask for, prints the table and writes
// the files. Slow is not wrong: it fails only if something could not be done,
// or if a tree is not what git makes of the same files.
func checkpointBench(args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	return runBench(o, func(b *bench) error { return b.all(o) })
}

func (b *bench) all(o options) error {
	if b.profiles != "" {
		var err error
		if err := os.MkdirAll(b.profiles, 0o755); err != nil {
			return err
		}
		if b.profiles, err = filepath.Abs(b.profiles); err != nil {
			return err
		}
	}
	r := &results{Schema: 1, Quick: o.quick, Seed: o.seed, Runs: o.runs, Machine: system.LookAtMachine(b.work)}
	if err := b.measure(r); err != nil {
		return err
	}
	fmt.Print(r.text())
	if o.out == "" {
		return nil
	}
	return r.write(o.out)
}

func (b *bench) measure(r *results) error {
	for _, c := range cases {
		if !slices.Contains(b.cases, c.name) {
			continue
		}
		b.say("case %s", c.name)
		if err := b.room(pick(b.quick, 0.2, 4)); err != nil {
			return err
		}
		files := pick(b.quick, c.small, c.size)
		sides, err := c.run(b, files)
		if err != nil {
			return fmt.Errorf("case %s: %w", c.name, err)
		}
		r.Cases = append(r.Cases, c.result(sides, files))
	}
	if err := b.clear(); err != nil {
		return err
	}
	if slices.Contains(b.cases, commandsCase) {
		if err := b.measureCommands(r); err != nil {
			return fmt.Errorf("case %s: %w", commandsCase, err)
		}
	}
	if b.growth {
		if err := b.measureGrowth(r); err != nil {
			return fmt.Errorf("growth: %w", err)
		}
	}
	if b.growth || b.disk {
		if err := b.measureMany(r); err != nil {
			return fmt.Errorf("many checkpoints: %w", err)
		}
	}
	if b.memory {
		if err := b.measureMemory(r); err != nil {
			return fmt.Errorf("memory: %w", err)
		}
	}
	return nil
}

// write writes the three files into a directory.
func (r *results) write(dir string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("the report: %w", err)
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "table.txt"), []byte(r.text()), 0o644),
		os.WriteFile(filepath.Join(dir, "checkpoint.json"), append(data, '\n'), 0o644),
		os.WriteFile(filepath.Join(dir, "checkpoint.svg"), []byte(r.chart()), 0o644))
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("scripts/bench/checkpoint", flag.ContinueOnError)
	f.SetOutput(io.Discard) // what is wrong is said once, by dispatch
	all := false
	f.Func("case", "measure only the case `NAME`; may be given several times", func(name string) error {
		if name != commandsCase && caseNamed(name) == nil {
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
