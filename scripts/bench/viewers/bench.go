package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/dustin/go-humanize"
)

// sizes are how much of what is made.
type sizes struct {
	Codons   int `json:"codons"`   // of the execution with the long transcript
	Lines    int `json:"lines"`    // of that transcript
	Keys     int `json:"keys"`     // that are pressed
	Events   int `json:"events"`   // of the long journal
	Visits   int `json:"visits"`   // of pages, for the memory of hank web
	Streams  int `json:"streams"`  // that are opened and closed
	Steps    int `json:"steps"`    // codons of a block of a run, which is watched or not
	Blocks   int `json:"blocks"`   // of a run
	Turns    int `json:"turns"`    // runs
	StillFor int `json:"stillFor"` // seconds for which nothing changes
}

var (
	full  = sizes{Codons: 1000, Lines: 1_000_000, Keys: 1000, Events: 1_000_000, Visits: 3000, Streams: 300, Steps: 9, Blocks: 7, Turns: 16, StillFor: 10}
	quick = sizes{Codons: 5, Lines: 2000, Keys: 10, Events: 300, Visits: 12, Streams: 3, Steps: 3, Blocks: 4, Turns: 1, StillFor: 1}
)

// figure is a row of the report.
type figure struct {
	Case   string  `json:"case"`
	What   string  `json:"what"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Target float64 `json:"target,omitzero"` // at most; 0: there is none
	Note   string  `json:"note,omitzero"`
	zero   bool    // the target is 0
}

// verdict is PASS or MISS; empty: there is no target.
func (f figure) verdict() string {
	switch {
	case f.Target == 0 && !f.zero:
		return ""
	case f.Value <= f.Target:
		return "PASS"
	}
	return "MISS"
}

// bench is what the cases share.
type bench struct {
	sizes
	hank    string // the program
	control bool   // the viewers of a run are always stopped
	apart   bool   // the run has a processor of its own
	dir     string // in which everything is made
	say     func(format string, args ...any)
}

// prepare makes the directory to work in, and the program where none is given.
func (b *bench) prepare(keep string) (clear func(), err error) {
	b.dir, clear = keep, func() {}
	if keep == "" {
		if b.dir, err = os.MkdirTemp("", "hank-viewers-"); err != nil {
			return nil, err
		}
		clear = func() { _ = os.RemoveAll(b.dir) }
	}
	if b.dir, err = filepath.Abs(b.dir); err == nil {
		err = os.MkdirAll(b.dir, 0o777)
	}
	if err == nil && b.hank != "" {
		b.hank, err = filepath.Abs(b.hank)
	} else if err == nil {
		b.hank = filepath.Join(b.dir, "hank")
		var said []byte
		if said, err = exec.Command("go", "build", "-o", b.hank, "hank/cmd/hank").CombinedOutput(); err != nil {
			err = fmt.Errorf("the program cannot be built: %w\n%s", err, said)
		}
	}
	if err != nil {
		clear()
		return nil, err
	}
	return clear, nil
}

func amount(value float64, unit string) string {
	switch {
	case unit == "bytes":
		return humanize.Comma(int64(value)) + " bytes"
	case unit == "%":
		return fmt.Sprintf("%.1f %%", value)
	case value >= 100 || value == 0:
		return fmt.Sprintf("%.0f %s", value, unit)
	}
	return fmt.Sprintf("%.1f %s", value, unit)
}
