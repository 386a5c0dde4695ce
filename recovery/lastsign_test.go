package recovery

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"hank/internal/vfs"
	"hank/recovery/execution"
	"hank/recovery/lock"
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
		beat       time.Duration // of the lock file that is left; 0: there is none
		holder     int           // whose it is: 0 is the run's runtime
		want       time.Duration
	}{
		"nothing but its start":        {upto: state.Starting, want: 0},
		"an event":                     {note: 7 * time.Minute, upto: state.Running, want: 7 * time.Minute},
		"the transcript":               {note: 7 * time.Minute, transcript: line(time.Minute) + line(9*time.Minute), upto: state.Running, want: 9 * time.Minute},
		"a torn line":                  {transcript: line(9*time.Minute) + strings.TrimSpace(line(20*time.Minute)), upto: state.Running, want: 9 * time.Minute},
		"lines that are no entries":    {transcript: line(9*time.Minute) + "{}\n[]\nwhat?\n\n", upto: state.Running, want: 9 * time.Minute},
		"a transcript of the future":   {transcript: line(999 * time.Hour), note: time.Minute, upto: state.Running, want: time.Minute},
		"done, and no checkpoint yet":  {note: 7 * time.Minute, upto: state.CompletingSentinels, want: 7 * time.Minute},
		"paused":                       {note: 7 * time.Minute, upto: state.Running, paused: true, want: 8 * time.Minute},
		"silent, and its runtime held": {note: time.Minute, beat: 8 * time.Minute, upto: state.Running, want: 8 * time.Minute},
		"held by another command":      {note: time.Minute, beat: 8 * time.Minute, holder: 1, upto: state.Running, want: time.Minute},
		"held after it was paused":     {note: 7 * time.Minute, beat: 30 * time.Minute, upto: state.Running, paused: true, want: 8 * time.Minute},
		"alive until it was ended":     {note: 7 * time.Minute, reap: []string{"1 (sleep)"}, upto: state.Running, want: 9 * time.Hour},
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
			left := a.x.Lock.Info
			ok(t, a.x.Close())
			if c.beat > 0 {
				left.LastHeartbeat = state.At(start.Add(c.beat))
				left.Process.PID += c.holder
				put(t, a.x.Layout.Lock(), must(json.Marshal(left))(t))
			}

			now = start.Add(9 * time.Hour)
			if c.beat > 0 { // a reader's clock is that of the machine
				v := must(Read(root))(t)
				if run := v.State.Newest(); run.Live() == nil || v.LastSign().Sub(start) != c.want {
					t.Errorf("a reader says that it has ended after %s, want after %s", v.LastSign().Sub(start), c.want)
				}
			}
			x := must(Open(context.Background(), root, execution.Options{FS: fast, Now: clock, Reap: func(string) ([]string, error) { return c.reap, nil }}))(t)
			record := x.State().Newest().Codon(0)
			ok(t, x.Close())
			if !record.Status.Terminal() || record.EndTime.Sub(start) != c.want {
				t.Errorf("%s after %s, want after %s", record.Status, record.EndTime.Sub(start), c.want)
			}
		})
	}
}

// TestAHolderShowsThatItLives: what an attempt worked without a word is known from the
// lock of its runtime.
func TestAHolderShowsThatItLives(t *testing.T) {
	t.Parallel()
	a := begin(t, filepath.Join(t.TempDir(), "x"), 12, CreateOptions{})
	defer a.x.Close()
	began := must(lock.ReadLock(vfs.OS, a.x.Layout.Lock()))(t)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		now, err := lock.ReadLock(vfs.OS, a.x.Layout.Lock())
		if err == nil && now.LastHeartbeat.After(began.LastHeartbeat.Time) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("for 20 seconds it has shown nothing: %v, %v", now, err)
		}
	}
}
