package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hank/internal/lazyregexp"
	"hank/internal/short"
	"hank/internal/term"
	"hank/internal/term/termtest"
)

var update = flag.Bool("update", false, "write what the commands print on a terminal in testdata/screen anew")

// seenCommands are the most used commands, in the order in which they are given, with
// the file that has what a person sees of them.
var seenCommands = []struct {
	file string
	args []string
}{
	{"plan", []string{"plan", "notes"}},
	{"run-failed", []string{"run", "notes"}},
	{"status", []string{"status"}},
	{"show", []string{"show"}},
	{"log", []string{"log"}},
	{"checkpoints", []string{"checkpoints"}},
	{"diff", []string{"diff", "gather"}},
	{"rollback-plan", []string{"rollback", "gather", "--dry-run"}},
	{"cost", []string{"cost"}},
	{"doctor", []string{"doctor"}},
	{"run-again", []string{"run"}},
	{"retry", []string{"retry", "--keep-tree"}},
	{"status-completed", []string{"status"}},
}

// What a person sees of the ten most used commands on a terminal of 80 columns, in
// colour, is in testdata/screen; -update writes it anew. Without colour it is the
// same text: no colour says anything by itself.
func TestWhatAPersonSees(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	colour, plain := newPerson(t, "NO_COLOR="), newPerson(t, "NO_COLOR=1")
	for i, c := range seenCommands {
		if c.file == "retry" {
			colour.write(t, "agentRoot/ok", "")
			plain.write(t, "agentRoot/ok", "")
		}
		var seen, bare string
		var both sync.WaitGroup
		both.Go(func() { bare = plain.run(t, c.args) })
		seen = colour.run(t, c.args)
		both.Wait()
		golden := filepath.Join("testdata", "screen", fmt.Sprintf("%02d-%s.txt", i+1, c.file))
		if *update {
			if err := os.WriteFile(golden, []byte(seen), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if seen != string(want) {
			t.Errorf("hank %s: if this is meant: go test ./cmd/hank -run '^TestWhatAPersonSees$' -update\n--- got\n%s--- want\n%s", strings.Join(c.args, " "), seen, want)
		}
		if got, want := bare, uncoloured(seen); got != want {
			t.Errorf("hank %s: without colour it is another text:\n%s--- with colour\n%s", strings.Join(c.args, " "), got, want)
		}
	}
}

// person is somebody at a terminal, in a directory with a hank.
type person struct {
	dir, registry, colour string
	names                 map[string]string // of what is random, in the order of its appearance
}

func newPerson(t *testing.T, colour string) *person {
	s := &person{dir: t.TempDir(), registry: t.TempDir(), colour: colour, names: map[string]string{}}
	s.write(t, "notes/hank.json", `{"meta": {"name": "Release notes", "version": "1.0.0"}, "hank": [
  {"id": "gather", "name": "Gather the notes", "model": "shell", "continuationMode": "fresh",
   "promptText": "mkdir notes; for n in 1 2 3; do echo note $n >notes/$n.md; done; echo '::hank usage {\"costUSD\":0.42}'; echo Three notes are here."},
  {"type": "loop", "id": "review", "name": "Review", "terminateOn": {"type": "iterationLimit", "limit": 2}, "codons": [
    {"id": "revise", "name": "Revise each note", "model": "shell", "continuationMode": "fresh",
     "promptText": "for f in notes/*; do echo revised >>$f; done; rm -f notes/3.md; echo Every note is revised, and the third one is not needed."}]},
  {"id": "lint", "name": "Look for long lines", "model": "shell", "continuationMode": "fresh", "onFailure": "ignore",
   "promptText": "echo notes/1.md is too short; exit 3"},
  {"id": "publish", "name": "Write the index", "model": "shell", "continuationMode": "fresh",
   "promptText": "ls notes >index.md; echo The index is written.; test -e ok"}]}`)
	return s
}

func (s *person) write(t *testing.T, name, text string) {
	t.Helper()
	name = filepath.Join(s.dir, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o750), os.WriteFile(name, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// run returns what is on the terminal after a command.
func (s *person) run(t *testing.T, args []string) string {
	t.Helper()
	const columns = 80
	shown, terminal := termtest.Open(t, columns)
	cmd := exec.Command("hank", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, terminal, terminal
	cmd.Env = append(os.Environ(), "HANK_STATE_DIR="+s.registry, "TERM=xterm-256color", "COLORTERM=", "PAGER=cat", "HANK_UNATTENDED=", "LANG=C.UTF-8", "TZ=UTC", s.colour)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	watchdog := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer watchdog.Stop()
	var all bytes.Buffer
	_, _ = io.Copy(&all, shown) // it ends with an error when the other end is closed
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "$ hank %s\n", strings.Join(args, " "))
	for line := range strings.Lines(strings.TrimSuffix(s.steady(readable(onTerminal(all.String()))), "\n") + "\n") {
		out.WriteString(wrapped(strings.TrimRight(line, " \n"), columns))
	}
	fmt.Fprintf(&out, "[exit code %d]\n", cmd.ProcessState.ExitCode())
	return out.String()
}

// onTerminal is what stays of an output whose lines were drawn over themselves.
func onTerminal(output string) string {
	var kept []string
	for line := range strings.Lines(output) {
		kept = append(kept, "")
		for i, part := range drawnOver.Split(strings.TrimRight(line, "\r\n"), -1) {
			if i > 0 { // it goes to where the lines before began
				up, _ := strconv.Atoi(drawnOver.FindAllStringSubmatch(line, -1)[i-1][1])
				kept = kept[:len(kept)-up]
				kept[len(kept)-1] = ""
			}
			kept[len(kept)-1] += part
		}
	}
	return strings.Join(kept, "\n") + "\n"
}

// drawnOver is between lines and those that are drawn over them; the cursor goes so many rows up.
var drawnOver = regexp.MustCompile(`\r(?:\x1b\[(\d+)A)?\r?\x1b\[[JK]`)

// What differs from one time to the next.
var (
	changingNames = late(`\b\d{13}-[0-9a-z]{5}\b|\b\d{8}T\d{6}Z-[0-9a-f]{6}\b|\b[0-9a-f]{12}(?:[0-9a-f]{28})?\b`)
	changingTimes = late(` *(?:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|\d\d:\d\d:\d\d|\b(?:\d+h)?(?:\d+m)?\d+(?:\.\d+)?(?:ms|µs|s)\b|\bjust now\b|\bnow\b(?: ago)?|\b\d+ (?:seconds?|minutes?) ago\b) *`)
	changingSizes = late(`\d+ objects, \d+(?:\.\d+)? kB|up to event \d+|(sandbox +).*`)
	cutReasons    = lazyregexp.New(`(failure ignored: |  the s).*…`)                    // how much of it there is room for depends on the times before it
	runLines      = lazyregexp.New(`(?m)^(?:‹[a-z]+›)?[✓✗!»■](?:‹/›)? (?:‹[a-z]+›)?\[`) // their times have a column of a fixed width
	padding       = lazyregexp.New(`(\S)  +`)
)

// steady gives what differs from one time to the next names of its own, as wide as
// they were: checkpoints, runs, times. A column of times has no steady width: where it
// is not the last one, two spaces stand for the padding of all columns.
func (s *person) steady(text string) string {
	text = strings.ReplaceAll(text, s.dir, "/home/ann/work")
	text = cutReasons.ReplaceAllString(text, "$1…")
	text = changingSizes().ReplaceAllStringFunc(text, func(found string) string {
		if label := changingSizes().FindStringSubmatch(found)[1]; label != "" {
			return label + "as this kernel has it"
		}
		return regexp.MustCompile(`\d[\d.]*`).ReplaceAllString(found, "12")
	})
	text = changingNames().ReplaceAllStringFunc(text, func(name string) string {
		if len(name) == 40 {
			return s.named(name[:12]) + "0123456789012345678901234567"
		}
		return s.named(name)
	})
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		inside := slices.ContainsFunc(strings.Split(p, "\n"), func(line string) bool {
			at := changingTimes().FindStringIndex(line)
			return at != nil && strings.Contains(strings.TrimSpace(line[at[1]-min(2, at[1]):]), "  ") || at != nil && strings.HasSuffix(line[:at[1]], "  ")
		})
		fixed := runLines.MatchString(p)
		p = changingTimes().ReplaceAllStringFunc(p, func(found string) string {
			if to := len(strings.TrimRight(found, " ")); fixed && strings.HasPrefix(found, " ") {
				return fmt.Sprintf("%*s", to, "1.2s") + found[to:]
			}
			return steadyTime(found)
		})
		if !inside || fixed {
			paragraphs[i] = p
			continue
		}
		lines := strings.Split(p, "\n")
		for j := range lines {
			lines[j] = padding.ReplaceAllString(lines[j], "$1  ")
		}
		paragraphs[i] = strings.Join(lines, "\n")
	}
	return strings.Join(paragraphs, "\n\n")
}

// steadyTime is a time of the same kind, with the spaces beside it.
func steadyTime(found string) string {
	bare, name := strings.TrimSpace(found), "1.2s"
	switch {
	case strings.Contains(bare, "-"):
		name = "2026-01-02 03:04:05"
	case strings.Contains(bare, ":"):
		name = "03:04:05"
	case strings.Contains(bare, "now"), strings.Contains(bare, "ago"):
		name = "just now"
	}
	at := strings.Index(found, bare)
	return found[:at] + name + found[at+len(bare):]
}

func (s *person) named(name string) string {
	if s.names[name] == "" {
		n := len(s.names) + 1
		switch {
		case len(name) == 12:
			s.names[name] = fmt.Sprintf("%02dabcdef%02[1]d%02[1]d", n)
		case strings.Contains(name, "T"):
			s.names[name] = fmt.Sprintf("20260102T030405Z-%06d", n)
		default:
			s.names[name] = fmt.Sprintf("1767323045000-%05d", n)
		}
	}
	return s.names[name]
}

// wrapped is a line as a terminal breaks it.
func wrapped(line string, columns int) string {
	var out strings.Builder
	used := 0
	for len(line) > 0 {
		if at := colour().FindStringIndex(line); at != nil && at[0] == 0 {
			out.WriteString(line[:at[1]])
			line = line[at[1]:]
			continue
		}
		r := []rune(line)[0]
		wide := term.Columns(string(r))
		if used+wide > columns {
			out.WriteString("\n↪ ")
			used = 0
		}
		used += wide
		out.WriteRune(r)
		line = line[len(string(r)):]
	}
	return out.String() + "\n"
}

var colour = late(`‹[/a-z]+›`)

// readable writes colours in words.
func readable(text string) string {
	for code, name := range map[string]string{"0": "‹/›", "1": "‹bold›", "2": "‹dim›", "31": "‹red›", "32": "‹green›", "33": "‹yellow›"} {
		text = strings.ReplaceAll(text, "\x1b["+code+"m", name)
	}
	return strings.ReplaceAll(text, "\x1b", "‹escape›")
}

func uncoloured(text string) string { return colour().ReplaceAllString(text, "") }
