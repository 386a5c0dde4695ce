// Package modelserver is a stand-in for a model provider, for tests: it speaks
// Anthropic's Messages API, OpenAI's Chat Completions API and Google's Gemini API (streamed
// and unstreamed) and OpenAI's Responses API (streamed) on the loopback, and plays a script
// of turns, good ones and broken ones.
//
// The shapes follow the public documentation of these APIs and of their
// streaming events; what the Claude Code, Codex and Gemini CLIs really read of them was
// found by running them against this server.
package modelserver

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

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

// OpenAIEnviron are the variables by which hank makes the Codex CLI talk to this server.
func (s *Server) OpenAIEnviron() []string {
	return []string{"OPENAI_BASE_URL=" + s.URL() + "/v1", "CODEX_API_KEY=not-a-real-key"}
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
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/v1/responses"):
		s.responses(w, r)
	case r.Method == http.MethodPost && isGemini(r.URL.Path):
		s.gemini(w, r)
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/v1/chat/completions"):
		s.chat(w, r)
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
	m := s.take(req)
	switch {
	case m.Error.Status != 0:
		writeError(w, m.Error)
	case req.Stream:
		m.stream(w, func() { s.stall(r) })
	case m.Break == Drop:
		panic(http.ErrAbortHandler)
	case m.Break == Stall:
		s.stall(r)
	case m.Break == ErrorEvent:
		writeError(w, Error{Status: 529})
	default:
		writeJSON(w, http.StatusOK, m.whole())
	}
}

// responses answers a request of OpenAI's Responses API, which is always streamed.
func (s *Server) responses(w http.ResponseWriter, r *http.Request) {
	req, err := parseResponses(r)
	if err != nil {
		writeOpenAIError(w, Error{Status: http.StatusBadRequest, Message: err.Error()})
		return
	}
	m := s.take(req)
	if m.Error.Status != 0 {
		writeOpenAIError(w, m.Error)
		return
	}
	m.streamResponse(w, func() { s.stall(r) })
}

// chat answers a request of OpenAI's Chat Completions API.
func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	req, counted, err := parseChat(r)
	if err != nil {
		writeOpenAIError(w, Error{Status: http.StatusBadRequest, Message: err.Error()})
		return
	}
	m := s.take(req)
	switch {
	case m.Error.Status != 0:
		writeOpenAIError(w, m.Error)
	case req.Stream:
		m.streamChat(w, counted, func() { s.stall(r) })
	case m.Break == Drop:
		panic(http.ErrAbortHandler)
	case m.Break == Stall:
		s.stall(r)
	case m.Break == ErrorEvent:
		writeOpenAIError(w, Error{Status: http.StatusInternalServerError, Type: "server_error"})
	default:
		writeJSON(w, http.StatusOK, m.completion("chat.completion", map[string]any{
			"choices": []any{map[string]any{"index": 0, "message": m.choice(), "finish_reason": m.finishReason()}},
			"usage":   m.chatUsage(),
		}))
	}
}

// take keeps a request and returns its turn.
func (s *Server) take(req Request) message {
	s.mu.Lock()
	s.requests = append(s.requests, req)
	s.ids++
	id := s.ids
	s.mu.Unlock()

	turn := s.answer(req)
	if turn.Usage == (Usage{}) {
		turn.Usage = DefaultUsage
	}
	return message{Turn: turn, id: fmt.Sprintf("msg_%06d", id), serial: id, model: req.Model}
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
