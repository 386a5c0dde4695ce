package progress

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"

	"hank/checkpoint"
	"hank/internal/term"
	"hank/runtime/codon"
)

// How often the live line is drawn, and how often plain lines are printed where
// there is no terminal.
const (
	liveTick   = 200 * time.Millisecond
	plainEvery = time.Minute
)

// Printer shows a run: on a terminal as a line for each codon that has ended, above
// one about that which is running, which is drawn again and again; elsewhere as plain
// lines, and one for each minute.
type Printer struct {
	out     *os.File
	monitor *codon.Monitor
	quiet   bool                // the end alone is shown
	words   func(string) string // what texts become: commands in them name the execution
	live    *term.Live          // nil: none
	lines   bool                // a codon that is running has no lines of its own but the live ones
	working atomic.Pointer[work]
	over    chan struct{}
	ticking sync.WaitGroup

	mu      sync.Mutex
	columns columns
	running bool     // a codon is
	held    []string // details about it, which come after its line
	noted   []string // of the codon that has ended last

	said    time.Time // of the codon that began then, by how many minutes; see tick
	minutes int
}

// work is something that takes its time, with its count.
type work struct {
	what string
	*checkpoint.Progress
}

// Form is how a run is shown.
type Form string

// The forms, which the user chooses with --progress.
const (
	AutoForm  Form = "auto"  // tty where there is a terminal that can erase a line, and ACCESSIBLE is not set; else plain
	TTYForm   Form = "tty"   // a codon that is running has a few lines that change, and one when it has ended
	PlainForm Form = "plain" // a line for each fact; nothing is written over, and nothing in colour
	QuietForm Form = "quiet" // the end alone
)

// Forms are all of them, in the order in which they are named to the user.
var Forms = []string{string(AutoForm), string(TTYForm), string(PlainForm), string(QuietForm)}

// CanDraw reports whether a terminal is there on which lines can be written over: out, or
// standard error.
func CanDraw(out *os.File) bool { return term.NewLive(os.Stderr) != nil || term.NewLive(out) != nil }

// Start shows a run on out, as form says, until Stop. Texts become what words makes of them.
func Start(out *os.File, form Form, m *codon.Monitor, words func(string) string) *Printer {
	p := &Printer{out: out, monitor: m, words: words, quiet: form == QuietForm, over: make(chan struct{})}
	if form == TTYForm || form == AutoForm && os.Getenv("ACCESSIBLE") == "" {
		if p.live = term.NewLive(os.Stderr); p.live == nil {
			p.live = term.NewLive(out)
		}
	}
	p.lines = p.live != nil && term.IsTerminal(out)
	p.ticking.Go(func() {
		tick := time.NewTicker(liveTick)
		defer tick.Stop()
		for {
			select {
			case now := <-tick.C:
				p.tick(now)
			case <-p.over:
				return
			}
		}
	})
	return p
}

// Stop ends the live line. Events can still be shown.
func (p *Printer) Stop() {
	close(p.over)
	p.ticking.Wait()
	p.live.Erase()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.release()
}

// Show prints an event, as the form of the printer says.
func (p *Printer) Show(e Event) {
	if _, end := e.(Ended); p.quiet && !end {
		return
	}
	e = e.Masked(p.words)
	p.mu.Lock()
	defer p.mu.Unlock()
	if k, ok := e.(CodonEnded); ok {
		e = p.newNotes(k)
	}
	if !p.lines {
		p.print(Plain(e))
		return
	}
	switch e := e.(type) {
	case Begun:
		p.columns = columns{id: min(e.Widest, widestID), priced: e.Priced}
		p.print(Plain(e))
	case CodonBegun:
		p.running = true
	case Detail:
		p.held = append(p.held, "    "+e.Text)
		if !p.running {
			p.release()
		}
	case CodonEnded:
		p.running = false
		p.columns.priced = p.columns.priced || e.Bill.Cost > 0
		lines := p.columns.codonLine(e, term.Width(p.out)-1, p.out)
		p.paint(lines[:1])
		p.release()
		p.paint(lines[1:])
	case Ended:
		p.release()
		p.paint(ended(e, p.out))
	default:
		p.print(Plain(e))
	}
}

// newNotes is a codon without the notes that the one before it had too: what no checkpoint
// can hold, say, is the same after each codon.
func (p *Printer) newNotes(e CodonEnded) CodonEnded {
	had := p.noted
	p.noted = e.Notes
	e.Notes = slices.DeleteFunc(slices.Clone(e.Notes), func(note string) bool { return slices.Contains(had, note) })
	return e
}

// release prints the details that were held back.
func (p *Printer) release() {
	p.print(p.held)
	p.held = nil
}

func (p *Printer) print(lines []string) {
	if len(lines) > 0 {
		p.live.Print(func() {
			for _, l := range lines {
				_ = term.Fprintf(p.out, "%s\n", l) // a terminal that is gone is no reason to stop
			}
		})
	}
}

func (p *Printer) paint(lines []term.Painted) {
	if len(lines) > 0 {
		p.live.Print(func() {
			for _, l := range lines {
				_ = term.Fprintf(p.out, "%s\n", l)
			}
		})
	}
}

// Print runs what prints something else, beside the live line.
func (p *Printer) Print(print func()) { p.live.Print(print) }

// Work shows in the live lines what takes its time, until end is called; false where
// there are no such lines, and somebody else is to say it.
func (p *Printer) Work(what string, count *checkpoint.Progress) (end func(), shown bool) {
	switch {
	case p.quiet:
		return func() {}, true
	case p.live == nil:
		return nil, false
	}
	p.working.Store(&work{what, count})
	return func() { p.working.Store(nil) }, true
}

func (p *Printer) tick(now time.Time) {
	a := p.monitor.Now()
	if p.live == nil {
		p.minute(a, now)
		return
	}
	if w := p.working.Load(); w != nil {
		a.Step, a.Tool = w.what, ""
		if files, bytes := w.Done(); files > 0 {
			a.Step += fmt.Sprintf(": %s files, %s", humanize.Comma(files), term.Bytes(bytes))
		}
	}
	p.live.Draw(func(columns, rows int) []string { return liveBlock(a, now, columns, rows) })
}

// minute prints a line for each full minute of an attempt.
func (p *Printer) minute(a codon.Activity, now time.Time) {
	if a.Codon == "" {
		return
	}
	if !a.Since.Equal(p.said) {
		p.said, p.minutes = a.Since, 0
	}
	if n := int(now.Sub(a.Since) / plainEvery); n > p.minutes {
		p.minutes = n
		p.Show(Remark{stillRunning(a, now)})
	}
}
