package sentinel

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"hank/internal/short"
	"hank/runtime/events"
	"hank/runtime/sentinel/provider"
	"hank/state/journal"
	"hank/state/observer"
)

// Twenty sentinels, of which some hang, some fail and some answer, hold up nobody who writes
// ten thousand events: what waits for them is bounded, and each trigger is counted once.
func TestManySentinelsOfManyEvents(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	const sentinels, n = 20, 10_000
	refuses := asker(func(context.Context, provider.Request) (provider.Answer, error) {
		return provider.Answer{}, &provider.CallError{Message: strings.Repeat("x", 1<<20)}
	})
	var list []Loaded
	for i := range sentinels {
		a := []Asker{asker(hangs), refuses, says("well")}[i%3]
		strategy := []string{`{"strategy": "immediate"}`, `{"strategy": "count", "threshold": 1000}`, `{"strategy": "debounce", "milliseconds": 1}`, `{"strategy": "immediate"}`}[i%4]
		trigger := `{"type": "event", "on": ["tool.result"]}`
		if i%4 == 3 {
			trigger = `{"type": "sequence", "interestFilter": {"on": ["*"]}, "pattern": [{"type": "tool.result"}, {"type": "tool.result"}]}`
		}
		l := loadedOf(t, a, `, "trigger": `+trigger+`, "userPromptText": "{{pretty .events}}", "errorHandling": {"maxConsecutiveFailures": 1000000}`)
		if err := json.Unmarshal([]byte(strategy), &l.Config.Execution); err != nil {
			t.Fatal(err)
		}
		l.Config.ID = fmt.Sprint("spy-", i)
		list = append(list, l)
	}
	all := make([]journal.Event, n)
	for i := range all {
		all[i] = journal.Event{Seq: uint64(i + 1), ID: fmt.Sprint(i + 1), Type: "tool.result", Data: []byte(`{"result": "` + strings.Repeat("x", 4000) + `"}`)}
	}
	bus := events.New(func(from uint64, fn func(journal.Event) error) error {
		for _, e := range all[from-1:] {
			if err := fn(e); err != nil {
				return err
			}
		}
		return nil
	})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	b := &bench{t: t, dir: t.TempDir(), bus: bus}
	b.set = Start(Watch{CodonID: "a", Workspace: b.dir + "/work", Managed: b.dir + "/managed", Clock: Wall{}, Follow: bus.FollowEarly, Last: bus.Last, From: 1}, list)
	t.Cleanup(func() { b.set.Close(observer.UnloadShutdown, "") })
	began := time.Now()
	for i, e := range all { // nobody takes what the sentinels report, so that most of them wait
		bus.Appended(e)
		bus.Synced(uint64(i + 1))
	}
	written := time.Since(began)
	b.set.Finish(nil)
	<-b.set.fed // all was, whatever the models do
	fed := time.Since(began)
	for _, w := range b.set.workers {
		w.inbox.mu.Lock()
		if len(w.inbox.ready) > mostTriggers || w.inbox.events > mostEvents || w.inbox.bytes > mostBytes {
			t.Errorf("for %s wait %d triggers, %d events and %d bytes", w.Config.ID, len(w.inbox.ready), w.inbox.events, w.inbox.bytes)
		}
		w.inbox.mu.Unlock()
	}
	b.set.mu.Lock()
	if notes := len(b.set.notes); notes > 3*sentinels {
		t.Errorf("%d events wait to be recorded", notes)
	}
	b.set.mu.Unlock()
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.close(observer.UnloadComplete, "at the end")
	for i, s := range b.last.Loaded {
		want := n
		switch i % 4 {
		case 1: // batches
			want = n / 1000
		case 2: // as many as there were pauses
			continue
		case 3:
			want = n / 2
		}
		if got := s.TotalTriggers + s.DroppedTriggers; got != want {
			t.Errorf("%s: %d triggers were taken or dropped, of %d", s.ID, got, want)
		}
	}
	t.Logf("%d events were written in %s and shown to %d sentinels after %s; the heap has grown by %d KiB", n, written, sentinels, fed, (int64(after.HeapAlloc)-int64(before.HeapAlloc))>>10)
}
