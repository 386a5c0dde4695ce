package sentinel

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	config "hank/plan/sentinel"
)

// fakeClock is a clock that stands still until it is moved.
type fakeClock struct {
	mu     sync.Mutex
	now    time.Time
	timers map[chan time.Time]time.Time
}

func newClock() *fakeClock {
	return &fakeClock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), timers: map[chan time.Time]time.Time{}}
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := make(chan time.Time, 1)
	c.timers[ch] = c.now.Add(d)
	return ch
}

func (c *fakeClock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	for ch, at := range c.timers {
		if !at.After(c.now) {
			ch <- c.now
			delete(c.timers, ch)
		}
	}
}

func one(name string) []config.Event { return []config.Event{{Type: name, Size: 10}} }

// taken are the batches that are ready, each as the types of its events.
func taken(b *inbox) string {
	b.mu.Lock()
	b.tick(b.clock.Now())
	n := len(b.ready)
	b.mu.Unlock()
	var all []string
	for range n {
		batch, _, _ := b.next(context.Background())
		var types []string
		for _, e := range batch.events {
			types = append(types, e.Type)
		}
		all = append(all, strings.Join(types, "+"))
	}
	return strings.Join(all, " ")
}

func TestEachStrategyMakesItsBatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		e    config.Execution
		do   string // a letter is an event, a digit so many seconds, a dot takes what is ready, ! is the end
		want string
	}{
		{config.Execution{Strategy: "immediate"}, "ab.", "[a b]"},
		{config.Execution{Strategy: "debounce", Milliseconds: 3000}, "a2b2.1.", "[ a+b]"},
		{config.Execution{Strategy: "debounce", Milliseconds: 3000}, "a3b.3.", "[a b]"},
		{config.Execution{Strategy: "debounce", Milliseconds: 3000}, "a1b!.", "[a+b]"},
		{config.Execution{Strategy: "count", Threshold: 2}, "a.b.cd.", "[ a+b c+d]"},
		{config.Execution{Strategy: "count", Threshold: 3}, "ab!.", "[a+b]"},
		{config.Execution{Strategy: "timeWindow", Milliseconds: 5000}, "a3b1.1.c4.1.", "[ a+b  c]"},
		{config.Execution{Strategy: "timeWindow", Milliseconds: 5000}, "a5.9b.1.", "[a  b]"}, // the windows stay where they were
		{config.Execution{Strategy: "timeWindow", Milliseconds: 5000}, "a1!.", "[a]"},
	} {
		clock := newClock()
		b := newInbox(c.e, clock)
		var got []string
		for _, r := range c.do {
			switch {
			case r == '.':
				got = append(got, taken(b))
			case r == '!':
				b.close()
			case r >= '0' && r <= '9':
				clock.move(time.Duration(r-'0') * time.Second)
			default:
				b.add(one(string(r)))
			}
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%+v %s: %q, want %s", c.e, c.do, got, c.want)
		}
	}
}

// A batch that is waited for comes when its time has come, without anything else.
func TestABatchComesByItself(t *testing.T) {
	t.Parallel()
	clock := newClock()
	b := newInbox(config.Execution{Strategy: "debounce", Milliseconds: 1000}, clock)
	b.add(one("a"))
	got := make(chan batch)
	go func() {
		one, _, _ := b.next(context.Background())
		got <- one
	}()
	for {
		select {
		case one := <-got:
			if len(one.events) != 1 || !one.at.Equal(newClock().now.Add(time.Second)) {
				t.Errorf("%+v", one)
			}
			return
		default:
			clock.move(100 * time.Millisecond)
		}
	}
}

// The batch that the end of the work makes is one more of those that wait.
func TestTheLastTriggerIsBoundedToo(t *testing.T) {
	t.Parallel()
	b := newInbox(config.Execution{Strategy: "count", Threshold: 2}, newClock())
	for range 2*mostTriggers + 1 {
		b.add([]config.Event{{Size: 1}})
	}
	if b.close(); len(b.ready) != mostTriggers {
		t.Errorf("%d triggers wait, want %d", len(b.ready), mostTriggers)
	}
}

// What waits is bounded, the newest stays, and nothing is neither delivered nor counted.
func TestWhatWaitsIsBoundedAndCounted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		strategy := rapid.SampledFrom([]config.Execution{{Strategy: "immediate"}, {Strategy: "count", Threshold: 7}, {Strategy: "debounce", Milliseconds: 1000}}).Draw(t, "strategy")
		b := newInbox(strategy, newClock())
		total, got, newest := 0, 0, ""
		for i := range rapid.IntRange(0, 400).Draw(t, "matches") {
			n := rapid.IntRange(1, 60).Draw(t, "events")
			newest = fmt.Sprint(i)
			var match []config.Event
			for range n {
				match = append(match, config.Event{Type: newest, Size: rapid.SampledFrom([]int{1, 1, 1, 1 << 20}).Draw(t, "size")})
			}
			b.add(match)
			total += n
			if len(b.ready) > mostTriggers || b.events > mostEvents || b.bytes > mostBytes {
				t.Fatalf("%d triggers, %d events, %d bytes", len(b.ready), b.events, b.bytes)
			}
		}
		b.close()
		if len(b.ready) > mostTriggers || b.events > mostEvents || b.bytes > mostBytes {
			t.Fatalf("at the end %d triggers, %d events, %d bytes", len(b.ready), b.events, b.bytes)
		}
		last := ""
		for {
			batch, _, ok := b.next(context.Background())
			if !ok {
				break
			}
			got += len(batch.events)
			last = batch.events[len(batch.events)-1].Type
		}
		if _, _, dropped := b.left(); got+dropped != total || last != newest || b.events != 0 || b.bytes != 0 {
			t.Fatalf("of %d events %d came and %d were dropped; the last is %s of %s", total, got, dropped, last, newest)
		}
	})
}

func TestAConversationIsTrimmed(t *testing.T) {
	t.Parallel()
	turns := func(c *conversation, n int) {
		for i := range n {
			c.messages("question " + fmt.Sprint(i))
			c.answered("question "+fmt.Sprint(i), "answer")
		}
	}
	none := conversation{}
	turns(&none, 3)
	if m := none.messages("q"); len(m) != 1 {
		t.Error("it remembers:", m)
	}
	var rules config.Conversation
	rules.Trimming.Type, rules.Trimming.MaxTurns = "maxTurns", 3
	byTurns := conversation{rules: &rules}
	turns(&byTurns, 5)
	if m := byTurns.messages("q"); len(m) != 5 || m[0].Text != "question 3" || m[4].Text != "q" || m[4].Role != "user" || m[3].Role != "assistant" {
		t.Errorf("%+v", m)
	}
	byTurns.failed()
	if m := byTurns.messages("q"); len(m) != 1 {
		t.Error("it remembers after an error:", m)
	}
	rules.ContinueOnError = true
	turns(&byTurns, 1)
	byTurns.failed()
	if m := byTurns.messages("q"); len(m) != 3 {
		t.Error("it has forgotten:", m)
	}
	var tokens config.Conversation
	tokens.Trimming.Type, tokens.Trimming.MaxTokens = "maxTokens", 10
	byTokens := conversation{rules: &tokens}
	turns(&byTokens, 9)
	if m := byTokens.messages(strings.Repeat("x", 20)); len(m) != 3 {
		t.Errorf("%+v", m)
	}
	if m := byTokens.messages(strings.Repeat("x", 4000)); len(m) != 1 {
		t.Errorf("%+v", m) // the question is asked, whatever its size
	}
}
