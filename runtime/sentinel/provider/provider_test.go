package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"hank/internal/modelserver"
	"hank/plan/model"
)

func TestWhereAModelIsAsked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ref       model.Ref
		env       []string
		base, key string
		missing   string
	}{
		"the provider's own":     {model.Ref{ProviderID: "openai", ModelID: "m"}, []string{"OPENAI_API_KEY=k"}, "https://api.openai.com/v1", "k", ""},
		"a gateway":              {model.Ref{ProviderID: "openai", ModelID: "m"}, []string{"OPENAI_API_KEY=k", "OPENAI_BASE_URL=http://h/v1/"}, "http://h/v1", "k", ""},
		"anthropic":              {model.Ref{ProviderID: "anthropic", ModelID: "m"}, []string{"ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL=http://h"}, "http://h/v1", "k", ""},
		"anthropic with version": {model.Ref{ProviderID: "anthropic", ModelID: "m"}, []string{"ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL=http://h/v1"}, "http://h/v1", "k", ""},
		"google":                 {model.Ref{ProviderID: "google", ModelID: "m"}, []string{"GEMINI_API_KEY=k"}, "https://generativelanguage.googleapis.com/v1beta/openai", "k", ""},
		"no key":                 {model.Ref{ProviderID: "openai", ModelID: "m"}, nil, "", "", "OPENAI_API_KEY"},
		"a server here":          {model.Ref{ProviderID: "my-lab", ModelID: "m"}, []string{"MY_LAB_BASE_URL=http://localhost:11434/v1"}, "http://localhost:11434/v1", "", ""},
		"a server elsewhere":     {model.Ref{ProviderID: "my-lab", ModelID: "m"}, []string{"MY_LAB_BASE_URL=http://lab/v1"}, "", "", "MY_LAB_API_KEY"},
		"no address":             {model.Ref{ProviderID: "my-lab", ModelID: "m"}, []string{"MY_LAB_API_KEY=k"}, "", "", "MY_LAB_BASE_URL"},
		"no address at all":      {model.Ref{ProviderID: "openai", ModelID: "m"}, []string{"OPENAI_API_KEY=k", "OPENAI_BASE_URL=lab"}, "", "", "OPENAI_BASE_URL"},
	} {
		e, err := EndpointOf(c.ref, c.env)
		var missing *MissingError
		if c.missing != "" {
			if !errors.As(err, &missing) || !strings.Contains(missing.Need, c.missing) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || e.Base != c.base || e.Key != c.key || e.Model != "m" {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
}

func ask(t *testing.T, turn modelserver.Turn, r Request) (Answer, modelserver.Request, error) {
	t.Helper()
	s := modelserver.NewFunc(t, func(modelserver.Request) modelserver.Turn { return turn })
	e, err := EndpointOf(model.Ref{ProviderID: "openai", ModelID: "m"}, []string{"OPENAI_API_KEY=the-key", "OPENAI_BASE_URL=" + s.URL() + "/v1"})
	if err != nil {
		t.Fatal(err)
	}
	a, err := NewClient(e).Ask(t.Context(), r)
	return a, s.Requests()[0], err
}

func TestAModelIsAskedAndItsUseIsCounted(t *testing.T) {
	t.Parallel()
	zero := 0.0
	a, r, err := ask(t, modelserver.Turn{Text: "well", Usage: modelserver.Usage{Input: 10, CacheRead: 5, Output: 3}}, Request{
		System: "watch", Messages: []Message{{"user", "one"}, {"assistant", "two"}, {"user", "three"}}, Temperature: &zero, MaxOutputTokens: 7,
		Schema: []byte(`{"type":"object"}`), SchemaName: "answer",
	})
	if err != nil || a != (Answer{Text: "well", Input: 10, CacheRead: 5, Output: 3}) {
		t.Errorf("%+v, %v", a, err)
	}
	if r.System != "watch" || len(r.Messages) != 3 || r.Messages[2].Text != "three" || r.Model != "m" || r.Header.Get("Authorization") != "Bearer the-key" || r.Stream {
		t.Errorf("%+v", r)
	}
	for _, want := range []string{`"temperature":`, `"max_completion_tokens":7`, `"json_schema"`, `"schema":{"type":"object"}`} {
		if !strings.Contains(string(r.Body), want) {
			t.Errorf("no %s in %s", want, r.Body)
		}
	}
	a, _, err = ask(t, modelserver.Turn{Text: "w", StopReason: "length"}, Request{})
	if err != nil || a.Cut != "length" {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestAFailureIsCalledByItsName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		e                  modelserver.Error
		retriable, refused bool
		after              time.Duration
	}{
		{modelserver.Error{Status: 401, Message: "bad key"}, false, true, 0},
		{modelserver.Error{Status: 404, Message: "no such model"}, false, true, 0},
		{modelserver.Error{Status: 400, Message: "too long"}, false, false, 0},
		{modelserver.Error{Status: 429, Message: "slow down", RetryAfter: "7"}, true, false, 7 * time.Second},
		{modelserver.Error{Status: 529, Message: "overloaded"}, true, false, 0},
	} {
		_, _, err := ask(t, modelserver.Turn{Error: c.e}, Request{})
		var call *CallError
		if !errors.As(err, &call) || call.Retriable != c.retriable || call.Refused != c.refused || call.RetryAfter != c.after || !strings.Contains(call.Message, c.e.Message) || !strings.Contains(call.Message, "the provider answers") {
			t.Errorf("%d: %#v", c.e.Status, err)
		}
	}
}

// What an endpoint says of what was used is believed as far as it can be true.
func TestCountsAreBelievedAsFarAsTheyCanBeTrue(t *testing.T) {
	t.Parallel()
	for usage, want := range map[string]Answer{
		`{"prompt_tokens": 10, "completion_tokens": 3}`:                                                                  {Input: 10, Output: 3},
		`{"prompt_tokens": 10, "completion_tokens": 9000000000000000000}`:                                                {Input: 10, Output: mostTokens},
		`{"prompt_tokens": -10, "completion_tokens": -3}`:                                                                {},
		`{"prompt_tokens": 10, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 1000000000000000000}}`: {CacheRead: 10, Output: 3},
		`{"prompt_tokens": -9, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 5}}`:                   {Output: 3},
		`{}`: {},
	} {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, `{"choices": [{"message": {"content": ""}}], "usage": %s}`, usage)
		})
		if a, err := c.Ask(t.Context(), Request{}); err != nil || a != want {
			t.Errorf("%s: %+v, %v", usage, a, err)
		}
	}
}

// A provider may repeat the key that it was sent, at the place where its message is cut.
func TestAKeyInAnErrorIsMaskedBeforeTheCut(t *testing.T) {
	t.Parallel()
	const key = "plainsecretvalue12345"
	for name, form := range map[string]string{"its message": `{"error": {"message": "%s"}}`, "another body": "%s"} {
		for before := mostMessage - 2*len(key) - 60; before < mostMessage; before++ {
			c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusUnauthorized)
				_, _ = fmt.Fprintf(w, form, strings.Repeat("x", before)+key+" and more")
			})
			c.endpoint.Key = key
			_, err := c.Ask(t.Context(), Request{})
			var call *CallError
			if !errors.As(err, &call) || len(call.Message) > mostMessage || strings.Contains(call.Message, key[:8]) {
				t.Fatalf("%s, after %d bytes: %v", name, before, err)
			}
		}
	}
}

// serve is an endpoint that answers whatever a function does.
func serve(t *testing.T, do http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(do)
	t.Cleanup(s.Close)
	return NewClient(Endpoint{Provider: "lab", Model: "m", Base: s.URL, Key: "k"})
}

// What a provider sends that is no answer is an error, and never more than it may be.
func TestWhatIsNoAnswerIsAnError(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]http.HandlerFunc{
		"no JSON":   func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"nothing":   func(http.ResponseWriter, *http.Request) {},
		"no choice": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"choices": []}`)) },
		"without end": func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte(`{"choices": [{"message": {"content": "`))
			_, _ = io.Copy(io.Discard, r.Body)
			for r.Context().Err() == nil {
				if _, err := w.Write([]byte(strings.Repeat("x", 1<<20))); err != nil {
					return
				}
			}
		},
		"a long error": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = w.Write([]byte(`{"error": {"message": "` + strings.Repeat("x", 1<<20) + `"}}`))
		},
		"an error without end": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.Copy(io.Discard, r.Body)
			for r.Context().Err() == nil {
				if _, err := w.Write([]byte(strings.Repeat("x", 1<<20))); err != nil {
					return
				}
			}
		},
		"cut off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte(`{"choices": [{"message": {"content": "x`))
		},
		"an HTML error": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			_, _ = w.Write([]byte("<h1>bad gateway</h1>"))
		},
	} {
		_, err := serve(t, do).Ask(t.Context(), Request{Messages: []Message{{"user", "x"}}})
		var call *CallError
		// What is too long would be no shorter the next time, and is paid each time.
		if !errors.As(err, &call) || call.Retriable != (name != "without end") || call.Refused || len(call.Message) > mostMessage {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := NewClient(Endpoint{Provider: "lab", Model: "m", Base: "http://127.0.0.1:1"}).Ask(t.Context(), Request{})
	var call *CallError
	if !errors.As(err, &call) || !call.Retriable || !strings.Contains(call.Message, "cannot be reached") {
		t.Error(err)
	}
}

func TestACallEndsWithItsContext(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{})
	c := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the server does not notice that the client has gone
		close(entered)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-entered
		cancel()
	}()
	if _, err := c.Ask(ctx, Request{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// The key of a provider does not follow a redirect to another host.
func TestTheKeyStaysWithItsHost(t *testing.T) {
	t.Parallel()
	keys := make(chan string, 1)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { keys <- r.Header.Get("Authorization") }))
	defer other.Close()
	to, _ := url.Parse(other.URL)
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://localhost:"+to.Port()+"/", http.StatusTemporaryRedirect)
	})
	_, _ = c.Ask(t.Context(), Request{})
	select {
	case key := <-keys:
		if key != "" {
			t.Error("the key went to another host")
		}
	default: // it was not followed
	}
}
