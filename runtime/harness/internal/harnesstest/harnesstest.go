// Package harnesstest starts agents as the keeper would, records what they print, and
// plays recordings to readers, for the tests of harnesses.
package harnesstest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"hank/runtime/harness"
	"hank/runtime/harness/transcript"
)

// CLI is the path of a pinned command line, that of scripts/install-agents. root is the
// way to the root of the repository. Without the command line the test is skipped.
func CLI(t *testing.T, root, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, ".agents", name, "node_modules", ".bin", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the %s command line is not installed; run scripts/install-agents", name)
	}
	return path
}

// Pinned is the version of a package that a lock file names. What can be installed on Linux
// on x86-64, where CI runs, must have a digest. Of other platforms a registry may not have
// the packages.
func Pinned(t *testing.T, root, name, pkg string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "fixtures", "agents", name, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Packages map[string]struct {
			Version, Integrity, Resolved string
			OS, CPU, Libc                []string
		}
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		t.Fatal(err)
	}
	has := func(list []string, name string) bool { return len(list) == 0 || slices.Contains(list, name) }
	for name, p := range lock.Packages {
		here := name != "" && has(p.OS, "linux") && has(p.CPU, "x64") && has(p.Libc, "glibc")
		if p.Resolved != "" || here && p.Integrity == "" {
			t.Errorf("the lock file names a host for %q, or no digest", name)
		}
	}
	return lock.Packages["node_modules/"+pkg].Version
}

// Played is how a process of an agent came out.
type Played struct {
	Verdict    harness.Verdict
	Exit       transcript.Exit
	Seen       []harness.Observation
	Transcript []byte
}

// Process is an agent that runs.
type Process struct {
	Signal func(syscall.Signal) error // to it and to what it has started
	rec    *recorder
}

// Printed waits until the agent has printed a line that holds a text.
func (p Process) Printed(ctx context.Context, text string) error {
	for {
		printed, more := p.rec.holds(text)
		if printed {
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Run starts the agent for a request and sees it through to its end. started may be nil;
// it can end the agent. An agent that its reader gives up is ended, too.
func Run(t *testing.T, h harness.Harness, req harness.Request, command harness.Command, started func(context.Context, Process)) Played {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, command.Args[0], command.Args[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdin = command.Env, command.Dir, bytes.NewReader(command.Stdin)
	signal := grouped(cmd)
	cmd.Cancel = func() error { return signal(syscall.SIGKILL) }

	rec := &recorder{reader: h.Reader(req), more: make(chan struct{}), giveUp: sync.OnceFunc(func() { _ = signal(command.StopSignal) })}
	rec.add(transcript.Entry{Stream: transcript.StreamStart, Start: transcript.Start{
		Harness: h.Name(), Attempt: req.Attempt, Model: req.Model, Session: req.Session,
		SessionCost: req.SessionCost, SessionTokens: transcript.Counted(req.SessionTokens),
	}})
	var lines sync.WaitGroup
	for stream, pipe := range map[transcript.Stream]func() (io.ReadCloser, error){
		transcript.Stdout: cmd.StdoutPipe, transcript.Stderr: cmd.StderrPipe,
	} {
		out, err := pipe()
		if err != nil {
			t.Fatal(err)
		}
		lines.Go(func() { rec.copy(stream, out) })
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if started != nil {
		started(ctx, Process{signal, rec})
	}
	lines.Wait()
	_ = cmd.Wait() // the state says more than the error
	if ctx.Err() != nil {
		t.Fatal("the agent did not end")
	}
	exit := exitOf(cmd.ProcessState)
	rec.add(transcript.Entry{Stream: transcript.StreamExit, Exit: exit})
	return Played{rec.reader.End(exit.Code, exit.Signal), exit, rec.seen, rec.text}
}

// recorder writes the transcript while the reader reads.
type recorder struct {
	mu     sync.Mutex
	reader harness.Reader
	giveUp func()
	text   []byte
	seen   []harness.Observation
	more   chan struct{} // closed when there is more text
}

// holds reports whether the transcript holds a text, and what is closed when there is more.
func (r *recorder) holds(text string) (bool, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return bytes.Contains(r.text, []byte(text)), r.more
}

func (r *recorder) add(e transcript.Entry) {
	e.At = time.Now()
	r.text = e.Append(r.text)
}

// see keeps what a line meant. An agent that its reader gives up is ended.
func (r *recorder) see(observations []harness.Observation) {
	r.seen = append(r.seen, observations...)
	for _, o := range observations {
		if waits, is := o.(harness.Retrying); is && waits.GivenUp != nil {
			r.giveUp()
		}
	}
}

func (r *recorder) copy(stream transcript.Stream, out io.Reader) {
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if line = bytes.TrimSuffix(line, []byte("\n")); len(line) > 0 {
			r.mu.Lock()
			read := r.reader.Line
			repeating, is := r.reader.(harness.Repeating)
			switch {
			case stream == transcript.Stderr:
				read = r.reader.Stderr
			case is && repeating.Repeats(line):
				read = nil
			}
			if read != nil {
				r.add(transcript.Entry{Stream: stream, Line: line})
				r.see(read(line))
				close(r.more)
				r.more = make(chan struct{})
			}
			r.mu.Unlock()
		}
		if err != nil {
			return
		}
	}
}

// Read plays a recorded transcript of one turn to a reader.
func Read(t *testing.T, h harness.Harness, file string) (harness.Verdict, []harness.Observation) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r harness.Reader
	var seen []harness.Observation
	for e, err := range transcript.Read(f) {
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		switch e.Stream {
		case transcript.StreamStart:
			r = h.Reader(harness.Request{Model: e.Start.Model, Session: e.Start.Session, SessionCost: e.Start.SessionCost, SessionTokens: e.Start.SessionTokens.Tokens()})
		case transcript.Stdout:
			seen = append(seen, r.Line(e.Line)...)
		case transcript.Stderr:
			seen = append(seen, r.Stderr(e.Line)...)
		case transcript.StreamExit:
			return r.End(e.Exit.Code, e.Exit.Signal), seen
		}
	}
	t.Fatalf("%s: the transcript has no end", file)
	return harness.Verdict{}, nil
}

// Names lists a folder.
func Names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}
