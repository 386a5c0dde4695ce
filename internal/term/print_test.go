package term

import (
	"errors"
	"strings"
	"testing"
)

type named string

type spoken struct{ text string }

func (s spoken) String() string { return s.text }

type money int64

func (money) String() string { return "1.50" }

func TestOnlyWhatIsPaintedSteersTheTerminal(t *testing.T) {
	t.Parallel()
	const bad = "\x1b[2J\u009bOWNED\r"
	for format, arg := range map[string]any{
		"%s": bad, "%v": named(bad), "%10s": spoken{bad}, "%.9s": &spoken{bad}, "%-9v|": errors.New(bad),
	} {
		if got := Sprintf(format, arg); strings.Trim(string(got), " |") != "OWNED" {
			t.Errorf("%s of %T: %q", format, arg, got)
		}
	}
	if got := Sprintf("%d of %s, %s and %q", 1, money(1), Painted("\x1b[31mred\x1b[0m"), bad); got != "1 of 1.50, \x1b[31mred\x1b[0m and \"OWNED\"" {
		t.Errorf("%q", got)
	}
	var out strings.Builder
	table := NewTable(&out)
	table.Row("a", named(bad), money(2), 3, Painted("\x1b[1m"))
	if err := table.Flush(); err != nil || out.String() != "a  OWNED  1.50  3  \x1b[1m\n" {
		t.Errorf("%q %v", out.String(), err)
	}
}

func TestLinesArePassedOnWholeAndPrintable(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	w := Lines(&out)
	for _, part := range []string{"a\x1b", "[31", "mb\nc\x1b[0", "m\n", "\x1b]0;t\ad"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if err := w.Close(); err != nil || out.String() != "ab\nc\nd" {
		t.Errorf("%q %v", out.String(), err)
	}
}
