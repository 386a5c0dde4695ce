package runtime

import (
	"sync"

	"hank/internal/prompt"
	"hank/runtime/progress"
)

// outbox hands what a run tells to its UI, in order and one at a time. What takes time
// to put together holds up what is told after it, and not the run.
type outbox struct {
	mu   sync.Mutex
	last chan struct{} // closed when the last has been handed over; nil: there is none
	show func(progress.Event)
}

// put hands over at once, or when all before it are.
func (o *outbox) put(hand func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.last == nil {
		hand()
		return
	}
	select {
	case <-o.last:
		hand()
	default:
		o.after(func() func() { return hand })
	}
}

// later hands over what make makes, which runs beside everything else.
func (o *outbox) later(make func() (hand func())) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.after(make)
}

func (o *outbox) after(made func() (hand func())) {
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

// wait returns when all is handed over.
func (o *outbox) wait() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.last != nil {
		<-o.last
	}
}

// through is a UI that is told by way of the outbox: of events in lines, where it
// takes none.
func (ui UI) through(o *outbox) UI {
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
	if o.show = show; show == nil {
		o.show = func(progress.Event) {}
	}
	ui.Show = func(e progress.Event) { o.put(func() { o.show(e) }) }
	if ask := ui.Ask; ask != nil {
		ui.Ask = func(q prompt.Question) int {
			o.wait()
			return ask(q)
		}
	}
	return ui
}
