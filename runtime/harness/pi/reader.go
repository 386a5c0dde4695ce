package pi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"hank/runtime/harness"
)

// Reader implements harness.Harness.
func (Harness) Reader(req harness.Request) harness.Reader {
	return &reader{req: req, remedy: remedy(req), meter: meter{model: req.Model}}
}

// reader implements harness.Reader for pi --mode json.
type reader struct {
	req     harness.Request
	remedy  string // what to do about a key or login that is refused
	session string // of the first line
	cwd     string // likewise
	meter   meter

	ended    bool    // agent_end, and nothing begun after it
	last     message // the model's last
	seen     bool    // there was one
	turns    int     // how many there were
	text     string  // the last that was said
	other    string  // the model that answered, if it is not the one that was asked for
	exceeded bool

	out, err harness.Tail // what is no event
}

// repeats are the beginnings of lines that repeat what another line says whole: a
// message as it grows, once for each part that comes, and the output of a command as it
// grows. They are most of what the agent prints, and grow with the square of it.
var repeats = [][]byte{[]byte(`{"type":"message_update"`), []byte(`{"type":"tool_execution_update"`)}

// Repeats implements harness.Repeating.
func (r *reader) Repeats(line []byte) bool {
	for _, beginning := range repeats {
		if bytes.HasPrefix(line, beginning) {
			return true
		}
	}
	return false
}

// ending is the beginning of the event that the agent has ended its work. It has all messages
// once more, and can be too long for one line.
var ending = []byte(`{"type":"agent_end"`)

// Line implements harness.Reader.
func (r *reader) Line(line []byte) []harness.Observation {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || r.Repeats(line) {
		return nil
	}
	if bytes.HasPrefix(line, ending) {
		return r.event(event{Type: "agent_end"})
	}
	var e event
	if line[0] != '{' || !parse(line, &e) || e.Type == "" {
		r.out.Add(line)
		return nil
	}
	return r.event(e)
}

func (r *reader) event(e event) []harness.Observation {
	switch e.Type {
	case "session":
		return r.started(e)
	case "agent_start", "turn_start":
		r.ended = false
	case "message_start":
		r.ended = false
		return r.answers(e.Message)
	case "message_end":
		r.ended = false
		return r.message(e.Message)
	case "tool_execution_start":
		r.ended = false
		return []harness.Observation{harness.ToolUse{ID: e.Call, Name: toolName(e.Tool), Input: input(e.Tool, e.Args)}}
	case "tool_execution_end":
		return []harness.Observation{harness.ToolResult{ToolUseID: e.Call, Text: text(e.Result.Content), IsError: e.IsError}}
	case "agent_end":
		r.ended = true
		return r.result()
	case "auto_retry_start":
		r.ended = false
		return r.retrying(e)
	case "compaction_start":
		if e.Reason != "manual" {
			r.exceeded = true
			return []harness.Observation{harness.ContextExceeded{Message: "the agent makes its context smaller (" + e.Reason + ")"}}
		}
	case "compaction_end":
		if e.Error != "" {
			return []harness.Observation{harness.Notice{Text: e.Error}}
		}
	}
	return nil
}

func (r *reader) started(e event) []harness.Observation {
	if e.ID == "" || e.ID == r.session {
		return nil
	}
	r.session, r.cwd = e.ID, e.Cwd
	return []harness.Observation{harness.SessionStarted{ID: e.ID, Model: r.meter.model}}
}

// answers looks at which model begins to answer. The agent takes a part of a name for the
// name of another model, and says so nowhere else. It is ended before the answer is paid.
func (r *reader) answers(m message) []harness.Observation {
	if m.Role != "assistant" || m.Model == "" || r.req.Model == "" || strings.EqualFold(m.Model, r.req.Model) || r.other != "" {
		return nil
	}
	r.other = m.Provider + "/" + m.Model
	f := r.mismatch()
	return []harness.Observation{harness.Retrying{Why: f.Message, Refused: f}}
}

// message reads one that is whole. Those of the user and of tools are told elsewhere.
func (r *reader) message(m message) (all []harness.Observation) {
	if m.Role != "assistant" {
		return nil
	}
	r.last, r.seen = m, true
	r.turns++
	for _, b := range m.Content {
		switch {
		case b.Type == "thinking" && b.Thinking != "":
			all = append(all, harness.Message{Text: b.Thinking, Thinking: true})
		case b.Type == "text" && b.Text != "":
			r.text = b.Text
			all = append(all, harness.Message{Text: b.Text})
		}
	}
	r.last.Content = nil
	if r.meter.request(m.Usage) {
		all = append(all, r.meter.usage())
	}
	return all
}

// result is how the model's last message ended the work. What failed can be tried again.
func (r *reader) result() []harness.Observation {
	if !r.failed() {
		return []harness.Observation{harness.Result{Text: r.text}}
	}
	f := r.stopped()
	all := []harness.Observation{harness.Result{Why: f.Message}}
	if contextFull(f.Class) && !r.exceeded {
		r.exceeded = true
		all = append(all, harness.ContextExceeded{Message: "there is no room left in the model's context"})
	}
	return all
}

// retrying tells that the agent will try again.
func (r *reader) retrying(e event) []harness.Observation {
	f := failure(e.Error, true)
	retrying := harness.Retrying{Attempt: e.Attempt, After: time.Duration(max(0, min(e.Delay, 1e9))) * time.Millisecond, Why: f.Message, Class: f.Class}
	if harness.Refused(f) {
		retrying.Refused = r.advised(f)
	}
	return []harness.Observation{retrying}
}

// guess is what the agent says of a model that it does not know.
const guess = "Using custom model id"

// Stderr implements harness.Reader.
func (r *reader) Stderr(line []byte) []harness.Observation {
	r.err.Add(line)
	if bytes.Contains(line, []byte(guess)) {
		r.meter.guessed = true
	}
	return nil
}

// toolName is a tool's name as the compatible system has it.
func toolName(name string) string {
	switch name {
	case "read", "write", "edit", "bash", "grep":
		return strings.ToUpper(name[:1]) + name[1:]
	case "find":
		return "Glob"
	case "ls":
		return "LS"
	}
	return name
}

// input is what a tool was given, with the names that tools have elsewhere.
func input(tool string, args json.RawMessage) []byte {
	var fields map[string]any
	if json.Unmarshal(args, &fields) != nil || fields == nil {
		return []byte("{}")
	}
	if path, is := fields["path"].(string); is && (tool == "read" || tool == "write" || tool == "edit") {
		delete(fields, "path")
		fields["file_path"] = path
	}
	if edits, is := fields["edits"].([]any); is && tool == "edit" {
		var before, after []string
		for _, e := range edits {
			edit, _ := e.(map[string]any)
			before, after = append(before, fmt.Sprint(edit["oldText"])), append(after, fmt.Sprint(edit["newText"]))
		}
		delete(fields, "edits")
		fields["old_string"], fields["new_string"] = strings.Join(before, "\n"), strings.Join(after, "\n")
	}
	renamed, err := json.Marshal(fields)
	if err != nil {
		return args
	}
	return renamed
}

// text is the text of blocks.
func text(blocks []block) string {
	var parts []string
	for _, b := range blocks {
		if b.Text != "" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// contextFull reports whether a failure means that there was no room left, for
// the prompt or for the answer.
func contextFull(class string) bool {
	return class == harness.ClassContextOverflow || class == harness.ClassMaxOutput
}
