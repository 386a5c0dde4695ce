package gemini

import (
	"encoding/json"
	"errors"

	"hank/state"
)

// event is a line of --output-format stream-json.
type event struct {
	Type string `json:"type"`

	// Of init.
	Session string `json:"session_id"`
	Model   string `json:"model"`
	// Of message; of error, Message.
	Role    string `json:"role"`
	Content string `json:"content"`
	Message string `json:"message"`
	// Of tool_use.
	Tool       string          `json:"tool_name"`
	ID         string          `json:"tool_id"`
	Parameters json.RawMessage `json:"parameters"`
	// Of tool_result.
	Output string `json:"output"`
	// Of tool_result and result.
	Status string   `json:"status"` // success, error
	Error  *problem `json:"error"`
	// Of result.
	Stats *stats `json:"stats"`
}

// problem is why a tool or the whole run has failed.
type problem struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// stats are what a process has used, of all models. Input is with what was read from the
// cache, output is without what the model thought, and the total has everything.
type stats struct {
	Input  float64 `json:"input_tokens"`
	Output float64 `json:"output_tokens"`
	Cached float64 `json:"cached"`
	Total  float64 `json:"total_tokens"`
}

func (s stats) tokens() state.Tokens {
	input, cached := count(s.Input), count(s.Cached)
	cached = min(cached, input)
	return state.Tokens{Input: input - cached, CacheRead: cached, Output: max(count(s.Output), count(s.Total)-input)}
}

// record is a line of the agent's file of a session. A message is written again when it
// has changed.
type record struct {
	Session string `json:"sessionId"` // of the first line
	ID      string `json:"id"`
	Type    string `json:"type"` // user, gemini, info, error, warning
	Tokens  *used  `json:"tokens"`
	helper  bool   // it is of a helper that the agent has started
}

// used is what a request has used. Input is with what was read from the cache; the tool is
// what a tool of the provider has read.
type used struct {
	Input    float64 `json:"input"`
	Output   float64 `json:"output"`
	Cached   float64 `json:"cached"`
	Thoughts float64 `json:"thoughts"`
	Tool     float64 `json:"tool"`
}

func (u used) tokens() state.Tokens {
	input, cached := count(u.Input), count(u.Cached)
	cached = min(cached, input)
	return state.Tokens{Input: input - cached + count(u.Tool), CacheRead: cached, Output: count(u.Output) + count(u.Thoughts)}
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
