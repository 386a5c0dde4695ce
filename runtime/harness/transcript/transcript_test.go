package transcript

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// lines draws what agents print: JSON as it comes, text, and bytes.
func lines() *rapid.Generator[[]byte] {
	return rapid.OneOf(
		rapid.SampledFrom([][]byte{
			{}, []byte("{}"), []byte(`{"a" : 1.0, "a":2}`), []byte(`{"t":"<b>&\u2028"}`), []byte(`{},"exit":{"code":0}`), []byte(`{"a":1}}`),
			[]byte(" {}"), []byte("{} \r"), []byte("{\"a\":\"\xff\"}"), []byte("null"), []byte("[1]"), []byte("{\r}"), []byte("\xff"),
			[]byte(strings.Repeat(`{"a":`, 9999) + "1" + strings.Repeat("}", 9999)),
			[]byte(strings.Repeat(`{"a":`, 12000) + "1" + strings.Repeat("}", 12000)),
		}),
		rapid.Custom(func(t *rapid.T) []byte {
			text, err := json.Marshal(map[string]string{rapid.String().Draw(t, "key"): rapid.String().Draw(t, "value")})
			if err != nil {
				t.Fatal(err)
			}
			return text
		}),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\n"), nil) }),
	)
}

// TestLinesSurviveByteForByte writes whole transcripts and reads them back.
func TestLinesSurviveByteForByte(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		at := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)
		want := []Entry{{At: at, Stream: StreamStart, Start: Start{
			Schema: Schema, Harness: "claude", Session: rapid.String().Draw(t, "session"), SessionCost: 12_500_000,
		}}}
		for _, line := range rapid.SliceOfN(lines(), 0, 8).Draw(t, "lines") {
			at = at.Add(time.Duration(rapid.IntRange(0, 5_000_000).Draw(t, "pause")) * time.Microsecond)
			stream := rapid.SampledFrom([]Stream{Stdout, Stderr}).Draw(t, "stream")
			want = append(want, Entry{At: at, Stream: stream, Line: line})
		}
		want = append(want, Entry{At: at, Stream: StreamExit, Exit: Exit{Code: -1, Signal: "SIGTERM"}})
		var text []byte
		for _, e := range want {
			text = e.Append(text)
		}
		if n := bytes.Count(text, []byte("\n")); n != len(want) {
			t.Fatalf("%d lines for %d entries", n, len(want))
		}
		var got []Entry
		for e, err := range Read(bytes.NewReader(text)) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e)
		}
		if len(got) != len(want) {
			t.Fatalf("%d entries, want %d", len(got), len(want))
		}
		for i := range want {
			if !bytes.Equal(got[i].Line, want[i].Line) {
				t.Fatalf("line %d became %.100q, want %.100q", i, got[i].Line, want[i].Line)
			}
			got[i].Line, want[i].Line = nil, nil
			if !reflect.DeepEqual(got[i], want[i]) {
				t.Fatalf("entry %d became %+v, want %+v", i, got[i], want[i])
			}
		}
	})
}

// TestATornTailIsNoEntry cuts a transcript at every byte.
func TestATornTailIsNoEntry(t *testing.T) {
	t.Parallel()
	var text []byte
	ends := map[int]int{0: 0}
	for i, e := range []Entry{
		{Stream: StreamStart, Start: Start{Harness: "shell"}},
		{Stream: Stdout, Line: []byte(`{"type":"x"}`)},
		{Stream: Stderr, Line: []byte("text")},
		{Stream: StreamExit},
	} {
		text = e.Append(text)
		ends[len(text)] = i + 1
	}
	whole := 0
	for cut := 0; cut <= len(text); cut++ {
		if n, ok := ends[cut]; ok {
			whole = n
		}
		got := 0
		for _, err := range Read(bytes.NewReader(text[:cut])) {
			if err != nil {
				t.Fatalf("cut at %d: %v", cut, err)
			}
			got++
		}
		if got != whole {
			t.Fatalf("cut at %d: %d entries, want %d", cut, got, whole)
		}
	}
}

func TestWhatIsNoTranscriptIsRefused(t *testing.T) {
	t.Parallel()
	start := string(Entry{Stream: StreamStart, Start: Start{Harness: "shell"}}.Append(nil))
	for text, want := range map[string]string{
		"hello\n":                    "line 1",
		"{}\n":                       "line 1",
		start + "{\"at\":1}\n":       "line 2",
		`{"stream":"stdout"}` + "\n": "line 1",
		strings.Replace(start, `"schema":1`, `"schema":2`, 1): "newer hank",
	} {
		var err error
		for _, e := range Read(strings.NewReader(text)) {
			err = e
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error with %q", text, err, want)
		}
	}
}
