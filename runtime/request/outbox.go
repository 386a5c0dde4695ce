package request

import (
	"sync"
	"time"

	"hank/internal/prompt"
	"hank/runtime/progress"
)

// patience is how long a run waits until its UI has taken what it is told.
const patience = time.Second

// Outbox hands what a run tells to its UI, in order and one at a time. What takes time
// to put together holds up what is told after it, and not the run. Nor does a UI that takes
// nothing, as a terminal after Ctrl-S or a full pipe: the run goes on after patience, once.
type Outbox struct {
	mu   sync.Mutex
	last chan struct{} // closed when the last has been handed over; nil: there is none
	Show func(progress.Event)
}

// put hands over at once, or when all before it are.
func (o *Outbox) put(hand func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := o.last
	o.after(func() func() { return hand })
	select {
	case <-before:
	default:
		if before != nil {
			return
		}
	}
	select {
	case <-o.last:
	case <-time.After(patience):
	}
}

// Later hands over what make makes, which runs beside everything else.
func (o *Outbox) Later(make func() (hand func())) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.after(make)
}

func (o *Outbox) after(made func() (hand func())) {
	before, done := o.last, make(chan struct{})
	o.last = done
	go func() {
		defer close(done)
		hand := made()
		if before != nil {
			<-before
		}
		hand()
	}()
}

// Wait returns when all is handed over.
func (o *Outbox) Wait() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.last != nil {
		<-o.last
	}
}

// Through is a UI that is told by way of the outbox: of events in lines, where it
// takes none.
func (ui UI) Through(o *Outbox) UI {
	say, show := ui.Say, ui.Show
	if show == nil && say != nil {
		show = func(e progress.Event) {
			for _, line := range progress.Plain(e) {
				say(line)
			}
		}
	}
	if say != nil {
		ui.Say = func(line string) { o.put(func() { say(line) }) }
	}
	if o.Show = show; show == nil {
		o.Show = func(progress.Event) {}
	}
	ui.Show = func(e progress.Event) { o.put(func() { o.Show(e) }) }
	if ask := ui.Ask; ask != nil {
		ui.Ask = func(q prompt.Question) int {
			o.Wait()
			return ask(q)
		}
	}
	return ui
}
