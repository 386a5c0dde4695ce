package claude

import (
	"net/http"
	"syscall"

	"hank/internal/modelserver"
	"hank/runtime/harness"
	"hank/state"
)

// scenario is a conversation of the real agent with the stand-in server. The
// same expectations are held against the live agent and against what it
// printed when its transcripts were recorded.
type scenario struct {
	script   []modelserver.Turn
	settings string // the user's settings.json of the agent
	down     bool   // the server is gone before the agent starts
	keyless  bool   // there are no credentials
	steps    []step
}

// step is one start of the agent. From the second on it continues the session.
type step struct {
	name    string // of the transcript
	session string // instead of the step before's
	system  string // system prompt
	compact bool
	stop    syscall.Signal // sent when the server's stream has stalled
	want    want
}

// want is what a verdict must say.
type want struct {
	class     string // of the failure; empty means success
	rule      string
	typ       state.FailureType
	retriable bool
	text      string
	noResult  bool
	noSession bool
	exceeded  bool
	denied    string
	tokens    state.Tokens
	cost      state.USD
	cut       int // up to so many messages of cutTokens come on top: whether the agent saw them before the cut is chance
	exit      int // -1: died by the signal that was sent
}

func write(file, content string) modelserver.Turn {
	return modelserver.Turn{
		Text:  "I will write " + file + ".",
		Tools: []modelserver.Tool{{Name: "Write", Input: map[string]string{"file_path": file, "content": content}}},
		Usage: modelserver.Usage{Input: 1200, Output: 40, CacheRead: 500},
	}
}

func always(e modelserver.Error) []modelserver.Turn {
	return []modelserver.Turn{{Error: e, Repeat: true}}
}

// done is a text that ends the agent's turn, and costs 1000 tokens in, 50 out.
func done(text string) modelserver.Turn { return modelserver.Turn{Text: text} }

var (
	wrote   = state.Tokens{Input: 1200, Output: 40, CacheRead: 500}
	one     = state.Tokens{Input: 1000, Output: 50}
	tooLong = modelserver.Error{Status: http.StatusBadRequest, Message: "prompt is too long: 210000 tokens > 200000 maximum"}
)

// The price of a request that wrote, and of one that was done, at the agent's
// price of claude-sonnet-4-5: $3 and $15 a million in and out, $0.30 cache reads.
const (
	wroteCost = 4_350_000
	oneCost   = 3_750_000
	cutCost   = 3_015_000
)

// cutTokens is what a message counts that was cut after its beginning.
var cutTokens = state.Tokens{Input: 1000, Output: 1}

// apiError is a failure before anything was paid.
func apiError(name string, e modelserver.Error, class, rule string, typ state.FailureType, retriable bool) scenario {
	return scenario{script: always(e), steps: []step{{name: name, want: want{class: class, rule: rule, typ: typ, retriable: retriable, exit: 1}}}}
}

var scenarios = map[string]scenario{
	"two turns of one session, the second with another system prompt": {
		script: []modelserver.Turn{write("hello.txt", "hello\n"), done("Written."), done("Second answer.")},
		steps: []step{
			{name: "write", system: "FIRST-SYSTEM-PROMPT", want: want{text: "Written.", tokens: wrote.Add(one), cost: wroteCost + oneCost}},
			{name: "resumed", system: "OTHER-SYSTEM-PROMPT", want: want{text: "Second answer.", tokens: one, cost: oneCost}},
		},
	},
	"authentication":  apiError("http-401", modelserver.Error{Status: 401}, harness.ClassAuth, "word:authentication_failed", state.FailAPI, false),
	"rate limit":      apiError("http-429", modelserver.Error{Status: 429, RetryAfter: "1"}, harness.ClassRateLimit, "word:rate_limit", state.FailRateLimit, true),
	"server error":    apiError("http-500", modelserver.Error{Status: 500}, harness.ClassOverloaded, "word:server_error", state.FailAPI, true),
	"overloaded":      apiError("http-529", modelserver.Error{Status: 529}, harness.ClassOverloaded, "word:server_error", state.FailAPI, true),
	"no credit":       apiError("http-400-credit", modelserver.Error{Status: 400, Message: "Your credit balance is too low to access the Anthropic API."}, harness.ClassBilling, "word:billing_error", state.FailAPI, false),
	"unknown model":   apiError("http-404", modelserver.Error{Status: 404}, harness.ClassInvalidRequest, "word:model_not_found", state.FailAPI, false),
	"invalid request": apiError("http-400", modelserver.Error{Status: 400, Message: "messages.3.content: Input should be a valid list"}, harness.ClassInvalidRequest, "status:400", state.FailAPI, false),
	"overloaded once, then well": {
		script: []modelserver.Turn{{Error: modelserver.Error{Status: 529}}, done("Fine.")},
		steps:  []step{{name: "http-529-once", want: want{text: "Fine.", tokens: one, cost: oneCost}}},
	},
	"stream cut, again and again": {
		script: []modelserver.Turn{write("a.txt", "a\n"), {Text: "par", Break: modelserver.Drop, Repeat: true}},
		steps: []step{{name: "drop", want: want{
			class: harness.ClassUnreachable, rule: "word:connection_failed", typ: state.FailAPI, retriable: true, exit: 1,
			tokens: wrote, cost: wroteCost, cut: 2,
		}}},
	},
	"stream ended by an error event": {
		script: []modelserver.Turn{{Text: "par", Break: modelserver.ErrorEvent, Repeat: true}},
		steps: []step{{name: "error-event", want: want{
			class: harness.ClassOverloaded, rule: "word:server_error", typ: state.FailAPI, retriable: true, exit: 1, cut: 2,
		}}},
	},
	"provider not there": {
		down: true,
		steps: []step{{name: "unreachable", want: want{
			class: harness.ClassUnreachable, rule: "word:connection_failed", typ: state.FailAPI, retriable: true, exit: 1,
		}}},
	},
	"nobody logged in": {
		keyless: true,
		steps: []step{{name: "keyless", want: want{
			class: harness.ClassAuth, rule: "word:authentication_failed", typ: state.FailAPI, exit: 1,
		}}},
	},
	"a session that does not exist": {
		steps: []step{{name: "unknown-session", session: "00000000-0000-4000-8000-000000000000", want: want{
			class: harness.ClassSessionNotFound, rule: "text:session-not-found", typ: state.FailUnknown, noSession: true, exit: 1,
		}}},
	},
	"ended by SIGTERM while it waits for an answer, then continued": {
		script: []modelserver.Turn{write("a.txt", "a\n"), {Text: "par", Break: modelserver.Stall}, done("Went on.")},
		steps: []step{
			{name: "sigterm", stop: syscall.SIGTERM, want: want{
				class: harness.ClassInterrupted, rule: "exit:143", typ: state.FailUnknown, retriable: true, noResult: true, exit: 143,
				text: "I will write a.txt.", tokens: state.Tokens{Input: 1200, Output: 14, CacheRead: 500},
			}},
			{name: "sigterm-resumed", want: want{text: "Went on.", tokens: one, cost: oneCost}},
		},
	},
	"ended by SIGINT while it waits for an answer": {
		script: []modelserver.Turn{{Text: "par", Break: modelserver.Stall, Repeat: true}},
		steps: []step{{name: "sigint", stop: syscall.SIGINT, want: want{
			class: harness.ClassInterrupted, rule: "word:aborted_streaming", typ: state.FailUnknown, retriable: true,
			cut: 1,
		}}},
	},
	"ended by SIGKILL": {
		script: []modelserver.Turn{{Text: "par", Break: modelserver.Stall}},
		steps: []step{{name: "sigkill", stop: syscall.SIGKILL, want: want{
			class: harness.ClassInterrupted, rule: "signal:SIGKILL", typ: state.FailUnknown, retriable: true, noResult: true, exit: -1,
		}}},
	},
	"context full, compaction not wanted": {
		script: []modelserver.Turn{write("a.txt", "a\n"), {Error: tooLong, Repeat: true}},
		steps: []step{{name: "context-full", want: want{
			class: harness.ClassContextOverflow, rule: "word:prompt_too_long", typ: state.FailAPI, exceeded: true, exit: 1,
			tokens: wrote, cost: wroteCost,
		}}},
	},
	"context full, compacted": {
		script: []modelserver.Turn{write("a.txt", "a\n"), {Error: tooLong}, done("<summary>All well.</summary>"), done("Done after compaction.")},
		steps: []step{{name: "context-compacted", compact: true, want: want{
			exceeded: true, text: "Done after compaction.", tokens: wrote.Add(one).Add(one), cost: wroteCost + 2*oneCost,
		}}},
	},
	"answer too long": {
		script: []modelserver.Turn{{Text: "blah", StopReason: "max_tokens", Repeat: true}},
		steps: []step{{name: "max-output", want: want{
			class: harness.ClassMaxOutput, rule: "word:max_output_tokens", typ: state.FailAPI, retriable: true, exceeded: true, exit: 1,
			tokens: state.Tokens{Input: 4000, Output: 200}, cost: 4 * oneCost,
		}}},
	},
	"refusal": {
		script: []modelserver.Turn{{Text: "no", StopReason: "refusal", Repeat: true}},
		steps: []step{{name: "refusal", want: want{
			class: harness.ClassRefusal, rule: "word:refusal", typ: state.FailAPI, exit: 1,
			tokens: one.Add(one), cost: 2 * oneCost,
		}}},
	},
	"a tool that the settings forbid": {
		settings: `{"permissions":{"deny":["Read(/etc/**)","Read(//etc/**)"]}}`,
		script: []modelserver.Turn{
			{Tools: []modelserver.Tool{{Name: "Read", Input: map[string]string{"file_path": "/etc/hostname"}}}}, done("I could not."),
		},
		steps: []step{{name: "denied", want: want{
			class: harness.ClassPermissionDenied, rule: "result:permission_denials", typ: state.FailUnknown, denied: "Read",
			text: "I could not.", tokens: one.Add(one), cost: 2 * oneCost,
		}}},
	},
	"a background task that ends later": {
		script: []modelserver.Turn{
			{Tools: []modelserver.Tool{{Name: "Bash", Input: map[string]any{"command": "sleep 1; echo later", "run_in_background": true}}}},
			done("Started."), done("It has ended."),
		},
		steps: []step{{name: "background", want: want{
			text: "It has ended.", tokens: one.Add(one).Add(one), cost: 3 * oneCost,
		}}},
	},
}
