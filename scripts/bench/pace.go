package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"hank/internal/vfs"
	"hank/recovery"
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

// realLoop is a whole hank run: a loop of so many rounds of true, each with its
// process, its keeper and its checkpoint. A codon lasts from its first event to
// that of the next.
func (b *bench) realLoop(rounds int) (steady, error) {
	hank, err := b.buildHank()
	if err != nil {
		return steady{}, err
	}
	dir := b.folder("loop")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return steady{}, err
	}
	defer os.RemoveAll(dir)
	program := fmt.Sprintf(`{"hank":[{"type":"loop","id":"rounds","name":"Rounds","terminateOn":{"type":"iterationLimit","limit":%d},`+
		`"codons":[{"id":"work","name":"Work","promptText":"true","model":"shell","continuationMode":"fresh"}]}]}`, rounds)
	if err := os.WriteFile(filepath.Join(dir, "hank.json"), []byte(program), 0o644); err != nil {
		return steady{}, err
	}
	execution := filepath.Join(dir, "execution")
	cmd := exec.Command(hank, "run", dir, "-e", execution, "--yes")
	cmd.Dir = dir
	cmd.Env = append(gitEnvironment(), "HOME="+dir, "XDG_STATE_HOME="+dir, "XDG_DATA_HOME="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return steady{}, fmt.Errorf("hank run: %w: %s", err, out[max(0, len(out)-2000):])
	}
	var starts []time.Time
	err = journal.Read(vfs.OS, recovery.Layout{Root: execution}.Events(), 1, func(e journal.Event) error {
		if e.Type != state.TransitionEvent {
			return nil
		}
		t, err := state.Decode(e.Data)
		if _, began := t.(state.CodonStarted); began {
			starts = append(starts, e.Timestamp)
		}
		return err
	})
	if err == nil && len(starts) != rounds {
		err = fmt.Errorf("the run has %d codons instead of %d", len(starts), rounds)
	}
	if err != nil {
		return steady{}, err
	}
	each := make([]time.Duration, len(starts)-1)
	for i := range each {
		each[i] = starts[i+1].Sub(starts[i])
	}
	return steadyOf("real run: a loop of true", each), nil
}
