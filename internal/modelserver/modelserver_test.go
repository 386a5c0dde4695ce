package modelserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

const ask = `{"model":"m","stream":%STREAM%,"system":[{"type":"text","text":"be brief"}],"tools":[{"name":"Write"}],
"messages":[{"role":"user","content":"hello"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"Write","input":{}}]},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"done"}]}]}]}`

func post(t *testing.T, s *Server, stream bool) (*http.Response, error) {
	t.Helper()
	body := strings.ReplaceAll(ask, "%STREAM%", map[bool]string{true: "true", false: "false"}[stream])
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/v1/messages?beta=true", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return http.DefaultClient.Do(req)
}

// events reads a stream to its end.
func events(t *testing.T, resp *http.Response) (names []string, data []map[string]any, err error) {
	t.Helper()
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			names = append(names, name)
		}
		if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			var v map[string]any
			if err := json.Unmarshal([]byte(text), &v); err != nil {
				t.Fatal(err)
			}
			data = append(data, v)
		}
	}
	return names, data, lines.Err()
}

func TestAStreamIsAWholeMessage(t *testing.T) {
	t.Parallel()
	s := New(t, Turn{Thinking: "hm", Text: "hi", Tools: []Tool{{"Write", map[string]int{"a": 1}}}, Usage: Usage{Input: 7, Output: 9, CacheRead: 1}})
	resp, err := post(t, s, true)
	if err != nil {
		t.Fatal(err)
	}
	names, data, err := events(t, resp)
	block := "content_block_start content_block_delta content_block_stop "
	want := "message_start content_block_start ping content_block_delta content_block_stop " + block + block + "message_delta message_stop"
	if got := strings.Join(names, " "); err != nil || got != want {
		t.Errorf("events %s, %v, want %s", got, err, want)
	}
	last := data[len(data)-2]
	if got := last["delta"].(map[string]any)["stop_reason"]; got != "tool_use" {
		t.Errorf("stop reason %v", got)
	}
	if got := last["usage"].(map[string]any)["output_tokens"]; got != 9.0 {
		t.Errorf("output tokens %v", got)
	}
	r := s.Turns()[0]
	if r.Model != "m" || r.System != "be brief" || !r.Stream || len(r.Tools) != 1 || len(r.Messages) != 3 || r.Messages[2].Text != "done" {
		t.Errorf("the request was recorded as %+v", r)
	}
}

func TestUnstreamedAnswersAndErrors(t *testing.T) {
	t.Parallel()
	s := New(t, Turn{Text: "hi"}, Turn{Error: Error{Status: 529, RetryAfter: "3"}, Repeat: true})
	resp, err := post(t, s, false)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if !strings.Contains(string(text), `"text":"hi"`) || !strings.Contains(string(text), `"stop_reason":"end_turn"`) {
		t.Errorf("answer %s", text)
	}
	for range 3 { // it repeats, streamed or not
		resp, err := post(t, s, true)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 529 || resp.Header.Get("Retry-After") != "3" || !strings.Contains(string(text), "overloaded_error") {
			t.Errorf("%d %s %s", resp.StatusCode, resp.Header, text)
		}
	}
}

func TestABrokenStreamIsSeenAsBroken(t *testing.T) {
	t.Parallel()
	s := New(t, Turn{Text: "par", Break: Drop}, Turn{Text: "par", Break: ErrorEvent}, Turn{Text: "par", Break: Stall})
	resp, err := post(t, s, true)
	if err == nil { // the cut may overtake the headers
		if names, _, err := events(t, resp); err == nil || strings.Contains(strings.Join(names, " "), "message_stop") {
			t.Errorf("the dropped stream ended well: %v", names)
		}
	}
	if resp, err = post(t, s, true); err != nil {
		t.Fatal(err)
	}
	if names, _, err := events(t, resp); err != nil || names[len(names)-1] != "error" {
		t.Errorf("%v %v", names, err)
	}
	if resp, err = post(t, s, true); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.Stalled():
	case <-time.After(30 * time.Second):
		t.Fatal("the stall was not told")
	}
	s.Close() // ends what stalls
	if _, _, err := events(t, resp); err == nil {
		t.Error("the stalled stream ended well")
	}
	if _, err := post(t, s, true); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a closed server answered: %v", err)
	}
}

func TestSideRequestsUseUpNoTurn(t *testing.T) {
	t.Parallel()
	s := New(t, Turn{Text: "first"})
	for _, body := range []string{`{"model":"m","messages":[]}`, `{"model":"m","messages":[],"tools":[{"name":"A"}]}`} {
		resp, err := http.Post(s.URL()+"/v1/messages", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if want := map[bool]string{true: `"first"`, false: `"ok"`}[strings.Contains(body, "tools")]; !strings.Contains(string(text), want) {
			t.Errorf("%s was answered %s", body, text)
		}
	}
	if all, turns := len(s.Requests()), len(s.Turns()); all != 2 || turns != 1 {
		t.Errorf("%d requests, %d turns", all, turns)
	}
}

// failures records what New reports instead of failing this test.
type failures struct {
	testing.TB
	told []string
}

func (f *failures) Errorf(format string, _ ...any) { f.told = append(f.told, format) }

func TestARequestTooManyFailsTheTest(t *testing.T) {
	t.Parallel()
	f := &failures{TB: t}
	s := New(f, Turn{Text: "only"})
	for range 2 {
		resp, err := post(t, s, false)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	if len(f.told) != 1 {
		t.Errorf("told %v", f.told)
	}
}
