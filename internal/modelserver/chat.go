package modelserver

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
)

// completion is what an answer and each chunk of a streamed one have around them.
func (m message) completion(object string, fields map[string]any) map[string]any {
	all := map[string]any{"id": fmt.Sprintf("chatcmpl-%06d", m.serial), "object": object, "created": 1, "model": m.model}
	maps.Copy(all, fields)
	return all
}

func (m message) finishReason() string {
	switch {
	case m.StopReason != "":
		return m.StopReason
	case len(m.Tools) > 0:
		return "tool_calls"
	default:
		return "stop"
	}
}

func (m message) chatUsage() map[string]any {
	input := m.Usage.Input + m.Usage.CacheRead + m.Usage.CacheCreation
	return map[string]any{
		"prompt_tokens": input, "completion_tokens": m.Usage.Output, "total_tokens": input + m.Usage.Output,
		"prompt_tokens_details": map[string]any{"cached_tokens": m.Usage.CacheRead},
	}
}

// toolCalls are the calls of tools, with the index that a stream needs.
func (m message) toolCalls() []any {
	var all []any
	for i, tool := range m.Tools {
		arguments, err := json.Marshal(tool.Input)
		if err != nil {
			panic(fmt.Sprintf("modelserver: the input of tool %s is no JSON: %v", tool.Name, err))
		}
		all = append(all, map[string]any{
			"index": i, "id": fmt.Sprintf("call_%06d_%d", m.serial, i), "type": "function",
			"function": map[string]any{"name": tool.Name, "arguments": string(arguments)},
		})
	}
	return all
}

// choice is the message of an unstreamed answer. The API itself has no thinking; providers
// that copy it call it reasoning_content.
func (m message) choice() map[string]any {
	choice := map[string]any{"role": "assistant", "content": m.Text}
	if m.Thinking != "" {
		choice["reasoning_content"] = m.Thinking
	}
	if calls := m.toolCalls(); calls != nil {
		choice["tool_calls"] = calls
	}
	return choice
}

// streamChat sends the turn as chunks. Usage is in a chunk of its own at the end, if the
// request asks for it.
func (m message) streamChat(w http.ResponseWriter, counted bool, stall func()) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	send := func(v any) {
		data, _ := json.Marshal(v) // maps of strings, numbers and checked JSON
		fmt.Fprintf(w, "data: %s\n\n", data)
		w.(http.Flusher).Flush()
	}
	chunk := func(delta map[string]any, finish any) {
		send(m.completion("chat.completion.chunk", map[string]any{
			"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}},
		}))
	}
	chunk(map[string]any{"role": "assistant", "content": ""}, nil)
	for _, delta := range m.deltas() {
		chunk(delta, nil)
		if m.Break != Whole {
			break
		}
	}
	switch m.Break {
	case Drop:
		panic(http.ErrAbortHandler)
	case Stall:
		stall()
	case ErrorEvent:
		send(map[string]any{"error": map[string]any{
			"message": "The server had an error while processing your request.", "type": "server_error", "param": nil, "code": "server_error",
		}})
		return
	}
	chunk(map[string]any{}, m.finishReason())
	if counted {
		send(m.completion("chat.completion.chunk", map[string]any{"choices": []any{}, "usage": m.chatUsage()}))
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// deltas are the parts of the content in their order.
func (m message) deltas() []map[string]any {
	var all []map[string]any
	if m.Thinking != "" {
		all = append(all, map[string]any{"reasoning_content": m.Thinking})
	}
	if m.Text != "" {
		all = append(all, map[string]any{"content": m.Text})
	}
	for _, call := range m.toolCalls() {
		all = append(all, map[string]any{"tool_calls": []any{call}})
	}
	return all
}

// parseChat reads a request. It also reports whether a stream is to end with usage.
func parseChat(r *http.Request) (req Request, counted bool, err error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return Request{}, false, fmt.Errorf("reading the request: %w", err)
	}
	var in struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
			Calls   []struct {
				Function struct {
					Arguments string `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"messages"`
		Tools []struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tools"`
		Options struct {
			Usage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, false, fmt.Errorf("the request is not a Chat Completions request: %w", err)
	}
	req = Request{Method: r.Method, Path: r.URL.Path, Header: r.Header.Clone(), Body: body, Model: in.Model, Stream: in.Stream}
	var system []string
	for _, m := range in.Messages {
		said := text(m.Content)
		if m.Role == "system" || m.Role == "developer" {
			system = append(system, said)
			continue
		}
		for _, call := range m.Calls {
			said += call.Function.Arguments
		}
		req.Messages = append(req.Messages, Message{Role: m.Role, Text: said})
	}
	req.System = strings.Join(system, "\n")
	for _, tool := range in.Tools {
		req.Tools = append(req.Tools, tool.Function.Name)
	}
	return req, in.Options.Usage, nil
}
