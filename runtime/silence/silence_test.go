//go:build unix

package silence

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestWhatIsSeenOfASilence(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := &Watch{Workspace: dir, PID: os.Getpid()}
	since := time.Now()
	if e := w.Look(since, since.Add(first), Waits{}, false); e != nil {
		t.Errorf("after a second: %+v", e)
	}
	if e := w.Look(since, since.Add(Notable-time.Second), Waits{}, false); e != nil {
		t.Errorf("before it is notable: %+v", e)
	}
	if err := os.WriteFile(filepath.Join(dir, "new"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	changed := since.Add(2 * time.Second)
	if err := os.Chtimes(filepath.Join(dir, "new"), changed, changed); err != nil {
		t.Fatal(err)
	}
	e := w.Look(since, since.Add(time.Minute), WaitsFor("AskUserQuestion"), false)
	if e == nil || e.Processes == 0 || e.Changed == nil || !e.Changed.Equal(changed) || !e.Question || e.CPU < 0 || e.Observed < 20 {
		t.Fatalf("%+v", e)
	}
	for _, part := range []string{"nothing printed for 1m", "of processor time in ", "the workspace last changed ", "it has asked a question (AskUserQuestion), which nobody answers in a run"} {
		if text := e.Text(since.Add(time.Minute)); !strings.Contains(text, part) {
			t.Errorf("%q lacks %q", text, part)
		}
	}
	next := since.Add(2 * time.Minute) // it has said something: another silence
	if e := w.Look(next, next.Add(time.Second), Waits{}, true); e == nil || e.Changed != nil || e.Question || !e.Since.Equal(next) {
		t.Errorf("%+v", e)
	}
	gone := &Watch{Workspace: filepath.Join(dir, "nowhere"), PID: 1 << 22}
	if e := gone.Look(since, since.Add(time.Minute), WaitsFor("Bash"), true); e == nil || e.Processes != 0 || !strings.Contains(e.Text(since), "its processes cannot be seen; no change seen in the workspace; it waits for its tool Bash") {
		t.Errorf("%+v", e)
	}
}
