package modelserver

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

const askResponses = `{"model":"m","stream":true,"instructions":"be brief","tools":[{"type":"function","name":"exec_command"},{"type":"web_search"}],
"input":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"rules"}]},{"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]},
{"type":"function_call","name":"exec_command","arguments":"{}","call_id":"c"},{"type":"function_call_output","call_id":"c","output":"done"}]}`

func postResponses(t *testing.T, s *Server) *http.Response {
	t.Helper()
	resp, err := http.Post(s.URL()+"/v1/responses", "application/json", strings.NewReader(askResponses))
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func TestAResponseIsStreamed(t *testing.T) {
	t.Parallel()
	s := New(t, Turn{Thinking: "hm", Text: "hi", Tools: []Tool{{"exec_command", map[string]int{"a": 1}}, {"apply_patch", "text"}}, Usage: Usage{Input: 7, Output: 9, CacheRead: 1}})
	names, data, err := events(t, postResponses(t, s))
	item := "response.output_item.added response.output_item.done "
	want := "response.created " + strings.Repeat(item, 4) + "response.completed"
	if got := strings.Join(names, " "); err != nil || got != want {
		t.Errorf("events %s, %v, want %s", got, err, want)
	}
	usage := data[len(data)-1]["response"].(map[string]any)["usage"].(map[string]any)
	if usage["input_tokens"] != 8.0 || usage["input_tokens_details"].(map[string]any)["cached_tokens"] != 1.0 || usage["output_tokens"] != 9.0 {
		t.Errorf("usage %v", usage)
	}
	call, custom := data[6]["item"].(map[string]any), data[8]["item"].(map[string]any)
	if call["type"] != "function_call" || call["arguments"] != `{"a":1}` || custom["type"] != "custom_tool_call" || custom["input"] != "text" {
		t.Errorf("calls %v, %v", call, custom)
	}
	r := s.Turns()[0]
	if r.Model != "m" || r.System != "be brief" || strings.Join(r.Tools, " ") != "exec_command web_search" || len(r.Messages) != 4 ||
		r.Messages[0] != (Message{"developer", "rules"}) || r.Messages[3] != (Message{"function_call_output", "done"}) {
		t.Errorf("the request was recorded as %+v", r)
	}
}

func TestResponsesThatFail(t *testing.T) {
	t.Parallel()
	s := New(t, Turn{Error: Error{Status: 429, Type: "insufficient_quota", Message: "no more", RetryAfter: "3"}}, Turn{Text: "par", Break: ErrorEvent}, Turn{Text: "par", StopReason: "max_output_tokens"})
	resp := postResponses(t, s)
	text, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "3" || !strings.Contains(string(text), `"code":"insufficient_quota"`) || !strings.Contains(string(text), `"message":"no more"`) {
		t.Errorf("%d %s %s", resp.StatusCode, resp.Header, text)
	}
	for _, want := range []string{"response.failed", "response.incomplete"} {
		if names, _, err := events(t, postResponses(t, s)); err != nil || names[len(names)-1] != want {
			t.Errorf("%v, %v, want %s at the end", names, err, want)
		}
	}
}
