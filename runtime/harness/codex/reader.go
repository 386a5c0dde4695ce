package codex

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"hank/internal/lazyregexp"
	"hank/runtime/harness"
	"hank/state"
)

// Reader implements harness.Harness.
func (Harness) Reader(req harness.Request) harness.Reader {
	return &reader{
		asked: req.Session, remedy: remedy(req), now: time.Now, open: map[string]bool{},
		meter: meter{model: req.Model, thread: req.SessionTokens, rollout: follow(req)},
	}
}

// reader implements harness.Reader for codex exec --json.
type reader struct {
	asked   string // thread to be continued
	remedy  string // what to do about a key or login that is refused
	thread  string // of the first event
	meter   meter
	now     func() time.Time
	waiting time.Time       // since when the agent has had no network; zero: it has
	open    map[string]bool // tools that have not answered, by item

	ended    bool // turn.completed, and nothing after it
	failed   bool // turn.failed, likewise
	why      string
	said     string // the last error event
	last     string // the last message
	denied   []string
	exceeded bool

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
	return append(r.requests(), r.event(e)...)
}

func (r *reader) event(e event) []harness.Observation {
	if e.Type != "error" {
		r.waiting = time.Time{}
	}
	switch e.Type {
	case "thread.started":
		return r.started(e.Thread)
	case "turn.started":
		r.ended, r.failed = false, false
	case "turn.completed":
		r.ended, r.failed = true, false
		r.meter.turn(e.Usage)
		used := r.meter.usage()
		used.Final = true
		return []harness.Observation{used, harness.Result{Text: r.last}}
	case "turn.failed":
		r.ended, r.failed = false, true
		if e.Error != nil {
			r.why = e.Error.Message
		}
		observations := []harness.Observation{harness.Result{Why: harness.Excerpt(r.why, harness.MaxMessage)}}
		if failure := failure(r.why, true); contextFull(failure.Class) {
			r.exceeded = true
			observations = append(observations, harness.ContextExceeded{Message: failure.Message})
		}
		return observations
	case "error":
		return r.trouble(e.Message)
	case "item.started", "item.updated", "item.completed":
		var it item
		if parse(e.Item, &it) && it.Type != "" {
			r.ended, r.failed = false, false
			return r.item(strings.TrimPrefix(e.Type, "item."), it, e.Item)
		}
	}
	return nil
}

func (r *reader) started(thread string) []harness.Observation {
	if thread == "" || thread == r.thread {
		return nil
	}
	r.thread = thread
	r.meter.rollout.of(thread)
	return []harness.Observation{harness.SessionStarted{ID: thread, Model: r.meter.model}}
}

// Poll implements harness.Polled.
func (r *reader) Poll() []harness.Observation { return r.requests() }

// requests tells of the requests to the model that are new in the file.
func (r *reader) requests() []harness.Observation {
	var observations []harness.Observation
	for _, entry := range r.meter.rollout.read() {
		switch {
		case entry.compacted:
			r.exceeded = true
			observations = append(observations, harness.ContextExceeded{Message: "the agent compacted its context"})
		case r.meter.request(entry):
			observations = append(observations, r.meter.usage())
		}
	}
	return observations
}

// Stderr implements harness.Reader.
func (r *reader) Stderr(line []byte) []harness.Observation {
	r.err.Add(line)
	return nil
}

// reconnecting is what the agent says when it tries again. An error that it gives up for
// has other words.
var reconnecting = lazyregexp.New(`^Reconnecting\.\.\. (?:(\d{1,6})/\d{1,6}|waiting for network)\s*(?:\((?s:(.*))\))?$`)

// patience is how long the agent may wait for the network. By itself it would for ever.
const patience = 3 * time.Minute

// trouble reads an error event. One that the agent overcomes is told as any other.
func (r *reader) trouble(message string) []harness.Observation {
	m := reconnecting.FindStringSubmatch(message)
	if m == nil {
		r.said = message
		return nil
	}
	why := m[2]
	if why == "" {
		why = message
	}
	retrying := harness.Retrying{Why: harness.Excerpt(why, harness.MaxMessage)}
	retrying.Attempt, _ = strconv.Atoi(m[1])
	if m[1] != "" {
		r.waiting = time.Time{}
		if f := failure(why, true); harness.Refused(f) {
			f.Message = harness.Excerpt(f.Message+"; "+r.remedy, harness.MaxMessage)
			retrying.Refused = f
		}
		return []harness.Observation{retrying}
	}
	if r.waiting.IsZero() {
		r.waiting = r.now()
	}
	if r.now().Sub(r.waiting) >= patience {
		retrying.GivenUp = &state.FailureReason{
			Type: state.FailAPI, Retriable: true, Class: harness.ClassUnreachable, Rule: "event:waiting-for-network",
			Message: fmt.Sprintf("the agent has waited %s for the network: %s", patience, retrying.Why),
		}
	}
	return []harness.Observation{retrying}
}

// item reads what has begun, changed or ended.
func (r *reader) item(moment string, it item, raw []byte) []harness.Observation {
	switch it.Type {
	case "agent_message", "reasoning", "plan":
		if moment != "completed" || it.Text == "" {
			return nil
		}
		if it.Type == "agent_message" {
			r.last = it.Text
		}
		return []harness.Observation{harness.Message{Text: it.Text, Thinking: it.Type != "agent_message"}}
	case "error": // that of a turn is another event
		if moment != "completed" || it.Message == "" {
			return nil
		}
		return []harness.Observation{harness.Notice{Text: it.Message}}
	case "todo_list":
		if moment == "completed" { // as it was last
			return nil
		}
		return []harness.Observation{harness.Notice{Text: it.list()}}
	}
	return r.tool(moment, it, raw)
}

// list is a list of what is to do.
func (it item) list() string {
	text := "the plan:"
	for _, entry := range it.Items {
		mark := " [ ] "
		if entry.Done {
			mark = " [x] "
		}
		text += mark + entry.Text
	}
	return text
}

// tool reads the use of a tool. One that is only told when it has ended has begun then.
func (r *reader) tool(moment string, it item, raw []byte) []harness.Observation {
	var observations []harness.Observation
	if !r.open[it.ID] && moment != "updated" {
		r.open[it.ID] = true
		observations = append(observations, harness.ToolUse{ID: it.ID, Name: it.name(), Input: it.input(raw)})
	}
	if moment == "completed" {
		delete(r.open, it.ID)
		if it.Status == "declined" {
			r.denied = append(r.denied, it.name())
		}
		text, failed := it.answer()
		observations = append(observations, harness.ToolResult{ToolUseID: it.ID, Text: text, IsError: failed})
	}
	return observations
}

// name is the tool's, as the compatible system calls it where it has one.
func (it item) name() string {
	switch it.Type {
	case "command_execution":
		return "Bash"
	case "file_change":
		return "Edit"
	case "mcp_tool_call":
		return it.Server + "." + it.Tool
	case "web_search":
		return "WebSearch"
	}
	return it.Type
}

// input is what the tool was given.
func (it item) input(raw []byte) []byte {
	var input any
	switch it.Type {
	case "command_execution":
		input = map[string]any{"command": it.Command}
	case "file_change":
		fields := map[string]any{"changes": it.Changes}
		if len(it.Changes) > 0 {
			fields["file_path"] = it.Changes[0].Path
		}
		input = fields
	case "mcp_tool_call":
		if len(it.Arguments) > 0 {
			return it.Arguments
		}
		return []byte("{}")
	case "web_search":
		input = map[string]any{"query": it.Query}
	default:
		return raw
	}
	text, _ := json.Marshal(input) // maps of strings
	return text
}

// answer is what the tool gave.
func (it item) answer() (text string, failed bool) {
	failed = it.Status == "failed" || it.Status == "declined" || it.ExitCode != nil && *it.ExitCode != 0
	switch {
	case it.Error != nil && it.Error.Message != "":
		return it.Error.Message, true
	case it.Type == "command_execution":
		if it.Status == "declined" {
			return "the command was refused: it is not permitted", true
		}
		if it.ExitCode != nil && *it.ExitCode != 0 {
			return fmt.Sprintf("exit status %d\n%s", *it.ExitCode, it.Output), true
		}
		return it.Output, failed
	case it.Type == "file_change":
		var lines []string
		for _, c := range it.Changes {
			lines = append(lines, c.Kind+" "+c.Path)
		}
		return strings.Join(lines, "\n"), failed
	case it.Result != nil:
		var parts []string
		for _, c := range it.Result.Content {
			if c.Text != "" {
				parts = append(parts, c.Text)
			}
		}
		return strings.Join(parts, "\n"), failed
	}
	return it.Status, failed
}

// contextFull reports whether a failure means that there was no room left, for
// the prompt or for the answer.
func contextFull(class string) bool {
	return class == harness.ClassContextOverflow || class == harness.ClassMaxOutput
}
