package sentinel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"hank/internal/secret"
	"hank/plan/loop"
	"hank/plan/model"
	config "hank/plan/sentinel"
	"hank/runtime/sentinel/provider"
	"hank/state"
	"hank/state/observer"
)

// Asker is a model.
type Asker interface {
	Ask(context.Context, provider.Request) (provider.Answer, error)
}

// Loaded is a sentinel that is ready to run.
type Loaded struct {
	Config *config.Config
	Model  model.Ref
	Asker  Asker
	Votes  bool // its loop asks it whether it stops
}

// callTimeout is how long one request to a model may take.
const callTimeout = 2 * time.Minute

// What of an answer is taken, and what of an error is told, in bytes.
const (
	mostAnswer  = 1 << 20
	mostMessage = 2000
)

// worker runs one sentinel. Its account and what it wants recorded are kept by the set.
type worker struct {
	Loaded
	set     *Set
	watcher *config.Watcher
	inbox   *inbox
	talk    conversation
	account state.Sentinel // guarded by the set
	trouble Trouble        // guarded by the set
	late    string         // guarded by the set: when its time to finish was over; empty: it was not
	cancel  context.CancelFunc
	log     place
	last    *place

	failures int                            // in a row
	counted  struct{ triggers, events int } // of what was dropped, that is in the account
	ended    chan struct{}
}

// run takes one batch after the other, until the sentinel is given up or ctx ends.
func (w *worker) run(ctx context.Context) {
	defer close(w.ended)
	defer w.inbox.close()
	for {
		b, left, ok := w.inbox.next(ctx)
		if !ok || !w.act(ctx, b, left) {
			return
		}
	}
}

// The events about a sentinel.
type (
	triggered struct {
		SentinelID string        `json:"sentinelId"`
		CodonID    state.CodonID `json:"codonId"`
		Number     int           `json:"triggerNumber"`
		Strategy   string        `json:"strategy"`
		Events     int           `json:"eventCount"`
		Queue      int           `json:"queueSize"`
	}
	output struct {
		SentinelID string        `json:"sentinelId"`
		CodonID    state.CodonID `json:"codonId"`
		Number     int           `json:"triggerNumber"`
		Type       string        `json:"outputType"` // text or structured
		Content    any           `json:"content"`
		Cost       state.USD     `json:"cost"`
		Tokens     tokens        `json:"tokens"`
		Events     int           `json:"eventCount"`
		Cut        string        `json:"cut,omitempty"` // hank's addition: why the provider has ended the answer early
	}
	tokens struct {
		Input  int64 `json:"input"` // those from a cache included
		Output int64 `json:"output"`
	}
	failed struct {
		SentinelID string        `json:"sentinelId"`
		CodonID    state.CodonID `json:"codonId"`
		Type       string        `json:"errorType"`
		Message    string        `json:"message"`
		Retriable  bool          `json:"retriable"`
		Failures   int           `json:"consecutiveFailureCount"`
	}
	loaded struct {
		SentinelID     string        `json:"sentinelId"`
		CodonID        state.CodonID `json:"codonId"`
		Model          string        `json:"model"`
		Trigger        string        `json:"triggerType"`
		Strategy       string        `json:"executionStrategy"`
		Conversational bool          `json:"conversational"`
		Source         string        `json:"source"`
		Path           string        `json:"sourcePath,omitempty"`
	}
	unloaded struct {
		SentinelID string        `json:"sentinelId"`
		CodonID    state.CodonID `json:"codonId"`
		Reason     string        `json:"reason"`
		ErrorType  string        `json:"errorType,omitempty"`
		Cost       state.USD     `json:"finalCost"`
		Calls      int           `json:"llmCallCount"`
		Cut        string        `json:"cut,omitempty"` // hank's addition
	}
)

// on is a switch of a configuration.
func on(given *bool, otherwise bool) bool {
	if given == nil {
		return otherwise
	}
	return *given
}

// act is one trigger. It reports whether the sentinel goes on.
func (w *worker) act(ctx context.Context, b batch, left int) bool {
	number := 0
	w.set.change(func() {
		w.account.TotalTriggers++
		number = w.account.TotalTriggers
		if on(w.Config.Report.Triggers, false) {
			w.set.note("sentinel.triggered", triggered{w.Config.ID, w.set.CodonID, number, w.Config.Execution.Strategy, len(b.events), left})
		}
	})
	about := config.About{Events: b.events, Codon: w.set.About, Now: b.at}
	question, err := w.Config.User.Render(about)
	system := ""
	if err == nil && w.Config.System != nil {
		system, err = w.Config.System.Render(about)
	}
	if err != nil {
		return w.fail(ctx, "template-render-failed", "its prompt cannot be filled in: "+err.Error(), false)
	}
	if w.set.spent.Load() {
		return w.set.told(ctx, func() {
			w.account.DroppedTriggers++
			w.account.Cut = "a budget was used up, and its model was not asked any more"
		})
	}
	request := w.request(system, question)
	a, err := w.ask(ctx, request)
	var call *provider.CallError
	switch {
	case errors.As(err, &call):
		w.talk.failed()
		if call.Refused && w.Config.Errors.Fatal() {
			w.fail(ctx, "llm-call-failed", call.Message, false)
			return w.giveUp(observer.UnloadFatal, "configuration")
		}
		return w.fail(ctx, "llm-call-failed", call.Message, call.Retriable)
	case err != nil: // it was ended
		return false
	}
	return w.answered(ctx, b, number, question, a)
}

// request is what the model is asked.
func (w *worker) request(system, question string) provider.Request {
	p := w.Config.Params
	r := provider.Request{System: system, Messages: w.talk.messages(question), Temperature: p.Temperature, TopP: p.TopP, MaxOutputTokens: p.MaxOutputTokens,
		FrequencyPenalty: p.FrequencyPenalty, PresencePenalty: p.PresencePenalty, Seed: p.Seed, Stop: p.StopSequences}
	if s := w.Config.Structure; s != nil {
		r.Schema, r.SchemaName = s.Asked(), s.Name
		r.System = strings.TrimPrefix(r.System+"\n\n"+s.Instruction(), "\n\n")
	}
	return r
}

// ask asks the model, again where that can help.
func (w *worker) ask(ctx context.Context, r provider.Request) (provider.Answer, error) {
	for try := 0; ; try++ {
		now := state.At(w.set.Clock.Now())
		w.set.change(func() {
			w.account.LLMCallCount++
			w.account.LastLLMCallAt = &now
			w.account.OpenCalls++
		})
		within, cancel := context.WithTimeout(ctx, callTimeout)
		go w.recordOpen(within)
		a, err := w.Asker.Ask(within, r)
		late := within.Err() != nil
		cancel()
		if ctx.Err() != nil && err != nil { // the call stays open
			return provider.Answer{}, ctx.Err()
		}
		w.set.change(func() { w.account.OpenCalls-- })
		if err == nil {
			return a, nil
		}
		w.set.change(func() { w.account.FailedLLMCalls++ })
		var call *provider.CallError
		if !errors.As(err, &call) {
			call = &provider.CallError{Message: err.Error()}
			if late {
				call = &provider.CallError{Message: fmt.Sprintf("the provider has not answered within %s", callTimeout), Retriable: true}
			}
		}
		if !call.Retriable || try >= w.Config.Params.Retries() {
			return a, call
		}
		wait := min(max(call.RetryAfter, time.Second<<min(try, 6)), time.Minute)
		select {
		case <-w.set.Clock.After(wait):
		case <-ctx.Done():
			return a, ctx.Err()
		}
	}
}

// openAfter is after what time a call that has no answer is recorded. A kill loses the number
// of those that were begun later, and recording each at its beginning would double the events
// about sentinels.
const openAfter = time.Second

// recordOpen has a call recorded that is still open after a time.
func (w *worker) recordOpen(call context.Context) {
	select {
	case <-w.set.Clock.After(openAfter):
	case <-call.Done():
		return
	}
	w.set.change(func() { w.set.due = w.set.due || call.Err() == nil && w.account.OpenCalls > 0 })
}

// answered takes in an answer: what it has cost first, then what it says.
func (w *worker) answered(ctx context.Context, b batch, number int, question string, a provider.Answer) bool {
	used := state.Tokens{Input: a.Input, Output: a.Output, CacheRead: a.CacheRead}
	nano, priced := w.Model.Price(model.Tokens{Input: a.Input, Output: a.Output, CacheRead: a.CacheRead})
	cost := state.USD(nano)
	var value json.RawMessage
	var misfit error
	switch {
	case len(a.Text) > mostAnswer:
		misfit = fmt.Errorf("the answer has more than %d bytes", mostAnswer)
	case w.Config.Structure != nil:
		value, misfit = w.Config.Structure.Take(a.Text)
		if misfit != nil && a.Cut != "" {
			misfit = fmt.Errorf("the provider has ended the answer early (%s): %w", a.Cut, misfit)
		}
	}
	content, kind := any(a.Text), "text"
	if value != nil {
		content, kind = value, "structured"
	}
	recorded := w.set.record(func() {
		w.account.TotalCost += cost
		w.account.Tokens = w.account.Tokens.Add(used)
		w.account.Unpriced = w.account.Unpriced || !priced && used.Sum() > 0
		if used.Sum() == 0 {
			w.account.UncountedCalls++
		}
		if misfit != nil {
			return
		}
		if w.Votes {
			w.account.Decision = decision(value, a.Text)
		}
		if on(w.Config.Report.Outputs, true) {
			w.set.note("sentinel.output", output{w.Config.ID, w.set.CodonID, number, kind, content, cost, tokens{a.Input + a.CacheRead, a.Output}, len(b.events), a.Cut})
		}
		w.wish(value)
	})
	if misfit != nil {
		w.talk.failed()
		w.set.change(func() { w.account.FailedLLMCalls++ })
		return w.fail(ctx, "llm-call-failed", misfit.Error(), true)
	}
	w.failures = 0
	w.talk.answered(question, a.Text)
	select {
	case <-recorded:
	case <-ctx.Done():
		return false
	}
	if err := w.write(a.Text, value); err != nil {
		w.set.change(func() {
			w.trouble.Unwritten, w.trouble.Write = w.trouble.Unwritten+1, err.Error()
			w.complain("file-write-failed", err.Error(), true)
		})
	}
	return true
}

// wish passes on that an answer wants the codon stopped or skipped, where it may.
func (w *worker) wish(value json.RawMessage) {
	if value == nil {
		return
	}
	action, reason := config.Action(value)
	if action == "stop" && w.Config.Settings.MayStop || action == "skip" && w.Config.Settings.MaySkip {
		w.set.wishes = append(w.set.wishes, Wish{w.Config.ID, action, reason})
	}
}

// decision is what an answer says about the loop.
func decision(value json.RawMessage, text string) *loop.Ballot {
	if value != nil {
		text = string(value)
		var word string
		if json.Unmarshal(value, &word) == nil {
			quoted, _ := json.Marshal(map[string]string{"decision": word})
			text = string(quoted)
		}
	}
	b := loop.ParseDecision([]byte(text))
	b.Reason = strings.Replace(b.Reason, "the decision file", "the answer", 1)
	return &b
}

// write writes an answer to the files of the sentinel.
func (w *worker) write(text string, value json.RawMessage) error {
	line, join, last := text, w.Config.Join, text
	switch {
	case value != nil:
		line, join, last = string(value)+"\n", "", string(value)+"\n"
	case w.Config.JSONL:
		one, err := json.Marshal(struct {
			Text       string `json:"text"`
			Timestamp  string `json:"timestamp"`
			SentinelID string `json:"sentinelId"`
		}{text, w.set.Clock.Now().UTC().Format("2006-01-02T15:04:05.000Z"), w.Config.ID})
		if err != nil {
			return err
		}
		line, join = string(one)+"\n", ""
	}
	err := w.log.add(line, join)
	if w.last != nil {
		err = errors.Join(err, w.last.replace(last))
	}
	return err
}

// fail counts a failure. It reports whether the sentinel goes on, and waits until the failure
// has been told: a sentinel that fails all the time cannot fill the memory, or the journal
// faster than it is written.
func (w *worker) fail(ctx context.Context, kind, message string, retriable bool) bool {
	w.failures++
	goesOn := w.set.told(ctx, func() {
		w.trouble.Last = message
		w.complain(kind, message, retriable)
	})
	if w.failures >= w.Config.Errors.Most() {
		return w.giveUp(observer.UnloadFailures, "")
	}
	return goesOn
}

// complain tells of an error, under the lock of the set.
func (w *worker) complain(kind, message string, retriable bool) {
	message, _ = secret.Beginning(message, mostMessage, secret.Text)
	message = strings.ToValidUTF8(message, "")
	if on(w.Config.Report.Errors, true) {
		w.set.note("sentinel.error", failed{w.Config.ID, w.set.CodonID, kind, message, retriable, w.failures})
	}
}

// giveUp ends the sentinel before its codon. It returns false.
func (w *worker) giveUp(reason, kind string) bool {
	w.set.change(func() { w.unload(reason, kind) })
	return false
}

// unload writes the end of the sentinel into its account, under the lock of the set.
func (w *worker) unload(reason, kind string) {
	if w.account.Status != observer.SentinelActive {
		return
	}
	w.count()
	w.set.due = true
	at := state.At(w.set.Clock.Now())
	w.account.Status, w.account.UnloadReason, w.account.UnloadedAt = observer.SentinelUnloaded, reason, &at
	if on(w.Config.Report.Lifecycle, true) {
		w.set.note("sentinel.unloaded", unloaded{w.Config.ID, w.set.CodonID, reason, kind, w.account.TotalCost, w.account.LLMCallCount, w.account.Cut})
	}
}

// count brings what was dropped into the account.
func (w *worker) count() {
	_, triggers, events := w.inbox.left()
	w.account.DroppedTriggers += triggers - w.counted.triggers
	w.account.DroppedEvents += events - w.counted.events
	w.counted.triggers, w.counted.events = triggers, events
}
