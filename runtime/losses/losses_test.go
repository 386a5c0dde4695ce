package losses

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hank/recovery/layout"
	"hank/runtime/harness/transcript"
	"hank/state"
)

// TestWhatIsProvenOfATranscript changes the transcripts of records in several ways. Only what
// a record proves may be called lost.
func TestWhatIsProvenOfATranscript(t *testing.T) {
	t.Parallel()
	line := func(s transcript.Stream) string {
		return string(transcript.Entry{At: time.Unix(1, 0), Stream: s, Line: []byte("x")}.Append(nil))
	}
	begun := line(transcript.StreamStart) + line(transcript.Stdout)
	whole := begun + line(transcript.StreamExit)
	exitAt := func(n int) string {
		return string(transcript.Entry{At: time.Unix(1, 0), Stream: transcript.StreamExit, Exit: transcript.Exit{Offset: int64(n)}}.Append(nil))
	}
	completed := state.Codon{Harness: "shell", Status: state.Completed}
	failed := func(interrupted, class string) state.Codon {
		return state.Codon{Harness: "shell", Status: state.Failed, FailedDuring: state.Running, Interrupted: interrupted, FailureReason: &state.FailureReason{Class: class}}
	}
	const lost = "; what hank had written to it is lost"
	for name, c := range map[string]struct {
		record state.Codon
		text   string // none: no file; no run: nor its directory
		want   string
	}{
		"whole":                                   {completed, whole, ""},
		"whole, of two turns":                     {completed, whole + whole, ""},
		"empty":                                   {completed, "", "the transcript is empty" + lost},
		"empty, of a run that goes on":            {state.Codon{Harness: "shell", Status: state.Running}, "", "the transcript is empty" + lost},
		"begun, of a run that goes on":            {state.Codon{Harness: "shell", Status: state.Running}, begun, ""},
		"empty, of Hankweave's":                   {state.Codon{Status: state.Completed}, "", "the transcript is empty"},
		"of Hankweave's":                          {state.Codon{Status: state.Completed}, "{}\n", ""},
		"gone":                                    {completed, "none", "no such transcript: PATH" + lost},
		"gone, of Hankweave's":                    {state.Codon{Status: state.Completed}, "none", "no such transcript: PATH"},
		"gone with its directory":                 {completed, "no run", "no such transcript: PATH"},
		"cut at a line":                           {completed, begun, "the transcript has lost its end"},
		"cut in a line":                           {completed, whole[:len(whole)-1], "the transcript has lost its end"},
		"cut in its first line":                   {completed, whole[:5], "the transcript has lost its end"},
		"cut, of a codon that failed":             {failed("", "exit"), begun, "the transcript has lost its end"},
		"cut, of a codon that was stopped":        {failed("stop", "interrupted"), begun, "the transcript has lost its end"},
		"whole, with the place of its exit":       {completed, begun + exitAt(len(begun)), ""},
		"without a line before its end":           {completed, line(transcript.StreamStart) + exitAt(len(begun)), "the transcript has lost a part before its end"},
		"with lines that somebody has added":      {completed, begun + begun + exitAt(len(begun)), ""},
		"without an exit after a crash":           {failed(state.InterruptedByCrash, "interrupted"), begun, ""},
		"without an exit after a pause":           {failed(state.InterruptedByPause, "interrupted"), begun, ""},
		"of a turn that did not begin":            {failed("", "start"), begun, ""},
		"a long last line, and no exit after it":  {completed, begun + strings.Repeat("x", 1<<16) + "\n", "the transcript has lost its end"},
		"a long last line, and its exit after it": {completed, begun + strings.Repeat("x", 1<<16) + "\n" + line(transcript.StreamExit), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := layout.LayoutOf(t.TempDir())
			path := l.Transcript("1-a", "one", 1)
			record := c.record
			record.CodonID, record.ClaudeLogPath = "one", l.Relative(path)
			if c.text != "no run" {
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if c.text != "no run" && c.text != "none" {
				if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got := strings.ReplaceAll(Text(l, &record), path, "PATH"); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	if got := Text(layout.LayoutOf(t.TempDir()), &state.Codon{}); got != "" {
		t.Errorf("of a record without a transcript: %q", got)
	}
}
