package transcript

import (
	"bytes"
	"reflect"
	"testing"
	"time"
)

// FuzzParse: an entry that can be read is written as one that reads the same.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"at":"2026-11-20T20:00:00Z","stream":"stdout","event":{"a" : 1}}`, `{"at":"2026-11-20T20:00:00.5+02:00","stream":"stderr","line":"x"}`,
		`{"at":"9999-12-31T23:59:59-23:59","stream":"stdout","base64":"/w=="}`, `{"stream":"start","start":{"schema":1}}`, `{"stream":"exit","exit":{"code":1e99}}`, `{"at":"0000-01-01T00:00:00Z","stream":"exit","exit":{}}`,
		`{"stream":"stdout","event":null}`, `{"stream":"stdout","event":"x"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := Parse(text)
		if err != nil {
			return
		}
		at := e.At.UTC().Truncate(time.Microsecond)
		if at.Year() < 0 || at.Year() > 9999 {
			return
		}
		line := e.Append(nil)
		if bytes.IndexByte(line, '\n') != len(line)-1 {
			t.Fatalf("not one line: %q", line)
		}
		back, err := Parse(line)
		if err != nil {
			t.Fatalf("it was written and cannot be read: %v: %s", err, line)
		}
		if !back.At.Equal(at) || back.Stream != e.Stream || !bytes.Equal(back.Line, e.Line) || back.Exit != e.Exit {
			t.Fatalf("%+v came back as %+v", e, back)
		}
		if e.Stream == StreamStart {
			e.Start.Schema = Schema
			if !reflect.DeepEqual(back.Start, e.Start) {
				t.Fatalf("%+v came back as %+v", e.Start, back.Start)
			}
		}
	})
}

// FuzzAppend: any line of an agent comes back byte for byte.
func FuzzAppend(f *testing.F) {
	for _, s := range []string{"{}", "\xff", `{"a":"\u2028"}`, `{},"exit":{}`, "", "x\n"} {
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, line []byte, out bool) {
		e := Entry{At: time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC), Stream: Stdout, Line: line}
		if !out {
			e.Stream = Stderr
		}
		text := e.Append(nil)
		back, err := Parse(text)
		if err != nil || bytes.IndexByte(text, '\n') != len(text)-1 || !bytes.Equal(back.Line, line) || back.Stream != e.Stream {
			t.Fatalf("%q was written as %q and came back as %q, %v", line, text, back.Line, err)
		}
	})
}
