package term

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"
)

func TestAskTakesNumbersAndBeginningsAndNothingElse(t *testing.T) {
	t.Parallel()
	answers := []string{"yes", "no", "not now"}
	for in, want := range map[string]int{"1\n": 0, "y\n": 0, "YES\n": 0, "2": 1, "no\n": -1, "not\n": 2, "": -1, "\n": -1, "4\n": -1, "0\n": -1, "maybe\n": -1} {
		var out bytes.Buffer
		if got := Ask(strings.NewReader(in), &out, "Really?", answers); got != want {
			t.Errorf("%q: %d, want %d", in, got, want)
		}
	}
}

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

func TestFiguresForPeople(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	for got, want := range map[string]string{
		Age(now.Add(-5*time.Second), now):        "5s ago",
		Age(now.Add(-3*time.Hour), now):          "3 hours ago",
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
