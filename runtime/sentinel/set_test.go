package sentinel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"hank/plan/model"
	config "hank/plan/sentinel"
	"hank/runtime/events"
	"hank/runtime/sentinel/provider"
	"hank/state"
	"hank/state/journal"
	"hank/state/observer"
)

// asker is a model that is a function.
type asker func(context.Context, provider.Request) (provider.Answer, error)

func (a asker) Ask(ctx context.Context, r provider.Request) (provider.Answer, error) {
	return a(ctx, r)
}

func says(text string) asker {
	return func(context.Context, provider.Request) (provider.Answer, error) {
		return provider.Answer{Text: text, Input: 1000, Output: 50}, nil
	}
}

// hangs is a provider that never answers.
func hangs(ctx context.Context, _ provider.Request) (provider.Answer, error) {
	<-ctx.Done()
	return provider.Answer{}, ctx.Err()
}

// impatient is a clock whose waits are over at once.
type impatient struct{}

func (impatient) Now() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }
func (impatient) After(time.Duration) <-chan time.Time {
	c := make(chan time.Time, 1)
	c <- time.Time{}
	return c
}

// bench is a set with its journal, and a caller that records what it takes.
type bench struct {
	t    *testing.T
	dir  string
	bus  *events.Bus
	seq  uint64
	set  *Set
	mu   sync.Mutex
	last *state.Sentinels
	told []string // of the notes: type and, of some, what they say
	want []Wish
}

func newBench(t *testing.T, list ...Loaded) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir(), bus: events.New(func(uint64, func(journal.Event) error) error { return nil })}
	b.set = Start(Watch{CodonID: "a", About: config.AboutCodon{ID: "a", Name: "A"}, Workspace: b.dir + "/work", Managed: b.dir + "/managed", Clock: impatient{},
		Follow: b.bus.FollowEarly, Last: b.bus.Last, From: 1}, list)
	t.Cleanup(func() { b.set.Close(observer.UnloadShutdown, "") })
	return b
}

// loadedOf is a sentinel by its configuration, with fields that replace those that it has.
func loadedOf(t *testing.T, a Asker, fields string) Loaded {
	t.Helper()
	text := `{"id": "spy", "name": "Spy", "model": "m", "execution": {"strategy": "immediate"}`
	for name, value := range map[string]string{"trigger": `{"type": "event", "on": ["tool.result"]}`, "userPromptText": `"saw {{len .events}}"`} {
		if !strings.Contains(fields, `"`+name+`"`) {
			text += `, "` + name + `": ` + value
		}
	}
	text += fields + "}"
	c, err := config.Parse([]byte(text), nil, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	price := model.Rate(1_000_000_000)
	return Loaded{Config: c, Model: model.Ref{ProviderID: "anthropic", ModelID: "m", Cost: &model.Cost{Input: price, Output: price}}, Asker: a}
}

func (b *bench) event(eventType, data string) {
	b.seq++
	b.bus.Appended(journal.Event{Seq: b.seq, ID: fmt.Sprint(b.seq), Type: eventType, Data: []byte(data)})
	b.bus.Synced(b.seq)
}

func (b *bench) take() {
	t := b.set.Take()
	b.mu.Lock()
	defer b.mu.Unlock()
	if t.Sentinels != nil {
		b.last = t.Sentinels
	}
	for _, n := range t.Notes {
		text, err := json.Marshal(n.Data)
		if err != nil {
			b.t.Error(err)
		}
		b.told = append(b.told, n.Type+" "+string(text))
	}
	b.want = append(b.want, t.Wishes...)
	t.Recorded()
}

// finish lets the sentinels finish, and returns the account of the first.
func (b *bench) finish() state.Sentinel {
	b.t.Helper()
	done := b.set.Finish(nil)
	for done != nil {
		select {
		case <-b.set.News():
			b.take()
		case <-done:
			done = nil
		case <-time.After(time.Minute):
			b.t.Fatal("it does not finish")
		}
	}
	return b.close(observer.UnloadComplete, "")
}

func (b *bench) close(reason, when string) state.Sentinel {
	b.set.Close(reason, when)
	b.take()
	return b.last.Loaded[0]
}

func (b *bench) notes(eventType string) (found []string) {
	for _, n := range b.told {
		if strings.HasPrefix(n, eventType+" ") {
			found = append(found, n)
		}
	}
	return found
}

// A sentinel is asked about what its trigger lets through, its answers are written, and its
// account has what they cost.
func TestASentinelObserves(t *testing.T) {
	t.Parallel()
	var asked []string
	b := newBench(t, loadedOf(t, asker(func(_ context.Context, r provider.Request) (provider.Answer, error) {
		asked = append(asked, r.System+"|"+r.Messages[0].Text)
		return provider.Answer{Text: "well", Input: 900, CacheRead: 100, Output: 50}, nil
	}), `, "systemPromptText": "You watch <%= it.codon.name %>.", "output": {"file": "notes/spy.md", "lastValueFile": "last.md"}, "reportToWebsocket": {"triggers": true}`))
	b.event("tool.result", `{"result": "x"}`)
	b.event("assistant.action", `{}`)
	b.event("tool.result", `{"result": "y"}`)
	got := b.finish()
	if fmt.Sprint(asked) != "[You watch A.|saw 1 You watch A.|saw 1]" {
		t.Error(asked)
	}
	if got.LLMCallCount != 2 || got.TotalTriggers != 2 || got.TotalCost != 2*1_050_000 || !reflect.DeepEqual(got.Tokens, state.Tokens{Input: 1800, CacheRead: 200, Output: 100}) ||
		got.Status != observer.SentinelUnloaded || got.UnloadReason != observer.UnloadComplete || got.UnloadedAt == nil || got.OpenCalls != 0 || got.Cut != "" {
		t.Errorf("%+v", got)
	}
	if b.last.TotalCost != got.TotalCost || b.set.Cost() != got.TotalCost {
		t.Error(b.last.TotalCost)
	}
	for name, want := range map[string]string{"work/notes/spy.md": "well\n---\nwell", "managed/last.md": "well"} {
		if text, err := os.ReadFile(b.dir + "/" + name); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	for of, n := range map[string]int{"sentinel.loaded": 1, "sentinel.triggered": 2, "sentinel.output": 2, "sentinel.unloaded": 1, "sentinel.error": 0} {
		if len(b.notes(of)) != n {
			t.Errorf("%s: %v", of, b.notes(of))
		}
	}
}

// No answer is in a file before what it has cost is recorded.
func TestAnAnswerIsWrittenAfterItsCost(t *testing.T) {
	t.Parallel()
	b := newBench(t, loadedOf(t, says("well"), ""))
	b.event("tool.result", `{}`)
	for b.set.Cost() == 0 { // the news stays for what finishes
		time.Sleep(time.Millisecond)
	}
	time.Sleep(20 * time.Millisecond) // longer than writing it takes: nothing may be there, however long one waits
	if _, err := os.Stat(b.dir + "/managed/spy.md"); err == nil {
		t.Fatal("it is written before")
	}
	if got := b.finish(); got.TotalCost == 0 {
		t.Errorf("%+v", got)
	}
	if text, err := os.ReadFile(b.dir + "/managed/spy.md"); err != nil || string(text) != "well" {
		t.Errorf("%q, %v", text, err)
	}
}

// A call that is open is recorded as one after a moment, so that a kill does not lose it.
func TestAnOpenCallIsRecorded(t *testing.T) {
	t.Parallel()
	b := newBench(t, loadedOf(t, asker(hangs), ""))
	b.take() // that it is loaded, which would have the call, too
	b.event("tool.result", `{}`)
	for b.last.Loaded[0].OpenCalls == 0 {
		select {
		case <-b.set.News():
			b.take()
		case <-time.After(time.Minute):
			t.Fatal("it is not recorded")
		}
	}
	killed := b.last.Execute(state.Time{}).Executed[0]
	if killed.LLMCallCount != 1 || killed.OpenCalls != 1 || !strings.Contains(killed.Cut, "its last call was not answered when hank ended (its cost is in no figure)") {
		t.Errorf("%+v", killed)
	}
}

// What went wrong with a sentinel is known when it has ended, and not from its events alone.
func TestTheTroubleOfASentinelIsKnown(t *testing.T) {
	t.Parallel()
	b := newBench(t, loadedOf(t, asker(func(context.Context, provider.Request) (provider.Answer, error) {
		return provider.Answer{}, &provider.CallError{Message: "401 bad key", Refused: true}
	}), ""))
	b.event("tool.result", `{}`)
	if got := b.finish(); got.UnloadReason != observer.UnloadFatal || b.set.TroubleOf("spy").Last != "401 bad key" {
		t.Errorf("%+v: %+v", got, b.set.TroubleOf("spy"))
	}
	b = newBench(t, loadedOf(t, says("well"), `, "output": {"file": "notes/spy.md"}`))
	if err := os.MkdirAll(b.dir+"/work", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(b.dir, b.dir+"/work/notes"); err != nil {
		t.Fatal(err)
	}
	b.event("tool.result", `{}`)
	b.finish()
	if got := b.set.TroubleOf("spy"); got.Unwritten != 1 || !strings.Contains(got.Write, "notes/spy.md") {
		t.Errorf("%+v", got)
	}
}

// A provider that never answers holds up neither who writes the journal nor the end, and the
// account says what was cut.
func TestASentinelThatHangsHoldsUpNobody(t *testing.T) {
	t.Parallel()
	began := time.Now()
	b := newBench(t, loadedOf(t, asker(hangs), ""))
	for range 200 {
		b.event("tool.result", `{}`)
	}
	<-b.set.News()
	b.set.Finish(nil)
	<-b.set.fed // all was
	got := b.close(observer.UnloadComplete, "2s after the work of the codon had ended")
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
	if got.OpenCalls != 1 || got.DroppedTriggers != 199 || !strings.HasSuffix(got.Cut, " triggers and 1 open call (its cost is in no figure) cut 2s after the work of the codon had ended") || got.TotalCost != 0 {
		t.Errorf("%+v", got)
	}
	b.set.change(func() { t.Error("something is counted after the end") })
}

// Each sentinel has its own time to finish: one that hangs is cut while another one works.
func TestTheTimeToFinishIsThatOfTheSentinel(t *testing.T) {
	t.Parallel()
	cut, none := make(chan struct{}), 0
	hung := loadedOf(t, asker(func(ctx context.Context, r provider.Request) (provider.Answer, error) {
		defer close(cut)
		return hangs(ctx, r)
	}), "")
	hung.Config.Settings.DrainSeconds = &none
	works := loadedOf(t, asker(func(ctx context.Context, _ provider.Request) (provider.Answer, error) {
		<-cut
		return provider.Answer{Text: "well", Input: 1}, nil
	}), "")
	works.Config.ID = "other"
	b := newBench(t, hung, works)
	b.event("tool.result", `{}`)
	for asked := 0; asked < 2; { // both are at work
		b.take()
		if b.mu.Lock(); b.last != nil {
			asked = b.last.Loaded[0].LLMCallCount + b.last.Loaded[1].LLMCallCount
		}
		b.mu.Unlock()
		time.Sleep(time.Millisecond)
	}
	if account := b.finish(); !strings.HasSuffix(account.Cut, " cut "+TimeOver(0)) {
		t.Errorf("the one that hangs: %+v", account)
	}
	if account := b.last.Loaded[1]; account.Cut != "" || account.Tokens.Input != 1 || account.UnloadReason != observer.UnloadComplete {
		t.Errorf("the one that works: %+v", account)
	}
}

func TestFailuresAreCountedAndEndASentinel(t *testing.T) {
	t.Parallel()
	refused := &provider.CallError{Message: "401", Refused: true}
	busy := &provider.CallError{Message: "429", Retriable: true, RetryAfter: time.Hour}
	for name, c := range map[string]struct {
		fields                string
		err                   error
		calls, failed, errors int
		reason                string
	}{
		"tried again":                   {"", busy, 9, 9, 3, observer.UnloadFailures},
		"tried again less often":        {`, "llmParams": {"maxRetries": 0}, "errorHandling": {"maxConsecutiveFailures": 2}`, busy, 2, 2, 2, observer.UnloadFailures},
		"refused":                       {"", refused, 1, 1, 1, observer.UnloadFatal},
		"refused, and goes on":          {`, "errorHandling": {"unloadOnFatalError": false, "maxConsecutiveFailures": 9}`, refused, 4, 4, 4, observer.UnloadComplete},
		"a template that finds nothing": {`, "systemPromptText": "<%= it.events[7].type %>"`, nil, 0, 0, 3, observer.UnloadFailures},
	} {
		b := newBench(t, loadedOf(t, asker(func(context.Context, provider.Request) (provider.Answer, error) { return provider.Answer{}, c.err }), c.fields))
		for range 4 {
			b.event("tool.result", `{}`)
		}
		got := b.finish()
		if got.LLMCallCount != c.calls || got.FailedLLMCalls != c.failed || got.UnloadReason != c.reason || len(b.notes("sentinel.error")) != c.errors || got.TotalCost != 0 {
			t.Errorf("%s: %+v %v", name, got, b.notes("sentinel.error"))
		}
	}
}

// An answer that does not fit is a failure, and is paid.
// An answer without a word of what it has used is no free one.
func TestAnAnswerOfUnknownCostIsCounted(t *testing.T) {
	t.Parallel()
	b := newBench(t, loadedOf(t, asker(func(context.Context, provider.Request) (provider.Answer, error) {
		return provider.Answer{Text: "well"}, nil
	}), ""))
	b.event("tool.result", `{}`)
	if account := b.finish(); account.UncountedCalls != 1 || account.TotalCost != 0 || account.String() != "spy (anthropic/m): 1 call, $0.00, 1 of unknown cost" {
		t.Errorf("%s: %+v", account, account)
	}
}

// A failure is told as far as its beginning, which has no part of a key.
func TestAKeyInAFailureIsMaskedBeforeTheCut(t *testing.T) {
	t.Parallel()
	key := "sk-ant-" + "api03-abcDEF0123456789ghij"
	refuses := func(context.Context, provider.Request) (provider.Answer, error) {
		return provider.Answer{}, &provider.CallError{Message: strings.Repeat("x", mostMessage-20) + " " + key}
	}
	b := newBench(t, loadedOf(t, asker(refuses), ""))
	b.event("tool.result", `{}`)
	b.finish()
	if told := b.notes("sentinel.error"); len(told) != 1 || strings.Contains(told[0], key[:12]) {
		t.Errorf("%q", told)
	}
}

func TestAnAnswerThatDoesNotFitIsPaidAndNotWritten(t *testing.T) {
	t.Parallel()
	b := newBench(t, loadedOf(t, says("no JSON"), `, "structuredOutput": {"output": "enum", "enumValues": ["a"]}`))
	b.event("tool.result", `{}`)
	got := b.finish()
	if got.TotalCost != 1_050_000 || got.FailedLLMCalls != 1 || len(b.notes("sentinel.output")) != 0 || len(b.notes("sentinel.error")) != 1 {
		t.Errorf("%+v %v", got, b.told)
	}
	if _, err := os.Stat(b.dir + "/managed"); !errors.Is(err, os.ErrNotExist) {
		t.Error("something was written", err)
	}
}

// An answer that is too long is paid, and neither written nor recorded; one that the provider
// has ended early is taken, and its event says so.
func TestAnAnswerIsBoundedAndACutOneIsTold(t *testing.T) {
	t.Parallel()
	long := newBench(t, loadedOf(t, says(strings.Repeat("x", mostAnswer+1)), ""))
	long.event("tool.result", `{}`)
	if got := long.finish(); got.TotalCost != 1_050_000 || got.FailedLLMCalls != 1 || len(long.notes("sentinel.output")) != 0 || len(long.notes("sentinel.error")) != 1 {
		t.Errorf("%+v", got)
	}
	if _, err := os.Stat(long.dir + "/managed"); !errors.Is(err, os.ErrNotExist) {
		t.Error("something was written", err)
	}
	cut := newBench(t, loadedOf(t, asker(func(context.Context, provider.Request) (provider.Answer, error) {
		return provider.Answer{Text: "par", Cut: "length"}, nil
	}), ""))
	cut.event("tool.result", `{}`)
	cut.finish()
	if told := cut.notes("sentinel.output"); len(told) != 1 || !strings.HasSuffix(told[0], `"cut":"length"}`) {
		t.Error(told)
	}
}

// A conversation is bounded in bytes, too.
func TestTheBytesOfAConversationAreBounded(t *testing.T) {
	t.Parallel()
	c := conversation{rules: &config.Conversation{}}
	c.rules.Trimming.Type, c.rules.Trimming.MaxTurns = "maxTurns", 100
	for range 5 {
		c.answered(strings.Repeat("q", 2<<20), strings.Repeat("a", 1<<20))
	}
	if m := c.messages(strings.Repeat("q", 2<<20)); len(m) != 5 {
		t.Errorf("%d messages of 9 MiB and more are sent", len(m))
	}
}

// Only a sentinel that may can ask for a stop or a skip.
func TestOnlyWhoMayStops(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings config.Settings
		answer   string
		want     int
	}{
		"may":            {config.Settings{MayStop: true}, `{"action": "stop", "reason": "r"}`, 1},
		"may skip only":  {config.Settings{MaySkip: true}, `{"action": "stop"}`, 0},
		"may not":        {config.Settings{}, `{"action": "skip"}`, 0},
		"asks for other": {config.Settings{MayStop: true, MaySkip: true}, `{"action": "none"}`, 0},
	} {
		l := loadedOf(t, says(c.answer), `, "structuredOutput": {"output": "object", "schemaStr": "{}"}`)
		l.Config.Settings = c.settings
		b := newBench(t, l)
		b.event("tool.result", `{}`)
		b.finish()
		if len(b.want) != c.want {
			t.Errorf("%s: %+v", name, b.want)
		}
	}
}

// A sentinel that waits for anything sees what agents and the server do, and nothing that it
// has brought about itself.
func TestASentinelNeverSeesItself(t *testing.T) {
	t.Parallel()
	var seen []string
	b := newBench(t, loadedOf(t, asker(func(_ context.Context, r provider.Request) (provider.Answer, error) {
		seen = append(seen, r.Messages[0].Text)
		return provider.Answer{Text: "x"}, nil
	}), `, "trigger": {"type": "event", "on": ["*"]}, "userPromptText": "<%= it.events[0].type %>"`))
	for _, e := range []string{"codon.started", "sentinel.output", "sentinel.loaded", "run.waiting", "pong", "tool.result"} {
		b.event(e, `{}`)
	}
	for _, of := range []string{"SentinelsUpdated", "CostsUpdated", "CodonTransitioned"} {
		b.event("state.transition", `{"transitionType": "`+of+`"}`)
	}
	b.finish()
	if got := strings.Join(seen, " "); got != "codon.started tool.result state.transition" {
		t.Error(got)
	}
}

// A call of a tool that writes is shown as file.updated, too, with what it is to write.
func TestAWriteIsShownAsAFile(t *testing.T) {
	t.Parallel()
	var seen string
	b := newBench(t, loadedOf(t, asker(func(_ context.Context, r provider.Request) (provider.Answer, error) {
		seen = r.Messages[0].Text
		return provider.Answer{Text: "x"}, nil
	}), `, "trigger": {"type": "event", "on": ["file.updated"], "conditions": [{"operator": "contains", "path": "content", "value": "TODO"}]}, "userPromptText": "<%= it.events[0].data.path %>"`))
	for _, content := range []string{"done", "TODO"} {
		b.event("assistant.action", `{"action": "tool_use", "toolName": "Write", "toolUseId": "t", "toolInput": {"file_path": "`+b.dir+`/work/src/a.go", "content": "`+content+`"}}`)
	}
	if got := b.finish(); got.TotalTriggers != 1 || seen != "src/a.go" {
		t.Errorf("%q %+v", seen, got)
	}
}

// When a budget is used up, no model is asked any more.
func TestNothingIsAskedWithoutMoney(t *testing.T) {
	t.Parallel()
	b := newBench(t, loadedOf(t, says("x"), ""))
	b.set.StopAsking()
	b.event("tool.result", `{}`)
	if got := b.finish(); got.LLMCallCount != 0 || got.DroppedTriggers != 1 || !strings.Contains(got.Cut, "budget") {
		t.Errorf("%+v", got)
	}
}

func TestWhatASentinelSaysOfItsLoop(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{`"stop"`: "stop", `{"decision": "continue", "reason": "r"}`: "continue", `{"verdict": 1}`: "invalid"} {
		b := decision([]byte(answer), "")
		got := string(b.Decision)
		if b.Invalid {
			got = "invalid"
			if !strings.HasPrefix(b.Reason, "the answer ") {
				t.Error(b.Reason)
			}
		}
		if got != want {
			t.Errorf("%s: %+v", answer, b)
		}
	}
	if b := decision(nil, `{"decision": "stop"}`); b.Invalid || b.Decision != "stop" {
		t.Errorf("%+v", b)
	}
}
