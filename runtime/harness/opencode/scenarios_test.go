package opencode

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"hank/internal/modelserver"
	"hank/runtime/harness"
	"hank/runtime/harness/internal/harnesstest"
	"hank/state"
)

// agent is the pinned opencode command line, with a provider that it knows.
var agent = harnesstest.Agent{
	Harness: Harness{}, Package: "opencode-ai", Root: "../../..", Model: "claude-sonnet-4-5", Provider: "anthropic",
	Executable: executableVariable, Key: "ANTHROPIC_API_KEY", PricedEach: true,
	Environ: (*modelserver.Server).Environ,
}

// compatible is the same with a provider of the user's, which has OpenAI's Chat Completions
// API.
var compatible = func() harnesstest.Agent {
	a := agent
	a.Provider, a.Model, a.Key = "lab", "small", "LAB_API_KEY"
	a.Environ = func(s *modelserver.Server) []string {
		return []string{"LAB_API_KEY=k", "LAB_URL=" + s.URL() + "/v1"}
	}
	return a
}()

// configured gives the user of an agent a configuration.
func configured(text string) func(*harnesstest.Stage) {
	return func(s *harnesstest.Stage) {
		file := filepath.Join(s.T.TempDir(), "opencode.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			s.T.Fatal(err)
		}
		s.Environ = append(s.Environ, "OPENCODE_CONFIG="+file)
	}
}

// managed gives the machine a configuration of its administrator, which counts more than
// everything else.
func managed(text string) func(*harnesstest.Stage) {
	return func(s *harnesstest.Stage) {
		dir := s.T.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "opencode.json"), []byte(text), 0o600); err != nil {
			s.T.Fatal(err)
		}
		s.Environ = append(s.Environ, "OPENCODE_TEST_MANAGED_CONFIG_DIR="+dir)
	}
}

type (
	scenario = harnesstest.Scenario
	step     = harnesstest.Step
	want     = harnesstest.Want
)

// write is a turn that writes a file.
func write(file, content string) modelserver.Turn {
	return modelserver.Turn{
		Thinking: "I write it.",
		Text:     "I will write " + file + ".",
		Tools:    []modelserver.Tool{{Name: "write", Input: map[string]string{"filePath": file, "content": content}}},
		Usage:    modelserver.Usage{Input: 1200, Output: 40, CacheRead: 500},
	}
}

// run is a turn that runs a command.
func run(command string) modelserver.Turn {
	return modelserver.Turn{Tools: []modelserver.Tool{{Name: "bash", Input: map[string]string{"command": command, "description": "runs"}}}}
}

var (
	wrote   = state.Tokens{Input: 1200, Output: 40, CacheRead: 500}
	tooLong = modelserver.Error{Status: 400, Type: "invalid_request_error", Message: "prompt is too long: 210000 tokens > 200000 maximum"}
)

// The price of a request that wrote, and of one that was done, at the agent's
// price of claude-sonnet-4-5: $3 and $15 a million in and out, $0.30 cache reads.
const (
	wroteCost = 4_350_000
	oneCost   = 3_750_000
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
	"two turns of one session, the second with another system prompt": { // which TestRealAgentWritesAndRemembers plays
		Long:   true,
		Script: []modelserver.Turn{write("hello.txt", "hello\n"), harnesstest.Done("Written."), run("cat hello.txt; exit 3"), harnesstest.Done("Second answer.")},
		Steps: []step{
			{Name: "write", System: "FIRST-SYSTEM-PROMPT", Want: want{Text: "Written.", Tokens: wrote.Add(harnesstest.One), Cost: wroteCost + oneCost}},
			{Name: "resumed", System: "OTHER-SYSTEM-PROMPT", Want: want{Text: "Second answer.", Tokens: harnesstest.One.Add(harnesstest.One), Cost: 2 * oneCost}},
		},
	},
	"authentication":  apiError("http-401", modelserver.Error{Status: 401, Message: "invalid x-api-key"}, harness.ClassAuth, "word:authentication_error", state.FailAPI, false),
	"rate limit":      apiError("http-429", modelserver.Error{Status: 429, RetryAfter: "1"}, harness.ClassRateLimit, "word:rate_limit_error", state.FailRateLimit, true),
	"server error":    long(apiError("http-500", modelserver.Error{Status: 500}, harness.ClassOverloaded, "word:api_error", state.FailAPI, true)),
	"no credit":       long(apiError("http-400-credit", modelserver.Error{Status: 400, Message: "Your credit balance is too low to access the Anthropic API."}, harness.ClassBilling, "text:billing", state.FailAPI, false)),
	"unknown model":   long(apiError("http-404", modelserver.Error{Status: 404}, harness.ClassInvalidRequest, "word:not_found_error", state.FailAPI, false)),
	"invalid request": long(apiError("http-400", modelserver.Error{Status: 400, Message: "messages.3.content: Input should be a valid list"}, harness.ClassInvalidRequest, "status:400", state.FailAPI, false)),
	"overloaded once, then well": {
		Long:   true,
		Script: []modelserver.Turn{{Error: modelserver.Error{Status: 529}}, harnesstest.Done("Fine.")},
		Steps:  []step{{Name: "http-529-once", Want: want{Text: "Fine.", Tokens: harnesstest.One, Cost: oneCost}}},
	},
	"nobody logged in": {
		Keyless: true,
		Steps: []step{{Name: "keyless", Want: want{
			Class: harness.ClassAuth, Rule: "word:authentication_failed", Type: state.FailAPI, Exit: 1,
		}}},
	},
	"a session that does not exist": {
		Steps: []step{{Name: "unknown-session", Session: "ses_000000000000AAAAAAAAAAAAAA", Want: want{
			Class: harness.ClassSessionNotFound, Rule: "text:session-not-found", Type: state.FailUnknown, NoSession: true, NoResult: true, Exit: 1,
		}}},
	},
	"ended by SIGTERM while it waits for an answer, then continued": {
		Script: []modelserver.Turn{write("a.txt", "a\n"), {Text: "par", Break: modelserver.Stall}, harnesstest.Done("Went on.")},
		Steps: []step{
			{Name: "sigterm", Stop: syscall.SIGTERM, Printed: `"step_finish"`, Want: want{
				Class: harness.ClassInterrupted, Rule: "signal:SIGTERM", Type: state.FailUnknown, Retriable: true, NoResult: true, Exit: -1,
				Text: "I will write a.txt.", Tokens: wrote, Cost: wroteCost,
			}},
			{Name: "sigterm-resumed", Want: want{Text: "Went on.", Tokens: harnesstest.One, Cost: oneCost}},
		},
	},
	"ended by SIGKILL": {
		Long:   true,
		Script: []modelserver.Turn{write("a.txt", "a\n"), {Text: "par", Break: modelserver.Stall}},
		Steps: []step{{Name: "sigkill", Stop: syscall.SIGKILL, Printed: `"step_finish"`, Want: want{
			Class: harness.ClassInterrupted, Rule: "signal:SIGKILL", Type: state.FailUnknown, Retriable: true, NoResult: true, Exit: -1, Tokens: wrote, Cost: wroteCost,
		}}},
	},
	"a command that the machine's administrator forbids": {
		Prepare: managed(fmt.Sprintf(`{"agent":{%q:{"permission":{"bash":{"*":"allow","rm *":"deny"}}}}}`, agentName)),
		Script:  []modelserver.Turn{run("rm -f hello.txt"), harnesstest.Done("I may not.")},
		Steps: []step{{Name: "refused", Want: want{
			Class: harness.ClassPermissionDenied, Rule: deniedRule, Type: state.FailUnknown, Denied: "Bash",
			Tokens: harnesstest.One.Add(harnesstest.One), Cost: 2 * oneCost, Text: "I may not.",
		}}},
	},
	"context full, compaction not wanted": {
		Script: []modelserver.Turn{write("a.txt", "a\n"), {Error: tooLong, Repeat: true}},
		Steps: []step{{Name: "context-full", Want: want{
			Class: harness.ClassContextOverflow, Rule: "word:context_length_exceeded", Type: state.FailAPI, Exceeded: true, Exit: 1, Tokens: wrote, Cost: wroteCost,
		}}},
	},
	"context full, and compacted": {
		Long:   true,
		Script: []modelserver.Turn{write("a.txt", "a\n"), {Error: tooLong}, harnesstest.Done("Went on with less.")},
		Steps: []step{{Name: "compacted", Compact: true, Want: want{
			Text: "Went on with less.", Exceeded: true, Exit: 1, Tokens: wrote.Add(harnesstest.One).Add(harnesstest.One), Cost: wroteCost + 2*oneCost,
		}}},
	},
	"context full for ever": {
		Long:   true,
		Script: []modelserver.Turn{write("a.txt", "a\n"), {Error: tooLong, Repeat: true}},
		Steps: []step{{Name: "compacting", Compact: true, Want: want{
			Class: harness.ClassContextOverflow, Rule: "word:context_length_exceeded", Type: state.FailAPI, Exceeded: true, Exit: -1,
			Tokens: wrote, Cost: wroteCost, Cut: 4, CutTokens: harnesstest.One, CutCost: oneCost,
		}}},
	},
	"no credit, which the agent would wait for": {
		Long:   true,
		Script: []modelserver.Turn{{Error: modelserver.Error{Status: 429, Type: "rate_limit_error", Message: "You have exceeded your current quota, please check your plan and billing details."}, Repeat: true}},
		Steps: []step{{Name: "http-429-quota", Want: want{
			Class: harness.ClassBilling, Rule: "text:billing", Type: state.FailAPI, NoResult: true, Exit: -1,
		}}},
	},
	"answer too long": {
		Long:   true,
		Script: []modelserver.Turn{{Text: "blah", StopReason: "max_tokens", Repeat: true}},
		Steps: []step{{Name: "max-output", Want: want{
			Class: harness.ClassMaxOutput, Rule: "word:max_output_tokens", Type: state.FailAPI, Retriable: true, Exceeded: true, Tokens: harnesstest.One, Cost: oneCost,
		}}},
	},
	"stream cut, again and again": {
		Long:   true,
		Script: []modelserver.Turn{write("a.txt", "a\n"), {Text: "par", Break: modelserver.Drop, Repeat: true}},
		Steps: []step{{Name: "drop", Want: want{
			Class: harness.ClassUnreachable, Rule: "text:unreachable", Type: state.FailAPI, Retriable: true, Exit: 1, Tokens: wrote, Cost: wroteCost,
		}}},
	},
}
