package modelserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// items are what the model says, as items of the Responses API.
func (m message) items() []map[string]any {
	var all []map[string]any
	if m.Thinking != "" {
		all = append(all, map[string]any{
			"type": "reasoning", "id": fmt.Sprintf("rs_%06d", m.serial),
			"summary": []any{map[string]any{"type": "summary_text", "text": m.Thinking}},
		})
	}
	if m.Text != "" {
		all = append(all, map[string]any{
			"type": "message", "id": m.id, "role": "assistant", "status": "completed",
			"content": []any{map[string]any{"type": "output_text", "text": m.Text, "annotations": []any{}}},
		})
	}
	for i, tool := range m.Tools {
		item := map[string]any{
			"id": fmt.Sprintf("fc_%06d_%d", m.serial, i), "call_id": fmt.Sprintf("call_%06d_%d", m.serial, i),
			"name": tool.Name, "status": "completed",
		}
		if text, custom := tool.Input.(string); custom {
			item["type"], item["input"] = "custom_tool_call", text
		} else {
			arguments, err := json.Marshal(tool.Input)
			if err != nil {
				panic(fmt.Sprintf("modelserver: the input of tool %s is no JSON: %v", tool.Name, err))
			}
			item["type"], item["arguments"] = "function_call", string(arguments)
		}
		all = append(all, item)
	}
	return all
}

// streamResponse sends the turn as the events of the Responses API.
func (m message) streamResponse(w http.ResponseWriter, stall func()) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	sequence := 0
	send := func(kind string, fields map[string]any) {
		fields["type"], fields["sequence_number"] = kind, sequence
		sequence++
		data, _ := json.Marshal(fields) // maps of strings, numbers and checked JSON
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, data)
		w.(http.Flusher).Flush()
	}
	response := func(status string, more map[string]any) map[string]any {
		resp := map[string]any{"id": fmt.Sprintf("resp_%06d", m.serial), "object": "response", "model": m.model, "status": status}
		for key, value := range more {
			resp[key] = value
		}
		return map[string]any{"response": resp}
	}
	usage := map[string]any{
		"input_tokens":          m.Usage.Input + m.Usage.CacheRead + m.Usage.CacheCreation,
		"input_tokens_details":  map[string]any{"cached_tokens": m.Usage.CacheRead},
		"output_tokens":         m.Usage.Output,
		"output_tokens_details": map[string]any{"reasoning_tokens": 0},
		"total_tokens":          m.Usage.Input + m.Usage.CacheRead + m.Usage.CacheCreation + m.Usage.Output,
	}
	send("response.created", response("in_progress", nil))
	for i, item := range m.items() {
		send("response.output_item.added", map[string]any{"output_index": i, "item": item})
		if m.Break != Whole {
			break
		}
		send("response.output_item.done", map[string]any{"output_index": i, "item": item})
	}
	switch m.Break {
	case Drop:
		panic(http.ErrAbortHandler)
	case Stall:
		stall()
	case ErrorEvent:
		send("response.failed", response("failed", map[string]any{
			"error": map[string]any{"code": "server_error", "message": "The server had an error while processing your request."},
		}))
		return
	}
	if m.StopReason != "" {
		send("response.incomplete", response("incomplete", map[string]any{
			"incomplete_details": map[string]any{"reason": m.StopReason}, "usage": usage,
		}))
		return
	}
	send("response.completed", response("completed", map[string]any{"usage": usage}))
}

func parseResponses(r *http.Request) (Request, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return Request{}, fmt.Errorf("reading the request: %w", err)
	}
	var in struct {
		Model        string `json:"model"`
		Instructions string `json:"instructions"`
		Stream       bool   `json:"stream"`
		Input        []struct {
			Type      string          `json:"type"`
			Role      string          `json:"role"`
			Content   json.RawMessage `json:"content"`
			Output    json.RawMessage `json:"output"`
			Arguments string          `json:"arguments"`
			Input     string          `json:"input"`
		} `json:"input"`
		Tools []struct {
			Type string `json:"type"`
			Name string `json:"name"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, fmt.Errorf("the request is not a Responses request: %w", err)
	}
	req := Request{
		Method: r.Method, Path: r.URL.Path, Header: r.Header.Clone(), Body: body,
		Model: in.Model, System: in.Instructions, Stream: in.Stream,
	}
	for _, item := range in.Input {
		m := Message{Role: item.Role, Text: text(item.Content) + text(item.Output) + item.Arguments + item.Input}
		if m.Role == "" {
			m.Role = item.Type
		}
		req.Messages = append(req.Messages, m)
	}
	for _, tool := range in.Tools {
		if tool.Name == "" {
			tool.Name = tool.Type
		}
		req.Tools = append(req.Tools, tool.Name)
	}
	return req, nil
}

// writeOpenAIError sends an error as OpenAI's API does. Its code is the error's Type.
func writeOpenAIError(w http.ResponseWriter, e Error) {
	fill(&e)
	if e.RetryAfter != "" {
		w.Header().Set("Retry-After", e.RetryAfter)
	}
	writeJSON(w, e.Status, map[string]any{"error": map[string]any{
		"message": e.Message, "type": strings.TrimSuffix(e.Type, "_error"), "param": nil, "code": e.Type,
	}})
}
