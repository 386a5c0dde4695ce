package layout

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func write(tb testing.TB, file string, bytes int) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(file, make([]byte, bytes), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// Transcripts, temporary files and homes count, with what is below them; nothing else does,
// and of very many files the first.
func TestWhatAgentsKeepIsCountedAsFarAsABound(t *testing.T) {
	t.Parallel()
	l := LayoutOf(t.TempDir())
	if n := l.AgentBytes(); n != 0 {
		t.Errorf("of nothing: %d", n)
	}
	write(t, filepath.Join(l.RunDir("r"), "a.1.jsonl"), 1)
	write(t, filepath.Join(l.Temps(), "r-a", "x"), 10)
	write(t, filepath.Join(l.Homes(), "codex", ".codex", "s"), 100)
	write(t, filepath.Join(l.Index(), "x"), 1000)
	write(t, filepath.Join(l.Root, "elsewhere"), 10000)
	if err := os.Symlink(filepath.Join(l.Root, "elsewhere"), filepath.Join(l.Homes(), "link")); err != nil {
		t.Skip(err)
	}
	if n := l.AgentBytes(); n != 111 {
		t.Errorf("counted %d bytes, want 111", n)
	}
	for i := range mostWeighed {
		if err := os.WriteFile(filepath.Join(l.Temps(), fmt.Sprint(i)), []byte("1"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if n := l.AgentBytes(); n < 1 || n >= mostWeighed {
		t.Errorf("of more files than the bound it counted %d bytes", n)
	}
}

// What is asked before each checkpoint costs the same however many files there are; where
// little room is left, it is looked each time.
func TestALookAtManyFilesIsUsedAgain(t *testing.T) {
	t.Parallel()
	l, s := LayoutOf(t.TempDir()), AgentScale{}
	write(t, filepath.Join(l.RunDir("r"), "0"), 1)
	for n := int64(1); n <= 3; n++ { // few files are looked at each time
		if got := s.Bytes(l, 1<<40); got != n {
			t.Fatalf("%d bytes, want %d", got, n)
		}
		write(t, filepath.Join(l.RunDir("r"), fmt.Sprint(n)), 1)
	}
	for i := range 2 * lookedEach {
		write(t, filepath.Join(l.RunDir("r"), fmt.Sprint("many", i)), 1)
	}
	before := s.Bytes(l, 1<<40)
	write(t, filepath.Join(l.RunDir("r"), "more"), 1)
	for range 2 {
		if got := s.Bytes(l, 1<<40); got != before {
			t.Fatalf("it looked again, and found %d bytes after %d", got, before)
		}
	}
	if got := s.Bytes(l, 1<<40); got != before+1 {
		t.Fatalf("a look is used for ever: %d bytes, want %d", got, before+1)
	}
	write(t, filepath.Join(l.RunDir("r"), "last"), 1)
	if got := s.Bytes(l, before); got != before+2 {
		t.Fatalf("%d bytes where little room is left, want %d", got, before+2)
	}
}

// BenchmarkAgentBytes is what a status pays for an execution whose agents keep very much.
func BenchmarkAgentBytes(b *testing.B) {
	l := LayoutOf(b.TempDir())
	for i := range mostWeighed {
		write(b, filepath.Join(l.Homes(), "opencode", fmt.Sprint(i/100), fmt.Sprint(i)), 10)
	}
	for b.Loop() {
		l.AgentBytes()
	}
}
