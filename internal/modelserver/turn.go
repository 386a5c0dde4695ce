package modelserver

import (
	"encoding/json"
	"net/http"
	"strings"
)

// Turn is one answer of the model. The zero Turn is an empty message.
type Turn struct {
	Thinking   string
	Text       string
	Tools      []Tool // called after the text
	StopReason string // if empty: tool_use (Chat: tool_calls) with Tools, else end_turn (Chat: stop); of Responses: why the answer is incomplete; of Gemini: the finishReason
	Usage      Usage  // the zero Usage is DefaultUsage

	// Error, if its Status is not 0, is sent instead of a message.
	Error Error
	// Break ends the stream badly after the first part of the content.
	Break Break
	// Repeat makes this turn answer every further request too.
	Repeat bool
}

// Tool is a call of one of the agent's tools.
type Tool struct {
	Name  string
	Input any // encoded as JSON; a string calls a custom tool of the Responses API, which takes text
}

// Usage is what a turn counts, in tokens. Input is without the cached ones; the
// APIs of OpenAI and the Gemini API count them together. Thoughts are for the Gemini API,
// whose output is without them.
type Usage struct {
	Input, Output, CacheCreation, CacheRead, Thoughts int64
}

// DefaultUsage is what a turn counts that says nothing.
var DefaultUsage = Usage{Input: 1000, Output: 50}

// Error is an answer with an HTTP status that is not 200.
type Error struct {
	Status     int
	Type       string // overloaded_error, ...; from the status if empty
	Message    string
	RetryAfter string            // the header; none if empty
	Header     map[string]string // further headers
}

// Break is a way in which a stream can fail after it began.
type Break int

// The breaks.
const (
	Whole      Break = iota
	Drop             // the connection is cut
	Stall            // nothing more is sent until the agent gives up or the test ends
	ErrorEvent       // an error (overloaded_error, server_error) or "response.failed" ends the stream
)

// Request is what an agent asked.
type Request struct {
	Method, Path string
	Header       http.Header
	Body         []byte
	Model        string
	System       string // all blocks, joined by newlines
	Messages     []Message
	Tools        []string // names of the offered tools; none in side requests such as titles
	Stream       bool
}

// Message is one message of the conversation that an agent sent. Items of the Responses
// API that have no role have their type instead.
type Message struct {
	Role string
	Text string // text and tool-result blocks, joined by newlines
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the agent has gone; its loss
}

// errorTypes are the error types of the Messages API by status.
var errorTypes = map[int]string{
	400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
	404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 529: "overloaded_error",
}

// fill gives an error what it does not say.
func fill(e *Error) {
	if e.Type == "" {
		e.Type = errorTypes[e.Status]
	}
	if e.Type == "" {
		e.Type = "api_error"
	}
	if e.Message == "" {
		e.Message = strings.ReplaceAll(strings.TrimSuffix(e.Type, "_error"), "_", " ")
	}
}
