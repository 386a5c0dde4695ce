package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/layout"
	"hank/scripts/bench/system"
)

// stateReport is all that a run has found, as it is in the JSON file.
type stateReport struct {
	Schema  int            `json:"schema"`
	Quick   bool           `json:"quick,omitempty"`
	Machine system.Machine `json:"machine"`
	Sizes   []stateSize    `json:"histories"`
	Costs   *costUse       `json:"costs"`
	Series  []steady       `json:"series"`
	Adopt   *adopting      `json:"adopt"`
	Wants   []want         `json:"wants"`
}

// stateSize is what a history of so many codons costs.
type stateSize struct {
	Codons      int         `json:"codons"`
	Transitions transitions `json:"transitions"`
	Open        figure      `json:"open"` // in a new process, until it can be worked with
	OpenPeak    int64       `json:"openPeakBytes"`
	HeapOpen    int64       `json:"openHeapBytes"`
	Status      figure      `json:"status"` // the whole process
	StatusPeak  int64       `json:"statusPeakBytes"`
	StateBytes  int64       `json:"stateBytes"`
	Journal     int64       `json:"journalBytes"`
}

// want is a figure that this project asks for.
type want struct {
	What    string  `json:"what"`
	Is      float64 `json:"is"`
	Most    float64 `json:"most,omitempty"`
	Least   float64 `json:"least,omitempty"`
	Unit    string  `json:"unit"`
	Verdict string  `json:"verdict"`
}

func parseState(args []string) (o options, loop, replay int, err error) {
	f := flag.NewFlagSet("scripts/bench/state", flag.ContinueOnError)
	f.SetOutput(io.Discard) // what is wrong is said once, by dispatch
	f.BoolVar(&o.quick, "quick", false, "small sizes: shows that everything works, and nothing about speed")
	f.StringVar(&o.out, "out", "", "write table.txt and state.json to `DIR`")
	f.StringVar(&o.dir, "dir", "", "work below `DIR` (default: the folder for temporary files)")
	f.IntVar(&loop, "loop", 10_000, "how many rounds the loop of the real run has; 0 leaves it out")
	f.IntVar(&replay, "replay", 2000, "how many codons of the history a real run replays, at most 100,000; 0 leaves it out")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			f.SetOutput(os.Stdout)
			f.PrintDefaults()
			return o, 0, 0, err
		}
		return o, 0, 0, usageError(err.Error())
	}
	switch {
	case f.NArg() > 0:
		return o, 0, 0, usageError(fmt.Sprintf("%q is no flag; see --help", f.Arg(0)))
	case loop < 0 || loop > 0 && loop < 20, replay < 0 || replay > 0 && replay < 20:
		return o, 0, 0, usageError("--loop and --replay are 0 or at least 20")
	case replay > longest(false):
		return o, 0, 0, usageError(fmt.Sprintf("--replay %d: the history has %d codons", replay, longest(false)))
	}
	if o.quick {
		loop, replay = min(loop, 20), min(replay, 20)
	}
	return o, loop, replay, nil
}

// stateBench measures, prints the table and writes the files. Slow is not
// wrong: it fails only if something could not be done, or does not add up.
func stateBench(args []string) error {
	o, loop, replay, err := parseState(args)
	if err != nil {
		return err
	}
	return runBench(o, func(b *bench) error {
		if err := b.room(pick(o.quick, 0.2, 6)); err != nil {
			return err
		}
		r := &stateReport{Schema: 1, Quick: o.quick, Machine: system.LookAtMachine(b.work)}
		if err := b.measureState(r, loop, replay); err != nil {
			return err
		}
		r.judge()
		fmt.Print(r.text())
		if o.out == "" {
			return nil
		}
		data, err := json.MarshalIndent(r, "", "  ")
		return errors.Join(err, os.WriteFile(filepath.Join(o.out, "table.txt"), []byte(r.text()), 0o644),
			os.WriteFile(filepath.Join(o.out, "state.json"), append(data, '\n'), 0o644))
	})
}

// histories are the lengths at which the state is measured.
func histories(quick bool) []int {
	return pick(quick, []int{1, 20, 40, 80}, []int{1, 1000, 10_000, 100_000})
}

func longest(quick bool) int { return slices.Max(histories(quick)) }

func (b *bench) measureState(r *stateReport, loop, replay int) error {
	h, err := b.newHistory()
	if err != nil {
		return fmt.Errorf("making a history: %w", err)
	}
	defer os.RemoveAll(h.root)
	for _, n := range histories(b.quick) {
		b.say("a history of %d codons", n)
		if err := h.grow(n); err != nil {
			return fmt.Errorf("making a history: %w", err)
		}
		s := stateSize{Codons: n}
		if err := b.measureReading(h, &s); err != nil {
			return fmt.Errorf("%d codons: %w", n, err)
		}
		if s.Transitions, err = h.transitions(); err != nil {
			return fmt.Errorf("%d codons: %w", n, err)
		}
		r.Sizes = append(r.Sizes, s)
	}
	r.Series = append(r.Series, h.pace())
	for _, real := range []struct {
		codons int
		name   string
		run    func(int) (steady, error)
	}{{loop, "a loop of %d rounds", b.realLoop}, {replay, "a replay of %d codons", h.realReplay}} {
		if real.codons == 0 {
			continue
		}
		what := fmt.Sprintf(real.name, real.codons)
		b.say("a real run: %s", what)
		s, err := real.run(real.codons)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		r.Series = append(r.Series, s)
	}
	b.say("costs")
	if r.Costs, err = b.measureCosts(h); err != nil {
		return fmt.Errorf("costs: %w", err)
	}
	b.say("adopting another hank")
	if r.Adopt, err = b.measureAdopting(h); err != nil {
		return fmt.Errorf("adopting: %w", err)
	}
	return nil
}

// measureReading measures what is done with an execution at rest: opening it,
// and hank status, each in a new process.
func (b *bench) measureReading(h *history, s *stateSize) error {
	hank, err := b.buildHank()
	if err != nil {
		return err
	}
	// What the first opening of a boot finds out about files is known then, as
	// long as they were old enough for it.
	time.Sleep(pick(b.quick, 0, 3*time.Second))
	for range 2 {
		if _, err := b.openApart(h.root); err != nil {
			return err
		}
	}
	var opens, status []time.Duration
	for range pick(b.quick, 2, stateRuns) {
		a, err := b.openApart(h.root)
		if err != nil {
			return err
		}
		opens, s.OpenPeak, s.HeapOpen = append(opens, a.Elapsed), max(s.OpenPeak, a.Memory.Peak), a.Memory.Heap
		cmd := exec.Command(hank, "status", "-e", h.root, "--json")
		cmd.Env = append(gitEnvironment(), "HOME="+b.work, "XDG_STATE_HOME="+b.work, "XDG_DATA_HOME="+b.work)
		start := time.Now()
		out, err := cmd.Output()
		status = append(status, time.Since(start))
		if err != nil {
			return fmt.Errorf("hank status: %w", err)
		}
		var said struct{ CodonsDone, CodonsPlanned int }
		if err := json.Unmarshal(out, &said); err != nil || said.CodonsDone != h.codons {
			return fmt.Errorf("hank status says that %d codons are done, of %d (%v)", said.CodonsDone, h.codons, err)
		}
	}
	// Not of the processes above: one that a big process starts begins as big.
	out, err := exec.Command(b.self, "peak", hank, "status", "-e", h.root).Output()
	if err != nil {
		return fmt.Errorf("hank status: %w", err)
	}
	if err := json.Unmarshal(out, &s.StatusPeak); err != nil {
		return err
	}
	s.Open, s.Status = figureOf(opens), figureOf(status)
	s.StateBytes, s.Journal = sizeOf(layout.Layout{Root: h.root}.State()), sizeOf(layout.Layout{Root: h.root}.Events())
	return nil
}

// sayPeak runs a command and prints the most memory that it had.
func sayPeak(args []string) error {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return err
	}
	fmt.Println(system.PeakOf(cmd.ProcessState))
	return nil
}

// openApart opens an execution in a process of its own.
func (b *bench) openApart(root string) (answer, error) {
	cmd := exec.Command(b.self, "open", root)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return answer{}, fmt.Errorf("opening in a process of its own: %w", err)
	}
	var a answer
	return a, json.Unmarshal(out, &a)
}

// openOnce is that process.
func openOnce(root string) error {
	start := time.Now()
	x, err := recovery.Open(context.Background(), root, execution.Options{})
	if err != nil {
		return err
	}
	a := answer{Elapsed: time.Since(start)}
	a.Memory.Peak = system.OwnStatus("VmHWM:")
	if len(x.Report.Findings) > 0 {
		err = fmt.Errorf("opening the history found %v", x.Report.Findings)
	}
	a.Memory.Heap = look().Heap
	return errors.Join(err, x.Close(), json.NewEncoder(os.Stdout).Encode(a))
}
