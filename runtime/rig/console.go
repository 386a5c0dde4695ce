package rig

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"hank/internal/secret"
	"hank/internal/term"
	"hank/runtime/harness"
)

// The streams of a command.
const (
	Stdout = iota
	Stderr
)

var streamNames = [...]string{"stdout", "stderr"}

// sampleWidth bounds the line of a rig.output event, in characters.
const sampleWidth = 500

// sample is a line that a command has printed lately.
type sample struct {
	Stream string
	Line   string
}

// Console keeps what matters of a command's output, however much there is:
// the last lines of each stream, and whether somebody has seen the newest. Its
// methods may be called by several goroutines.
type Console struct {
	mu      sync.Mutex
	streams [2]lineStream
}

// lineStream is one stream of a console.
type lineStream struct {
	part   []byte   // the beginning of the line that is not complete yet
	last   []string // at most tailLines
	unseen bool
}

// tailLines and tailBytes bound what a message holds of a stream.
const (
	tailLines = 10
	tailBytes = harness.MaxMessage / 2
)

// longestPart bounds what is kept of an unfinished line, in bytes.
const longestPart = sampleWidth * utf8.UTFMax

// recent is how much of one write is looked at, from its end; more than fits
// into what is kept. A flood then costs little more than reading it.
const recent = 2 * harness.MaxMessage

// Writer takes one of the streams.
func (c *Console) Writer(stream int) io.Writer { return &consoleWriter{c, stream} }

type consoleWriter struct {
	console *Console
	stream  int
}

// Write never fails: a command is not to be stopped by what it prints. A
// carriage return ends a line too, as progress bars use it.
func (w *consoleWriter) Write(p []byte) (int, error) {
	w.console.mu.Lock()
	defer w.console.mu.Unlock()
	s := &w.console.streams[w.stream]
	rest := p
	if over := len(p) - recent; over > 0 {
		if end := bytes.LastIndexAny(p[:over], "\r\n"); end >= 0 {
			s.part, rest = s.part[:0], p[end+1:]
		}
	}
	for len(rest) > 0 {
		end := bytes.IndexAny(rest, "\r\n")
		text := rest
		if end >= 0 {
			text = rest[:end]
		}
		s.part = append(s.part, text[:min(len(text), longestPart-len(s.part))]...)
		if end < 0 {
			break
		}
		s.end()
		rest = rest[end+1:]
	}
	return len(p), nil
}

// end takes the line that is complete. Blank ones say nothing.
func (s *lineStream) end() {
	line := cutRunes(secret.Line(printable(s.part)), sampleWidth)
	s.part = s.part[:0]
	if strings.TrimSpace(line) == "" {
		return
	}
	if len(s.last) == tailLines {
		s.last = append(s.last[:0], s.last[1:]...)
	}
	s.last, s.unseen = append(s.last, line), true
}

// tail returns the last lines, as many as fit and at least one.
func (s *lineStream) tail() []string {
	size := 0
	for i := len(s.last) - 1; i >= 0; i-- {
		if size += len(s.last[i]) + 1; size > tailBytes {
			return s.last[min(i+1, len(s.last)-1):]
		}
	}
	return s.last
}

// Finish ends the lines that have no newline.
func (c *Console) Finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.streams {
		if len(c.streams[i].part) > 0 {
			c.streams[i].end()
		}
	}
}

// samples returns the newest line of each stream that was not returned before.
func (c *Console) samples() []sample {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []sample
	for i := range c.streams {
		if s := &c.streams[i]; s.unseen {
			list = append(list, sample{streamNames[i], s.last[len(s.last)-1]})
			s.unseen = false
		}
	}
	return list
}

// Tail returns the last lines of both streams, the errors after the rest.
func (c *Console) Tail() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return secret.Text(strings.Join(slices.Concat(c.streams[Stdout].tail(), c.streams[Stderr].tail()), "\n"))
}

// printable is the text of a line as it may be shown on a terminal and stored
// as JSON: valid UTF-8, without control sequences and characters.
func printable(line []byte) string {
	return strings.ReplaceAll(term.Printable(string(line)), "\t", " ")
}

// cutRunes shortens a text to n characters.
func cutRunes(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	seen := 0
	for i := range text {
		if seen++; seen == n {
			return text[:i] + "…"
		}
	}
	return text
}
