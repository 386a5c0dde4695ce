package codon

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"hank/internal/short"
	"hank/runtime/harness"
	"hank/runtime/harness/transcript"
)

// TestAnEndlessLineWaitsForWhoReadsIt: what was printed and is not dealt with
// yet is bounded in bytes, and comes whole and in order.
func TestAnEndlessLineWaitsForWhoReadsIt(t *testing.T) {
	t.Parallel()
	const chunks, size = 5 * longestLine >> 20, 1 << 20
	b := newBacklog()
	go func() {
		s := &splitter{stream: transcript.Stdout, to: b}
		for n := range chunks {
			if _, err := s.Write(bytes.Repeat([]byte{byte('a' + n%26)}, size)); err != nil {
				t.Error(err)
			}
		}
		s.flush()
		close(b.queue)
	}()
	total, most := 0, 0
	for line := range b.queue {
		for at := 0; at < len(line.text); at += size {
			if want := byte('a' + (total+at)/size%26); line.text[at] != want {
				t.Fatalf("byte %d is %c, want %c", total+at, line.text[at], want)
			}
		}
		total += len(line.text)
		if len(line.text) > longestLine {
			t.Errorf("a piece has %d bytes", len(line.text))
		}
		b.mu.Lock()
		most = max(most, b.bytes)
		b.mu.Unlock()
		b.done(line)
	}
	if total != chunks*size || most > maxBacklog {
		t.Errorf("%d bytes came of %d, and %d were on the way at once", total, chunks*size, most)
	}
}

// TestWhoPrintsWithoutAnEndWaits: in one line or in many, no more is taken from an
// agent than there is room for, until somebody has dealt with it.
func TestWhoPrintsWithoutAnEndWaits(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for name, chunk := range map[string][]byte{
		"one line":   bytes.Repeat([]byte("x"), 1<<20),
		"many lines": append(bytes.Repeat([]byte("x"), 1<<20-1), '\n'),
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBacklog()
			s := &splitter{stream: transcript.Stdout, to: b}
			const all = 3 * maxBacklog
			written := 0
			go func() {
				for written < all {
					n, _ := s.Write(chunk)
					written += n
				}
				s.flush()
				close(b.queue)
			}()
			dealtWith := 0
			for {
				synctest.Wait() // nobody has anything to do but wait
				if held := written - dealtWith; held > maxBacklog+longestLine {
					t.Fatalf("%s: %d bytes were taken and not dealt with", name, held)
				}
				line, more := <-b.queue
				if !more {
					break
				}
				dealtWith += len(line.text) + len(chunk) - len(bytes.TrimSuffix(chunk, []byte("\n")))
				b.done(line)
			}
			if dealtWith != all {
				t.Errorf("%s: %d bytes of %d came", name, dealtWith, all)
			}
		})
	}
}

// TestLinesAreWhatStandsBetweenNewlines, however the stream comes in pieces.
func TestLinesAreWhatStandsBetweenNewlines(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	text := strings.Repeat("one\n\ntwo three\n", 500) + strings.Repeat("x", longestLine) + "\n" + strings.Repeat("y", longestLine+5) + "\nlast"
	want := append(strings.Split(strings.Repeat("one\n\ntwo three\n", 500), "\n")[:1500],
		strings.Repeat("x", longestLine), strings.Repeat("y", longestLine), "yyyyy", "last")
	b := newBacklog()
	go func() {
		s, rng := &splitter{to: b}, rand.New(rand.NewPCG(1, 1))
		for rest := []byte(text); len(rest) > 0; {
			n := min(len(rest), 1+rng.IntN(200_000))
			_, _ = s.Write(rest[:n])
			rest = rest[n:]
		}
		s.flush()
		close(b.queue)
	}()
	n := 0
	for line := range b.queue {
		if n >= len(want) || string(line.text) != want[n] {
			t.Fatalf("line %d is %.20q (%d bytes)", n, line.text, len(line.text))
		}
		n++
		b.done(line)
	}
	if n != len(want) || b.bytes != 0 {
		t.Errorf("%d lines of %d; %d bytes are still on the way", n, len(want), b.bytes)
	}
}

// repeating is a reader of an agent that repeats itself.
type repeating struct{ harness.Reader }

func (repeating) Repeats(line []byte) bool { return bytes.HasPrefix(line, []byte("grows")) }

func (repeating) Line([]byte) []harness.Observation   { return []harness.Observation{harness.Notice{}} }
func (repeating) Stderr([]byte) []harness.Observation { return nil }

// TestWhatAnAgentRepeatsIsNotKept: neither in the transcript nor for whoever watches.
func TestWhatAnAgentRepeatsIsNotKept(t *testing.T) {
	t.Parallel()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	seen := 0
	turn := &turn{reader: repeating{}, log: log, observe: func(harness.Observation) (bool, error) { seen++; return false, nil }}
	for _, line := range []printed{
		{transcript.Stdout, []byte("grows 1")}, {transcript.Stdout, []byte("grows 2")}, {transcript.Stdout, []byte("whole")}, {transcript.Stderr, []byte("grows on its own")},
	} {
		if _, err := turn.line(line); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(log.Name())
	if err != nil {
		t.Fatal(err)
	}
	if kept := string(text); seen != 1 || strings.Contains(kept, "grows 1") || strings.Contains(kept, "grows 2") || !strings.Contains(kept, "whole") || !strings.Contains(kept, "on its own") {
		t.Errorf("%d observations, and this was kept:\n%s", seen, kept)
	}
}
