package term

import (
	"strings"
	"testing"
	"time"
)

func liveFor(out *strings.Builder, width int) (l *Live, now *time.Time) {
	now = new(time.Time)
	*now = time.Unix(1e9, 0)
	return &Live{out: out, now: func() time.Time { return *now }, size: func() (int, int) { return width, 24 }}, now
}

// stopped is a terminal that takes nothing until it is closed.
type stopped chan struct{}

func (s stopped) Write(p []byte) (int, error) { <-s; return len(p), nil }

func TestAStoppedTerminalHoldsUpNothingElse(t *testing.T) {
	t.Parallel()
	terminal := make(stopped)
	l := &Live{out: terminal, now: time.Now, size: func() (int, int) { return 80, 24 }}
	drawn := make(chan struct{})
	go func() { defer close(drawn); l.Draw(func(int, int) []string { return []string{"line"} }) }()
	for l.mu.TryLock() { // until it is being written
		l.mu.Unlock()
	}
	printed := false
	l.Print(func() { printed = true })
	if close(terminal); !printed {
		t.Error("nothing was printed")
	}
	<-drawn
}

func TestALineIsCutByColumnsNotBytes(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"plain":                      "plain",
		"exactly 10":                 "exactly 10",
		"eleven char":                "eleven ch…",
		"漢字漢字漢":                      "漢字漢字漢",
		"漢字漢字漢字":                     "漢字漢字…",
		"ümläütümläüt":               "ümläütüml…",
		"e\u0301e\u0301e\u0301":      "e\u0301e\u0301e\u0301",
		strings.Repeat("🦀", 6):       strings.Repeat("🦀", 4) + "…",
		strings.Repeat("❤\ufe0f", 6): strings.Repeat("❤\ufe0f", 4) + "❤…",
		strings.Repeat("a", 10000):   "aaaaaaaaa…",
	} {
		got := Fit(line, 10)
		if got != want || Columns(got) > 10 {
			t.Errorf("%q: %q of %d columns, want %q", line, got, Columns(got), want)
		}
	}
	for most := range 5 {
		if got := Columns(Fit("漢字 and more", most)); got > most {
			t.Errorf("%d columns, at most %d", got, most)
		}
	}
}

func TestFitMiddle(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"":                     "",
		"exactly 10":           "exactly 10",
		"eleven char":          "eleve…char",
		"collect-sources#12":   "colle…s#12",
		"漢字漢字漢字":               "漢字…漢字",
		"e\u0301leven charact": "e\u0301leve…ract",
	} {
		if got := FitMiddle(line, 10); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	for most := range 9 {
		for _, line := range []string{"漢字 and more", "漢字漢字漢字", "a long text"} {
			if got := Columns(FitMiddle(line, most)); got > most {
				t.Errorf("%d columns, at most %d", got, most)
			}
		}
	}
}

func TestOneLineHasNothingThatSteersOrTurns(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"two\nlines\t and\r\n more ": "two lines and more",
		"\x1b[2Jcleared\x07\x08":     "cleared",
		"\u202eturned\u200b":         "turned",
		"  ":                         "",
	} {
		if got := OneLine(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// The line is written only when it changes, is gone before anything else is
// printed, and comes back some time later.
func TestALiveLineDoesNotMixWithWhatIsPrinted(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	l, now := liveFor(&out, 20)
	draw := func(line string) { l.Draw(func(int, int) []string { return []string{line} }) }
	step := func(want string) {
		t.Helper()
		if out.String() != want {
			t.Errorf("got %q, want %q", out.String(), want)
		}
		out.Reset()
	}
	draw("")
	step("")
	draw("one")
	draw("one")
	step("\r\x1b[Jone\r")
	draw("a line that is \x1b[31mtoo\nlong")
	step("\r\x1b[Ja line that is too…\r")
	l.Print(func() { out.WriteString("other\n") })
	step("\r\x1b[Jother\n")
	draw("two")
	step("")
	*now = now.Add(quietAfter)
	draw("two")
	step("\r\x1b[Jtwo\r")
	l.Erase()
	l.Erase()
	step("\r\x1b[J")
	var none *Live
	none.Draw(nil)
	none.Print(func() { out.WriteString("printed\n") })
	step("printed\n")
}

// Several lines are drawn over each other as one, from the first on, however wide the terminal
// has become; a low one has fewer.
func TestLiveLinesAreDrawnOverThemselves(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	columns, rows := 20, 24
	l := &Live{out: &out, now: time.Now, size: func() (int, int) { return columns, rows }}
	step := func(want string, lines ...string) {
		t.Helper()
		if l.Draw(func(int, int) []string { return lines }); out.String() != want {
			t.Errorf("got %q, want %q", out.String(), want)
		}
		out.Reset()
	}
	step("\r\x1b[Jone\n  two\n  a line that is t…\r\x1b[2A", "one", "  two", "  a line that is too\nlong")
	step("", "one", "  two", "  a line that is too long")
	step("\r\x1b[Jone\ntwo\r\x1b[1A", "one", "two")
	step("\r\x1b[J12345678\n12345\r\x1b[1A", "12345678", "12345")
	columns = 5
	step("\r\x1b[J1\r", "1")
	step("\r\x1b[J\r", "")
	rows = 3
	step("\r\x1b[J1\n2\r\x1b[1A", "1", "2", "3", "4")
	l.Erase()
	if got := out.String(); got != "\r\x1b[J" {
		t.Errorf("erased with %q", got)
	}
}
