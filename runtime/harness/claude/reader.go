package claude

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"hank/runtime/harness"
	"hank/state"
)

// Reader implements harness.Harness.
func (Harness) Reader(req harness.Request) harness.Reader {
	r := &reader{asked: req.Session, provider: provider(req), remedy: remedy(req), meter: meter{model: req.Model, before: req.SessionCost}}
	if req.Home != "" { // a transcript has none
		r.account = accountIn(directory(req))
	}
	return r
}

// reader implements harness.Reader for --output-format stream-json.
type reader struct {
	asked    string // session to be continued
	provider string // whom the agent asks, for people
	remedy   string // what to do about a key or login that is refused
	session  string // of the last init line
	meter    meter
	account  *account // nil: there is none to be read

	result   fields // last result line
	turns    int    // of all result lines: each has its own
	open     bool   // a turn began after it
	last     string // last text of the agent itself
	apiError string // error of the last assistant line
	denied   []string
	exceeded bool
	resets   time.Time // when the window of a subscription begins anew that is used up; zero: none is

	out, err harness.Tail // what is no event
}

// Line implements harness.Reader.
func (r *reader) Line(line []byte) []harness.Observation {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return nil
	}
	event := parse(line)
	switch event.text("type") {
	case "system":
		return r.system(event)
	case "assistant":
		return r.assistant(event)
	case "user":
		return append(user(event), r.settle()...)
	case "result":
		return r.resultLine(event)
	case "rate_limit_event":
		r.window(event.object("rate_limit_info"))
	case "":
		r.out.Add(line)
	}
	return nil
}

// Stderr implements harness.Reader.
func (r *reader) Stderr(line []byte) []harness.Observation {
	r.err.Add(line)
	return nil
}

func (r *reader) system(event fields) []harness.Observation {
	switch event.text("subtype") {
	case "init":
		return r.init(event)
	case "api_retry":
		return []harness.Observation{r.retrying(event)}
	case "compact_boundary":
		if event.object("compact_metadata").text("trigger") != "manual" {
			r.exceeded = true
			return []harness.Observation{harness.ContextExceeded{Message: "the agent compacted its context"}}
		}
	case "permission_denied":
		r.deny(event.text("tool_name"))
		return notice("the tool "+event.text("tool_name")+" was refused: it is not permitted", "")
	case "informational":
		return notice(event.text("content"), "")
	case "task_notification":
		return notice(event.text("summary"), event.text("tool_use_id"))
	}
	return nil
}

func notice(text, tool string) []harness.Observation {
	if text == "" {
		return nil
	}
	return []harness.Observation{harness.Notice{Text: text, For: tool}}
}

// init begins a turn. One process can have several, all of one session.
func (r *reader) init(event fields) []harness.Observation {
	r.open = true
	if model := event.text("model"); model != "" {
		r.meter.model = model
	}
	id := event.text("session_id")
	if id == "" || id == r.session {
		return nil
	}
	r.session = id
	return []harness.Observation{harness.SessionStarted{ID: id, Model: r.meter.model}}
}

// environOf is the agent's environment, with the codon's own.
func environOf(req harness.Request) harness.Environ {
	env := harness.NewEnviron(req.Environ)
	for name, value := range req.Env {
		env[name] = value
	}
	return env
}

// remedy is what the user can do about a key or login that is refused.
func remedy(req harness.Request) string {
	switch from, name := credentials(environOf(req)); from {
	case key:
		return fmt.Sprintf("set %s to one that is accepted, or unset it, start claude once and use /login", name)
	case cloud:
		return "renew the credentials of the cloud provider that " + name + " names"
	}
	return "start claude once and use /login, or set ANTHROPIC_API_KEY"
}

// provider is the host that the agent asks.
func provider(req harness.Request) string {
	if req.Environ != nil && len(req.Environ) == 0 {
		return "its provider" // of a transcript, whose environment nobody knows any more
	}
	env := environOf(req)
	if from, _ := credentials(env); from == cloud {
		return "its provider"
	}
	if u, err := url.Parse(env["ANTHROPIC_BASE_URL"]); err == nil && u.Host != "" {
		return u.Host
	}
	return "api.anthropic.com"
}

// retrying reads an announcement that the agent waits. An error without a status
// is none of the provider: it was not reached, or the connection broke.
func (r *reader) retrying(event fields) harness.Retrying {
	why := event.text("error")
	status := int(event.count("error_status"))
	var refused *state.FailureReason
	switch {
	case status != 0:
		why = strings.TrimSpace(fmt.Sprintf("%s (HTTP %d)", why, status))
		if f := harness.Classify(harness.Evidence{Words: []string{event.text("error")}, Status: status, Session: true}); harness.Refused(f) {
			f.Message = fmt.Sprintf("%s refuses the key or the login: %s; %s", r.provider, why, r.remedy)
			if f.Class != harness.ClassAuth {
				f.Message = fmt.Sprintf("%s does not have the model %s: %s", r.provider, r.meter.model, why)
			}
			refused = f
		}
	case why == "" || why == "unknown" || why == "connection_failed":
		why = "no connection to " + r.provider
	}
	// No wait of the agent is longer than a day; a float of any size is not a Duration.
	delay := min(max(event.number("retry_delay_ms"), 0), 24*60*60*1000)
	return harness.Retrying{
		Attempt: int(event.count("attempt")),
		After:   time.Duration(delay) * time.Millisecond,
		Why:     harness.Excerpt(why, harness.MaxMessage),
		Refused: refused,
	}
}

// window takes in what the provider says of the windows of a subscription.
func (r *reader) window(info fields) {
	r.resets = time.Time{}
	if at := info.count("resetsAt"); info.text("status") == "rejected" && at > 0 {
		r.resets = time.Unix(at, 0)
	}
}

func (r *reader) deny(tool string) {
	if tool != "" && !slices.Contains(r.denied, tool) {
		r.denied = append(r.denied, tool)
	}
}

func (r *reader) assistant(event fields) []harness.Observation {
	message := event.object("message")
	topLevel := event.text("parent_tool_use_id") == "" // else a subagent's
	if topLevel {
		r.open = true
		r.apiError = event.text("error")
	}
	failed := message.text("model") == synthetic && event.text("error") != ""
	observations, length, text := blocks(message["content"], event.text("parent_tool_use_id"), failed)
	if topLevel && text != "" {
		r.last = text
	}
	if message.text("model") != synthetic && message.has("usage") {
		r.meter.message(message.text("id"), message.object("usage").tokens(), length, topLevel)
		observations = append(observations, r.meter.usage())
	}
	return observations
}

// blocks reads the content of an assistant message. length is the size of what
// the model wrote, in bytes; text is the last text block.
func blocks(content json.RawMessage, of string, failed bool) (observations []harness.Observation, length int, text string) {
	var list []fields
	if json.Unmarshal(content, &list) != nil {
		list = []fields{{"type": json.RawMessage(`"text"`), "text": content}}
	}
	for _, block := range list {
		switch block.text("type") {
		case "text":
			if t := block.text("text"); t != "" {
				text = t
				length += len(t)
				observations = append(observations, harness.Message{Text: t, Failed: failed, Of: of})
			}
		case "thinking":
			if t := block.text("thinking"); t != "" {
				length += len(t)
				observations = append(observations, harness.Message{Text: t, Thinking: true, Of: of})
			}
		case "tool_use":
			input := block["input"]
			length += len(input)
			observations = append(observations, harness.ToolUse{ID: block.text("id"), Name: block.text("name"), Input: input, Of: of})
		}
	}
	return observations, length, text
}

// user reads a message to the model: results of tools, and what the agent's program
// tells it, which nobody asked for.
func user(event fields) []harness.Observation {
	var observations []harness.Observation
	for _, block := range event.object("message").list("content") {
		switch kind := block.text("type"); {
		case kind == "tool_result":
			observations = append(observations, harness.ToolResult{
				ToolUseID: block.text("tool_use_id"),
				Text:      plain(block["content"]),
				IsError:   block.flag("is_error"),
				Of:        event.text("parent_tool_use_id"),
			})
		case kind == "text" && event.flag("isSynthetic") && block.text("text") != "":
			observations = append(observations, harness.Notice{Text: "the model was told: " + block.text("text")})
		}
	}
	return observations
}

// Poll implements harness.Polled.
func (r *reader) Poll() []harness.Observation {
	if r.account == nil || r.session == "" || !r.meter.settle(r.account.next(r.session)) {
		return nil
	}
	return []harness.Observation{r.meter.usage()}
}

// settle takes up what the agent's files say of the messages that are whole: those whose tools
// have ended are.
func (r *reader) settle() []harness.Observation {
	if r.account == nil || len(r.meter.live) == 0 {
		return nil
	}
	r.meter.settle(r.account.next(r.session))
	return []harness.Observation{r.meter.usage()}
}

// Settle implements harness.Settling.
func (r *reader) Settle(req harness.Request) (used harness.Usage, exact bool) {
	if dir := leftBy(req); dir != "" {
		r.meter.settle(accountIn(dir).next(r.session))
	}
	return r.meter.usage(), r.meter.exact()
}

func (r *reader) resultLine(event fields) []harness.Observation {
	r.result, r.open = event, false
	r.turns += int(event.count("num_turns"))
	r.meter.result(event)
	for _, denial := range event.list("permission_denials") {
		r.deny(denial.text("tool_name"))
	}
	used := r.meter.usage()
	used.Final = true
	result := harness.Result{Text: event.text("result")}
	if subtype := event.text("subtype"); subtype != "success" {
		result.Why = subtype
	}
	observations := []harness.Observation{used, result}
	if failure := r.resultFailure(); failure != nil && contextFull(failure.Class) {
		r.exceeded = true
		observations = append(observations, harness.ContextExceeded{Message: failure.Message})
	}
	return observations
}

// contextFull reports whether a failure means that there was no room left, for
// the prompt or for the answer.
func contextFull(class string) bool {
	return class == harness.ClassContextOverflow || class == harness.ClassMaxOutput
}
