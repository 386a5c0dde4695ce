// Package term is what the command line needs of a terminal: whether there is
// one, colours, tables, and figures that people can read.
package term

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"golang.org/x/term"
)

// IsTerminal reports whether f is a terminal.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// colour paints text for a terminal, unless NO_COLOR (no-color.org) forbids.
func colour(to *os.File, code, text string) Painted {
	text = Printable(text)
	if !Colours(to) {
		return Painted(text)
	}
	return Painted("\x1b[" + code + "m" + text + "\x1b[0m")
}

// Colours reports whether what goes to a file has colours.
func Colours(to *os.File) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && IsTerminal(to)
}

// Red, Green, Yellow, Bold and Dim paint text that goes to a terminal.
func Red(to *os.File, text string) Painted    { return colour(to, "31", text) }
func Green(to *os.File, text string) Painted  { return colour(to, "32", text) }
func Yellow(to *os.File, text string) Painted { return colour(to, "33", text) }
func Bold(to *os.File, text string) Painted   { return colour(to, "1", text) }
func Dim(to *os.File, text string) Painted    { return colour(to, "2", text) }

// Bytes is a size for people: 12 MB.
func Bytes(n int64) string { return humanize.Bytes(uint64(max(0, n))) }

// Age is how long ago something was: 5 minutes ago.
func Age(then, now time.Time) string {
	if d := now.Sub(then); d > -time.Second && d < time.Minute {
		return fmt.Sprintf("%ds ago", int(d.Seconds()))
	}
	return humanize.RelTime(then, now, "ago", "from now")
}

// Duration is a time span for people: 3m12s.
func Duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// Count is a number of things: 1 file, 2 files.
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// ShortPath makes a path relative to the working directory, if that is shorter.
func ShortPath(p string) string {
	cwd, err := os.Getwd()
	if err != nil {
		return p
	}
	rel, err := filepath.Rel(cwd, p)
	if err != nil || len(rel) >= len(p) {
		return p
	}
	if rel != "." && rel != ".." && !strings.HasPrefix(rel, "../") {
		rel = "./" + rel
	}
	return rel
}
