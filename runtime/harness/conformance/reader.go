package conformance

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hank/internal/race"
	"hank/runtime/harness"
	"hank/runtime/harness/transcript"
)

// play reads lines as of the recording's request. change may be nil.
func (s Subject) play(r recording, lines []line, exit transcript.Exit, w *watcher, change func(*harness.Request)) harness.Verdict {
	req := harness.Request{Attempt: r.start.Attempt, Model: r.start.Model, Session: r.start.Session, SessionCost: r.start.SessionCost, SessionTokens: r.start.SessionTokens.Tokens()}
	if change != nil {
		change(&req)
	}
	reader := s.Harness.Reader(req)
	for _, l := range lines {
		read := reader.Line
		if l.stream == transcript.Stderr {
			read = reader.Stderr
		}
		seen := read(l.text)
		if w != nil {
			w.see(seen)
		}
	}
	v := reader.End(exit.Code, exit.Signal)
	if w != nil {
		w.end(v, exit.Code)
	}
	return v
}

// garbage are lines that mean nothing to anybody.
func garbage() [][]byte {
	return [][]byte{
		nil, []byte(" \t\r"), []byte("{"), []byte("}"), []byte("[]"), []byte("null"), []byte("5"), []byte(`"result"`), []byte("{}"), []byte(`{"type":null}`), []byte(`{"type":5}`),
		[]byte(`{"type":"no-such-type-of-anybody","ok":true,"subtype":"success"}`), []byte("\x00"), []byte("\xff\xfe{\x00}"), []byte("\x1b]0;title\x07\x1b[2J"),
		[]byte(strings.Repeat("[", 20_000)), []byte(`{"a":` + strings.Repeat(`{"a":`, 5_000)), []byte("::hank nothing"), []byte("data: {}"),
	}
}

// readers are the promises that need no recording.
func (s Subject) readers(t *testing.T) {
	reader := func() harness.Reader {
		return s.Harness.Reader(harness.Request{Attempt: "a", Model: s.Model, Provider: s.Provider})
	}
	t.Run("nothing printed is no success", func(t *testing.T) {
		w := s.watcher(t)
		v := reader().End(0, "")
		if w.end(v, 0); v.Success && !s.ExitDecides {
			t.Errorf("%+v", v)
		}
		for code, signal := range map[int]string{1: "", 127: "", -1: "SIGKILL"} {
			v := reader().End(code, signal)
			if w.end(v, code); v.Success {
				t.Errorf("exit status %d: %+v", code, v)
			}
		}
	})
	t.Run("any line is borne, on both streams", func(t *testing.T) {
		r, w := reader(), s.watcher(t)
		for _, l := range garbage() {
			w.see(r.Line(bytes.Clone(l)))
			w.see(r.Stderr(bytes.Clone(l)))
		}
		if v := r.End(0, ""); v.Success && !s.ExitDecides {
			t.Errorf("%+v", v)
		}
	})
	t.Run("a line of ten megabytes is borne", func(t *testing.T) {
		r, w := reader(), s.watcher(t)
		long := bytes.Repeat([]byte("x"), 10<<20/race.Step)
		for _, l := range [][]byte{long, append(append([]byte(`{"type":"message","text":"`), long...), `"}`...)} {
			w.see(r.Line(l))
			w.see(r.Stderr(l))
		}
		w.end(r.End(1, ""), 1)
	})
}

// recordings are the promises that recordings show.
func (s Subject) recordings(t *testing.T) {
	if len(s.Recordings) == 0 {
		t.Skip("there are no recordings")
	}
	good, continued := 0, 0
	for n, file := range s.Recordings {
		r, err := load(file)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		whole := s.play(r, r.lines, r.exit, nil, nil)
		if whole.Success {
			good++
		}
		if r.start.Session != "" {
			continued++
		}
		if n%race.Step != 0 && !(whole.Success && good == 1) {
			continue
		}
		t.Run(r.name, func(t *testing.T) { s.recording(t, r, whole, uint64(n)) })
	}
	if good == 0 {
		t.Error("no recording is of a success: little was tried")
	}
	t.Logf("%d recordings, %d of a success, %d of a session that was continued", len(s.Recordings), good, continued)
}

func (s Subject) recording(t *testing.T, r recording, whole harness.Verdict, seed uint64) {
	t.Run("the session is named first, and figures only grow", func(t *testing.T) { s.play(r, r.lines, r.exit, s.watcher(t), nil) })
	t.Run("no success without the good end", func(t *testing.T) { s.needsItsEnd(t, r, whole) })
	t.Run("no success with a bad exit", func(t *testing.T) {
		for _, exit := range []transcript.Exit{{Code: 1}, {Code: 42}, {Code: -1, Signal: "SIGKILL"}, {Code: -1, Signal: "SIGTERM"}} {
			if v := s.play(r, r.lines, exit, s.watcher(t), nil); v.Success && (exit.Code != s.Overcome || exit.Code == 0) {
				t.Errorf("a success with %+v", exit)
			}
		}
	})
	t.Run("no success in another session", func(t *testing.T) {
		if s.Plays {
			t.Skip("the session is that of the recording")
		}
		const asked = "the-session-that-was-asked-for"
		if v := s.play(r, r.lines, r.exit, nil, func(req *harness.Request) { req.Session = asked }); v.Success && v.Session != asked {
			t.Errorf("session %s was to be continued, and %s is a success", asked, v.Session)
		}
	})
	t.Run("lines are not kept", func(t *testing.T) { s.keepsNoLine(t, r, whole) })
	t.Run("garbage in between changes nothing", func(t *testing.T) { s.bearsGarbage(t, r, whole, seed) })
	t.Run("a line that was cut is borne, and no end is made of it", func(t *testing.T) { s.bearsCuts(t, r, whole, seed) })
	t.Run("what is in no transcript means nothing", func(t *testing.T) { s.canLeaveOut(t, r, whole) })
}

// needsItsEnd takes away the line by which a success became one, and every ending.
func (s Subject) needsItsEnd(t *testing.T, r recording, whole harness.Verdict) {
	if s.ExitDecides {
		t.Skip("the exit status alone decides")
	}
	exit := transcript.Exit{}
	decisive, before := -1, false
	for n := range len(r.lines) + 1 {
		v := s.play(r, r.lines[:n], exit, s.watcher(t), nil)
		if v.Success && !v.ResultSeen {
			t.Errorf("a success after %d lines, and the agent has reported no end", n)
		}
		if v.Success && !before {
			decisive = n - 1
		}
		before = v.Success
	}
	switch {
	case !whole.Success:
		return
	case decisive < 0:
		t.Error("a success before anything was printed")
		return
	}
	without := slices.Delete(slices.Clone(r.lines), decisive, decisive+1)
	if v := s.play(r, without, exit, s.watcher(t), nil); v.Success {
		t.Errorf("a success without line %d: %.200s", decisive+1, r.lines[decisive].text)
	}
}

// same compares what two verdicts say of the agent, but for the text of failures.
func same(a, b harness.Verdict) error {
	if a.Failure != nil && b.Failure != nil {
		x, y := *a.Failure, *b.Failure
		if x.Class != y.Class || x.Rule != y.Rule {
			return fmt.Errorf("the failure is %s by %s, and was %s by %s", x.Class, x.Rule, y.Class, y.Rule)
		}
	}
	a.Failure, b.Failure = nil, nil
	if !reflect.DeepEqual(a, b) {
		return fmt.Errorf("the verdict is\n%+v, and was\n%+v", a, b)
	}
	return nil
}

// keepsNoLine gives the reader all lines in one piece of memory.
func (s Subject) keepsNoLine(t *testing.T, r recording, whole harness.Verdict) {
	longest := 0
	for _, l := range r.lines {
		longest = max(longest, len(l.text))
	}
	memory := make([]byte, longest)
	reader := s.Harness.Reader(harness.Request{Attempt: r.start.Attempt, Model: r.start.Model, Session: r.start.Session, SessionCost: r.start.SessionCost, SessionTokens: r.start.SessionTokens.Tokens()})
	for _, l := range r.lines {
		read := reader.Line
		if l.stream == transcript.Stderr {
			read = reader.Stderr
		}
		read(memory[:copy(memory, l.text)])
		for i := range memory {
			memory[i] = '~'
		}
	}
	if err := same(reader.End(r.exit.Code, r.exit.Signal), whole); err != nil {
		t.Error(err)
	}
}

func (s Subject) bearsGarbage(t *testing.T, r recording, whole harness.Verdict, seed uint64) {
	dice := dice(seed)
	for range 4 {
		lines := slices.Clone(r.lines)
		for _, l := range garbage() {
			lines = slices.Insert(lines, dice.IntN(len(lines)+1), line{transcript.Stdout, l})
		}
		v := s.play(r, lines, r.exit, nil, nil)
		if v.Success != whole.Success || v.Session != whole.Session || !reflect.DeepEqual(v.Usage, whole.Usage) {
			t.Errorf("the verdict is\n%+v %+v, and was\n%+v %+v", v, v.Failure, whole, whole.Failure)
		}
	}
}

func (s Subject) bearsCuts(t *testing.T, r recording, whole harness.Verdict, seed uint64) {
	dice := dice(seed)
	for range 8 {
		var lines []line
		for _, l := range r.lines {
			if len(l.text) < 2 || dice.IntN(3) > 0 {
				lines = append(lines, l)
				continue
			}
			cut := 1 + dice.IntN(len(l.text)-1)
			lines = append(lines, line{l.stream, l.text[:cut]}, line{l.stream, l.text[cut:]})
		}
		w := s.watcher(t)
		w.anything = true
		if v := s.play(r, lines, r.exit, w, nil); v.Success && !whole.ResultSeen {
			t.Errorf("cut, it is a success: %+v", v)
		}
	}
}

// canLeaveOut leaves out the lines that the reader calls repetitions.
func (s Subject) canLeaveOut(t *testing.T, r recording, whole harness.Verdict) {
	reader := s.Harness.Reader(harness.Request{Attempt: r.start.Attempt, Model: r.start.Model, Session: r.start.Session})
	repeating, is := reader.(harness.Repeating)
	if !is {
		t.Skip("everything is in the transcript")
	}
	for _, l := range slices.Clone(r.lines) {
		if l.stream == transcript.Stdout && repeating.Repeats(l.text) {
			if seen := reader.Line(l.text); len(seen) > 0 {
				t.Errorf("a repetition means %+v", seen)
			}
			r.lines = slices.DeleteFunc(slices.Clone(r.lines), func(x line) bool { return bytes.Equal(x.text, l.text) })
		}
	}
	if err := same(s.play(r, r.lines, r.exit, nil, nil), whole); err != nil {
		t.Error(err)
	}
}
