package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"hank/internal/vfs"
	"hank/recovery"
	"hank/runtime"
	"hank/state"
	"hank/state/journal"
)

// steady is a long series, and whether its end goes as fast as its beginning.
type steady struct {
	Name   string        `json:"name"`
	Codons int           `json:"codons"`
	Early  time.Duration `json:"earlyNs"` // median for a codon in the first tenth
	Late   time.Duration `json:"lateNs"`  // in the last tenth
	Ratio  float64       `json:"ratio"`
	Tenths []string      `json:"tenths"`
}

// steadyOf compares the tenths of a series.
func steadyOf(name string, each []time.Duration) steady {
	s := steady{Name: name, Codons: len(each)}
	n := len(each)
	for i := range 10 {
		s.Tenths = append(s.Tenths, short(median(each[n*i/10:n*(i+1)/10])))
	}
	s.Early, s.Late = median(each[:n/10]), median(each[n*9/10:])
	s.Ratio = float64(s.Late) / float64(s.Early)
	return s
}

// pace is how long each codon took while the history was made.
func (h *history) pace() steady {
	return steadyOf("state path of a codon (transitions, journal, plan, saves of state.json; no syncs, no process, no checkpoint)", h.took)
}

// realRuns are whole runs of hank: a loop of so many rounds of true, each with
// its keeper, its process and its checkpoint; and the first so many of them
// replayed, with the files that they left.
func (b *bench) realRuns(rounds, replayed int) ([]steady, error) {
	hank, err := b.buildHank()
	if err != nil {
		return nil, err
	}
	dir := b.folder("loop")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	program := fmt.Sprintf(`{"hank":[{"type":"loop","id":"rounds","name":"Rounds","terminateOn":{"type":"iterationLimit","limit":%d},`+
		`"codons":[{"id":"work","name":"Work","promptText":"true","model":"shell","continuationMode":"fresh"}]}]}`, rounds)
	if err := os.WriteFile(filepath.Join(dir, "hank.json"), []byte(program), 0o644); err != nil {
		return nil, err
	}
	run := func(name, execution string, codons int, flags ...string) (steady, error) {
		cmd := exec.Command(hank, append([]string{"run", dir, "-e", execution, "--yes"}, flags...)...)
		cmd.Dir = dir
		cmd.Env = append(gitEnvironment(), "HOME="+dir, "XDG_STATE_HOME="+dir, "XDG_DATA_HOME="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil && cmd.ProcessState.ExitCode() != int(runtime.ExitStopped) {
			return steady{}, fmt.Errorf("hank run: %w: %s", err, out[max(0, len(out)-2000):])
		}
		each, err := paceOf(execution, codons)
		return steadyOf(name, each), err
	}
	recorded := filepath.Join(dir, "recorded")
	loop, err := run("real run: a loop of true", recorded, rounds)
	if err != nil || replayed == 0 {
		return []steady{loop}, err
	}
	again, err := run("real run: the loop replayed", filepath.Join(dir, "replayed"), replayed, "--replay", recorded, "--stop-after", fmt.Sprint(replayed))
	return []steady{loop, again}, err
}

// paceOf is how long each codon of a run took, but the last: from its first
// event to that of the next.
func paceOf(execution string, codons int) ([]time.Duration, error) {
	var starts []time.Time
	err := journal.Read(vfs.OS, recovery.Layout{Root: execution}.Events(), 1, func(e journal.Event) error {
		if e.Type != state.TransitionEvent {
			return nil
		}
		t, err := state.Decode(e.Data)
		if _, began := t.(state.CodonStarted); began {
			starts = append(starts, e.Timestamp)
		}
		return err
	})
	if err == nil && len(starts) != codons {
		err = fmt.Errorf("the run has %d codons instead of %d", len(starts), codons)
	}
	if err != nil {
		return nil, err
	}
	each := make([]time.Duration, len(starts)-1)
	for i := range each {
		each[i] = starts[i+1].Sub(starts[i])
	}
	return each, nil
}
