package exec

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"hank/runtime/harness"
	"hank/state"
)

// Reader implements harness.Harness.
func (Harness) Reader(req harness.Request) harness.Reader {
	return &reader{asked: req.Session, now: time.Now, usage: harness.Usage{Model: req.Model, PerRequest: true}}
}

// reader implements harness.Reader for the events of a program.
type reader struct {
	asked    string // the session to continue
	now      func() time.Time
	session  string
	changed  string // the other session that the program went to
	usage    harness.Usage
	counted  bool // there was an event of use: its first says whether the program knows money
	exceeded bool
	text     string // the last that was said
	asks     string // a question that nobody has answered

	waits time.Time // since when the program waits for its provider; zero: it does not

	results int
	ok      bool                 // of the first result
	failed  *state.FailureReason // of the first result that was none
	after   string               // the type of the first event after a result
	denied  []string

	out, err harness.Tail // what is no event
}

// Line implements harness.Reader.
func (r *reader) Line(line []byte) []harness.Observation {
	line = bytes.TrimSpace(line)
	e, ok := parse(line)
	if !ok {
		if len(line) > 0 {
			r.out.Add(line)
		}
		return nil
	}
	read := handlers[e.Type]
	if read == nil {
		return nil
	}
	if r.results > 0 && r.after == "" {
		r.after = e.Type
	}
	if e.Type != "retrying" {
		r.waits = time.Time{}
	}
	return read(r, e)
}

// handlers are the types of events.
var handlers = map[string]func(*reader, event) []harness.Observation{
	"session":     (*reader).sessionEvent,
	"message":     (*reader).message,
	"tool":        (*reader).tool,
	"toolResult":  (*reader).toolResult,
	"usage":       (*reader).used,
	"retrying":    (*reader).retrying,
	"contextFull": (*reader).contextFull,
	"question":    (*reader).question,
	"notice":      (*reader).notice,
	"result":      (*reader).result,
}

func (r *reader) sessionEvent(e event) []harness.Observation {
	switch {
	case !usable(e.ID) || e.ID == r.session:
		return nil
	case r.session != "":
		r.changed = cmp.Or(r.changed, e.ID)
		return nil
	}
	r.session = e.ID
	return []harness.Observation{harness.SessionStarted{ID: e.ID, Model: cmp.Or(e.Model, r.usage.Model)}}
}

func (r *reader) message(e event) []harness.Observation {
	if e.Text == "" {
		return nil
	}
	if !e.Thinking && e.Of == "" {
		r.text = e.Text
	}
	return []harness.Observation{harness.Message{Text: e.Text, Thinking: e.Thinking, Of: e.Of}}
}

func (r *reader) tool(e event) []harness.Observation {
	input := e.Input
	if len(input) == 0 || input[0] != '{' {
		input = json.RawMessage("{}")
	}
	return []harness.Observation{harness.ToolUse{ID: e.ID, Name: cmp.Or(e.Name, "tool"), Input: input, Of: e.Of}}
}

func (r *reader) toolResult(e event) []harness.Observation {
	return []harness.Observation{harness.ToolResult{ToolUseID: e.ID, Text: e.Text, IsError: e.IsError, Of: e.Of}}
}

// used adds what one request to the model has used. A program that gives no cost with the
// first knows no money: a sum of some costs would be that of none.
func (r *reader) used(e event) []harness.Observation {
	cost, priced := e.cost()
	if !r.counted {
		r.counted, r.usage.Priced = true, priced
	}
	if r.usage.Priced {
		r.usage.Cost += cost
	}
	tokens := e.tokens()
	r.usage.Tokens = r.usage.Tokens.Add(tokens)
	r.usage.Model = cmp.Or(e.Model, r.usage.Model)
	r.usage.Context = cmp.Or(count(e.ContextTokens), tokens.Sum())
	return []harness.Observation{r.usage}
}

// patience is how long a program may wait for its provider before hank waits instead.
const patience = 3 * time.Minute

func (r *reader) retrying(e event) []harness.Observation {
	if r.waits.IsZero() {
		r.waits = r.now()
	}
	after, waited := wait(e.AfterSeconds), r.now().Sub(r.waits)
	f := r.failure(e, "the program tries again")
	retrying := harness.Retrying{Attempt: max(0, e.Attempt), After: after, Why: f.Message, Class: f.Class}
	switch {
	case harness.Refused(f):
		retrying.Refused = f
	case waited+after >= patience:
		if f.Class == harness.ClassUnknown {
			f.Class, f.Type = harness.ClassUnreachable, state.FailAPI
		}
		f.Rule, f.Retriable = "retrying:"+f.Rule, true
		f.RetryAfterMs = max(f.RetryAfterMs, after.Milliseconds())
		f.Message = harness.Excerpt(fmt.Sprintf("the program has waited %s for its provider and would wait %s more: %s",
			waited.Round(time.Second), after.Round(time.Second), f.Message), harness.MaxMessage)
		retrying.GivenUp = f
	}
	return []harness.Observation{retrying}
}

func (r *reader) contextFull(e event) []harness.Observation {
	r.exceeded = true
	return []harness.Observation{harness.ContextExceeded{Message: harness.Excerpt(e.Message, harness.MaxMessage)}}
}

// question is one that nobody can answer.
func (r *reader) question(e event) []harness.Observation {
	r.asks = harness.Excerpt(e.Text, harness.MaxMessage/2)
	return []harness.Observation{harness.Notice{Text: "the program asks, and nobody can answer: " + e.Text}}
}

func (r *reader) notice(e event) []harness.Observation {
	return []harness.Observation{harness.Notice{Text: e.Text, For: e.ID}}
}

func (r *reader) result(e event) []harness.Observation {
	r.results++
	for _, tool := range e.Denied {
		if tool = harness.Excerpt(tool, 100); tool != "" && len(r.denied) < 20 {
			r.denied = append(r.denied, tool)
		}
	}
	if e.OK {
		r.ok = r.ok || r.results == 1
		var all []harness.Observation
		if e.Text != "" && e.Text != r.text { // it was not said before
			all = r.message(event{Text: e.Text})
		}
		return append(all, harness.Result{Text: r.text})
	}
	f := r.failure(e, "the program reported a failure and did not say which")
	all := []harness.Observation{harness.Result{Text: e.Text, Why: f.Message}}
	if r.failed == nil {
		r.failed = f
	}
	if f.Class == harness.ClassContextOverflow && !r.exceeded {
		all = append(all, r.contextFull(event{Message: f.Message})...)
	}
	return all
}

// failure is what an event says of one.
func (r *reader) failure(e event, unsaid string) *state.FailureReason {
	evidence := harness.Evidence{Class: e.Class, Words: []string{e.Class}, Status: e.Status, Text: cmp.Or(strings.TrimSpace(e.Message), strings.TrimSpace(e.Text), unsaid),
		RetryAfter: wait(cmp.Or(e.RetryAfterSeconds, e.AfterSeconds)), Session: r.session != ""}
	if at, err := time.Parse(time.RFC3339, e.ResetsAt); err == nil {
		evidence.ResetsAt = at
	} else if after := wait(e.RetryAfterSeconds); after > time.Hour { // longer than a pause between tries
		evidence.ResetsAt = r.now().Add(after)
	}
	return harness.Classify(evidence)
}

// Stderr implements harness.Reader.
func (r *reader) Stderr(line []byte) []harness.Observation {
	r.err.Add(line)
	return nil
}

// End implements harness.Reader.
func (r *reader) End(exitCode int, signal string) harness.Verdict {
	v := harness.Verdict{ResultSeen: r.results > 0, ContextExceeded: r.exceeded, Session: r.session, Text: r.text, Usage: r.usage, Denied: r.denied}
	v.Usage.Final = false
	v.Failure = r.broken()
	if v.Failure == nil {
		v.Failure = r.ending(exitCode, signal).Failure()
	}
	v.Success = v.Failure == nil
	return v
}

// broken is the failure that the program has reported, or how it broke the protocol; nil:
// neither.
func (r *reader) broken() *state.FailureReason {
	switch {
	case r.failed != nil:
		return r.failed
	case r.changed != "":
		return harness.Fail(harness.ClassProtocol, "session:changed", false, "the program began in session %s and named %s later; a turn has one session", r.session, r.changed)
	case r.results > 1:
		return harness.Fail(harness.ClassProtocol, "result:twice", true, "the program printed %d results; a turn has one", r.results)
	case r.after != "":
		return harness.Fail(harness.ClassProtocol, "result:not-last", true, "the program printed an event %q after its result, which must be the last", r.after)
	case r.ok && r.session == "" && r.asked == "":
		return harness.Fail(harness.ClassProtocol, "session:missing", false, `the program named no session; it must print an event "session" before its result`)
	}
	return nil
}

func (r *reader) ending(exitCode int, signal string) harness.Ending {
	said := cmp.Or(r.err.String(), r.out.String())
	if r.asks != "" && !r.ok {
		said = strings.TrimSpace("it had asked: " + r.asks + "\n" + said)
	}
	return harness.Ending{
		ExitCode: exitCode, Signal: signal, Finished: r.ok, Event: "result event", Missing: "result:missing",
		Asked: r.asked, Session: r.session, Denied: r.denied, DeniedRule: "result:denied", Said: said,
		Judge: func(said string) *state.FailureReason {
			return harness.Classify(harness.Evidence{Text: said, Session: r.session != ""})
		},
	}
}
