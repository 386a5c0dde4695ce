package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"hank/internal/vfs"
	"hank/recovery/layout"
	"hank/runtime/exitcode"
	"hank/runtime/harness/transcript"
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

// realLoop is a whole run of hank: a loop of so many rounds of true, each with
// its keeper, its process and its checkpoint.
func (b *bench) realLoop(rounds int) (steady, error) {
	program := fmt.Sprintf(`{"hank":[{"type":"loop","id":"rounds","name":"Rounds","terminateOn":{"type":"iterationLimit","limit":%d},`+
		`"codons":[{"id":"work","name":"Work","promptText":"true","model":"shell","continuationMode":"fresh"}]}]}`, rounds)
	return b.realRun("real run: a loop of true", program, rounds)
}

// realReplay is a whole run of hank that replays the first codons of a history,
// each with its keeper, its process, its checkpoint, and the file that it left.
func (h *history) realReplay(codons int) (steady, error) {
	if err := h.transcribe(codons); err != nil {
		return steady{}, fmt.Errorf("making transcripts: %w", err)
	}
	return h.b.realRun("real run: the history replayed", historyHank, codons, "--replay", h.root, "--stop-after", fmt.Sprint(codons))
}

// transcribe writes what the agents of the first codons would have printed.
func (h *history) transcribe(codons int) error {
	var text []byte
	for _, e := range []transcript.Entry{
		{At: began, Stream: transcript.StreamStart, Start: transcript.Start{Schema: transcript.Schema, Harness: "shell", Model: "shell"}},
		{At: began, Stream: transcript.Stdout, Line: []byte("a line that the script has printed")},
		{At: began, Stream: transcript.StreamExit},
	} {
		text = e.Append(text)
	}
	l := layout.Layout{Root: h.root}
	for i := range codons {
		name := l.Resolve(transcriptOf(state.CodonID(fmt.Sprintf("work#%d", i))))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(name, text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) realRun(name, program string, codons int, flags ...string) (steady, error) {
	hank, err := b.buildHank()
	if err != nil {
		return steady{}, err
	}
	dir := b.folder("run")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return steady{}, err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "hank.json"), []byte(program), 0o644); err != nil {
		return steady{}, err
	}
	execution := filepath.Join(dir, "execution")
	cmd := exec.Command(hank, append([]string{"run", dir, "-e", execution, "--yes"}, flags...)...)
	cmd.Dir = dir
	cmd.Env = append(gitEnvironment(), "HOME="+dir, "XDG_STATE_HOME="+dir, "XDG_DATA_HOME="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState.ExitCode() != int(exitcode.Stopped) {
		return steady{}, fmt.Errorf("hank run: %w: %s", err, out[max(0, len(out)-2000):])
	}
	each, err := paceOf(execution, codons)
	return steadyOf(name, each), err
}

// paceOf is how long each codon of a run took, but the last: from its first
// event to that of the next.
func paceOf(execution string, codons int) ([]time.Duration, error) {
	var starts []time.Time
	err := journal.Read(vfs.OS, layout.Layout{Root: execution}.Events(), 1, func(e journal.Event) error {
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
