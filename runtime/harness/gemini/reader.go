package gemini

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"hank/internal/lazyregexp"
	"hank/runtime/harness"
)

// Reader implements harness.Harness.
func (Harness) Reader(req harness.Request) harness.Reader {
	return &reader{
		asked: req.Session, remedy: remedy(req), meter: newMeter(req), tools: map[string]string{},
		trying: trying{now: time.Now},
	}
}

// reader implements harness.Reader for --output-format stream-json.
type reader struct {
	asked   string // session to be continued
	remedy  string // what to do about a key or login that is refused
	session string // of the init line
	meter   meter
	trying  trying

	ended   bool   // result with status success, and nothing after it
	failed  bool   // result with another status, likewise
	error   string // of the result
	said    string // the last error event
	stopped string // why the agent has ended by itself, as it says
	report  report // of the request that has failed
	part    strings.Builder
	last    string            // the last message of the model
	silent  bool              // the model has said nothing since it heard something
	rounds  int               // how often the model has used tools, of which it can use several at once
	using   bool              // it has, and none has answered
	tools   map[string]string // names of those that have not answered, by id
	denied  []string
	full    bool

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
	r.trying.over()
	if e.Type == "message" && e.Role == "assistant" { // a piece of one; there can be many
		r.ended, r.failed, r.silent = false, false, false
		r.part.WriteString(e.Content)
		return nil
	}
	return append(append(r.requests(), r.message()...), r.event(e)...)
}

// Poll implements harness.Polled.
func (r *reader) Poll() []harness.Observation { return r.requests() }

// requests tells of the requests to the model that are new in the file.
func (r *reader) requests() (observations []harness.Observation) {
	for _, used := range r.meter.read() {
		observations = append(observations, used)
	}
	return observations
}

// message ends a message of the model, which comes in pieces.
func (r *reader) message() []harness.Observation {
	text := r.part.String()
	if r.part.Reset(); strings.TrimSpace(text) == "" {
		return nil
	}
	r.last = text
	return []harness.Observation{harness.Message{Text: text}}
}

func (r *reader) event(e event) []harness.Observation {
	switch e.Type {
	case "init":
		return r.started(e)
	case "message":
		r.ended, r.failed, r.silent = false, false, true
	case "tool_use":
		r.ended, r.failed, r.using = false, false, true
		r.tools[e.ID] = e.Tool
		input := []byte(e.Parameters)
		if len(input) == 0 {
			input = []byte("{}")
		}
		return []harness.Observation{harness.ToolUse{ID: e.ID, Name: name(e.Tool), Input: input}}
	case "tool_result":
		r.ended, r.failed, r.silent = false, false, true
		return r.answered(e)
	case "error":
		return r.trouble(e)
	case "result":
		return r.result(e)
	}
	return nil
}

func (r *reader) started(e event) []harness.Observation {
	if e.Model != "" {
		r.meter.model = e.Model
	}
	if e.Session == "" || e.Session == r.session {
		return nil
	}
	r.session = e.Session
	r.meter.session.of(e.Session)
	return []harness.Observation{harness.SessionStarted{ID: e.Session, Model: r.meter.model}}
}

// names are the agent's tools, as the compatible system calls them.
var names = map[string]string{
	"run_shell_command": "Bash", "write_file": "Write", "replace": "Edit", "read_file": "Read", "read_many_files": "Read",
	"glob": "Glob", "grep_search": "Grep", "search_file_content": "Grep", "list_directory": "LS",
	"web_fetch": "WebFetch", "google_web_search": "WebSearch", "write_todos": "TodoWrite",
}

func name(tool string) string {
	if known := names[tool]; known != "" {
		return known
	}
	return tool
}

// essential are the tools that the agent always has, unless somebody took them away.
var essential = []string{"run_shell_command", "write_file", "replace"}

// answered reads the answer of a tool.
func (r *reader) answered(e event) []harness.Observation {
	if r.using {
		r.rounds, r.using = r.rounds+1, false
	}
	tool := r.tools[e.ID]
	delete(r.tools, e.ID)
	result := harness.ToolResult{ToolUseID: e.ID, Text: e.Output, IsError: e.Status == "error"}
	if e.Error != nil {
		result.IsError = true
		if !strings.Contains(result.Text, e.Error.Message) {
			result.Text = strings.TrimSpace(result.Text + "\n" + e.Error.Message)
		}
		if e.Error.Type == "policy_violation" || e.Error.Type == "tool_not_registered" && slices.Contains(essential, tool) {
			r.deny(name(tool))
		}
	}
	return []harness.Observation{result}
}

func (r *reader) deny(tool string) {
	if tool != "" && !slices.Contains(r.denied, tool) {
		r.denied = append(r.denied, tool)
	}
}

// What the agent says when it ends by itself in the middle of its work.
const (
	loopDetected = "Loop detected"
	maxTurns     = "Maximum session turns exceeded"
	blocked      = "Agent execution blocked"
)

// trouble reads an error event. The agent calls some a warning, ends, and reports success.
func (r *reader) trouble(e event) []harness.Observation {
	r.said = e.Message
	for _, begin := range []string{loopDetected, maxTurns, blocked} {
		if strings.HasPrefix(e.Message, begin) {
			r.stopped = e.Message
		}
	}
	if e.Message == "" {
		return nil
	}
	return []harness.Observation{harness.Notice{Text: harness.Excerpt(e.Message, harness.MaxMessage)}}
}

func (r *reader) result(e event) []harness.Observation {
	r.ended, r.failed = e.Status == "success", e.Status != "success"
	r.meter.settle(e.Stats)
	used := r.meter.usage()
	used.Final = true
	observations := []harness.Observation{used}
	r.error = ""
	if e.Error != nil {
		r.error = e.Error.Message
	}
	f := r.judgeResult(0)
	if f == nil {
		return append(observations, harness.Result{Text: r.last})
	}
	observations = append(observations, harness.Result{Text: r.last, Why: f.Message})
	if contextFull(f.Class) {
		r.full = true
		observations = append(observations, harness.ContextExceeded{Message: f.Message})
	}
	return observations
}

// Stderr implements harness.Reader. The agent says much there. That it tries again means
// something while it runs, and its report of a request that has failed in the end.
func (r *reader) Stderr(line []byte) []harness.Observation {
	text := string(bytes.TrimSpace(line))
	if chatter.MatchString(text) {
		return nil
	}
	r.err.Add(line)
	r.report.line(text)
	return r.trying.line(text, r.remedy, r.session != "")
}

// chatter is what the agent says on its standard error in every run, and where in its
// program it was.
var chatter = lazyregexp.New(`^(?:$|at |Warning: 256-color |YOLO mode is enabled|Ripgrep is not available|Loaded cached credentials)`)

// contextFull reports whether a failure means that there was no room left, for
// the prompt or for the answer.
func contextFull(class string) bool {
	return class == harness.ClassContextOverflow || class == harness.ClassMaxOutput
}
