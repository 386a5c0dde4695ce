package modelserver

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

const askGemini = `{"systemInstruction":{"parts":[{"text":"be brief"}]},"tools":[{"functionDeclarations":[{"name":"write_file"},{"name":"glob"}]}],
"contents":[{"role":"user","parts":[{"text":"hello"}]},{"role":"model","parts":[{"functionCall":{"name":"glob","args":{"a":1}}}]},
{"role":"user","parts":[{"functionResponse":{"name":"glob","response":{"output":"x"}}}]}]}`

func postGemini(t *testing.T, s *Server, method string) *http.Response {
	t.Helper()
	resp, err := http.Post(s.URL()+"/v1beta/models/m:"+method, "application/json", strings.NewReader(askGemini))
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// chunks reads the events of a stream.
func chunks(t *testing.T, resp *http.Response) (all []map[string]any, err error) {
	t.Helper()
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	for part := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		var chunk map[string]any
		if json.Unmarshal([]byte(strings.TrimPrefix(part, "data: ")), &chunk) == nil {
			all = append(all, chunk)
		}
	}
	return all, err
}

// candidate is the only one of a chunk, and its only part.
func candidate(chunk map[string]any) (all, part map[string]any) {
	all = chunk["candidates"].([]any)[0].(map[string]any)
	return all, all["content"].(map[string]any)["parts"].([]any)[0].(map[string]any)
}

func TestAGeminiAnswerIsStreamedPartByPart(t *testing.T) {
	t.Parallel()
	s := New(t, Turn{Thinking: "hm", Text: "hi", Tools: []Tool{{"glob", map[string]int{"a": 1}}}, Usage: Usage{Input: 7, Output: 9, CacheRead: 1, Thoughts: 4}})
	all, err := chunks(t, postGemini(t, s, "streamGenerateContent?alt=sse"))
	if err != nil || len(all) != 3 {
		t.Fatalf("%d chunks, %v", len(all), err)
	}
	if _, part := candidate(all[0]); part["thought"] != true || part["text"] != "hm" {
		t.Errorf("the thought is %v", part)
	}
	if c, part := candidate(all[1]); part["text"] != "hi" || c["finishReason"] != nil {
		t.Errorf("the text is %v in %v", part, c)
	}
	c, part := candidate(all[2])
	if call := part["functionCall"].(map[string]any); call["name"] != "glob" || call["args"].(map[string]any)["a"] != 1.0 || c["finishReason"] != "STOP" {
		t.Errorf("the call is %v in %v", call, c)
	}
	if u := all[2]["usageMetadata"].(map[string]any); u["promptTokenCount"] != 8.0 || u["cachedContentTokenCount"] != 1.0 || u["candidatesTokenCount"] != 9.0 || u["thoughtsTokenCount"] != 4.0 || u["totalTokenCount"] != 21.0 {
		t.Errorf("usage %v", u)
	}
	r := s.Turns()[0]
	if r.Model != "m" || r.System != "be brief" || !r.Stream || strings.Join(r.Tools, " ") != "write_file glob" || len(r.Messages) != 3 ||
		r.Messages[1] != (Message{"assistant", `glob{"a":1}`}) || r.Messages[2] != (Message{"user", `glob: {"output":"x"}`}) {
		t.Errorf("the request was recorded as %+v", r)
	}
}

func TestGeminiAnswersThatFail(t *testing.T) {
	t.Parallel()
	s := New(t, Turn{Error: Error{Status: 429, Message: "no more", RetryAfter: "3"}}, Turn{Text: "par", Break: ErrorEvent},
		Turn{Text: "par", Break: Drop}, Turn{Text: "cut", StopReason: "MAX_TOKENS"}, Turn{Text: "whole"})
	resp := postGemini(t, s, "streamGenerateContent?alt=sse")
	text, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	for _, want := range []string{`"code":429`, `"status":"RESOURCE_EXHAUSTED"`, `"message":"no more"`, `"retryDelay":"3s"`} {
		if resp.StatusCode != 429 || !strings.Contains(string(text), want) {
			t.Errorf("%d %s, want %s", resp.StatusCode, text, want)
		}
	}
	if all, err := chunks(t, postGemini(t, s, "streamGenerateContent?alt=sse")); err != nil || len(all) != 2 || all[1]["error"] == nil {
		t.Errorf("%v, %v, want an error at the end", all, err)
	}
	if all, err := chunks(t, postGemini(t, s, "streamGenerateContent?alt=sse")); err == nil || len(all) != 1 {
		t.Errorf("%v, %v, want a broken connection", all, err)
	}
	all, err := chunks(t, postGemini(t, s, "streamGenerateContent?alt=sse"))
	if c, _ := candidate(all[0]); err != nil || c["finishReason"] != "MAX_TOKENS" {
		t.Errorf("%v, %v", all, err)
	}
	var one map[string]any
	resp = postGemini(t, s, "generateContent")
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&one); err != nil {
		t.Fatal(err)
	}
	if _, part := candidate(one); part["text"] != "whole" {
		t.Errorf("unstreamed: %v", one)
	}
}
