package codex

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
	script  []modelserver.Turn
	keyless bool // there are no credentials
	long    bool // with the real agent only if HANK_LONG is set, and for a recording
	steps   []step
}

// step is one start of the agent. From the second on it continues the thread.
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
	// tokens are what the attempt has used. Of a turn that did not end well a transcript
	// has none: they are in the rollout alone.
	tokens state.Tokens
	unsaid bool
	exit   int // -1: died by the signal that was sent
}

// write is a turn that writes a file.
func write(file, content string) modelserver.Turn {
	return modelserver.Turn{
		Thinking: "**Plan** write it",
		Text:     "I will write " + file + ".",
		Tools:    []modelserver.Tool{{Name: "apply_patch", Input: "*** Begin Patch\n*** Add File: " + file + "\n+" + content + "\n*** End Patch\n"}},
		Usage:    modelserver.Usage{Input: 1200, Output: 40, CacheRead: 500},
	}
}

// run is a turn that runs a command.
func run(command string) modelserver.Turn {
	return modelserver.Turn{Tools: []modelserver.Tool{{Name: "exec_command", Input: map[string]any{"cmd": command}}}}
}

func always(e modelserver.Error) []modelserver.Turn {
	return []modelserver.Turn{{Error: e, Repeat: true}}
}

// done is a text that ends the agent's turn, and costs 1000 tokens in, 50 out.
func done(text string) modelserver.Turn { return modelserver.Turn{Text: text} }

var (
	wrote   = state.Tokens{Input: 1200, Output: 40, CacheRead: 500}
	one     = state.Tokens{Input: 1000, Output: 50}
	tooLong = modelserver.Error{Status: http.StatusBadRequest, Type: "context_length_exceeded", Message: "Your input exceeds the context window of this model. Please adjust your input and try again."}
)

// apiError is a failure before anything was paid.
func apiError(name string, e modelserver.Error, class, rule string, typ state.FailureType, retriable bool) scenario {
	return scenario{script: always(e), steps: []step{{name: name, want: want{class: class, rule: rule, typ: typ, retriable: retriable, exit: 1}}}}
}

func long(sc scenario) scenario {
	sc.long = true
	return sc
}

var scenarios = map[string]scenario{
	"two turns of one session, the second with another system prompt": {
		script: []modelserver.Turn{write("hello.txt", "hello"), done("Written."), run("cat hello.txt; exit 3"), done("Second answer."), done("Third answer.")},
		steps: []step{
			{name: "write", system: "FIRST-SYSTEM-PROMPT", want: want{text: "Written.", tokens: wrote.Add(one)}},
			{name: "resumed", system: "OTHER-SYSTEM-PROMPT", want: want{text: "Second answer.", tokens: one.Add(one)}},
			{name: "resumed-again", want: want{text: "Third answer.", tokens: one}},
		},
	},
	"authentication":  apiError("http-401", modelserver.Error{Status: 401, Type: "invalid_api_key", Message: "Incorrect API key provided: none."}, harness.ClassAuth, "status:401", state.FailAPI, false),
	"rate limit":      apiError("http-429", modelserver.Error{Status: 429, Type: "rate_limit_exceeded", Message: "Rate limit reached. Please try again in 2s."}, harness.ClassRateLimit, "status:429", state.FailRateLimit, true),
	"server error":    long(apiError("http-500", modelserver.Error{Status: 500}, harness.ClassOverloaded, "word:server_error", state.FailAPI, true)),
	"overloaded":      long(apiError("http-503", modelserver.Error{Status: 503, Type: "server_is_overloaded"}, harness.ClassOverloaded, "word:overloaded", state.FailAPI, true)),
	"no credit":       long(apiError("http-429-quota", modelserver.Error{Status: 429, Type: "insufficient_quota", Message: "You exceeded your current quota, please check your plan and billing details."}, harness.ClassBilling, "word:insufficient_quota", state.FailAPI, false)),
	"unknown model":   long(apiError("http-404", modelserver.Error{Status: 404, Type: "model_not_found", Message: "The model does not exist or you do not have access to it."}, harness.ClassInvalidRequest, "word:model_not_found", state.FailAPI, false)),
	"invalid request": long(apiError("http-400", modelserver.Error{Status: 400, Message: "Invalid value: input[3]."}, harness.ClassInvalidRequest, "word:invalid_request_error", state.FailAPI, false)),
	"overloaded once, then well": {
		script: []modelserver.Turn{{Error: modelserver.Error{Status: 500}}, done("Fine.")},
		steps:  []step{{name: "http-500-once", want: want{text: "Fine.", tokens: one}}},
	},
	"stream cut, again and again": {
		script: []modelserver.Turn{write("a.txt", "a"), {Text: "par", Break: modelserver.Drop, Repeat: true}},
		steps: []step{{name: "drop", want: want{
			class: harness.ClassUnreachable, rule: "text:unreachable", typ: state.FailAPI, retriable: true, exit: 1, tokens: wrote, unsaid: true,
		}}},
	},
	"stream ended by an error event": {
		long:   true,
		script: []modelserver.Turn{{Text: "par", Break: modelserver.ErrorEvent, Repeat: true}},
		steps: []step{{name: "error-event", want: want{
			class: harness.ClassOverloaded, rule: "word:server_error", typ: state.FailAPI, retriable: true, exit: 1,
		}}},
	},
	"nobody logged in": {
		keyless: true,
		steps: []step{{name: "keyless", want: want{
			class: harness.ClassAuth, rule: "word:invalid_api_key", typ: state.FailAPI, exit: 1,
		}}},
	},
	"a session that does not exist": {
		steps: []step{{name: "unknown-session", session: "00000000-0000-7000-8000-000000000000", want: want{
			class: harness.ClassSessionNotFound, rule: "text:session-not-found", typ: state.FailUnknown, noSession: true, noResult: true, exit: 1,
		}}},
	},
	"ended by SIGINT while it waits for an answer, then continued": {
		script: []modelserver.Turn{write("a.txt", "a"), {Text: "par", Break: modelserver.Stall}, done("Went on.")},
		steps: []step{
			{name: "sigint", stop: syscall.SIGINT, want: want{
				class: harness.ClassExit, rule: "exit:1", typ: state.FailAPI, retriable: true, noResult: true, exit: 1,
				text: "I will write a.txt.", tokens: wrote, unsaid: true,
			}},
			{name: "sigint-resumed", want: want{text: "Went on.", tokens: one}},
		},
	},
	"ended by SIGKILL": {
		script: []modelserver.Turn{{Text: "par", Break: modelserver.Stall}},
		steps: []step{{name: "sigkill", stop: syscall.SIGKILL, want: want{
			class: harness.ClassInterrupted, rule: "signal:SIGKILL", typ: state.FailUnknown, retriable: true, noResult: true, exit: -1,
		}}},
	},
	"context full, compaction not wanted": {
		script: []modelserver.Turn{write("a.txt", "a"), {Error: tooLong, Repeat: true}},
		steps: []step{{name: "context-full", want: want{
			class: harness.ClassContextOverflow, rule: "word:context_length_exceeded", typ: state.FailAPI, exceeded: true, exit: 1, tokens: wrote, unsaid: true,
		}}},
	},
	"answer too long": {
		long:   true,
		script: []modelserver.Turn{{Text: "blah", StopReason: "max_output_tokens", Repeat: true}},
		steps: []step{{name: "max-output", want: want{
			class: harness.ClassMaxOutput, rule: "word:max_output_tokens", typ: state.FailAPI, retriable: true, exceeded: true, exit: 1, tokens: one, unsaid: true,
		}}},
	},
}
