package opencode

import (
	_ "embed"
	"encoding/json"
	"errors"
	"math"

	"hank/state"
)

// observer is the source of the plugin that prints observed lines.
//
//go:embed observer.js
var observer string

// observed is a line of the observer.
type observed struct {
	Event   string `json:"hank"` // session.status or session.compacted
	Session string `json:"sessionID"`
	// Of a retry.
	Attempt int     `json:"attempt"`
	Message string  `json:"message"`
	Now     float64 `json:"now"`  // milliseconds
	Next    float64 `json:"next"` // when the agent tries again
}

// event is a line of opencode run --format json.
type event struct {
	Type     string   `json:"type"`
	Session  string   `json:"sessionID"`
	Part     part     `json:"part"`
	Error    *fault   `json:"error"`
	Rejected []string `json:"rejected"` // permissions, of a done event
}

// part is a piece of what the model says and does.
type part struct {
	Text      string `json:"text"`      // of text and reasoning
	Synthetic bool   `json:"synthetic"` // the agent's program wrote it, for the model

	// Of a tool.
	Tool  string `json:"tool"`
	Call  string `json:"callID"`
	State struct {
		Status   string          `json:"status"` // completed, error
		Input    json.RawMessage `json:"input"`
		Output   string          `json:"output"`
		Error    string          `json:"error"`
		Metadata struct {
			Exit *float64 `json:"exit"` // of a command
		} `json:"metadata"`
	} `json:"state"`

	// Of the end of a step.
	Reason string  `json:"reason"`
	Tokens usage   `json:"tokens"`
	Cost   float64 `json:"cost"` // dollars; 0: the agent has no price
}

// fault is an error of the agent.
type fault struct {
	Name string `json:"name"`
	Data struct {
		Message string            `json:"message"`
		Status  float64           `json:"statusCode"`
		Body    string            `json:"responseBody"`
		Headers map[string]string `json:"responseHeaders"`
	} `json:"data"`
}

// usage is what one request used. Input is without what was read from the cache or written
// to it, and output without what the model thought.
type usage struct {
	Input     float64 `json:"input"`
	Output    float64 `json:"output"`
	Reasoning float64 `json:"reasoning"`
	Cache     struct {
		Read  float64 `json:"read"`
		Write float64 `json:"write"`
	} `json:"cache"`
}

func (u usage) tokens() state.Tokens {
	return state.Tokens{
		Input: count(u.Input), Output: count(u.Output) + count(u.Reasoning),
		CacheCreation: count(u.Cache.Write), CacheRead: count(u.Cache.Read),
	}
}

// count is a number of tokens; what is no sensible one counts as 0.
func count(n float64) int64 {
	if !(n >= 0 && n < 1e12) {
		return 0
	}
	return int64(n)
}

// money is a sum of dollars; what is no sensible one counts as 0.
func money(dollars float64) state.USD {
	const nanos = 1e9
	if !(dollars > 0 && dollars < 1e6) {
		return 0
	}
	return state.USD(math.RoundToEven(dollars * nanos))
}

// parse reads a JSON object. Where one value has an unexpected type, only that value is
// lost.
func parse(text []byte, into any) bool {
	err := json.Unmarshal(text, into)
	var mistyped *json.UnmarshalTypeError
	return err == nil || errors.As(err, &mistyped)
}
