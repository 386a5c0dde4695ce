package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing/fstest"
	"time"

	"hank/plan"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/githistory"
	"hank/state"
)

// adopting is what it costs to continue a history with a hank that was changed.
type adopting struct {
	Codons int    `json:"codons"`
	Took   figure `json:"took"` // the program frozen, the plan derived and recorded; without opening
}

// measureAdopting has processes of their own adopt another hank, one after the other. The
// history has other events then than its maker knows of, and cannot grow any more.
func (b *bench) measureAdopting(h *history) (*adopting, error) {
	a := &adopting{Codons: h.codons}
	var took []time.Duration
	for n := range pick(b.quick, 2, stateRuns) {
		cmd := exec.Command(b.self, "adopt", h.root, fmt.Sprint(n))
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("adopting in a process of its own: %w", err)
		}
		var said answer
		if err := json.Unmarshal(out, &said); err != nil {
			return nil, err
		}
		took = append(took, said.Elapsed)
	}
	a.Took = figureOf(took)
	return a, nil
}

// adoptOnce is that process: it does what hank run --adopt does between two runs.
func adoptOnce(root, version string) error {
	x, err := recovery.Open(context.Background(), root, execution.Options{})
	if err != nil {
		return err
	}
	start := time.Now()
	err = adopt(x, version)
	took := time.Since(start)
	return errors.Join(err, x.Close(), json.NewEncoder(os.Stdout).Encode(answer{Elapsed: took}))
}

func adopt(x *execution.Execution, version string) error {
	text := strings.Replace(historyHank, `"promptText":"true"`, `"promptText":"true `+version+`"`, 1)
	program, diagnostics := plan.Load(fstest.MapFS{"hank.json": {Data: []byte(text)}}, "hank.json")
	if program == nil {
		return fmt.Errorf("the hank to be adopted: %v", diagnostics)
	}
	planned := len(x.State().ExecutionPlan())
	sha, err := x.Freeze(context.Background(), program)
	if err != nil {
		return err
	}
	entries, err := stored(githistory.Derive(program, x.State()))
	if err != nil {
		return err
	}
	if err := x.Record(state.PlanSet{Program: sha, HankHash: "sha256:bench-" + version, Entries: entries}); err != nil {
		return err
	}
	if n := len(x.State().ExecutionPlan()); n != planned {
		return fmt.Errorf("the adopted plan has %d entries, and the one before had %d", n, planned)
	}
	return nil
}
