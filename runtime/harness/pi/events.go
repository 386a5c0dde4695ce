package pi

import (
	"encoding/json"
	"errors"

	"hank/state"
)

// event is a line of pi --mode json.
type event struct {
	Type string `json:"type"`

	// Of session, the first line.
	ID  string `json:"id"`
	Cwd string `json:"cwd"`

	Message message `json:"message"` // of message_start and message_end

	// Of tool_execution_start and tool_execution_end.
	Call    string          `json:"toolCallId"`
	Tool    string          `json:"toolName"`
	Args    json.RawMessage `json:"args"`
	Result  result          `json:"result"`
	IsError bool            `json:"isError"`

	// Of auto_retry_start, and of compaction_start and compaction_end.
	Attempt int    `json:"attempt"`
	Delay   int64  `json:"delayMs"`
	Reason  string `json:"reason"`
	Error   string `json:"errorMessage"`
}

// message is one of the model, the user or a tool.
type message struct {
	Role     string  `json:"role"`
	Content  []block `json:"content"`
	Provider string  `json:"provider"`
	Model    string  `json:"model"`
	Usage    usage   `json:"usage"`
	Stop     string  `json:"stopReason"` // stop, toolUse, length, error, aborted
	Error    string  `json:"errorMessage"`
}

type block struct {
	Type     string `json:"type"` // text, thinking, toolCall
	Text     string `json:"text"`
	Thinking string `json:"thinking"`
}

// result is what a tool gave.
type result struct {
	Content []block `json:"content"`
}

// usage is what one request to the model used. Input is without what was read from the
// cache or written to it.
type usage struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
	Cost       struct {
		Total float64 `json:"total"` // dollars
	} `json:"cost"`
}

func (u usage) tokens() state.Tokens {
	return state.Tokens{Input: count(u.Input), Output: count(u.Output), CacheCreation: count(u.CacheWrite), CacheRead: count(u.CacheRead)}
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
