package claude

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"hank/internal/modelserver"
	"hank/runtime/harness"
	"hank/runtime/harness/internal/harnesstest"
	"hank/state"
)

// agent is the pinned Claude Code command line.
var agent = harnesstest.Agent{
	Harness: Harness{}, Package: "@anthropic-ai/claude-code", Root: "../../..", Model: "claude-sonnet-4-5", Provider: "anthropic",
	Executable: executableVariable, Key: "ANTHROPIC_API_KEY", Priced: true,
	Environ: func(s *modelserver.Server) []string { return append(s.Environ(), "CLAUDE_CODE_MAX_RETRIES=1") },
	Scrub: func(text, dir, scrubbed string) string {
		dashed := func(p string) string { return regexp.MustCompile(`[^A-Za-z0-9]`).ReplaceAllString(p, "-") }
		text = strings.ReplaceAll(text, dashed(dir), dashed(scrubbed))
		return regexp.MustCompile(`/cc-socks(-\d+)?/\d+\.sock`).ReplaceAllString(text, "/cc-socks/1.sock")
	},
}

type (
	scenario = harnesstest.Scenario
	step     = harnesstest.Step
	want     = harnesstest.Want
)

// settings lets the user of the agent have a settings.json.
func settings(text string) func(*harnesstest.Stage) {
	return func(s *harnesstest.Stage) {
		dir := filepath.Join(s.Home, ".claude")
		if err := os.Mkdir(dir, 0o700); err != nil {
			s.T.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "settings.json"), []byte(text), 0o600); err != nil {
			s.T.Fatal(err)
		}
	}
}

func write(file, content string) modelserver.Turn {
	return modelserver.Turn{
		Text:  "I will write " + file + ".",
		Tools: []modelserver.Tool{{Name: "Write", Input: map[string]string{"file_path": file, "content": content}}},
		Usage: modelserver.Usage{Input: 1200, Output: 40, CacheRead: 500},
	}
}

var (
	wrote   = state.Tokens{Input: 1200, Output: 40, CacheRead: 500}
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
	return harnesstest.Refuses(name, e, want{Class: class, Rule: rule, Type: typ, Retriable: retriable, Exit: 1})
}

var scenarios = map[string]scenario{
	"two turns of one session, the second with another system prompt": {
		Script: []modelserver.Turn{write("hello.txt", "hello\n"), harnesstest.Done("Written."), harnesstest.Done("Second answer.")},
		Steps: []step{
			{Name: "write", System: "FIRST-SYSTEM-PROMPT", Want: want{Text: "Written.", Tokens: wrote.Add(harnesstest.One), Cost: wroteCost + oneCost}},
			{Name: "resumed", System: "OTHER-SYSTEM-PROMPT", Want: want{Text: "Second answer.", Tokens: harnesstest.One, Cost: oneCost}},
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
		Script: []modelserver.Turn{{Error: modelserver.Error{Status: 529}}, harnesstest.Done("Fine.")},
		Steps:  []step{{Name: "http-529-once", Want: want{Text: "Fine.", Tokens: harnesstest.One, Cost: oneCost}}},
	},
	"stream cut, again and again": {
		Script: []modelserver.Turn{write("a.txt", "a\n"), {Text: "par", Break: modelserver.Drop, Repeat: true}},
		Steps: []step{{Name: "drop", Want: want{
			Class: harness.ClassUnreachable, Rule: "word:connection_failed", Type: state.FailAPI, Retriable: true, Exit: 1,
			Tokens: wrote, Cost: wroteCost, Cut: 2, CutTokens: cutTokens, CutCost: cutCost,
		}}},
	},
	"stream ended by an error event": {
		Script: []modelserver.Turn{{Text: "par", Break: modelserver.ErrorEvent, Repeat: true}},
		Steps: []step{{Name: "error-event", Want: want{
			Class: harness.ClassOverloaded, Rule: "word:server_error", Type: state.FailAPI, Retriable: true, Exit: 1, Cut: 2, CutTokens: cutTokens, CutCost: cutCost,
		}}},
	},
	"provider not there": {
		Prepare: func(s *harnesstest.Stage) { s.Server.Close() },
		Steps: []step{{Name: "unreachable", Want: want{
			Class: harness.ClassUnreachable, Rule: "word:connection_failed", Type: state.FailAPI, Retriable: true, Exit: 1,
		}}},
	},
	"nobody logged in": {
		Keyless: true,
		Steps: []step{{Name: "keyless", Want: want{
			Class: harness.ClassAuth, Rule: "word:authentication_failed", Type: state.FailAPI, Exit: 1,
		}}},
	},
	"a session that does not exist": {
		Steps: []step{{Name: "unknown-session", Session: "00000000-0000-4000-8000-000000000000", Want: want{
			Class: harness.ClassSessionNotFound, Rule: "text:session-not-found", Type: state.FailUnknown, NoSession: true, Exit: 1,
		}}},
	},
	"ended by SIGTERM while it waits for an answer, then continued": {
		Script: []modelserver.Turn{write("a.txt", "a\n"), {Text: "par", Break: modelserver.Stall}, harnesstest.Done("Went on.")},
		Steps: []step{
			{Name: "sigterm", Stop: syscall.SIGTERM, Printed: `"tool_result"`, Want: want{
				Class: harness.ClassInterrupted, Rule: "exit:143", Type: state.FailUnknown, Retriable: true, NoResult: true, Exit: 143,
				Text: "I will write a.txt.", Tokens: wrote, Guessed: state.Tokens{Input: 1200, Output: 14, CacheRead: 500},
			}},
			{Name: "sigterm-resumed", Want: want{Text: "Went on.", Tokens: harnesstest.One, Cost: oneCost}},
		},
	},
	"ended by SIGINT while it waits for an answer": {
		Script: []modelserver.Turn{{Text: "par", Break: modelserver.Stall, Repeat: true}},
		Steps: []step{{Name: "sigint", Stop: syscall.SIGINT, Again: func(v harness.Verdict) bool { return !v.ResultSeen }, Want: want{
			Class: harness.ClassInterrupted, Rule: "word:aborted_streaming", Type: state.FailUnknown, Retriable: true,
			Cut: 1, CutTokens: cutTokens, CutCost: cutCost,
		}}},
	},
	"ended by SIGKILL": {
		Script: []modelserver.Turn{{Text: "par", Break: modelserver.Stall}},
		Steps: []step{{Name: "sigkill", Stop: syscall.SIGKILL, Want: want{
			Class: harness.ClassInterrupted, Rule: "signal:SIGKILL", Type: state.FailUnknown, Retriable: true, NoResult: true, Exit: -1,
		}}},
	},
	"context full, compaction not wanted": {
		Script: []modelserver.Turn{write("a.txt", "a\n"), {Error: tooLong, Repeat: true}},
		Steps: []step{{Name: "context-full", Want: want{
			Class: harness.ClassContextOverflow, Rule: "word:prompt_too_long", Type: state.FailAPI, Exceeded: true, Exit: 1,
			Tokens: wrote, Cost: wroteCost,
		}}},
	},
	"context full, compacted": {
		Script: []modelserver.Turn{write("a.txt", "a\n"), {Error: tooLong}, harnesstest.Done("<summary>All well.</summary>"), harnesstest.Done("Done after compaction.")},
		Steps: []step{{Name: "context-compacted", Compact: true, Want: want{
			Exceeded: true, Text: "Done after compaction.", Tokens: wrote.Add(harnesstest.One).Add(harnesstest.One), Cost: wroteCost + 2*oneCost,
		}}},
	},
	"answer too long": {
		Script: []modelserver.Turn{{Text: "blah", StopReason: "max_tokens", Repeat: true}},
		Steps: []step{{Name: "max-output", Want: want{
			Class: harness.ClassMaxOutput, Rule: "word:max_output_tokens", Type: state.FailAPI, Retriable: true, Exceeded: true, Exit: 1,
			Tokens: state.Tokens{Input: 4000, Output: 200}, Cost: 4 * oneCost,
		}}},
	},
	"refusal": {
		Script: []modelserver.Turn{{Text: "no", StopReason: "refusal", Repeat: true}},
		Steps: []step{{Name: "refusal", Want: want{
			Class: harness.ClassRefusal, Rule: "word:refusal", Type: state.FailAPI, Exit: 1,
			Tokens: harnesstest.One.Add(harnesstest.One), Cost: 2 * oneCost,
		}}},
	},
	"a tool that the settings forbid": {
		Prepare: settings(`{"permissions":{"deny":["Read(/etc/**)","Read(//etc/**)"]}}`),
		Script: []modelserver.Turn{
			{Tools: []modelserver.Tool{{Name: "Read", Input: map[string]string{"file_path": "/etc/hostname"}}}}, harnesstest.Done("I could not."),
		},
		Steps: []step{{Name: "denied", Want: want{
			Class: harness.ClassPermissionDenied, Rule: "result:permission_denials", Type: state.FailUnknown, Denied: "Read",
			Text: "I could not.", Tokens: harnesstest.One.Add(harnesstest.One), Cost: 2 * oneCost,
		}}},
	},
	"the window of a subscription is used up": {
		Script: []modelserver.Turn{{Repeat: true, Error: modelserver.Error{Status: 429, Message: "This request would exceed your account's rate limit.", Header: map[string]string{
			"anthropic-ratelimit-unified-status": "rejected", "anthropic-ratelimit-unified-representative-claim": "five_hour", "x-should-retry": "false",
			"anthropic-ratelimit-unified-reset": "1999999999", "anthropic-ratelimit-unified-5h-status": "rejected", "anthropic-ratelimit-unified-5h-reset": "1999999999",
		}}}},
		Prepare: func(s *harnesstest.Stage) { // of a login, not of a key
			for i, kv := range s.Environ {
				if strings.HasPrefix(kv, "ANTHROPIC_API_KEY=") {
					s.Environ[i] = "CLAUDE_CODE_OAUTH_TOKEN=not-a-real-token"
				}
			}
		},
		Steps: []step{{Name: "window-used-up", Want: want{
			Class: harness.ClassUsageLimit, Rule: "word:usage_limit_reached", Type: state.FailRateLimit, Retriable: true, Exit: 1, Resets: true,
		}}},
	},
	"a background task that ends later": {
		Script: []modelserver.Turn{
			{Tools: []modelserver.Tool{{Name: "Bash", Input: map[string]any{"command": "sleep 1; echo later", "run_in_background": true}}}},
			harnesstest.Done("Started."), harnesstest.Done("It has ended."),
		},
		Steps: []step{{Name: "background", Want: want{
			Text: "It has ended.", Tokens: harnesstest.One.Add(harnesstest.One).Add(harnesstest.One), Cost: 3 * oneCost,
		}}},
	},
}
