package rig

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestOutputIsKeptTheSameHoweverItIsCut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.StringOf(rapid.SampledFrom([]rune("ab \x1b[31m\xff\r\t漢…\x07"))), 0, 30).Draw(t, "lines")
		text := []byte(strings.Join(lines, "\n"))
		whole, cut := &Console{}, &Console{}
		_, _ = whole.Writer(Stdout).Write(text)
		for rest := text; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			_, _ = cut.Writer(Stdout).Write(rest[:n])
			rest = rest[n:]
		}
		whole.Finish()
		cut.Finish()
		if whole.Tail() != cut.Tail() || !slices.Equal(whole.samples(), cut.samples()) {
			t.Fatalf("%q: whole %q, cut %q", text, whole.Tail(), cut.Tail())
		}
	})
}

func TestWhatIsShownOfOutputIsShortPlainText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := &Console{}
		for _, chunk := range rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 6000)).Draw(t, "chunks") {
			_, _ = c.Writer(rapid.IntRange(0, 1).Draw(t, "stream")).Write(chunk)
			if n := len(c.streams[0].part) + len(c.streams[1].part); n > 2*longestPart {
				t.Fatalf("%d bytes are kept of unfinished lines", n)
			}
		}
		c.Finish()
		if tail := c.Tail(); len(tail) > 2*tailBytes+2*sampleWidth*utf8.UTFMax || !plainText(strings.ReplaceAll(tail, "\n", "")) {
			t.Fatalf("tail of %d bytes: %q", len(tail), tail)
		}
		for _, s := range c.samples() {
			if !plainText(s.Line) || utf8.RuneCountInString(s.Line) > sampleWidth {
				t.Fatalf("sample: %q", s.Line)
			}
		}
		if again := c.samples(); len(again) > 0 {
			t.Fatalf("seen twice: %v", again)
		}
	})
}

func plainText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

func TestTheLastLinesOfAFloodAreKept(t *testing.T) {
	t.Parallel()
	c := &Console{}
	var flood strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&flood, "line %d\n", i)
	}
	_, _ = c.Writer(Stderr).Write([]byte("the reason\n"))
	_, _ = c.Writer(Stdout).Write([]byte(flood.String()))
	want := []string{}
	for i := range tailLines {
		want = append(want, fmt.Sprintf("line %d", 100_000-tailLines+i))
	}
	if got := c.Tail(); got != strings.Join(append(want, "the reason"), "\n") {
		t.Errorf("%q", got)
	}
}

func TestLongLinesDoNotFillAMessage(t *testing.T) {
	t.Parallel()
	c := &Console{}
	for range tailLines {
		_, _ = c.Writer(Stderr).Write([]byte(strings.Repeat("x", 400) + "\n"))
	}
	if n := len(c.Tail()); n > tailBytes || n < 400 {
		t.Errorf("%d bytes", n)
	}
}

func TestALineThatNeverEndsTakesNoMemory(t *testing.T) {
	t.Parallel()
	c := &Console{}
	for range 10_000 {
		_, _ = c.Writer(Stdout).Write([]byte("endless "))
	}
	if n := len(c.streams[Stdout].part); n > longestPart {
		t.Errorf("%d bytes are kept", n)
	}
	c.Finish()
	if tail := c.Tail(); utf8.RuneCountInString(tail) != sampleWidth || !strings.HasPrefix(tail, "endless endless") {
		t.Errorf("%q", tail)
	}
}

func TestControlSequencesAreTakenOut(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"\x1b[1;31mred\x1b[0m":                 "red",
		"\x1b]8;;http://x\x07link\x1b]8;;\x07": "link",
		"\x1b]0;title\x1b\\text":               "text",
		"\x1b[2K\x1b[1Gdone":                   "done",
		"a\tb\x00\x08c":                        "a bc",
		"\x1b":                                 "",
		"caf\xc3":                              "caf\uFFFD",
	} {
		if got := printable([]byte(in)); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}
