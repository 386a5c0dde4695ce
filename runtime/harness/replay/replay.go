// Package replay is the harness that plays a recorded attempt again: the same
// lines, on the same streams, with the same end. It costs nothing and needs no
// agent, and the reader that judged the attempt judges it again.
//
// The command is hank itself, as `hank __replay FILE TURN`, so that a replayed codon
// goes through keeper, pipes and signals like any other. What the agent did to
// files is not in a transcript, and the replaying process touches none: the
// runtime brings the workspace to the state after the codon by restoring the
// difference between the recorded execution's checkpoints, from the last one
// before the recorded codon to the codon's own, when the replay has ended and
// before it takes the checkpoint. It does not where the replay was cut off, because when in
// between a file was changed is not recorded.
//
// HANKWEAVE_REPLAY_MAX_DELAY_MS in hank's own environment keeps the recorded
// pauses, each cut to that many milliseconds; without it nothing waits.
package replay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"hank/internal/vfs"
	"hank/runtime/harness"
	"hank/runtime/harness/transcript"
	"hank/state"
)

// Argument is the hidden command of hank that calls Main.
const Argument = "__replay"

// Harness replays one transcript.
type Harness struct {
	executable string
	file       string
	maxDelay   string
	turns      []transcript.Start
	recorded   harness.Harness
}

var _ harness.Harness = Harness{}

// Open prepares the replay of a transcript. executable is hank's own path;
// lookup finds the harness that recorded, by its name.
func Open(executable, file string, lookup func(name string) (harness.Harness, bool)) (Harness, error) {
	file, err := filepath.Abs(file) // the replaying process has another working directory
	if err != nil {
		return Harness{}, fmt.Errorf("replay: finding the transcript: %w", err)
	}
	turns, err := readTurns(file)
	if err != nil {
		return Harness{}, fmt.Errorf("replay: the transcript %s cannot be played: %w", file, err)
	}
	recorded, ok := lookup(turns[0].Harness)
	if !ok {
		return Harness{}, fmt.Errorf("replay: the transcript %s was recorded by the harness %q, which this hank does not have", file, turns[0].Harness)
	}
	return Harness{executable: executable, file: file, maxDelay: os.Getenv(delayVariable), turns: turns, recorded: recorded}, nil
}

// openTranscript opens a file to be played. A recording may come from others: what is no
// file is refused, as a FIFO would hold up the run.
func openTranscript(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: vfs.ErrNotRegular}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// readTurns returns the start of every turn.
func readTurns(file string) ([]transcript.Start, error) {
	f, err := openTranscript(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var turns []transcript.Start
	for entry, err := range transcript.Read(f) {
		if err != nil {
			return nil, err
		}
		if entry.Stream == transcript.StreamStart {
			turns = append(turns, entry.Start)
		}
	}
	if len(turns) == 0 {
		return nil, errors.New("it is empty")
	}
	return turns, nil
}

// Name implements harness.Harness.
func (Harness) Name() string { return state.HarnessReplay }

// Command implements harness.Harness. The prompt is not used.
func (h Harness) Command(req harness.Request) (harness.Command, error) {
	if req.Turn < 0 || req.Turn >= len(h.turns) {
		return harness.Command{}, fmt.Errorf("replay: turn %d was asked for, and the transcript %s has %d; the hank asks for more than was recorded", req.Turn+1, h.file, len(h.turns))
	}
	env := harness.BaseEnviron(req)
	if h.maxDelay != "" {
		env[delayVariable] = h.maxDelay // hank's own variables are no longer in req.Environ
	}
	return harness.Command{
		Args:       []string{h.executable, Argument, h.file, strconv.Itoa(req.Turn)},
		Env:        env.Finish(req.Env),
		Dir:        req.Workspace,
		StopSignal: syscall.SIGTERM,
		StopGrace:  time.Second,
	}, nil
}

// Reader implements harness.Harness: it is that of the harness that recorded,
// for the request that it had then. The turn is one that Command took.
func (h Harness) Reader(req harness.Request) harness.Reader {
	start := h.turns[req.Turn]
	return h.recorded.Reader(harness.Request{
		Attempt:       start.Attempt,
		Turn:          req.Turn,
		Model:         start.Model,
		Session:       start.Session,
		SessionCost:   start.SessionCost,
		SessionTokens: start.SessionTokens.Tokens(),
	})
}

// Check implements harness.Harness.
func (h Harness) Check(context.Context, []string) harness.Check {
	if _, err := readTurns(h.file); err != nil {
		return harness.Check{LoggedIn: true, Problem: fmt.Sprintf("the transcript %s cannot be played: %v; give a whole recording", h.file, err)}
	}
	return harness.Check{Found: true, Path: h.executable, LoggedIn: true}
}

// LoginFiles implements harness.Harness. No agent is started.
func (Harness) LoginFiles([]string) []string { return nil }

// Permission implements harness.Harness. It does what was done.
func (Harness) Permission() string { return "" }
