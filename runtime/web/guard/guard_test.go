package guard

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const look, act = "looks", "acts"

func ours() *Guard {
	return &Guard{Hosts: []string{"127.0.0.1:7", "localhost:7"}, Look: look, Act: act,
		Public: func(path string) bool { return path == "/" },
		Caller: func(*http.Request) error { return nil }}
}

// ask sends a request through a guard, and returns the answer, and whether the handler
// has seen the request.
func ask(g *Guard, method, path, token string, header ...string) (*http.Response, bool) {
	r := httptest.NewRequest(method, path, nil)
	r.Host = "127.0.0.1:7"
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
			continue
		}
		r.Header.Set(header[i], header[i+1])
	}
	seen := false
	w := httptest.NewRecorder()
	g.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { seen = true })).ServeHTTP(w, r)
	return w.Result(), seen
}

func TestEachCheckRefusesWhatTheOthersTake(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, method, path, token string
		header                    []string
		change                    func(*Guard)
		want                      int
	}{
		{"a look", "GET", "/x", look, nil, nil, 200},
		{"a look with the token to act", "GET", "/x", act, nil, nil, 200},
		{"the page itself without a token", "GET", "/", "", nil, nil, 200},
		{"an act", "POST", "/x", act, nil, nil, 200},
		{"an act of the page", "POST", "/x", act, []string{"Origin", "http://127.0.0.1:7", "Sec-Fetch-Site", "same-origin"}, nil, 200},
		{"another name of ours", "GET", "/x", look, []string{"Host", "localhost:7"}, nil, 200},
		{"an address typed by the user", "GET", "/", "", []string{"Sec-Fetch-Site", "none"}, nil, 200},
		{"a forwarded socket", "GET", "/x", look, []string{"Host", "localhost:9999"}, func(g *Guard) { g.AnyPort = []string{"localhost"} }, 200},

		{"a rebound name, with its own origin", "GET", "/", "", []string{"Host", "evil.example:7", "Origin", "http://evil.example:7", "Sec-Fetch-Site", "same-origin"}, nil, 421},
		{"another port", "GET", "/x", look, []string{"Host", "127.0.0.1:8"}, nil, 421},
		{"no port", "GET", "/x", look, []string{"Host", "127.0.0.1"}, nil, 421},
		{"a name that only begins like ours", "GET", "/x", look, []string{"Host", "localhost.evil.example:9"}, func(g *Guard) { g.AnyPort = []string{"localhost"} }, 421},
		{"another origin", "GET", "/x", look, []string{"Origin", "http://evil.example"}, nil, 403},
		{"another port's origin", "POST", "/x", act, []string{"Origin", "http://127.0.0.1:8"}, nil, 403},
		{"a sandboxed page", "POST", "/x", act, []string{"Origin", "null"}, nil, 403},
		{"an image of another page", "GET", "/x", look, []string{"Sec-Fetch-Site", "cross-site"}, nil, 403},
		{"a page of the agent on another port", "GET", "/", "", []string{"Sec-Fetch-Site", "same-site"}, nil, 403},
		{"a WebSocket", "GET", "/x", look, []string{"Upgrade", "websocket", "Connection", "Upgrade"}, nil, 400},
		{"another method", "DELETE", "/x", act, nil, nil, 405},
		{"a preflight", "OPTIONS", "/x", act, nil, nil, 405},
		{"no token", "GET", "/x", "", nil, nil, 401},
		{"a wrong token", "GET", "/x", "guess", nil, nil, 401},
		{"an act on a public path without a token", "POST", "/", "", nil, nil, 401},
		{"a token in the query", "GET", "/x?k=" + look, "", nil, nil, 401},
		{"a token in a cookie", "GET", "/x", "", []string{"Cookie", "k=" + look}, nil, 401},
		{"no token to act is no token", "POST", "/x", "", []string{"Authorization", "Bearer "}, func(g *Guard) { g.Act = "" }, 401},
		{"an act with the token to look", "POST", "/x", look, nil, nil, 403},
		{"an act where nobody may", "POST", "/x", look, nil, func(g *Guard) { g.Act = "" }, 403},
		{"an act of an agent", "POST", "/x", act, nil, func(g *Guard) {
			g.Caller = func(*http.Request) error { return errors.New("an agent") }
		}, 403},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := ours()
			if c.change != nil {
				c.change(g)
			}
			got, seen := ask(g, c.method, c.path, c.token, c.header...)
			if got.StatusCode != c.want || seen != (c.want == 200) {
				t.Errorf("answered %d, and the handler has seen it: %v; want %d", got.StatusCode, seen, c.want)
			}
		})
	}
}

// TestTheCheckOfTheLibraryComesFirst: what both checks refuse is refused in its words, and what it
// takes, in ours.
func TestTheCheckOfTheLibraryComesFirst(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ method, header, value, says string }{
		{"POST", "Sec-Fetch-Site", "cross-site", "cross-origin request detected from Sec-Fetch-Site header"},
		{"POST", "Origin", "http://evil.example", "cross-origin request detected, and/or browser is out of date"},
		{"GET", "Sec-Fetch-Site", "cross-site", "the request comes from another page"},
		{"POST", "Origin", "ftp://127.0.0.1:7", "the request comes from another page"},
	} {
		got, seen := ask(ours(), c.method, "/x", act, c.header, c.value)
		said, err := io.ReadAll(got.Body)
		if err != nil || seen || got.StatusCode != http.StatusForbidden || !strings.HasPrefix(string(said), c.says) {
			t.Errorf("%s with %s %q: status %d, %q, %v; want %q", c.method, c.header, c.value, got.StatusCode, said, err, c.says)
		}
	}
}

// TestEveryAnswerHasTheHeaders, word by word: none can be taken away or changed unseen.
func TestEveryAnswerHasTheHeaders(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
			"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types hank",
		"X-Content-Type-Options":       "nosniff",
		"X-Frame-Options":              "DENY",
		"Referrer-Policy":              "no-referrer",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Cross-Origin-Embedder-Policy": "require-corp",
		"Permissions-Policy":           "camera=(), geolocation=(), microphone=()",
		"Cache-Control":                "no-store",
	}
	for _, token := range []string{look, ""} { // also where it is refused
		got, _ := ask(ours(), "GET", "/x", token)
		for name, value := range want {
			if got.Header.Get(name) != value {
				t.Errorf("token %q: %s is %q, want %q", token, name, got.Header.Get(name), value)
			}
		}
		for name := range got.Header {
			if strings.HasPrefix(name, "Access-Control-") || name == "Set-Cookie" {
				t.Errorf("token %q: there is a header %s", token, name)
			}
		}
	}
}

func TestWhoWasRefusedToActIsTold(t *testing.T) {
	t.Parallel()
	var told []string
	g := ours()
	g.Refused = func(_ *http.Request, status int, why string) { told = append(told, why) }
	ask(g, "GET", "/x", "guess")
	if len(told) != 0 {
		t.Errorf("a look was told: %q", told)
	}
	ask(g, "POST", "/x", look)
	if len(told) != 1 {
		t.Errorf("told: %q", told)
	}
}
