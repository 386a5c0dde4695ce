// Package conformance is a suite of tests: what hank relies on in a harness, one subtest
// for each promise. All harnesses of hank pass it; so must one that is added, and so can
// a program that speaks the protocol of docs/exec-harness.md:
//
//	func TestMine(t *testing.T) {
//		conformance.Test(t, conformance.Subject{
//			Harness: exec.Harness{Program: []string{"/opt/mine"}}, Provider: "exec", Model: "mine",
//			Live: &conformance.Live{Good: "Say hello.", Long: "Count to a million, slowly."},
//		})
//	}
//
// A Subject is a harness with what the suite cannot know: its recordings, its user's login,
// prompts to try it with. What is left out is not tried, and the subtest is skipped.
//
//   - The command: named by its promises to the keeper (directory, signal), to the user
//     (nothing is written but in the agent's own directories, a login is linked and not
//     copied, nobody else's secrets are handed on) and to the machine (no prompt in the list
//     of processes).
//   - The reader, by recordings: the session is named before what happens in it, figures of
//     use never fall, there is no success without the agent's own good end, a good exit and
//     the right session, and no line whatever makes a failure a success.
//   - The agent itself, where there are prompts: a session is continued or refused, the stop
//     signal ends it, and what it prints is read whole.
//
// The package judges a harness, and not a model: it asks no provider by itself. It must not
// be imported by the program.
package conformance

import (
	"bytes"
	"strings"
	"testing"

	"hank/runtime/harness"
)

// Test runs the suite, one subtest for each promise. It can be called by a parallel test.
func Test(t *testing.T, s Subject) {
	t.Run("command", func(t *testing.T) { s.commands(t) })
	t.Run("check", func(t *testing.T) { s.checks(t) })
	t.Run("reader", func(t *testing.T) { s.readers(t) })
	t.Run("recordings", func(t *testing.T) { s.recordings(t) })
	t.Run("live", func(t *testing.T) { s.live(t) })
}

// Fuzz gives the reader lines that nobody has thought of. Its seeds are the recordings.
func Fuzz(f *testing.F, s Subject) {
	for _, file := range s.Recordings {
		if r, err := load(file); err == nil {
			f.Add(r.output(), r.exit.Code, r.start.Session)
			_, headless, _ := bytes.Cut(r.output(), []byte("\n")) // what named the session is missing
			f.Add(headless, r.exit.Code, r.start.Session)
		}
	}
	f.Add([]byte("{}\n[]\nnull\n\x00\xff\n{\"type\":null}\n"), 0, "")
	f.Fuzz(func(t *testing.T, out []byte, code int, session string) {
		r := s.Harness.Reader(harness.Request{Attempt: "a", Model: s.Model, Provider: s.Provider, Session: session})
		w := s.watcher(t)
		w.anything = true
		for line := range strings.SplitSeq(string(out), "\n") {
			w.see(r.Line([]byte(line)))
			if len(line) > 0 && line[0]%8 == 0 {
				w.see(r.Stderr([]byte(line)))
			}
		}
		w.end(r.End(code, "SIGKILL"), code)
	})
}
