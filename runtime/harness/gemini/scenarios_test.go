package gemini

import (
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

// agent is the pinned Gemini command line.
var agent = harnesstest.Agent{
	Harness: Harness{}, Package: packageName, Root: "../../..", Model: "gemini-2.5-pro", Provider: "google",
	Executable: executableVariable, Key: keyVariable,
	Environ: (*modelserver.Server).GeminiEnviron,
	Command: func(s *harnesstest.Stage, _ *harness.Command) { // its own tries take four minutes
		file := filepath.Join(s.Home, ".gemini", settingsName)
		text, err := os.ReadFile(file)
		if err != nil {
			s.T.Fatal(err)
		}
		few := strings.Replace(string(text), `"enableAutoUpdate"`, `"maxAttempts": 2, "enableAutoUpdate"`, 1)
		if err := os.WriteFile(file, []byte(few), 0o600); err != nil {
			s.T.Fatal(err)
		}
	},
	Scrub: func(text, dir, scrubbed string) string { // the program's own place, which its traces of failures have
		return programs.ReplaceAllString(text, "file:///agent/")
	},
}

// programs are the places of the agent's program.
var programs = regexp.MustCompile(`file://[^)\s"]*/bundle/`)

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
		Tools:    []modelserver.Tool{{Name: "write_file", Input: map[string]any{"file_path": file, "content": content}}},
		Usage:    modelserver.Usage{Input: 1200, Output: 33, CacheRead: 500, Thoughts: 7},
	}
}

// run is a turn that runs a command.
func run(command string) modelserver.Turn {
	return modelserver.Turn{Tools: []modelserver.Tool{{Name: "run_shell_command", Input: map[string]any{"command": command}}}}
}

// almostFull is a turn after which no request has room.
func almostFull() modelserver.Turn {
	turn := write("a.txt", "a")
	turn.Usage = modelserver.Usage{Input: 1<<20 - 2, Output: 40}
	return turn
}

var wrote = state.Tokens{Input: 1200, Output: 40, CacheRead: 500}

// status is the exit status for an HTTP status.
func status(http int) int { return http % 256 }

// apiError is a failure before anything was paid.
func apiError(name string, e modelserver.Error, class, rule string, typ state.FailureType, retriable bool) scenario {
	return harnesstest.Refuses(name, e, want{Class: class, Rule: rule, Type: typ, Retriable: retriable, Exit: status(e.Status)})
}

func long(sc scenario) scenario {
	sc.Long = true
	return sc
}

// workspaceSettings are settings of the workspace.
func workspaceSettings(text string) func(*harnesstest.Stage) {
	return func(s *harnesstest.Stage) {
		dir := filepath.Join(s.Workspace, ".gemini")
		if err := os.Mkdir(dir, 0o755); err != nil {
			s.T.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, settingsName), []byte(text), 0o644); err != nil {
			s.T.Fatal(err)
		}
	}
}

const quota = "You exceeded your current quota, please check your plan and billing details.\n* Quota exceeded for metric: generate_requests, limit: 10\nPlease retry in 1.5s."

var scenarios = map[string]scenario{
	"two turns of one session, the second with another system prompt": {
		Script: []modelserver.Turn{write("hello.txt", "hello\n"), harnesstest.Done("Written."), run("cat hello.txt; exit 3"), harnesstest.Done("Second answer.")},
		Steps: []step{
			{Name: "write", System: "FIRST-SYSTEM-PROMPT", Compact: true, Want: want{Text: "Written.", Tokens: wrote.Add(harnesstest.One)}},
			{Name: "resumed", System: "OTHER @types/node SYSTEM-PROMPT", Want: want{Text: "Second answer.", Tokens: harnesstest.One.Add(harnesstest.One)}},
		},
	},
	"authentication": apiError("http-400-key", modelserver.Error{Status: 400, Message: "API key not valid. Please pass a valid API key."}, harness.ClassAuth, "word:invalid_api_key", state.FailAPI, false),
	"rate limit":     apiError("http-429", modelserver.Error{Status: 429, Message: quota}, harness.ClassRateLimit, "word:rate_limit_exceeded", state.FailRateLimit, true),
	"unauthorized":   long(apiError("http-401", modelserver.Error{Status: 401}, harness.ClassAuth, "word:authentication_error", state.FailAPI, false)),
	"forbidden":      long(apiError("http-403", modelserver.Error{Status: 403}, harness.ClassAuth, "word:permission_error", state.FailAPI, false)),
	"server error":   long(apiError("http-500", modelserver.Error{Status: 500}, harness.ClassOverloaded, "word:server_error", state.FailAPI, true)),
	"overloaded":     long(apiError("http-503", modelserver.Error{Status: 503, Message: "The model is overloaded. Please try again later."}, harness.ClassOverloaded, "status:503", state.FailAPI, true)),
	"no quota":       long(apiError("http-429-none", modelserver.Error{Status: 429, Message: "Quota exceeded for metric: generate_requests, limit: 0"}, harness.ClassBilling, "word:insufficient_quota", state.FailAPI, false)),
	"unknown model": long(harnesstest.Refuses("http-404", modelserver.Error{Status: 404, Message: "models/x is not found for API version v1beta"}, want{
		Class: harness.ClassInvalidRequest, Rule: "word:model_not_found", Type: state.FailAPI, Exit: 1,
	})),
	"invalid request": long(apiError("http-400", modelserver.Error{Status: 400, Message: "Invalid value at 'contents[3]'."}, harness.ClassInvalidRequest, "status:400", state.FailAPI, false)),
	"overloaded once, then well": {
		Long:   true,
		Script: []modelserver.Turn{{Error: modelserver.Error{Status: 500}}, harnesstest.Done("Fine.")},
		Steps:  []step{{Name: "http-500-once", Want: want{Text: "Fine.", Tokens: harnesstest.One}}},
	},
	"no provider": {
		Long:    true,
		Prepare: func(s *harnesstest.Stage) { s.Server.Close() },
		Steps: []step{{Name: "unreachable", Want: want{
			Class: harness.ClassUnreachable, Rule: "text:unreachable", Type: state.FailAPI, Retriable: true, Exit: 1,
		}}},
	},
	"stream cut": {
		Long:   true,
		Script: []modelserver.Turn{write("a.txt", "a"), {Text: "par", Break: modelserver.Drop, Repeat: true}},
		Steps: []step{{Name: "drop", Want: want{
			Class: harness.ClassUnreachable, Rule: "word:connection_failed", Type: state.FailAPI, Retriable: true, Exit: 1, Tokens: wrote,
		}}},
	},
	"stream ended by an error event": {
		Long:   true,
		Script: []modelserver.Turn{{Text: "par", Break: modelserver.ErrorEvent, Repeat: true}},
		Steps: []step{{Name: "error-event", Want: want{
			Class: harness.ClassUnreachable, Rule: "word:connection_failed", Type: state.FailAPI, Retriable: true, Tokens: harnesstest.One.Add(harnesstest.One),
		}}},
	},
	"nobody logged in": {
		Keyless: true,
		Steps: []step{{Name: "keyless", Want: want{
			Class: harness.ClassAuth, Rule: "word:invalid_api_key", Type: state.FailAPI, NoResult: true, NoSession: true, Exit: 41,
		}}},
	},
	"a session that does not exist": {
		Steps: []step{{Name: "unknown-session", Session: "00000000-0000-4000-8000-000000000000", Want: want{
			Class: harness.ClassSessionNotFound, Rule: "text:session-not-found", Type: state.FailUnknown, NoSession: true, NoResult: true, Exit: 42,
		}}},
	},
	"ended by SIGTERM while it waits for an answer, then continued": {
		Script: []modelserver.Turn{write("a.txt", "a"), {Text: "par", Break: modelserver.Stall}, harnesstest.Done("Went on.")},
		Steps: []step{
			{Name: "sigterm", Stop: syscall.SIGTERM, Printed: `"tool_result"`, Want: want{
				Class: "protocol", Rule: "result:missing", Type: state.FailUnknown, Retriable: true, NoResult: true, Tokens: wrote, Unsaid: true,
			}},
			{Name: "sigterm-resumed", Want: want{Text: "Went on.", Tokens: harnesstest.One}},
		},
	},
	"ended by SIGKILL": {
		Long:   true,
		Script: []modelserver.Turn{{Text: "par", Break: modelserver.Stall}},
		Steps: []step{{Name: "sigkill", Stop: syscall.SIGKILL, Want: want{
			Class: harness.ClassInterrupted, Rule: "signal:SIGKILL", Type: state.FailUnknown, Retriable: true, NoResult: true, Exit: -1,
		}}},
	},
	"a tool that somebody took away": {
		Script:  []modelserver.Turn{write("a.txt", "a"), harnesstest.Done("I could not.")},
		Prepare: workspaceSettings(`{"tools": {"exclude": ["write_file"]}}`),
		Steps: []step{{Name: "refused", Want: want{
			Class: harness.ClassPermissionDenied, Rule: "tool_result:refused", Type: state.FailUnknown, Denied: "Write", Tokens: wrote.Add(harnesstest.One),
		}}},
	},
	"a tool that cannot do what it should": {
		Long:   true,
		Script: []modelserver.Turn{write("/outside.txt", "a"), harnesstest.Done("I could not.")},
		Steps:  []step{{Name: "outside", Want: want{Text: "I could not.", Tokens: wrote.Add(harnesstest.One)}}},
	},
	"context full": {
		Long:   true,
		Script: []modelserver.Turn{write("a.txt", "a"), {Error: modelserver.Error{Status: 400, Message: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."}, Repeat: true}},
		Steps: []step{{Name: "context-full", Want: want{
			Class: harness.ClassContextOverflow, Rule: "word:context_length_exceeded", Type: state.FailAPI, Exceeded: true, Exit: status(400), Tokens: wrote,
		}}},
	},
	"context full, and the agent says nothing": {
		Script: []modelserver.Turn{almostFull()},
		Steps: []step{{Name: "context-full-success", Want: want{
			Class: harness.ClassContextOverflow, Rule: "session:unanswered", Type: state.FailAPI, Exceeded: true, Unseen: true,
			Text: "I will write a.txt.", Tokens: state.Tokens{Input: 1<<20 - 2, Output: 40},
		}}},
	},
	"answer cut off, and the agent says nothing": {
		Long:   true,
		Script: []modelserver.Turn{{Text: "blah", StopReason: "MAX_TOKENS", Usage: modelserver.Usage{Input: 10, Output: 60_000, Thoughts: 5_536}}},
		Steps: []step{{Name: "max-output", Want: want{
			Class: harness.ClassMaxOutput, Rule: "session:longest-answer", Type: state.FailAPI, Retriable: true, Exceeded: true, Unseen: true,
			Text: "blah", Tokens: state.Tokens{Input: 10, Output: 65_536},
		}}},
	},
	"answer cut off before its first word": {
		Long:   true,
		Script: []modelserver.Turn{{StopReason: "MAX_TOKENS", Repeat: true}},
		Steps: []step{{Name: "max-output-empty", Want: want{
			Class: harness.ClassMaxOutput, Rule: "word:max_output_tokens", Type: state.FailAPI, Retriable: true, Exceeded: true,
			Tokens: harnesstest.One.Add(harnesstest.One),
		}}},
	},
}
