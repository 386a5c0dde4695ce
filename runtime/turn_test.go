package runtime

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"hank/runtime/harness/transcript"
)

// TestAnEndlessLineWaitsForWhoReadsIt: what was printed and is not dealt with
// yet is bounded in bytes, and comes whole and in order.
func TestAnEndlessLineWaitsForWhoReadsIt(t *testing.T) {
	t.Parallel()
	const chunks, size = 320, 1 << 20
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

// TestLinesAreWhatStandsBetweenNewlines, however the stream comes in pieces.
func TestLinesAreWhatStandsBetweenNewlines(t *testing.T) {
	t.Parallel()
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
