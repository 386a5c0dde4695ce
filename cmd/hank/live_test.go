package main

import (
	"strings"
	"testing"
	"time"

	"hank/internal/term"
	"hank/runtime/codon"
)

func TestALiveLineNamesCodonTimeCostToolAndWords(t *testing.T) {
	t.Parallel()
	begun := time.Unix(1e9, 0)
	working := codon.Activity{Codon: "api", Number: 2, Planned: 7, Since: begun, Cost: 421_000_000, Step: "waiting for the model", Tool: "Bash: go vet ./…", Words: "Two files.\nLet me read the first."}
	waiting := codon.Activity{Codon: "api", Number: 2, Planned: 7, Since: begun, Step: "making the checkpoint"}
	refused := working
	refused.Tool, refused.Step = "", "waiting for the provider, overloaded (HTTP 529)"
	stopping := waiting
	stopping.Stop = "stopping after this codon"
	for _, c := range []struct {
		a       codon.Activity
		after   time.Duration
		columns int
		want    string
	}{
		{working, 12*time.Minute + 31*time.Second, 79, `▸ [2/7] api · 12:31 · $0.42 · Bash: go vet ./… · "Two files. Let me read the f…`},
		{working, 12*time.Minute + 31*time.Second, 200, `▸ [2/7] api · 12:31 · $0.42 · Bash: go vet ./… · "Two files. Let me read the first."`},
		{working, 3*time.Hour + 2*time.Second, 50, `▸ [2/7] api · 3:00:02 · $0.42 · Bash: go vet ./…`},
		{refused, 10 * time.Second, 79, "▸ [2/7] api · 0:10 · $0.42 · waiting for the provider, overloaded (HTTP 529)"},
		{refused, 10 * time.Second, 99, `▸ [2/7] api · 0:10 · $0.42 · waiting for the provider, overloaded (HTTP 529) · "Two files. Let me …`},
		{waiting, time.Second, 79, "▸ [2/7] api · 0:01 · making the checkpoint"},
		{waiting, time.Second, 20, "▸ [2/7] api · 0:01 …"},
		{stopping, time.Second, 79, "▸ [2/7] api · 0:01 · stopping after this codon · making the checkpoint"},
		{codon.Activity{}, time.Second, 79, ""},
	} {
		if got := liveLine(c.a, begun.Add(c.after), c.columns); got != c.want {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	}
	for columns := range 120 {
		if got := term.Columns(liveLine(working, begun, columns)); got > columns {
			t.Errorf("%d columns, at most %d", got, columns)
		}
	}
}

// Where there is no terminal a codon has one plain line for each minute.
func TestElsewhereThereIsAPlainLineEachMinute(t *testing.T) {
	t.Parallel()
	var said []string
	w := &watcher{say: func(line string) { said = append(said, line) }}
	begun := time.Unix(1e9, 0)
	a := codon.Activity{Codon: "api", Since: begun, Cost: 425_000_000, Tool: "Bash: printf '\x1b[2J'\n" + strings.Repeat("x", 300), Words: "\u202eword"}
	for second := range 125 {
		w.plain(a, begun.Add(time.Duration(second)*time.Second))
	}
	w.plain(codon.Activity{}, begun.Add(time.Hour))
	next := codon.Activity{Codon: "build", Since: begun.Add(10 * time.Minute), Step: "running the rig"}
	w.plain(next, next.Since.Add(59*time.Second))
	w.plain(next, next.Since.Add(3*time.Minute))
	if len(said) != 3 || !strings.HasPrefix(said[0], "still running: api, 1m0s, $0.43, Bash: printf '' xxx") || said[2] != "still running: build, 3m0s, running the rig" {
		t.Fatalf("%q", said)
	}
	for _, line := range said {
		if strings.ContainsAny(line, "\x1b\n\r\u202e") || term.Columns(line) > 160 {
			t.Errorf("%q", line)
		}
	}
}
