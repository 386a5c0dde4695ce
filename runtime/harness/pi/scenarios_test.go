package pi

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"syscall"

	"hank/internal/modelserver"
	"hank/runtime/harness"
	"hank/runtime/harness/internal/harnesstest"
	"hank/state"
)

// agent is the pinned pi command line.
var agent = harnesstest.Agent{
	Harness: Harness{}, Package: "@mariozechner/pi-coding-agent", Root: "../../..", Model: "claude-sonnet-4-5", Provider: "anthropic",
	Executable: executableVariable, Key: "ANTHROPIC_API_KEY",
	Environ:    (*modelserver.Server).Environ,
	Command:    func(s *harnesstest.Stage, _ *harness.Command) { hurry(s) },
	PricedEach: true,
	Scrub: func(text, _, _ string) string { // it names its documents
		return regexp.MustCompile(`/[^" ]*/node_modules/`).ReplaceAllString(text, "/agents/")
	},
}

// hurry makes the agent's own retries few and quick; they take 20 seconds.
func hurry(s *harnesstest.Stage) {
	file := filepath.Join(s.Home, ".pi", "agent", "settings.json")
	text, err := os.ReadFile(file)
	if err != nil {
		s.T.Fatal(err)
	}
	var settings map[string]any
	if err := json.Unmarshal(text, &settings); err != nil {
		s.T.Fatal(err)
	}
	settings["retry"] = map[string]any{"maxRetries": 1, "baseDelayMs": 50, "provider": map[string]any{"maxRetries": 0}}
	if text, err = json.Marshal(settings); err != nil {
		s.T.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		s.T.Fatal(err)
	}
}

type (
	scenario = harnesstest.Scenario
	step     = harnesstest.Step
	want     = harnesstest.Want
)

// writes is a turn that writes a file.
func writes(file, content string) modelserver.Turn {
	return modelserver.Turn{
		Thinking: "The file is missing.",
		Text:     "I will write " + file + ".",
		Tools:    []modelserver.Tool{{Name: "write", Input: map[string]any{"path": file, "content": content}}},
		Usage:    modelserver.Usage{Input: 1200, Output: 40, CacheRead: 500},
	}
}

// run is a turn that runs a command.
func run(command string) modelserver.Turn {
	return modelserver.Turn{Tools: []modelserver.Tool{{Name: "bash", Input: map[string]any{"command": command}}}}
}

// The prices are the agent's, 3 and 15 dollars per million, and 0.30 from the cache.
var (
	wrote     = state.Tokens{Input: 1200, Output: 40, CacheRead: 500}
	wroteCost = state.Dollars(0.00435)
	oneCost   = state.Dollars(0.00375)
	tooLong   = modelserver.Error{Status: http.StatusBadRequest, Message: "prompt is too long: 213462 tokens > 200000 maximum"}
)

// apiError is a failure before anything was paid. The agent's exit status is 0 all the same.
func apiError(name string, e modelserver.Error, class, rule string, typ state.FailureType, retriable bool) scenario {
	return harnesstest.Refuses(name, e, want{Class: class, Rule: rule, Type: typ, Retriable: retriable})
}

func long(sc scenario) scenario {
	sc.Long = true
	return sc
}

var scenarios = map[string]scenario{
	"two turns of one session, the second with another system prompt": {
		Long:   true, // TestRealAgentWritesAndRemembers plays it
		Script: []modelserver.Turn{writes("hello.txt", "hello\n"), harnesstest.Done("Written."), run("cat hello.txt; exit 3"), harnesstest.Done("Second answer."), harnesstest.Done("Third answer.")},
		Steps: []step{
			{Name: "write", System: "FIRST-SYSTEM-PROMPT", Compact: true, Want: want{Text: "Written.", Tokens: wrote.Add(harnesstest.One), Cost: wroteCost + oneCost}},
			{Name: "resumed", System: "OTHER-SYSTEM-PROMPT", Want: want{Text: "Second answer.", Tokens: harnesstest.One.Add(harnesstest.One), Cost: 2 * oneCost}},
			{Name: "resumed-again", Want: want{Text: "Third answer.", Tokens: harnesstest.One, Cost: oneCost}},
		},
	},
	"authentication":  apiError("http-401", modelserver.Error{Status: 401, Message: "invalid x-api-key"}, harness.ClassAuth, "word:authentication_error", state.FailAPI, false),
	"rate limit":      apiError("http-429", modelserver.Error{Status: 429, Message: "Slow down."}, harness.ClassRateLimit, "word:rate_limit_error", state.FailRateLimit, true),
	"server error":    long(apiError("http-500", modelserver.Error{Status: 500}, harness.ClassOverloaded, "word:api_error", state.FailAPI, true)),
	"overloaded":      long(apiError("http-529", modelserver.Error{Status: 529}, harness.ClassOverloaded, "word:overloaded_error", state.FailAPI, true)),
	"no credit":       long(apiError("http-400-credit", modelserver.Error{Status: 400, Message: "Your credit balance is too low to access the Anthropic API."}, harness.ClassBilling, "text:billing", state.FailAPI, false)),
	"unknown model":   long(apiError("http-404", modelserver.Error{Status: 404, Message: "model: none"}, harness.ClassInvalidRequest, "word:not_found_error", state.FailAPI, false)),
	"invalid request": long(apiError("http-400", modelserver.Error{Status: 400, Message: "messages: at least one message is required"}, harness.ClassInvalidRequest, "status:400", state.FailAPI, false)),
	"overloaded once, then well": {
		Long:   true,
		Script: []modelserver.Turn{{Error: modelserver.Error{Status: 529}}, harnesstest.Done("Fine.")},
		Steps:  []step{{Name: "http-529-once", Want: want{Text: "Fine.", Tokens: harnesstest.One, Cost: oneCost}}},
	},
	"stream cut, again and again": {
		Long:   true,
		Script: []modelserver.Turn{writes("a.txt", "a"), {Text: "par", Break: modelserver.Drop, Repeat: true}},
		Steps: []step{{Name: "drop", Want: want{
			Class: harness.ClassUnreachable, Rule: "word:connection_failed", Type: state.FailAPI, Retriable: true, Tokens: wrote, Cost: wroteCost,
			Cut: 2, CutTokens: state.Tokens{Input: 1000, Output: 1}, CutCost: state.Dollars(0.003015),
		}}},
	},
	"stream ended by an error event": {
		Long:   true,
		Script: []modelserver.Turn{{Text: "par", Break: modelserver.ErrorEvent, Repeat: true}},
		Steps: []step{{Name: "error-event", Want: want{
			Class: harness.ClassOverloaded, Rule: "word:overloaded_error", Type: state.FailAPI, Retriable: true,
			Tokens: state.Tokens{Input: 2000, Output: 2}, Cost: state.Dollars(0.00603),
		}}},
	},
	"nobody logged in": {
		Keyless: true,
		Steps: []step{{Name: "keyless", Want: want{
			Class: harness.ClassAuth, Rule: "word:invalid_api_key", Type: state.FailAPI, NoResult: true, Exit: 1,
		}}},
	},
	"a session that does not exist": {
		Steps: []step{{Name: "unknown-session", Session: "00000000-0000-7000-8000-000000000000", Want: want{
			Class: harness.ClassSessionNotFound, Rule: "text:session-not-found", Type: state.FailUnknown, NoSession: true, NoResult: true, Exit: 1,
		}}},
	},
	"ended by SIGTERM while it waits for an answer, then continued": {
		Script: []modelserver.Turn{writes("a.txt", "a"), {Text: "par", Break: modelserver.Stall}, harnesstest.Done("Went on.")},
		Steps: []step{
			{Name: "sigterm", Stop: syscall.SIGTERM, Printed: `"turn_end"`, Want: want{
				Class: harness.ClassInterrupted, Rule: "exit:143", Type: state.FailUnknown, Retriable: true, NoResult: true, Exit: 143,
				Text: "I will write a.txt.", Tokens: wrote, Cost: wroteCost,
			}},
			{Name: "sigterm-resumed", Want: want{Text: "Went on.", Tokens: harnesstest.One, Cost: oneCost}},
		},
	},
	"ended by SIGKILL": {
		Long:   true,
		Script: []modelserver.Turn{{Text: "par", Break: modelserver.Stall}},
		Steps: []step{{Name: "sigkill", Stop: syscall.SIGKILL, Want: want{
			Class: harness.ClassInterrupted, Rule: "signal:SIGKILL", Type: state.FailUnknown, Retriable: true, NoResult: true, Exit: -1,
		}}},
	},
	"context full, compaction not wanted": {
		Script: []modelserver.Turn{writes("a.txt", "a"), {Error: tooLong, Repeat: true}},
		Steps: []step{{Name: "context-full", Want: want{
			Class: harness.ClassContextOverflow, Rule: "text:context-overflow", Type: state.FailAPI, Exceeded: true, Tokens: wrote, Cost: wroteCost,
		}}},
	},
	"context full, compaction wanted": {
		Long:   true,
		Script: []modelserver.Turn{writes("a.txt", "a"), {Error: tooLong, Repeat: true}},
		Steps: []step{{Name: "context-full-compacted", Compact: true, Want: want{
			Class: harness.ClassContextOverflow, Rule: "text:context-overflow", Type: state.FailAPI, Exceeded: true, Tokens: wrote, Cost: wroteCost,
		}}},
	},
	"answer too long": {
		Long:   true,
		Script: []modelserver.Turn{{Text: "blah", StopReason: "max_tokens"}},
		Steps: []step{{Name: "max-output", Want: want{
			Class: harness.ClassMaxOutput, Rule: "word:max_output_tokens", Type: state.FailAPI, Retriable: true, Exceeded: true, Tokens: harnesstest.One, Cost: oneCost,
		}}},
	},
	"a refusal": {
		Long:   true,
		Script: []modelserver.Turn{{Text: "no", StopReason: "refusal"}},
		Steps: []step{{Name: "refusal", Want: want{ // the agent does not say what it was
			Class: harness.ClassUnknown, Rule: "default:session", Type: state.FailAPI, Retriable: true, Tokens: harnesstest.One, Cost: oneCost,
		}}},
	},
}
