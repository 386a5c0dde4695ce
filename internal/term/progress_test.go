package term

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func at(begun time.Time, d time.Duration) time.Time { return begun.Add(d) }

func meterFor(out *strings.Builder, live bool, width int) *meter {
	begun := time.Unix(1e9, 0)
	return &meter{out: out, what: "checkpoint", live: live, begun: begun, width: func() int { return width },
		done: func() (int64, int64) { return 12345, 20_000_000 }}
}

// On a terminal the line is written again and again over itself, and is gone in
// the end.
func TestProgressOnATerminalIsOneLine(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	m := meterFor(&out, true, 80)
	m.tick(at(m.begun, 400*time.Millisecond))
	if out.Len() > 0 {
		t.Fatalf("short work is shown: %q", out.String())
	}
	m.tick(at(m.begun, time.Second))
	m.tick(at(m.begun, 2*time.Second))
	m.end(at(m.begun, 3*time.Second))
	const want = "\r\x1b[Kcheckpoint: 12,345 files, 20 MB, 20 MB/s, 1s\r\x1b[Kcheckpoint: 12,345 files, 20 MB, 10 MB/s, 2s\r\x1b[K"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestProgressWithoutACountTellsTheTime(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	m := meterFor(&out, false, 80)
	m.done = func() (int64, int64) { return 0, 0 }
	m.tick(at(m.begun, 3*time.Second))
	m.end(at(m.begun, 5*time.Second))
	if want := "checkpoint ...\ncheckpoint in 5s\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestProgressFitsANarrowTerminal(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	m := meterFor(&out, true, 20)
	m.tick(at(m.begun, time.Second))
	if want := "\r\x1b[Kcheckpoint: 12,345 "; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// Elsewhere there are plain lines, and only for work that is long.
func TestProgressElsewhereIsTwoPlainLines(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	m := meterFor(&out, false, 80)
	m.tick(at(m.begun, time.Second))
	m.end(at(m.begun, time.Second))
	if out.Len() > 0 {
		t.Fatalf("short work is told: %q", out.String())
	}
	m.tick(at(m.begun, 3*time.Second))
	m.tick(at(m.begun, 4*time.Second))
	m.end(at(m.begun, 5*time.Second))
	const want = "checkpoint ...\ncheckpoint: 12,345 files, 20 MB, 4.0 MB/s in 5s\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// What counts does so while the line is drawn; nothing is written once end has
// returned.
func TestWorkEndsBeforeEndReturns(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var n atomic.Int64
	end := Work(file, "checkpoint", func() (int64, int64) { return n.Add(1), 0 })
	n.Add(1)
	end()
	seen := n.Load()
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if n.Load() != seen {
		t.Error("it is asked for more after its end")
	}
}
