// Package modelserver is a stand-in for a model provider, for tests: it speaks
// Anthropic's Messages API on the loopback, streamed and unstreamed, and plays
// a script of turns, good ones and broken ones.
//
// The shapes follow the public documentation of the Messages API and of its
// streaming events; what the Claude Code CLI really reads of them was found by
// running it against this server.
package modelserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Turn is one answer of the model. The zero Turn is an empty message.
type Turn struct {
	Thinking   string
	Text       string
	Tools      []Tool // called after the text
	StopReason string // if empty: tool_use with Tools, else end_turn
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
	Input any // encoded as JSON
}

// Usage is what a turn counts, in tokens.
type Usage struct {
	Input, Output, CacheCreation, CacheRead int64
}

// DefaultUsage is what a turn counts that says nothing.
var DefaultUsage = Usage{Input: 1000, Output: 50}

// Error is an answer with an HTTP status that is not 200.
type Error struct {
	Status     int
	Type       string // overloaded_error, ...; from the status if empty
	Message    string
	RetryAfter string // the header; none if empty
}

// Break is a way in which a stream can fail after it began.
type Break int

// The breaks.
const (
	Whole      Break = iota
	Drop             // the connection is cut
	Stall            // nothing more is sent until the agent gives up or the test ends
	ErrorEvent       // an SSE event "error" (overloaded_error) ends the stream
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

// Message is one message of the conversation that an agent sent.
type Message struct {
	Role string
	Text string // text and tool-result blocks, joined by newlines
}

// Server is a running stand-in. It may be used by several goroutines.
type Server struct {
	answer  func(Request) Turn
	http    *httptest.Server
	closing chan struct{}
	once    sync.Once
	stalled chan struct{}

	mu       sync.Mutex
	requests []Request
	ids      int
}

// New starts a server that answers the conversation's requests with the turns
// in order. Side requests (those that offer no tools) get the text "ok" and
// use up no turn. A request after the last turn fails the test and gets a 400.
// The server is stopped when the test ends.
func New(t testing.TB, script ...Turn) *Server {
	var mu sync.Mutex
	next := 0
	return NewFunc(t, func(r Request) Turn {
		if len(r.Tools) == 0 {
			return Turn{Text: "ok"}
		}
		mu.Lock()
		defer mu.Unlock()
		if next > 0 && script[next-1].Repeat {
			return script[next-1]
		}
		if next == len(script) {
			t.Errorf("modelserver: the agent sent a request after the last of %d turns", len(script))
			return Turn{Error: Error{Status: 400, Message: "the script has no turn left"}}
		}
		next++
		return script[next-1]
	})
}

// NewFunc starts a server that asks answer for every turn, side requests
// included. Several requests may be answered at the same time.
func NewFunc(t testing.TB, answer func(Request) Turn) *Server {
	s := Start(answer)
	t.Cleanup(s.Close)
	return s
}

// Start is NewFunc outside of a test: the caller closes the server.
func Start(answer func(Request) Turn) *Server {
	s := &Server{answer: answer, closing: make(chan struct{}), stalled: make(chan struct{}, 100)}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// Close stops the server before the test ends: its address then refuses.
func (s *Server) Close() {
	s.once.Do(func() {
		close(s.closing)
		s.http.CloseClientConnections()
		s.http.Close()
	})
}

// URL is the base address, as ANTHROPIC_BASE_URL wants it.
func (s *Server) URL() string { return s.http.URL }

// Environ are the variables that make the Claude Code CLI talk to this server.
func (s *Server) Environ() []string {
	return []string{"ANTHROPIC_BASE_URL=" + s.URL(), "ANTHROPIC_API_KEY=not-a-real-key"}
}

// Requests returns the model requests so far, in the order of their arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Turns returns the requests that belong to the conversation: those that offer
// tools.
func (s *Server) Turns() []Request {
	return slices.DeleteFunc(s.Requests(), func(r Request) bool { return len(r.Tools) == 0 })
}

// Stalled receives a value whenever a stream has begun to stall.
func (s *Server) Stalled() <-chan struct{} { return s.stalled }

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodHead:
		w.WriteHeader(http.StatusOK)
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/count_tokens"):
		writeJSON(w, http.StatusOK, map[string]any{"input_tokens": DefaultUsage.Input})
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/v1/messages"):
		s.messages(w, r)
	default:
		writeError(w, Error{Status: http.StatusNotFound, Message: "no such endpoint: " + r.Method + " " + r.URL.Path})
	}
}

func (s *Server) messages(w http.ResponseWriter, r *http.Request) {
	req, err := parse(r)
	if err != nil {
		writeError(w, Error{Status: http.StatusBadRequest, Message: err.Error()})
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, req)
	s.ids++
	id := s.ids
	s.mu.Unlock()

	turn := s.answer(req)
	if turn.Usage == (Usage{}) {
		turn.Usage = DefaultUsage
	}
	m := message{Turn: turn, id: fmt.Sprintf("msg_%06d", id), serial: id, model: req.Model}
	switch {
	case turn.Error.Status != 0:
		writeError(w, turn.Error)
	case req.Stream:
		s.stream(w, r, m)
	case turn.Break == Drop:
		panic(http.ErrAbortHandler)
	case turn.Break == Stall:
		s.stall(r)
	case turn.Break == ErrorEvent:
		writeError(w, Error{Status: 529})
	default:
		writeJSON(w, http.StatusOK, m.whole())
	}
}

// stall waits until the agent gives up or the test ends.
func (s *Server) stall(r *http.Request) {
	select {
	case s.stalled <- struct{}{}:
	default:
	}
	select {
	case <-s.closing:
	case <-r.Context().Done():
	case <-time.After(10 * time.Minute):
	}
	panic(http.ErrAbortHandler) // net/http's way to cut a connection: no orderly end
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

func writeError(w http.ResponseWriter, e Error) {
	if e.Type == "" {
		e.Type = errorTypes[e.Status]
	}
	if e.Type == "" {
		e.Type = "api_error"
	}
	if e.Message == "" {
		e.Message = strings.ReplaceAll(strings.TrimSuffix(e.Type, "_error"), "_", " ")
	}
	if e.RetryAfter != "" {
		w.Header().Set("Retry-After", e.RetryAfter)
	}
	writeJSON(w, e.Status, map[string]any{"type": "error", "error": map[string]any{"type": e.Type, "message": e.Message}})
}
