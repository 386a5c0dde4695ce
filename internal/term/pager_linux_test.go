package term

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"hank/internal/term/termtest"
)

func TestThePagerIsTheOneOfTheEnvironment(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{"": nil, "cat": nil, "no-such-pager -x": nil, "sh -x": {"sh", "-x"}, "sed 's/a/b/'": {"sh", "-c", "sed 's/a/b/'"}} {
		got := pagerCommand(func(string) (string, bool) { return text, true })
		if !slices.Equal(got, want) {
			t.Errorf("PAGER=%s: %q, want %q", text, got, want)
		}
	}
}

// What is written goes through the pager, which is waited for; a user who leaves early
// ends the writing, and that is no error. Where nothing is written no pager starts.
func TestATextIsShownByThePager(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		command []string
		lines   int
		want    string
	}{
		{[]string{"sed", "s/^/> /"}, 2, "> line\r\n> line\r\n"},
		{[]string{"head", "-1"}, 1e6, "line\r\n"},
		{nil, 1, "line\r\n"},
		{[]string{"echo", "started"}, 0, ""},
	} {
		screen, terminal := termtest.Open(t, 80)
		p := &pager{out: terminal, command: c.command}
		var err error
		for text := bytes.Repeat([]byte("line\n"), 1000); c.lines > 0 && err == nil; c.lines -= 1000 {
			_, err = p.Write(text[:5*min(1000, c.lines)])
		}
		if err := p.end(err); err != nil {
			t.Errorf("%q: %v", c.command, err)
		}
		terminal.Close()
		var seen strings.Builder
		buf := make([]byte, 4096)
		for n, err := screen.Read(buf); err == nil; n, err = screen.Read(buf) {
			seen.Write(buf[:n])
		}
		if seen.String() != c.want {
			t.Errorf("%q: %q, want %q", c.command, seen.String(), c.want)
		}
	}
}
