package opencode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"hank/internal/lazyregexp"
	"hank/internal/term"
	"hank/runtime/harness"
	"hank/state"
	"hank/state/agentend"
)

// Reader implements harness.Harness.
func (Harness) Reader(req harness.Request) harness.Reader {
	return &reader{asked: req.Session, model: req.Model, now: time.Now}
}

// reader implements harness.Reader for opencode run --format json.
type reader struct {
	asked   string // session to be continued
	model   string
	session string // of the first event
	now     func() time.Time

	reason   string // why the last step ended; empty: it has not, or something came after it
	fault    *fault // the last error, and nothing after it
	overcame bool   // the context was full, and the agent went on with less
	cause    string // of the last error, as the log has it
	last     string // the last message
	denied   []string
	end      agentend.Report

	tokens  state.Tokens
	cost    state.USD
	context int64 // the size of the last request

	exceeded  bool
	overflows int // errors that the context is full, since something was done
	givenUp   *state.FailureReason
	waiting   time.Time // since when the agent has waited for its provider; zero: it does not

	out, err harness.Tail // what is no event
}

// Line implements harness.Reader.
func (r *reader) Line(line []byte) []harness.Observation {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return nil
	}
	var e event
	if line[0] != '{' || !parse(line, &e) || e.Type == "" {
		r.out.Add(line)
		return nil
	}
	r.waiting = time.Time{}
	return append(r.started(e.Session), r.event(e)...)
}

func (r *reader) started(session string) []harness.Observation {
	if session == "" || r.session != "" {
		return nil
	}
	r.session = session
	return []harness.Observation{harness.SessionStarted{ID: session, Model: r.model}}
}

func (r *reader) event(e event) []harness.Observation {
	switch e.Type {
	case "step_start":
		r.overcame = r.overcame || r.fault != nil && contextFull(r.failure(*r.fault).Class)
		r.reason, r.fault = "", nil
	case "text", "reasoning":
		switch {
		case e.Part.Text == "":
			return nil
		case e.Part.Synthetic:
			return []harness.Observation{harness.Notice{Text: e.Part.Text}}
		}
		if e.Type == "text" {
			r.last = e.Part.Text
		}
		return []harness.Observation{harness.Message{Text: e.Part.Text, Thinking: e.Type == "reasoning"}}
	case "tool_use":
		r.reason, r.overflows = "", 0
		return r.tool(e.Part)
	case "step_finish":
		return r.finished(e.Part)
	case "error":
		if e.Error != nil {
			r.reason, r.fault = "", e.Error
			return r.failed(*e.Error)
		}
	case "done":
		r.denied = append(r.denied, e.Rejected...)
	}
	return nil
}

// finished reads the end of a step. A turn has ended with it, unless the model wants the
// results of its tools, or another step begins.
func (r *reader) finished(p part) []harness.Observation {
	used := p.Tokens.tokens()
	r.tokens, r.cost = r.tokens.Add(used), r.cost+money(p.Cost)
	if used.Sum() > 0 {
		r.context = used.Sum()
	}
	r.reason = p.Reason
	r.end = agentend.Report{StopReason: agentend.Word(p.Reason), Turns: r.end.Turns + 1}
	u := r.usage()
	u.Final = r.ended()
	observations := []harness.Observation{u}
	if u.Final {
		result := harness.Result{Text: r.last}
		if r.reason != "stop" {
			result.Why = r.reason
		}
		observations = append(observations, result)
	}
	if r.reason == "length" {
		r.exceeded = true
		observations = append(observations, harness.ContextExceeded{Message: "the answer was truncated at its maximum length"})
	}
	return observations
}

// ended reports whether the last step was the end of the turn.
func (r *reader) ended() bool { return r.reason != "" && r.reason != "tool-calls" }

// usage is that of the attempt. Where the agent knows no price, hank's own list decides.
func (r *reader) usage() harness.Usage {
	return harness.Usage{Model: r.model, Tokens: r.tokens, Cost: r.cost, Priced: r.cost > 0, PerRequest: true, Context: r.context}
}

func (r *reader) failure(f fault) *state.FailureReason {
	return failure(f, r.cause, r.session != "", r.now())
}

// mostOverflows is how often the context may be full with nothing done in between. The
// agent makes its context smaller and tries again, without an end.
const mostOverflows = 3

// failed reads an error. The agent may overcome it.
func (r *reader) failed(f fault) []harness.Observation {
	reason := r.failure(f)
	if !contextFull(reason.Class) {
		return []harness.Observation{harness.Notice{Text: reason.Message}}
	}
	r.exceeded = true
	r.overflows++
	observations := []harness.Observation{harness.ContextExceeded{Message: reason.Message}}
	if r.overflows >= mostOverflows {
		reason.Message = harness.Excerpt(fmt.Sprintf("the context was full %d times, and the agent does not make it smaller: %s", r.overflows, reason.Message), harness.MaxMessage)
		r.givenUp = reason
		observations = append(observations, harness.Retrying{Attempt: r.overflows, Why: reason.Message, GivenUp: reason})
	}
	return observations
}

// Stderr implements harness.Reader.
func (r *reader) Stderr(line []byte) []harness.Observation {
	var o observed
	if trimmed := bytes.TrimSpace(line); bytes.HasPrefix(trimmed, []byte(`{"hank":`)) && parse(trimmed, &o) {
		return r.observed(o)
	}
	if _, permission, found := bytes.Cut(line, []byte("permission requested: ")); found && bytes.Contains(permission, []byte("auto-rejecting")) {
		name, _, _ := strings.Cut(string(permission), " ")
		r.denied = append(r.denied, name)
	}
	text := term.Printable(string(line))
	if m := logged.FindStringSubmatch(text); m != nil {
		if text = unquoted(m[2]); m[1] == "failed" {
			r.cause = text
		}
	}
	r.err.Add([]byte(text))
	return nil
}

// logged is a line of the log with an error.
var logged = lazyregexp.New(`^timestamp=\S+ level=ERROR .*?message=(failed|"stream error") .*?\berror(?:\.error)?=("(?:[^"\\]|\\.)*"|\S+)`)

func unquoted(text string) string {
	if plain, err := strconv.Unquote(text); err == nil {
		return plain
	}
	return text
}

// patience is how long the agent may wait for its provider. By itself it would wait for
// hours, or for ever.
const patience = 3 * time.Minute

// observed reads a line of the observer. One of another session is of no matter.
func (r *reader) observed(o observed) []harness.Observation {
	if r.session != "" && o.Session != r.session {
		return nil
	}
	if o.Event == "session.compacted" {
		r.exceeded = true
		return append(r.started(o.Session), harness.ContextExceeded{Message: "the agent compacted its context"})
	}
	observations := r.started(o.Session)
	retrying := harness.Retrying{Attempt: o.Attempt, Why: harness.Excerpt(o.Message, harness.MaxMessage)}
	if wait := o.Next - o.Now; wait > 0 && wait < 1e10 {
		retrying.After = time.Duration(wait) * time.Millisecond
	}
	if r.waiting.IsZero() {
		r.waiting = r.now()
	}
	reason := harness.Classify(harness.Evidence{Text: o.Message, RetryAfter: retrying.After, ResetsAt: resets(r.now(), retrying.After), Session: true})
	if reason.Class == harness.ClassUnknown { // in words that nobody knows; but it waits for nothing else than its provider
		reason.Class, reason.Type, reason.Rule = harness.ClassOverloaded, state.FailAPI, "event:retry"
		if retrying.After >= patience {
			reason.Class, reason.Type = harness.ClassRateLimit, state.FailRateLimit
		}
	}
	retrying.Class = reason.Class
	switch waited := r.now().Sub(r.waiting); {
	case reason.Class == harness.ClassBilling || reason.Class == harness.ClassUsageLimit: // the run waits for it, or nobody
		retrying.GivenUp = reason
	case waited+retrying.After >= patience:
		reason.Retriable = true
		reason.Message = harness.Excerpt(fmt.Sprintf("the agent has waited %s for its provider, and would wait %s more: %s", waited.Round(time.Second), retrying.After.Round(time.Second), reason.Message), harness.MaxMessage)
		retrying.GivenUp = reason
	}
	r.givenUp = retrying.GivenUp
	return append(observations, retrying)
}

// refusals are the beginnings of what a tool answers that was not permitted.
var refusals = []string{
	"The user rejected permission to use this specific tool call",
	"The user has specified a rule which prevents you from using this specific tool call",
}

// tool reads the use of a tool, which is told when it has ended.
func (r *reader) tool(p part) []harness.Observation {
	answer := harness.ToolResult{ToolUseID: p.Call, Text: p.State.Output}
	switch exit := p.State.Metadata.Exit; {
	case p.State.Status == "error":
		answer.Text, answer.IsError = p.State.Error, true
		if slices.ContainsFunc(refusals, func(beginning string) bool { return strings.Contains(answer.Text, beginning) }) {
			r.denied = append(r.denied, nameOf(p.Tool))
		}
	case exit != nil && *exit != 0:
		answer.Text, answer.IsError = fmt.Sprintf("exit status %v\n%s", *exit, p.State.Output), true
	}
	return []harness.Observation{harness.ToolUse{ID: p.Call, Name: nameOf(p.Tool), Input: inputOf(p.State.Input)}, answer}
}

// names are those of tools, as the compatible system calls them.
var names = map[string]string{
	"bash": "Bash", "edit": "Edit", "glob": "Glob", "grep": "Grep", "list": "LS", "patch": "Edit", "apply_patch": "Edit", "read": "Read",
	"todowrite": "TodoWrite", "webfetch": "WebFetch", "websearch": "WebSearch", "write": "Write",
}

func nameOf(tool string) string {
	if name := names[tool]; name != "" {
		return name
	}
	return tool
}

// fields are those of inputs, as the compatible system calls them.
var fields = map[string]string{"filePath": "file_path", "oldString": "old_string", "newString": "new_string", "replaceAll": "replace_all"}

func inputOf(raw json.RawMessage) []byte {
	var input map[string]json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &input) != nil || input == nil {
		return []byte("{}")
	}
	for own, common := range fields {
		if value, is := input[own]; is {
			delete(input, own)
			input[common] = value
		}
	}
	text, err := json.Marshal(input)
	if err != nil {
		return []byte("{}")
	}
	return text
}

// contextFull reports whether a failure means that there was no room left, for the prompt or
// for the answer.
func contextFull(class string) bool {
	return class == harness.ClassContextOverflow || class == harness.ClassMaxOutput
}
