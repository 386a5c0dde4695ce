package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// resident is a worker as the bench sees it.
type resident struct {
	store string
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *json.Decoder
}

// newStore names a store that is not there yet, in a directory of its own.
func (b *bench) newStore() string { return filepath.Join(b.folder("hank"), "store") }

// command starts this program again, without syncs if asked for.
func (b *bench) command(unsynced bool, args ...string) *exec.Cmd {
	if unsynced {
		args = append([]string{b.self, "unsynced"}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	return cmd
}

func (b *bench) workerArgs(c workerConfig, unsynced bool) ([]string, error) {
	if b.profiles != "" && !unsynced {
		b.made++
		c.Profile = filepath.Join(b.profiles, fmt.Sprintf("hank-%03d.pprof", b.made))
	}
	config, err := json.Marshal(c)
	return []string{b.self, "worker", string(config)}, err
}

// start starts a worker, which makes the store if it is not there.
func (b *bench) start(store, workspace string, unsynced bool) (*resident, error) {
	if err := os.MkdirAll(filepath.Dir(store), 0o755); err != nil {
		return nil, err
	}
	args, err := b.workerArgs(workerConfig{Store: store, Workspace: workspace}, unsynced)
	if err != nil {
		return nil, err
	}
	r := &resident{store: store, cmd: b.command(unsynced, args...)}
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r.out = json.NewDecoder(out)
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	_, err = r.hear()
	if err != nil {
		err = errors.Join(err, r.stop())
	}
	return r, err
}

func (r *resident) hear() (answer, error) {
	var a answer
	if err := r.out.Decode(&a); err != nil {
		return a, fmt.Errorf("hank's worker: %w", err)
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, nil
}

func (r *resident) ask(c command) (answer, error) {
	if err := json.NewEncoder(r.in).Encode(c); err != nil {
		return answer{}, fmt.Errorf("hank's worker: %w", err)
	}
	return r.hear()
}

// checkpoint has the worker make one, which takes as long as it says.
func (r *resident) checkpoint() (sample, error) {
	a, err := r.ask(command{Do: "checkpoint"})
	return a.sample(), err
}

func (a answer) sample() sample {
	return sample{elapsed: a.Elapsed, parts: a.Parts, tree: string(a.Tree)}
}

// stop ends the worker as a runtime ends: its cache is kept.
func (r *resident) stop() error { return errors.Join(r.in.Close(), r.cmd.Wait()) }

// once has a process of its own make one checkpoint. It takes as long as the
// process lives; what the process itself has counted is a part.
func (b *bench) once(store, workspace string, unsynced bool) (sample, error) {
	args, err := b.workerArgs(workerConfig{Store: store, Workspace: workspace, Once: true}, unsynced)
	if err != nil {
		return sample{}, err
	}
	cmd := b.command(unsynced, args...)
	start := time.Now()
	out, err := cmd.Output()
	took := time.Since(start)
	if err != nil {
		return sample{}, fmt.Errorf("hank's process: %w", err)
	}
	var a answer
	if err := json.Unmarshal(out, &a); err != nil {
		return sample{}, fmt.Errorf("hank's process: %w", err)
	}
	s := a.sample()
	s.elapsed, s.parts["inside"] = took, a.Elapsed
	return s, nil
}
