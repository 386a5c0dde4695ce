package term

import (
	"bytes"
	"os"
	"testing"
	"time"
)

func TestColoursStayOutOfFiles(t *testing.T) {
	t.Parallel()
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := Red(f, "x"); got != "x" {
		t.Errorf("%q", got)
	}
}

func TestNothingOfOthersSteersTheTerminal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain\ttext\n":                            "plain\ttext\n",
		"\x1b[31mred\x1b[0m":                       "red",
		"\x1b]0;title\x07on":                       "on",
		"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\": "link",
		"\x1bPsixel\x1b\\after":                    "after",
		"\x1b[2J\x1b[Hcleared\r\a\b":               "cleared",
		"\x1b(Bset \x1bcreset \x1b7":               "set reset ",
		"a\x1b":                                    "a",
		"\u009b31mC1":                              "31mC1",
		"no\xffUTF":                                "no\uFFFDUTF",
		"a\u202etxt.exe\u2066\u2069":               "atxt.exe",
	} {
		if got := Printable(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestFiguresForPeople(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	for got, want := range map[string]string{
		Age(now.Add(-5*time.Second), now):        "5s ago",
		Age(now.Add(-3*time.Hour), now):          "3 hours ago",
		Age(now.Add(time.Millisecond), now):      "0s ago", // of two clocks, one was read later
		Duration(3*time.Minute + 12*time.Second): "3m12s",
		Duration(1234 * time.Millisecond):        "1.2s",
		Bytes(12_000_000):                        "12 MB",
		Bytes(-1):                                "0 B",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	var b bytes.Buffer
	table := NewTable(&b)
	table.Row("a", "b\nc")
	table.Row("long", "d")
	if err := table.Flush(); err != nil || b.String() != "a     b c\nlong  d\n" {
		t.Errorf("%q %v", b.String(), err)
	}
}
