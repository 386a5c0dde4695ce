package modelserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// message is a turn on its way to the agent. Ids are counted, so that a
// transcript is the same in every run.
type message struct {
	Turn
	id     string
	serial int
	model  string
}

func (m message) stopReason() string {
	switch {
	case m.StopReason != "":
		return m.StopReason
	case len(m.Tools) > 0:
		return "tool_use"
	default:
		return "end_turn"
	}
}

func (m message) usage(output int64) map[string]any {
	return map[string]any{
		"input_tokens":                m.Usage.Input,
		"cache_creation_input_tokens": m.Usage.CacheCreation,
		"cache_read_input_tokens":     m.Usage.CacheRead,
		"output_tokens":               output,
	}
}

func (m message) envelope(content []any, stop any, output int64) map[string]any {
	return map[string]any{
		"id": m.id, "type": "message", "role": "assistant", "model": m.model,
		"content": content, "stop_reason": stop, "stop_sequence": nil, "usage": m.usage(output),
	}
}

// block is one content block: as a whole, and as a stream sends it.
type block struct {
	start, whole map[string]any
	delta        map[string]any
}

func (m message) blocks() []block {
	var all []block
	if m.Thinking != "" {
		all = append(all, block{
			start: map[string]any{"type": "thinking", "thinking": "", "signature": ""},
			whole: map[string]any{"type": "thinking", "thinking": m.Thinking, "signature": "none"},
			delta: map[string]any{"type": "thinking_delta", "thinking": m.Thinking},
		})
	}
	if m.Text != "" {
		all = append(all, block{
			start: map[string]any{"type": "text", "text": ""},
			whole: map[string]any{"type": "text", "text": m.Text},
			delta: map[string]any{"type": "text_delta", "text": m.Text},
		})
	}
	for i, tool := range m.Tools {
		id := fmt.Sprintf("toolu_%06d_%d", m.serial, i)
		input, err := json.Marshal(tool.Input)
		if err != nil {
			panic(fmt.Sprintf("modelserver: the input of tool %s is no JSON: %v", tool.Name, err))
		}
		all = append(all, block{
			start: map[string]any{"type": "tool_use", "id": id, "name": tool.Name, "input": map[string]any{}},
			whole: map[string]any{"type": "tool_use", "id": id, "name": tool.Name, "input": json.RawMessage(input)},
			delta: map[string]any{"type": "input_json_delta", "partial_json": string(input)},
		})
	}
	return all
}

// whole is the unstreamed answer.
func (m message) whole() map[string]any {
	content := []any{}
	for _, b := range m.blocks() {
		content = append(content, b.whole)
	}
	return m.envelope(content, m.stopReason(), m.Usage.Output)
}

// stream sends the turn as server-sent events.
func (m message) stream(w http.ResponseWriter, stall func()) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	send := func(kind string, fields map[string]any) {
		fields["type"] = kind
		data, _ := json.Marshal(fields) // maps of strings, numbers and checked JSON
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, data)
		w.(http.Flusher).Flush()
	}
	send("message_start", map[string]any{"message": m.envelope([]any{}, nil, 1)})
	for i, b := range m.blocks() {
		send("content_block_start", map[string]any{"index": i, "content_block": b.start})
		if i == 0 {
			send("ping", map[string]any{})
		}
		send("content_block_delta", map[string]any{"index": i, "delta": b.delta})
		if m.Break != Whole {
			break
		}
		send("content_block_stop", map[string]any{"index": i})
	}
	switch m.Break {
	case Drop:
		panic(http.ErrAbortHandler)
	case Stall:
		stall()
	case ErrorEvent:
		send("error", map[string]any{"error": map[string]any{"type": "overloaded_error", "message": "Overloaded"}})
		return
	}
	send("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": m.stopReason(), "stop_sequence": nil},
		"usage": m.usage(m.Usage.Output),
	})
	send("message_stop", map[string]any{})
}

// parse reads a request as far as tests want to know it.
func parse(r *http.Request) (Request, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return Request{}, fmt.Errorf("reading the request: %w", err)
	}
	var in struct {
		Model    string          `json:"model"`
		System   json.RawMessage `json:"system"`
		Stream   bool            `json:"stream"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, fmt.Errorf("the request is not a Messages request: %w", err)
	}
	req := Request{
		Method: r.Method, Path: r.URL.Path, Header: r.Header.Clone(), Body: body,
		Model: in.Model, System: text(in.System), Stream: in.Stream,
	}
	for _, m := range in.Messages {
		req.Messages = append(req.Messages, Message{Role: m.Role, Text: text(m.Content)})
	}
	for _, tool := range in.Tools {
		req.Tools = append(req.Tools, tool.Name)
	}
	return req, nil
}

// text joins the texts of a content that is a string or a list of blocks.
func text(content json.RawMessage) string {
	var plain string
	if json.Unmarshal(content, &plain) == nil {
		return plain
	}
	var blocks []struct {
		Text    string          `json:"text"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(content, &blocks) != nil {
		return ""
	}
	var parts []string
	for _, b := range blocks {
		if t := b.Text + text(b.Content); t != "" {
			parts = append(parts, t)
		}
	}
	return strings.Join(parts, "\n")
}

func writeError(w http.ResponseWriter, e Error) {
	fill(&e)
	if e.RetryAfter != "" {
		w.Header().Set("Retry-After", e.RetryAfter)
	}
	for name, value := range e.Header {
		w.Header().Set(name, value)
	}
	writeJSON(w, e.Status, map[string]any{"type": "error", "error": map[string]any{"type": e.Type, "message": e.Message}})
}
