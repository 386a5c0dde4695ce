package recovery

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hank/recovery/execution"
	"hank/state"
)

// TestDowntimeIsNotWork: an attempt whose runtime and machine went away has
// ended at its last sign of life, whenever that is found.
func TestDowntimeIsNotWork(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 1, 22, 0, 0, 0, time.UTC)
	line := func(after time.Duration) string {
		return fmt.Sprintf(`{"at":%q,"stream":"stdout","line":"x"}`+"\n", start.Add(after).Format(time.RFC3339Nano))
	}
	for name, c := range map[string]struct {
		note       time.Duration // of the last event of the codon; 0 is none
		transcript string
		reap       []string
		upto       state.CodonStatus
		paused     bool
		want       time.Duration
	}{
		"nothing but its start":       {upto: state.Starting, want: 0},
		"an event":                    {note: 7 * time.Minute, upto: state.Running, want: 7 * time.Minute},
		"the transcript":              {note: 7 * time.Minute, transcript: line(time.Minute) + line(9*time.Minute), upto: state.Running, want: 9 * time.Minute},
		"a torn line":                 {transcript: line(9*time.Minute) + strings.TrimSpace(line(20*time.Minute)), upto: state.Running, want: 9 * time.Minute},
		"lines that are no entries":   {transcript: line(9*time.Minute) + "{}\n[]\nwhat?\n\n", upto: state.Running, want: 9 * time.Minute},
		"a transcript of the future":  {transcript: line(999 * time.Hour), note: time.Minute, upto: state.Running, want: time.Minute},
		"done, and no checkpoint yet": {note: 7 * time.Minute, upto: state.CompletingSentinels, want: 7 * time.Minute},
		"paused":                      {note: 7 * time.Minute, upto: state.Running, paused: true, want: 8 * time.Minute},
		"alive until it was ended":    {note: 7 * time.Minute, reap: []string{"1 (sleep)"}, upto: state.Running, want: 9 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := start
			clock := func() time.Time { return now }
			root := filepath.Join(t.TempDir(), "x")
			a := begin(t, root, 12, CreateOptions{Options: execution.Options{FS: fast, Now: clock}})
			ok(t, a.start())
			if err := a.play(attempt{end: state.Completed, upto: c.upto}); err != errCut {
				t.Fatalf("it was not cut off: %v", err)
			}
			if c.note > 0 {
				now = start.Add(c.note)
				ok(t, a.x.Note("assistant.action", map[string]any{"codonId": "first", "action": "message"}))
			}
			if c.paused {
				now = start.Add(8 * time.Minute)
				ok(t, a.x.Record(state.RunPaused{RunID: a.run, Time: a.x.Now(), Reason: state.EndError, Detail: "the disk"}))
			}
			if c.transcript != "" {
				put(t, filepath.Join(root, "log"), []byte(c.transcript))
				ok(t, os.Chtimes(filepath.Join(root, "log"), now, now.Add(time.Hour)))
			}
			ok(t, a.x.Close())

			now = start.Add(9 * time.Hour)
			x := must(Open(context.Background(), root, execution.Options{FS: fast, Now: clock, Reap: func(string) ([]string, error) { return c.reap, nil }}))(t)
			record := x.State().Newest().Codon(0)
			ok(t, x.Close())
			if !record.Status.Terminal() || record.EndTime.Sub(start) != c.want {
				t.Errorf("%s after %s, want after %s", record.Status, record.EndTime.Sub(start), c.want)
			}
		})
	}
}
