package main

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"

	"hank/checkpoint"
	"hank/internal/term"
	"hank/runtime/codon"
	"hank/state"
)

// How often the line of a running codon is looked at, and how often plain lines
// are printed where there is no terminal.
const (
	liveTick   = 200 * time.Millisecond
	plainEvery = time.Minute
)

// watcher shows what a run does while it runs: on a terminal as one line that
// is drawn again and again, elsewhere as a plain line each minute.
type watcher struct {
	monitor *codon.Monitor
	live    *term.Live // nil: plain lines
	say     func(line string)
	working atomic.Pointer[countedWork] // what takes its time within the codon
	said    time.Time                   // of the codon that began then, by how many minutes
	minutes int
}

// countedWork is a piece of work with its count.
type countedWork struct {
	what string
	*checkpoint.Progress
}

// screen is the watcher of the run that this process drives, if there is one
// and it has a terminal: what is printed meanwhile must not mix with its line.
var screen atomic.Pointer[watcher]

// onScreen runs what prints, beside the line of a running codon.
func onScreen(print func()) {
	if w := screen.Load(); w != nil {
		w.live.Print(print)
		return
	}
	print()
}

// watch shows what a run does until stop is called.
func watch(out *os.File, say func(line string), p *codon.Monitor) (stop func()) {
	w := &watcher{monitor: p, say: say, live: term.NewLive(os.Stderr)}
	if w.live == nil {
		w.live = term.NewLive(out)
	}
	if w.live != nil {
		screen.Store(w)
	}
	over := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		tick := time.NewTicker(liveTick)
		defer tick.Stop()
		for {
			select {
			case now := <-tick.C:
				w.tick(now)
			case <-over:
				return
			}
		}
	})
	return func() {
		close(over)
		wait.Wait()
		w.live.Erase()
		screen.CompareAndSwap(w, nil)
	}
}

func (w *watcher) tick(now time.Time) {
	a := w.monitor.Now()
	if w.live == nil {
		w.plain(a, now)
		return
	}
	if c := w.working.Load(); c != nil {
		a.Step, a.Tool = c.what, ""
		if files, bytes := c.Done(); files > 0 {
			a.Step += fmt.Sprintf(": %s files, %s", humanize.Comma(files), term.Bytes(bytes))
		}
	}
	w.live.Draw(func(columns int) string { return liveLine(a, now, columns) })
}

// work shows what takes its time within a codon in the codon's line; false where
// there is no such line.
func (w *watcher) work(what string, p *checkpoint.Progress) (end func(), shown bool) {
	if w == nil || w.monitor.Now().Codon == "" {
		return nil, false
	}
	w.working.Store(&countedWork{what, p})
	return func() { w.working.Store(nil) }, true
}

// plain prints a line for each full minute of an attempt.
func (w *watcher) plain(a codon.Activity, now time.Time) {
	if a.Codon == "" {
		return
	}
	if !a.Since.Equal(w.said) {
		w.said, w.minutes = a.Since, 0
	}
	if n := int(now.Sub(a.Since) / plainEvery); n > w.minutes {
		w.minutes = n
		w.say(plainLine(a, now))
	}
}

// liveLine is what a run does, in so many columns at most: the codon, its time
// and cost always, then what it does or waits for, then its last words.
func liveLine(a codon.Activity, now time.Time, columns int) string {
	if a.Codon == "" {
		return ""
	}
	head := fmt.Sprintf("▸ [%d/%d] %s · %s", a.Number, a.Planned, a.Codon, clock(now.Sub(a.Since)))
	if a.Cost > 0 {
		head += " · " + state.Bill{Cost: a.Cost, Replayed: a.Replayed}.Text()
	}
	if a.Stop != "" {
		head += " · " + a.Stop
	}
	doing, words := parts(a)
	const dot, fewest = 3, 10 // columns between two parts, and of words worth showing
	room := columns - term.Columns(head) - dot
	if doing != "" && words != "" {
		share := room
		if a.Tool != "" { // each gets half, or what the other leaves; but what is waited for is named in full
			share = max((room-dot)/2, room-dot-term.Columns(words))
		}
		if short := term.Fit(doing, share); room-term.Columns(short)-dot >= fewest {
			doing = short
		} else {
			words = ""
		}
	}
	for _, part := range []string{doing, words} {
		if part != "" {
			head += " · " + part
		}
	}
	return term.Fit(head, columns)
}

// plainLine is the same for a file or pipe.
func plainLine(a codon.Activity, now time.Time) string {
	const most = 160
	line := fmt.Sprintf("still running: %s, %s", a.Codon, now.Sub(a.Since).Truncate(time.Second))
	if a.Cost > 0 {
		line += ", " + state.Bill{Cost: a.Cost, Replayed: a.Replayed}.Text()
	}
	if a.Stop != "" {
		line += ", " + a.Stop
	}
	doing, words := parts(a)
	for _, part := range []string{term.Fit(doing, most/2), words} {
		if part != "" {
			line += ", " + part
		}
	}
	return term.Fit(line, most)
}

// parts are what the agent does or is waited for, and what it printed last.
func parts(a codon.Activity) (doing, words string) {
	doing = term.OneLine(a.Step)
	if a.Tool != "" {
		doing = term.OneLine(a.Tool)
	}
	if words = term.OneLine(a.Words); words != "" {
		words = `"` + words + `"`
	}
	return doing, words
}

// clock is a time span as a clock shows it: 12:31, 1:02:03.
func clock(d time.Duration) string {
	s := int(max(d, 0).Seconds())
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
