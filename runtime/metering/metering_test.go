package metering

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hank/plan/model"
	"hank/runtime/harness"
	"hank/runtime/harness/claude"
	"hank/runtime/harness/codex"
	"hank/runtime/harness/gemini"
	"hank/runtime/harness/transcript"
	"hank/state"
)

// priced is a model that costs a dollar for a million tokens.
func priced(provider string) model.Ref {
	return model.Ref{ProviderID: provider, ModelID: "m", Cost: &model.Cost{Input: 1e9, Output: 1e9}}
}

// written is a transcript.
func written(entries ...transcript.Entry) string {
	var text []byte
	for _, e := range entries {
		e.At = time.Unix(1, 0)
		text = e.Append(text)
	}
	return string(text)
}

func begins(name, session string, before state.Tokens) transcript.Entry {
	return transcript.Entry{Stream: transcript.StreamStart, Start: transcript.Start{Harness: name, Attempt: "a", Model: "m", Session: session, SessionTokens: transcript.Counted(before)}}
}

func says(line string) transcript.Entry {
	return transcript.Entry{Stream: transcript.Stdout, Line: []byte(line)}
}

// file writes lines into a file of a home.
func file(t *testing.T, home, name string, lines ...string) {
	t.Helper()
	path := filepath.Join(home, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func codexCount(total, last int) string {
	return fmt.Sprintf(`{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":%d},"last_token_usage":{"input_tokens":%d}}}}`, total, last)
}

// claudeCount is a message of Claude's file of a session that is whole.
func claudeCount(id string, input int) string {
	return fmt.Sprintf(`{"type":"assistant","message":{"id":%q,"model":"m","stop_reason":"end_turn","usage":{"input_tokens":%d}}}`, id, input)
}

func geminiCount(id string, n int) string {
	return fmt.Sprintf(`{"id":%q,"type":"gemini","tokens":{"input":%d}}`, id, n)
}

// What an agent that was killed with hank has used is taken from its own files, from where
// the last turn has begun, and never twice.
func TestWhatAKilledAgentUsedIsInItsOwnFiles(t *testing.T) {
	t.Parallel()
	const session = "0199-abcdef-1"
	home := t.TempDir()
	file(t, home, ".codex/sessions/2026/11/26/rollout-2026-11-26T17-00-00-"+session+".jsonl", codexCount(100, 100), codexCount(150, 50), codexCount(170, 20), codexCount(200, 30))
	file(t, home, ".gemini/tmp/w/chats/session-2026-11-26T17-00-"+session[:8]+".jsonl", fmt.Sprintf(`{"sessionId":%q}`, session), geminiCount("1", 100), geminiCount("2", 50), geminiCount("3", 20), geminiCount("4", 30))
	file(t, home, ".claude/projects/w/"+session+".jsonl", claudeCount("1", 100), claudeCount("1", 100), claudeCount("2", 50), claudeCount("3", 20))
	file(t, home, ".claude/projects/w/"+session+"/subagents/agent-a.jsonl", claudeCount("4", 30), `{"type":"assistant","message":{"id":"5","usage":{"input_tokens":7},"stop_reason":null}}`)
	for name, h := range map[string]harness.Harness{"codex": codex.Harness{}, "gemini": gemini.Harness{}, "claude": claude.Harness{}} {
		begun := map[string]string{"claude": `{"type":"system","subtype":"init","session_id":"` + session + `"}`, "codex": `{"type":"thread.started","thread_id":"` + session + `"}`, "gemini": `{"type":"init","session_id":"` + session + `","model":"m"}`}[name]
		m := priced(map[string]string{"claude": "anthropic", "codex": "openai", "gemini": "google"}[name])
		for what, c := range map[string]struct {
			text   string
			tokens int64
		}{
			"a new session":                    {written(begins(name, "", state.Tokens{}), says(begun)), 200},
			"one that is continued":            {written(begins(name, session, state.Tokens{Input: 150}), says(begun)), 50},
			"nothing since":                    {written(begins(name, session, state.Tokens{Input: 200}), says(begun)), 0},
			"killed before it had a session":   {written(begins(name, "", state.Tokens{})), 0},
			"the count of before is not there": {written(begins(name, session, state.Tokens{Input: 160}), says(begun)), 40},
			"an end": {written(begins(name, "", state.Tokens{}), says(begun),
				transcript.Entry{Stream: transcript.StreamExit, Exit: transcript.Exit{Code: 1}}), 0},
			"another session": {written(begins(name, "", state.Tokens{}), says(strings.ReplaceAll(begun, session, "0199-abcother"))), 0},
		} {
			u, err := OfKilled(strings.NewReader(c.text), h, m, home, nil)
			if err != nil || u.Tokens.Sum() != c.tokens || u.Cost != state.USD(c.tokens*1000) {
				t.Errorf("%s, %s: %d tokens for %s, %v; want %d", name, what, u.Tokens.Sum(), u.Cost, err, c.tokens)
			}
			if n := Unpriced(m, u.Usage); n != 0 {
				t.Errorf("%s, %s: %d tokens without a price", name, what, n)
			}
			if m := (model.Ref{ProviderID: m.ProviderID, ModelID: "m"}); Unpriced(m, u.Usage) != c.tokens {
				t.Errorf("%s, %s: of a model without a price %d tokens are unpriced", name, what, Unpriced(m, u.Usage))
			}
		}
		if n, err := h.(harness.Metered).SessionTokens(harness.Request{Home: home, Session: session, Environ: []string{"ANTHROPIC_API_KEY=k"}}); err != nil || n.Sum() != 200 {
			t.Errorf("%s: the session has %d tokens, %v", name, n.Sum(), err)
		}
	}
}

// What the lines of a Claude that was killed estimate counts as its file has it, also where that
// is less; a message that is not whole there stays an estimate.
func TestAnEstimateOfAKilledAgentIsReplacedByItsOwnFiles(t *testing.T) {
	t.Parallel()
	const session = "0199-abcdef-1"
	home := t.TempDir()
	file(t, home, ".claude/projects/w/"+session+".jsonl",
		`{"type":"assistant","message":{"id":"1","model":"m","stop_reason":"tool_use","usage":{"input_tokens":100,"output_tokens":50}}}`,
		`{"type":"assistant","message":{"id":"2","model":"m","stop_reason":null,"usage":{"input_tokens":200,"output_tokens":1}}}`)
	line := func(id string, input int) transcript.Entry {
		return says(fmt.Sprintf(`{"type":"assistant","message":{"id":%q,"model":"m","content":[{"type":"text","text":%q}],"stop_reason":null,"usage":{"input_tokens":%d,"output_tokens":1}}}`, id, strings.Repeat("x", 480), input))
	}
	begun := []transcript.Entry{begins("claude", "", state.Tokens{}), says(`{"type":"system","subtype":"init","session_id":"` + session + `"}`), line("1", 100)}
	for what, c := range map[string]struct {
		home  string
		more  []transcript.Entry
		want  state.Tokens
		exact bool
	}{
		"whole in the file":      {home, nil, state.Tokens{Input: 100, Output: 50}, true},
		"not whole in the file":  {home, []transcript.Entry{line("2", 200)}, state.Tokens{Input: 300, Output: 50 + 120}, false},
		"not in the file":        {home, []transcript.Entry{line("3", 300)}, state.Tokens{Input: 400, Output: 50 + 120}, false},
		"no file":                {t.TempDir(), nil, state.Tokens{Input: 100, Output: 120}, false},
		"nobody knows its place": {"", nil, state.Tokens{Input: 100, Output: 120}, false},
		"it has ended": {home, []transcript.Entry{{Stream: transcript.StreamExit, Exit: transcript.Exit{Code: -1, Signal: "SIGKILL"}}},
			state.Tokens{Input: 100, Output: 120}, false},
	} {
		u, err := OfKilled(strings.NewReader(written(append(slices.Clone(begun), c.more...)...)), claude.Harness{}, priced("anthropic"), c.home, nil)
		if err != nil || u.Tokens.Input != c.want.Input || u.Tokens.Output != c.want.Output || u.Exact != c.exact || u.Cost != state.USD(1000*c.want.Sum()) {
			t.Errorf("%s: %+v for %s, exact: %v, %v; want %+v", what, u.Tokens, u.Cost, u.Exact, err, c.want)
		}
	}
}
