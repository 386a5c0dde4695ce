package guard

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Guard is what decides about requests.
type Guard struct {
	// Hosts are the Host headers that are taken, each with its port. Any port is taken
	// of those in AnyPort: a forwarded socket has the port of the other end.
	Hosts, AnyPort []string
	// Look and Act are the tokens. An empty Act lets nobody act.
	Look, Act string
	// Public reports whether a path says nothing of any execution.
	Public func(path string) bool
	// Caller returns why the process that has sent a request may not act.
	Caller func(*http.Request) error
	// Refused is told of each request that wanted to act and was refused; nil: nobody is.
	Refused func(r *http.Request, status int, why string)
}

// policy is the Content-Security-Policy of every answer: scripts, styles and requests are
// those of the page itself, and a text becomes markup in one place of its script only.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types hank"

// headers are those of every answer.
var headers = map[string]string{
	"Content-Security-Policy":      policy,
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Cross-Origin-Embedder-Policy": "require-corp",
	"Permissions-Policy":           "camera=(), geolocation=(), microphone=()",
	"Cache-Control":                "no-store",
}

// check refuses a request, or lets it pass with status 0.
type check func(*http.Request) (status int, why string)

// Wrap returns the handler behind the checks.
func (g *Guard) Wrap(inner http.Handler) http.Handler {
	checks := []check{g.host, crossOrigin(), g.site, g.method, g.token, g.capability, g.caller}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		for _, refuses := range checks {
			if status, why := refuses(r); status != 0 {
				if g.Refused != nil && r.Method != http.MethodGet && r.Method != http.MethodHead {
					g.Refused(r, status, why)
				}
				http.Error(w, why, status)
				return
			}
		}
		inner.ServeHTTP(w, r)
	})
}

// host takes no Host header but those in the lists.
func (g *Guard) host(r *http.Request) (int, string) {
	if slices.Contains(g.Hosts, r.Host) {
		return 0, ""
	}
	name, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		name = r.Host
	}
	if slices.Contains(g.AnyPort, name) {
		return 0, ""
	}
	return http.StatusMisdirectedRequest, fmt.Sprintf("hank web does not answer to the host %q; to allow it: hank web --allow-host", r.Host)
}

// site takes no request of another page: its Origin is ours, and the browser says that it
// comes from us, or from the user.
func (g *Guard) site(r *http.Request) (int, string) {
	const other = "the request comes from another page; open the address that hank web prints"
	for _, origin := range r.Header["Origin"] {
		u, err := url.Parse(origin)
		if err != nil || u.Host != r.Host || u.Scheme != "http" && u.Scheme != "https" {
			return http.StatusForbidden, other
		}
	}
	for _, from := range r.Header["Sec-Fetch-Site"] {
		if from != "same-origin" && from != "none" {
			return http.StatusForbidden, other
		}
	}
	return 0, ""
}

// crossOrigin is the check of net/http.
func crossOrigin() check {
	protection := http.NewCrossOriginProtection()
	return func(r *http.Request) (int, string) {
		if err := protection.Check(r); err != nil {
			return http.StatusForbidden, err.Error()
		}
		return 0, ""
	}
}

// method takes GET, HEAD and POST, and nothing that is to become another protocol.
func (g *Guard) method(r *http.Request) (int, string) {
	switch {
	case r.Header.Get("Upgrade") != "":
		return http.StatusBadRequest, "hank web speaks no other protocol"
	case r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodPost:
		return 0, ""
	}
	return http.StatusMethodNotAllowed, "hank web takes GET and POST"
}

// token takes requests with one of the tokens.
func (g *Guard) token(r *http.Request) (int, string) {
	looks := r.Method != http.MethodPost
	if looks && g.Public(r.URL.Path) || same(bearer(r), g.Look) || g.MayAct(r) {
		return 0, ""
	}
	return http.StatusUnauthorized, "the token is missing or is not that of this hank web; to print the address with it: hank web --url"
}

// capability takes requests that act with the token to act alone.
func (g *Guard) capability(r *http.Request) (int, string) {
	if r.Method != http.MethodPost || g.MayAct(r) {
		return 0, ""
	}
	return http.StatusForbidden, "this address only looks; to act: hank web --act"
}

// caller takes requests that act from processes that may.
func (g *Guard) caller(r *http.Request) (int, string) {
	if r.Method != http.MethodPost {
		return 0, ""
	}
	if err := g.Caller(r); err != nil {
		return http.StatusForbidden, err.Error()
	}
	return 0, ""
}

// MayAct reports whether a request has the token to act.
func (g *Guard) MayAct(r *http.Request) bool { return same(bearer(r), g.Act) }

// bearer is the token of a request; empty: it has none.
func bearer(r *http.Request) string {
	token, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !found {
		return ""
	}
	return token
}

// same compares a token in a time that does not depend on where it differs. Nothing is
// the same as no token.
func same(got, want string) bool {
	a, b := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(want))
	return want != "" && subtle.ConstantTimeCompare(a[:], b[:]) == 1
}
