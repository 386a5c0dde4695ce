package codex

import (
	"net/http"
	"slices"
	"syscall"

	"hank/internal/modelserver"
	"hank/runtime/harness"
	"hank/runtime/harness/internal/harnesstest"
	"hank/state"
)

// agent is the pinned Codex command line.
var agent = harnesstest.Agent{
	Harness: Harness{}, Package: "@openai/codex", Root: "../../..", Model: "gpt-5.5", Provider: "openai",
	Executable: executableVariable, Key: keyVariable,
	Environ: (*modelserver.Server).OpenAIEnviron,
	Command: func(_ *harnesstest.Stage, c *harness.Command) { // its own retries take half a minute
		c.Args = slices.Insert(c.Args, 2, "-c", "model_providers.hank.request_max_retries=1", "-c", "model_providers.hank.stream_max_retries=1")
	},
}

type (
	scenario = harnesstest.Scenario
	step     = harnesstest.Step
	want     = harnesstest.Want
)

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

var (
	wrote   = state.Tokens{Input: 1200, Output: 40, CacheRead: 500}
	tooLong = modelserver.Error{Status: http.StatusBadRequest, Type: "context_length_exceeded", Message: "Your input exceeds the context window of this model. Please adjust your input and try again."}
)

// apiError is a failure before anything was paid.
func apiError(name string, e modelserver.Error, class, rule string, typ state.FailureType, retriable bool) scenario {
	return harnesstest.Refuses(name, e, want{Class: class, Rule: rule, Type: typ, Retriable: retriable, Exit: 1})
}

func long(sc scenario) scenario {
	sc.Long = true
	return sc
}

var scenarios = map[string]scenario{
	"two turns of one session, the second with another system prompt": {
		Script: []modelserver.Turn{write("hello.txt", "hello"), harnesstest.Done("Written."), run("cat hello.txt; exit 3"), harnesstest.Done("Second answer."), harnesstest.Done("Third answer.")},
		Steps: []step{
			{Name: "write", System: "FIRST-SYSTEM-PROMPT", Want: want{Text: "Written.", Tokens: wrote.Add(harnesstest.One)}},
			{Name: "resumed", System: "OTHER-SYSTEM-PROMPT", Want: want{Text: "Second answer.", Tokens: harnesstest.One.Add(harnesstest.One)}},
			{Name: "resumed-again", Want: want{Text: "Third answer.", Tokens: harnesstest.One}},
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
		Script: []modelserver.Turn{{Error: modelserver.Error{Status: 500}}, harnesstest.Done("Fine.")},
		Steps:  []step{{Name: "http-500-once", Want: want{Text: "Fine.", Tokens: harnesstest.One}}},
	},
	"stream cut, again and again": {
		Script: []modelserver.Turn{write("a.txt", "a"), {Text: "par", Break: modelserver.Drop, Repeat: true}},
		Steps: []step{{Name: "drop", Want: want{
			Class: harness.ClassUnreachable, Rule: "text:unreachable", Type: state.FailAPI, Retriable: true, Exit: 1, Tokens: wrote, Unsaid: true,
		}}},
	},
	"stream ended by an error event": {
		Long:   true,
		Script: []modelserver.Turn{{Text: "par", Break: modelserver.ErrorEvent, Repeat: true}},
		Steps: []step{{Name: "error-event", Want: want{
			Class: harness.ClassOverloaded, Rule: "word:server_error", Type: state.FailAPI, Retriable: true, Exit: 1,
		}}},
	},
	"nobody logged in": {
		Keyless: true,
		Steps: []step{{Name: "keyless", Want: want{
			Class: harness.ClassAuth, Rule: "word:invalid_api_key", Type: state.FailAPI, Exit: 1,
		}}},
	},
	"a session that does not exist": {
		Steps: []step{{Name: "unknown-session", Session: "00000000-0000-7000-8000-000000000000", Want: want{
			Class: harness.ClassSessionNotFound, Rule: "text:session-not-found", Type: state.FailUnknown, NoSession: true, NoResult: true, Exit: 1,
		}}},
	},
	"ended by SIGINT while it waits for an answer, then continued": {
		Script: []modelserver.Turn{write("a.txt", "a"), {Text: "par", Break: modelserver.Stall}, harnesstest.Done("Went on.")},
		Steps: []step{
			{Name: "sigint", Stop: syscall.SIGINT, Printed: `"agent_message"`, Want: want{
				Class: harness.ClassExit, Rule: "exit:1", Type: state.FailAPI, Retriable: true, NoResult: true, Exit: 1,
				Text: "I will write a.txt.", Tokens: wrote, Unsaid: true,
			}},
			{Name: "sigint-resumed", Want: want{Text: "Went on.", Tokens: harnesstest.One}},
		},
	},
	"ended by SIGKILL": {
		Script: []modelserver.Turn{{Text: "par", Break: modelserver.Stall}},
		Steps: []step{{Name: "sigkill", Stop: syscall.SIGKILL, Want: want{
			Class: harness.ClassInterrupted, Rule: "signal:SIGKILL", Type: state.FailUnknown, Retriable: true, NoResult: true, Exit: -1,
		}}},
	},
	"context full, compaction not wanted": {
		Script: []modelserver.Turn{write("a.txt", "a"), {Error: tooLong, Repeat: true}},
		Steps: []step{{Name: "context-full", Want: want{
			Class: harness.ClassContextOverflow, Rule: "word:context_length_exceeded", Type: state.FailAPI, Exceeded: true, Exit: 1, Tokens: wrote, Unsaid: true,
		}}},
	},
	"answer too long": {
		Long:   true,
		Script: []modelserver.Turn{{Text: "blah", StopReason: "max_output_tokens", Repeat: true}},
		Steps: []step{{Name: "max-output", Want: want{
			Class: harness.ClassMaxOutput, Rule: "word:max_output_tokens", Type: state.FailAPI, Retriable: true, Exceeded: true, Exit: 1, Tokens: harnesstest.One, Unsaid: true,
		}}},
	},
}
