package conformance

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hank/runtime/harness"
	"hank/runtime/harness/transcript"
)

// Subject is a harness that is to be held to its promises.
type Subject struct {
	Harness  harness.Harness
	Provider string // of the requests
	Model    string
	// Environ are variables that the agent needs for Command and Check, such as a key that
	// nobody has to accept. HOME is always a directory of the test's own: the suite lays files
	// into it. Only Live can name another one.
	Environ []string
	// Login writes a login with a secret in it into the home of a user who has no key in
	// Environ; nil: the agent has no logins. LoginEnviron are the variables then.
	Login        func(t testing.TB, home, secret string)
	LoginEnviron []string
	// Recordings are files with transcripts of the agent, of one turn each.
	Recordings []string
	// ExitDecides is set if the exit status alone says how it ended, and the agent has no event
	// for it.
	ExitDecides bool
	// Overcome is an exit status that the agent also has after an error that it has overcome, so
	// that its events decide; 0: there is none.
	Overcome int
	// Plays is set if the harness plays a recording: the session is that of the recording.
	Plays bool
	// Live are prompts; nil: the agent is not started.
	Live *Live
}

// Live are prompts that the agent is started with.
type Live struct {
	// Good is one that it does well, and soon. Each is a turn, and costs what it costs.
	Good string
	// Environ are the variables that the agent is started with, besides those of the Subject:
	// where it needs its user's HOME, that is in it. The suite writes nothing there.
	Environ []string
	// Long is one that would keep it busy for minutes; empty: the stop signal is not tried.
	Long string
	// Started waits until the agent works on Long; nil: it is stopped as soon as it was started.
	Started func(ctx context.Context, req harness.Request) error
}

// request is one with directories of its own, and an environment in which nothing is of the
// test's machine.
func (s Subject) request(t testing.TB, environ []string) harness.Request {
	t.Helper()
	home := real(t, t.TempDir())
	req := harness.Request{
		Prompt: "CONFORMANCE-PROMPT", SystemPrompt: "CONFORMANCE-SYSTEM", Model: s.Model, Provider: s.Provider, Attempt: "conformance/1",
		Workspace: real(t, t.TempDir()), Home: real(t, t.TempDir()), Temp: real(t, t.TempDir()), AutoCompact: true,
	}
	req.Environ = append(append([]string{"PATH=" + os.Getenv("PATH")}, environ...), "HOME="+home)
	return req
}

// real is a directory without links in its path.
func real(t testing.TB, dir string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// userHome is the home of the user of a request.
func userHome(req harness.Request) string { return harness.NewEnviron(req.Environ)["HOME"] }

// recording is a transcript of one turn.
type recording struct {
	name  string
	start transcript.Start
	lines []line
	exit  transcript.Exit
}

type line struct {
	stream transcript.Stream
	text   []byte
}

func load(file string) (r recording, err error) {
	f, err := os.Open(file)
	if err != nil {
		return r, err
	}
	defer f.Close()
	r.name = strings.TrimSuffix(filepath.Base(file), ".jsonl")
	for e, err := range transcript.Read(f) {
		if err != nil {
			return r, err
		}
		switch e.Stream {
		case transcript.StreamStart:
			r.start = e.Start
		case transcript.StreamExit:
			r.exit = e.Exit
		default:
			r.lines = append(r.lines, line{e.Stream, e.Line})
		}
	}
	return r, nil
}

// output is the standard output.
func (r recording) output() (out []byte) {
	for _, l := range r.lines {
		if l.stream == transcript.Stdout {
			out = append(append(out, l.text...), '\n')
		}
	}
	return out
}

// dice are random, and the same each time.
func dice(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 17)) }
