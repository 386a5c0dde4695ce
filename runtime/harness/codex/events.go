package codex

import (
	"encoding/json"
	"errors"

	"hank/state"
)

// event is a line of codex exec --json.
type event struct {
	Type    string    `json:"type"`
	Thread  string    `json:"thread_id"`
	Message string    `json:"message"` // of an error
	Error   *struct { // of turn.failed
		Message string `json:"message"`
	} `json:"error"`
	Usage *usage          `json:"usage"` // of turn.completed
	Item  json.RawMessage `json:"item"`
}

// item is something in a thread. Kinds that are not named here are tools, too.
type item struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Status  string `json:"status"` // in_progress, completed, failed, declined
	Text    string `json:"text"`   // of agent_message, reasoning and plan
	Message string `json:"message"`

	// Of command_execution.
	Command  string `json:"command"`
	Output   string `json:"aggregated_output"`
	ExitCode *int   `json:"exit_code"`
	// Of file_change.
	Changes []change `json:"changes"`
	// Of mcp_tool_call.
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Result    *struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	} `json:"result"`
	Error *struct {
		Message string `json:"message"`
	} `json:"error"`
	// Of web_search.
	Query string `json:"query"`
	// Of todo_list.
	Items []struct {
		Text string `json:"text"`
		Done bool   `json:"completed"`
	} `json:"items"`
}

type change struct {
	Path string `json:"path"`
	Kind string `json:"kind"` // add, update, delete
}

// usage is a count of tokens. Input is with what was read from the cache or written to
// it, and output with what the model thought.
type usage struct {
	Input      float64 `json:"input_tokens"`
	CacheRead  float64 `json:"cached_input_tokens"`
	CacheWrite float64 `json:"cache_write_input_tokens"`
	Output     float64 `json:"output_tokens"`
}

// tokens tells apart what has different prices.
func (u usage) tokens() state.Tokens {
	input, read, written := count(u.Input), count(u.CacheRead), count(u.CacheWrite)
	read = min(read, input)
	written = min(written, input-read)
	return state.Tokens{Input: input - read - written, Output: count(u.Output), CacheCreation: written, CacheRead: read}
}

// count is a number of tokens; what is no sensible one counts as 0.
func count(n float64) int64 {
	if !(n >= 0 && n < 1e12) {
		return 0
	}
	return int64(n)
}

// parse reads a JSON object. Where one value has an unexpected type, only that value is
// lost.
func parse(text []byte, into any) bool {
	err := json.Unmarshal(text, into)
	var mistyped *json.UnmarshalTypeError
	return err == nil || errors.As(err, &mistyped)
}
