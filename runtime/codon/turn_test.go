package codon

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"

	"hank/internal/short"
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
