package exec

import (
	"encoding/json"
	"errors"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"hank/state"
)

// event is a line of the program: all members of all types.
type event struct {
	Type string `json:"type"`

	ID       string `json:"id"`      // of session, tool and toolResult
	Model    string `json:"model"`   // of session and usage
	Text     string `json:"text"`    // of message, toolResult, question, notice and result
	Message  string `json:"message"` // of retrying, contextFull and result: why
	Thinking bool   `json:"thinking"`
	Of       string `json:"of"` // the tool use that has started the subagent which did it

	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	IsError bool            `json:"isError"`

	InputTokens         float64  `json:"inputTokens"`
	OutputTokens        float64  `json:"outputTokens"`
	CacheCreationTokens float64  `json:"cacheCreationTokens"`
	CacheReadTokens     float64  `json:"cacheReadTokens"`
	CostUSD             *float64 `json:"costUSD"`
	ContextTokens       float64  `json:"contextTokens"`

	Attempt           int     `json:"attempt"`
	AfterSeconds      float64 `json:"afterSeconds"`
	Class             string  `json:"class"`
	Status            int     `json:"status"`
	RetryAfterSeconds float64 `json:"retryAfterSeconds"`
	ResetsAt          string  `json:"resetsAt"`

	OK     bool     `json:"ok"`
	Denied []string `json:"denied"`
}

// parse reads an event. Of a member of another JSON type than it should have only the value
// is lost.
func parse(line []byte) (e event, ok bool) {
	if len(line) == 0 || line[0] != '{' {
		return e, false
	}
	err := json.Unmarshal(line, &e)
	var mistyped *json.UnmarshalTypeError
	return e, (err == nil || errors.As(err, &mistyped)) && e.Type != ""
}

// What one event may add: sums of nonsense must not overflow.
const (
	mostTokens  = 1e12
	mostDollars = 1e6
)

// count is a number of tokens; what is no sensible one counts as 0.
func count(n float64) int64 {
	if !(n >= 0 && n <= mostTokens) {
		return 0
	}
	return int64(n)
}

func (e event) tokens() state.Tokens {
	return state.Tokens{Input: count(e.InputTokens), Output: count(e.OutputTokens), CacheCreation: count(e.CacheCreationTokens), CacheRead: count(e.CacheReadTokens)}
}

// cost is the money of the event, and whether it says one.
func (e event) cost() (state.USD, bool) {
	if e.CostUSD == nil {
		return 0, false
	}
	if !(*e.CostUSD >= 0 && *e.CostUSD <= mostDollars) {
		return 0, true
	}
	return state.Dollars(*e.CostUSD), true
}

// wait is a number of seconds, of a month at most.
func wait(seconds float64) time.Duration {
	if !(seconds > 0 && seconds <= 31*24*3600) {
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}

// maxSession bounds the ids of sessions, in bytes.
const maxSession = 256

// usable reports whether a text can be the id of a session: it goes into records,
// environments and messages.
func usable(id string) bool {
	return id != "" && len(id) <= maxSession && utf8.ValidString(id) && !strings.ContainsFunc(id, func(c rune) bool { return !unicode.IsGraphic(c) || unicode.IsSpace(c) })
}
