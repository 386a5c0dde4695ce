package modelserver

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

const askChat = `{"model":"m","stream":true,"stream_options":{"include_usage":true},"tools":[{"type":"function","function":{"name":"bash"}}],
"messages":[{"role":"system","content":"be brief"},{"role":"developer","content":"rules"},{"role":"user","content":[{"type":"text","text":"hello"}]},
{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"bash","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"done"}]}`

func postChat(t *testing.T, s *Server, body string) *http.Response {
	t.Helper()
	resp, err := http.Post(s.URL()+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// chatChunks reads a stream to its end, and reports whether that was an orderly one.
func chatChunks(t *testing.T, resp *http.Response) (all []map[string]any, done bool, err error) {
	t.Helper()
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		switch {
		case !ok:
		case data == "[DONE]":
			done = true
		default:
			var chunk map[string]any
			if err := json.Unmarshal([]byte(data), &chunk); err != nil {
				t.Fatal(err)
			}
			all = append(all, chunk)
		}
	}
	return all, done, lines.Err()
}

// delta is what a chunk adds, and why the answer ends with it.
func delta(chunk map[string]any) (added map[string]any, finish any) {
	choice := chunk["choices"].([]any)[0].(map[string]any)
	return choice["delta"].(map[string]any), choice["finish_reason"]
}

func TestACompletionIsStreamed(t *testing.T) {
	t.Parallel()
	s := New(t, Turn{Thinking: "hm", Text: "hi", Tools: []Tool{{"bash", map[string]int{"a": 1}}}, Usage: Usage{Input: 7, Output: 9, CacheRead: 1}}, Turn{Text: "bye"})
	all, done, err := chatChunks(t, postChat(t, s, askChat))
	if len(all) != 6 || !done || err != nil {
		t.Fatalf("%d chunks, done %v, %v", len(all), done, err)
	}
	for i, want := range []string{`{"content":"","role":"assistant"}`, `{"reasoning_content":"hm"}`, `{"content":"hi"}`,
		`{"tool_calls":[{"function":{"arguments":"{\"a\":1}","name":"bash"},"id":"call_000001_0","index":0,"type":"function"}]}`, `{}`} {
		added, finish := delta(all[i])
		if got, _ := json.Marshal(added); string(got) != want || (finish != nil) != (i == 4) || i == 4 && finish != "tool_calls" {
			t.Errorf("chunk %d is %s, %v, want %s", i, got, finish, want)
		}
	}
	usage := all[5]["usage"].(map[string]any)
	if usage["prompt_tokens"] != 8.0 || usage["completion_tokens"] != 9.0 || usage["prompt_tokens_details"].(map[string]any)["cached_tokens"] != 1.0 {
		t.Errorf("usage %v", usage)
	}
	r := s.Turns()[0]
	if r.Model != "m" || r.System != "be brief\nrules" || strings.Join(r.Tools, " ") != "bash" || len(r.Messages) != 3 ||
		r.Messages[0] != (Message{"user", "hello"}) || r.Messages[1] != (Message{"assistant", "{}"}) || r.Messages[2] != (Message{"tool", "done"}) {
		t.Errorf("the request was recorded as %+v", r)
	}
	all, done, err = chatChunks(t, postChat(t, s, strings.Replace(askChat, `"stream_options":{"include_usage":true},`, "", 1)))
	if _, finish := delta(all[len(all)-1]); len(all) != 3 || finish != "stop" || !done || err != nil {
		t.Errorf("without usage: %v, done %v, %v", all, done, err)
	}
}

func TestACompletionThatIsNotStreamed(t *testing.T) {
	t.Parallel()
	s := New(t, Turn{Text: "hi", Tools: []Tool{{"bash", nil}}})
	resp := postChat(t, s, strings.Replace(askChat, `"stream":true,`, "", 1))
	text, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	for _, part := range []string{`"object":"chat.completion"`, `"content":"hi"`, `"name":"bash"`, `"finish_reason":"tool_calls"`, `"prompt_tokens":1000`} {
		if err != nil || !strings.Contains(string(text), part) {
			t.Errorf("no %s in %s, %v", part, text, err)
		}
	}
}

func TestCompletionsThatFail(t *testing.T) {
	t.Parallel()
	s := New(t, Turn{Error: Error{Status: 429, Type: "rate_limit_exceeded", Message: "slowly", RetryAfter: "3"}},
		Turn{Text: "par", Break: ErrorEvent}, Turn{Text: "par", Break: Drop}, Turn{Text: "par", StopReason: "length"}, Turn{Text: "par", Break: Stall})
	resp := postChat(t, s, askChat)
	text, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "3" || !strings.Contains(string(text), `"code":"rate_limit_exceeded"`) {
		t.Errorf("%d %s %s", resp.StatusCode, resp.Header, text)
	}
	all, done, err := chatChunks(t, postChat(t, s, askChat))
	if e, is := all[len(all)-1]["error"].(map[string]any); !is || e["code"] != "server_error" || done || err != nil {
		t.Errorf("an error in the stream: %v, done %v, %v", all, done, err)
	}
	if all, done, err := chatChunks(t, postChat(t, s, askChat)); len(all) != 2 || done || err == nil {
		t.Errorf("a stream that is cut: %v, done %v, %v", all, done, err)
	}
	all, _, _ = chatChunks(t, postChat(t, s, askChat))
	if _, finish := delta(all[2]); finish != "length" {
		t.Errorf("an answer that is too long: %v", all)
	}
	resp = postChat(t, s, askChat)
	<-s.Stalled()
	resp.Body.Close()
	if resp, err := http.Post(s.URL()+"/v1/chat/completions", "application/json", strings.NewReader("x")); err != nil || resp.StatusCode != 400 {
		t.Errorf("no request: %v, %v", resp, err)
	}
}
