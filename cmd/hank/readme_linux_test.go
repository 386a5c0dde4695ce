package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"hank/internal/lazyregexp"
	"hank/internal/programtest"
	"hank/internal/short"
	"hank/internal/term/termtest"
)

// The commands of the README are run on a terminal, in the order in which they are
// printed there, as somebody does who has cloned the repository; and what it shows of
// their output is printed, line by line. Of the source of Go a small part is read, and
// what builds hank and runs its tests is left out.
func TestTheREADMEShowsWhatIsPrinted(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	r := reader{dir: t.TempDir(), registry: t.TempDir()}
	for _, name := range []string{"cmd", "fixtures"} {
		if err := os.Symlink(filepath.Join(root, name), filepath.Join(r.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	small := filepath.Join(r.registry, "src")
	for _, name := range []string{"errors", "unicode/utf8"} {
		if err := os.CopyFS(filepath.Join(small, name), os.DirFS(filepath.Join(goroot(t), "src", name))); err != nil {
			t.Fatal(err)
		}
	}
	shown, samples := "", 0
	for _, block := range regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		switch language, lines := block[1], block[2]; language {
		case "sh":
			shown = r.run(t, strings.NewReplacer("$(go env GOROOT)/src", small, "go run ./cmd/hank", "hank").Replace(lines))
		case "":
			samples++
			if got, want := unchanging(shown), unchanging(lines); !strings.Contains(got, want) {
				t.Errorf("the README shows\n%s\nand what is printed has no such lines:\n%s", lines, shown)
			}
		}
	}
	if samples < 2 {
		t.Errorf("the README has %d samples", samples)
	}
}

func goroot(t *testing.T) string {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// reader is somebody at a terminal who gives the commands of a page.
type reader struct{ dir, registry string }

// timeout is the command of that name as the README uses it, for machines of any
// speed: what it runs is killed as soon as one of its codons runs, not after a second.
const timeout = `#!/bin/sh
shift 3
"$@" & pid=$!
until hank status -e quickstart-run --json 2>/dev/null | grep -q '"liveCodon": {' || ! kill -0 $pid; do sleep 0.05; done
kill -KILL $pid
wait $pid
`

// left out: what the tests do anyway.
var leftOut = lazyregexp.New(`(?m)^(go build|scripts/test)\b.*\n`)

// run gives the commands of a block, each of which must succeed unless it is to be
// killed, and returns what is on the terminal then. The next block starts in the
// directory where this one ends.
func (r *reader) run(t *testing.T, lines string) string {
	t.Helper()
	place := filepath.Join(r.registry, "place")
	lines = leftOut.ReplaceAllString(lines, "")
	lines = regexp.MustCompile(`(?m)^timeout .*$`).ReplaceAllString(lines, "$0 || test $$? = 137")
	programtest.Write(t, filepath.Join(r.registry, "timeout"), timeout)
	screen, terminal := termtest.Open(t, 100)
	cmd := exec.Command("sh", "-ec", fmt.Sprintf("cd %q\n%spwd >%q", r.dir, lines, place))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.Env = append(os.Environ(), "HANK_STATE_DIR="+r.registry, "PATH="+r.registry+":"+os.Getenv("PATH"), "TERM=xterm-256color", "NO_COLOR=1", "PAGER=cat", "LANG=C.UTF-8", "TZ=UTC",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	watchdog := time.AfterFunc(5*time.Minute, func() { _ = cmd.Process.Kill() })
	defer watchdog.Stop()
	var all bytes.Buffer
	_, _ = io.Copy(&all, screen) // it ends with an error when the other end is closed
	shown := onTerminal(all.String())
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v after\n%s\nwhich printed\n%s", err, lines, shown)
	}
	if here, err := os.ReadFile(place); err == nil {
		r.dir = strings.TrimSpace(string(here))
	}
	return shown
}

var (
	counts = lazyregexp.New(`\b\d+ (output files?|API tables?)\b`)
	spaces = lazyregexp.New(`  +`)
)

// unchanging is a text without what differs from one time or place to the next.
func unchanging(text string) string {
	text = changingNames().ReplaceAllString(text, "NAME")
	text = changingTimes().ReplaceAllString(text, " TIME ")
	text = counts.ReplaceAllString(text, "N things")
	return spaces.ReplaceAllString(text, "  ")
}
