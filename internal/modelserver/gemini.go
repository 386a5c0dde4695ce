package modelserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// The Gemini API names the model and the method in the path:
// /v1beta/models/MODEL:METHOD. Error words are those of Google's APIs.

// GeminiEnviron are the variables that make the Gemini CLI talk to this server.
func (s *Server) GeminiEnviron() []string {
	return []string{"GOOGLE_GEMINI_BASE_URL=" + s.URL(), "GEMINI_API_KEY=not-a-real-key"}
}

// gemini answers a request of the Gemini API, streamed or not.
func (s *Server) gemini(w http.ResponseWriter, r *http.Request) {
	req, method, err := parseGemini(r)
	if err != nil {
		writeGeminiError(w, Error{Status: http.StatusBadRequest, Message: err.Error()})
		return
	}
	switch method {
	case "countTokens":
		writeJSON(w, http.StatusOK, map[string]any{"totalTokens": len(req.Body) / 4})
		return
	case "streamGenerateContent", "generateContent":
	default:
		writeGeminiError(w, Error{Status: http.StatusNotFound, Message: "no such method: " + method})
		return
	}
	m := s.take(req)
	switch {
	case m.Error.Status != 0:
		writeGeminiError(w, m.Error)
	case req.Stream:
		m.streamGemini(w, func() { s.stall(r) })
	case m.Break == Drop:
		panic(http.ErrAbortHandler)
	case m.Break == Stall:
		s.stall(r)
	case m.Break == ErrorEvent:
		writeGeminiError(w, Error{Status: http.StatusServiceUnavailable})
	default:
		writeJSON(w, http.StatusOK, m.chunk(m.parts(), true))
	}
}

// isGemini reports whether a path is one of the Gemini API.
func isGemini(path string) bool { return strings.HasPrefix(path, "/v1beta/models/") }

// parts are what the model says, as parts of a content.
func (m message) parts() []map[string]any {
	var all []map[string]any
	if m.Thinking != "" {
		all = append(all, map[string]any{"text": m.Thinking, "thought": true})
	}
	if m.Text != "" {
		all = append(all, map[string]any{"text": m.Text})
	}
	for i, tool := range m.Tools {
		all = append(all, map[string]any{"functionCall": map[string]any{
			"id": fmt.Sprintf("call_%06d_%d", m.serial, i), "name": tool.Name, "args": tool.Input,
		}})
	}
	return all
}

// chunk is a part of the answer. The last one has the reason of the end; each has what
// was used so far.
func (m message) chunk(parts []map[string]any, last bool) map[string]any {
	if parts == nil {
		parts = []map[string]any{}
	}
	candidate := map[string]any{"index": 0, "content": map[string]any{"role": "model", "parts": parts}}
	if last {
		candidate["finishReason"] = "STOP"
		if m.StopReason != "" {
			candidate["finishReason"] = m.StopReason
		}
	}
	input := m.Usage.Input + m.Usage.CacheRead + m.Usage.CacheCreation
	return map[string]any{
		"candidates": []any{candidate}, "modelVersion": m.model, "responseId": m.id,
		"usageMetadata": map[string]any{
			"promptTokenCount": input, "cachedContentTokenCount": m.Usage.CacheRead, "candidatesTokenCount": m.Usage.Output,
			"thoughtsTokenCount": m.Usage.Thoughts, "totalTokenCount": input + m.Usage.Output + m.Usage.Thoughts,
		},
	}
}

// streamGemini sends the turn as chunks, one for each part. They are server-sent events
// without names.
func (m message) streamGemini(w http.ResponseWriter, stall func()) {
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(v any) {
		data, err := json.Marshal(v)
		if err != nil {
			panic(fmt.Sprintf("modelserver: the input of a tool is no JSON: %v", err))
		}
		fmt.Fprintf(w, "data: %s\n\n", data)
		w.(http.Flusher).Flush()
	}
	parts := m.parts()
	if m.Break != Whole {
		send(m.chunk(parts[:min(1, len(parts))], false))
	}
	switch m.Break {
	case Drop:
		panic(http.ErrAbortHandler)
	case Stall:
		stall()
	case ErrorEvent:
		send(geminiError(Error{Status: http.StatusServiceUnavailable}))
		return
	}
	if len(parts) == 0 {
		send(m.chunk(nil, true))
	}
	for i := range parts {
		send(m.chunk(parts[i:i+1], i == len(parts)-1))
	}
}

func parseGemini(r *http.Request) (req Request, method string, err error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return Request{}, "", fmt.Errorf("reading the request: %w", err)
	}
	type content struct {
		Role  string `json:"role"`
		Parts []struct {
			Text string `json:"text"`
			Call *struct {
				Name string          `json:"name"`
				Args json.RawMessage `json:"args"`
			} `json:"functionCall"`
			Answer *struct {
				Name     string          `json:"name"`
				Response json.RawMessage `json:"response"`
			} `json:"functionResponse"`
		} `json:"parts"`
	}
	var in struct {
		System   content   `json:"systemInstruction"`
		Contents []content `json:"contents"`
		Tools    []struct {
			Functions []struct {
				Name string `json:"name"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, "", fmt.Errorf("the request is not a Gemini request: %w", err)
	}
	said := func(c content) string {
		var parts []string
		for _, p := range c.Parts {
			switch {
			case p.Call != nil:
				parts = append(parts, p.Call.Name+string(p.Call.Args))
			case p.Answer != nil:
				parts = append(parts, p.Answer.Name+": "+string(p.Answer.Response))
			case p.Text != "":
				parts = append(parts, p.Text)
			}
		}
		return strings.Join(parts, "\n")
	}
	model, method, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1beta/models/"), ":")
	req = Request{
		Method: r.Method, Path: r.URL.Path, Header: r.Header.Clone(), Body: body,
		Model: model, System: said(in.System), Stream: method == "streamGenerateContent",
	}
	for _, c := range in.Contents {
		if c.Role == "model" { // as in the other APIs
			c.Role = "assistant"
		}
		req.Messages = append(req.Messages, Message{c.Role, said(c)})
	}
	for _, tool := range in.Tools {
		for _, f := range tool.Functions {
			req.Tools = append(req.Tools, f.Name)
		}
	}
	return req, method, nil
}

// geminiStatuses are the error words of Google's APIs by HTTP status.
var geminiStatuses = map[int]string{
	400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
	429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}

// geminiError is an error as Google's APIs send it. Its word is the error's Type.
func geminiError(e Error) map[string]any {
	if e.Type == "" {
		e.Type = geminiStatuses[e.Status]
	}
	if e.Message == "" {
		e.Message = strings.ToLower(strings.ReplaceAll(e.Type, "_", " "))
	}
	details := map[string]any{"code": e.Status, "message": e.Message, "status": e.Type}
	if e.RetryAfter != "" {
		details["details"] = []any{map[string]any{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": e.RetryAfter + "s"}}
	}
	return map[string]any{"error": details}
}

func writeGeminiError(w http.ResponseWriter, e Error) { writeJSON(w, e.Status, geminiError(e)) }
