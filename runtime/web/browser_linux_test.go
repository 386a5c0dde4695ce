package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"hank/internal/browser"
	"hank/internal/short"
	"hank/recovery"
	"hank/runtime/exitcode"
	"hank/runtime/internal/testkit"
	"hank/runtime/request"
	"hank/state"
)

// open starts Chromium; where it is missing the test is skipped, but not in CI.
func open(t *testing.T, flags map[string]any) context.Context {
	t.Helper()
	short.Skip(t)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	tab, end, err := browser.Open(ctx, flags)
	if errors.Is(err, browser.ErrMissing) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	testkit.Must(t, err)
	t.Cleanup(end)
	return tab
}

// evaluate runs an asynchronous function in the page, and returns its text.
func evaluate(t *testing.T, tab context.Context, body string) string {
	t.Helper()
	got, err := chromedp.Run(tab, chromedp.Evaluate[string]("(async () => {"+body+"})().catch(e => 'error: ' + e)", chromedp.EvalAwaitPromise))
	testkit.Must(t, err)
	return got
}

func visible(t *testing.T, tab context.Context, css string) {
	t.Helper()
	testkit.Must(t, chromedp.Do(tab, chromedp.WaitVisible(chromedp.CSS(css))))
}

// TestNoOtherPageReachesTheServer: whatever a page of another origin tries in a real browser,
// with the token too, the guard lets nothing of it pass.
func TestNoOtherPageReachesTheServer(t *testing.T) {
	t.Parallel()
	s := stageOf(t, gated, nil)
	s.run(exitcode.Waiting, nil)
	hostile := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><title>hostile</title><body>")
	}))
	defer hostile.Close()
	tab := open(t, map[string]any{"host-resolver-rules": "MAP evil.example 127.0.0.1"})
	port := s.base()[strings.LastIndex(s.base(), ":"):]

	// The person's own page works, so what follows fails for another reason.
	testkit.Must(t, chromedp.Do(tab, chromedp.Navigate(s.server.Address().URL(""))))
	visible(t, tab, ".card")
	if got := evaluate(t, tab, `return location.href + ' ' + document.cookie`); got != s.base()+"/ " {
		t.Errorf("the address keeps the token, or there is a cookie: %q", got)
	}
	for what, script := range map[string]string{
		"text as markup": `document.body.innerHTML = '<b id="x"></b>'`,
		"a script":       `const x = document.createElement('script'); x.text = 'document.title = "run"'; document.head.append(x); await new Promise(go => setTimeout(go, 50)); if (document.title !== 'run') throw new Error('it did not run')`,
		"a string":       `setTimeout('document.title = "run"'); await new Promise(go => setTimeout(go, 50)); if (document.title !== 'run') throw new Error('it did not run')`,
		"a frame":        `await new Promise((good, bad) => { const x = document.createElement('iframe'); x.src = '` + hostile.URL + `'; x.onload = () => { try { x.contentDocument.body; bad() } catch { bad(new Error('it is empty')) } }; document.body.append(x) })`,
		"another server": `await fetch('` + hostile.URL + `', { mode: 'no-cors' })`,
	} {
		if got := evaluate(t, tab, script+"; return 'done'"); !strings.HasPrefix(got, "error: ") {
			t.Errorf("the page may do: %s: %q", what, got)
		}
	}

	// Rebinding: a name of the attacker that resolves to this machine.
	testkit.Must(t, chromedp.Do(tab, chromedp.Navigate("http://evil.example"+port+"/")))
	before := s.reached.Load() // the page before it asks no more
	if got := evaluate(t, tab, `return document.body.innerText`); !strings.Contains(got, "does not answer to the host") {
		t.Errorf("rebinding: %q", got)
	}
	if got := evaluate(t, tab, `return String((await fetch('/f/', { headers: { Authorization: 'Bearer `+s.server.Address().Act+`' } })).status)`); got != "421" {
		t.Errorf("rebinding with the token: %q", got)
	}

	for _, from := range []string{hostile.URL, strings.Replace(hostile.URL, "127.0.0.1", "evil.example", 1)} {
		testkit.Must(t, chromedp.Do(tab, chromedp.Navigate(from)))
		approve := s.base() + "/a" + strings.TrimPrefix(s.at(""), "/x") + "/approve"
		for what, script := range map[string]string{
			"fetch":            `await fetch('` + s.base() + `/f/', { headers: { Authorization: 'Bearer ` + s.server.Address().Act + `' } })`,
			"an act":           `await fetch('` + approve + `', { method: 'POST', headers: { Authorization: 'Bearer ` + s.server.Address().Act + `', 'Content-Type': 'application/json' }, body: '{}' })`,
			"a blind act":      `await fetch('` + approve + `', { method: 'POST', mode: 'no-cors', body: '{}' }); throw new Error('it was sent')`,
			"an image":         `await new Promise((good, bad) => { const x = new Image(); x.onload = good; x.onerror = () => bad(new Error('refused')); x.src = '` + s.base() + `/icon.svg' })`,
			"a script":         `await new Promise((good, bad) => { const x = document.createElement('script'); x.onload = good; x.onerror = () => bad(new Error('refused')); x.src = '` + s.base() + `/page.js'; document.body.append(x) })`,
			"a WebSocket":      `await new Promise((good, bad) => { const x = new WebSocket('` + strings.Replace(s.base(), "http", "ws", 1) + `/stream'); x.onopen = good; x.onerror = () => bad(new Error('refused')) })`,
			"a stream":         `await new Promise((good, bad) => { const x = new EventSource('` + s.base() + `/stream'); x.onopen = good; x.onerror = () => bad(new Error('refused')) })`,
			"a frame":          `await new Promise((good, bad) => { const x = document.createElement('iframe'); x.onload = () => bad(new Error('nothing of it')); x.src = '` + s.base() + `/'; document.body.append(x) })`,
			"a window":         `const x = open('` + s.base() + `/'); await new Promise(go => setTimeout(go, 300)); try { if (x && x.document.title) return 'read'; } catch { } throw new Error('nothing of it')`,
			"a form in a page": `const f = document.createElement('form'); f.method = 'post'; f.action = '` + approve + `'; f.target = 'x'; const x = document.createElement('iframe'); x.name = 'x'; document.body.append(x, f); await new Promise((good, bad) => { x.onload = () => bad(new Error('refused')); f.submit() })`,
		} {
			if got := evaluate(t, tab, script+"; return 'done'"); !strings.HasPrefix(got, "error: ") {
				t.Errorf("from %s: %s: %q", from, what, got)
			}
		}
	}
	if got := s.reached.Load(); got != before {
		t.Errorf("%d requests have passed", got-before)
	}
	if g := s.view().State.Gates[0]; g.Status != state.GatePending {
		t.Errorf("the gate was answered: %+v", g)
	}
}

// TestAPhoneAnswersThroughATunnel: the page of the gate, as wide as a phone, over a forwarded
// Unix socket. It shows the difference, approves, and the run continues; and what the agent
// has written is text.
func TestAPhoneAnswersThroughATunnel(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "s")
	s := stageOf(t, gated, func(o *Options) { o.Listen = "unix:" + socket })
	tab := open(t, nil)
	near := tunnel(t, socket)
	ended := make(chan error, 1)
	go func() { ended <- s.runs(exitcode.Done, func(r *request.Request) { r.Wait = true }) }()
	testkit.Must(t, browser.Look(tab, 390, 844, false))
	eventually(t, "at the gate", func() bool {
		v, err := recovery.Read(s.root)
		return err == nil && len(v.State.Gates) == 1
	})
	_, port, _ := strings.Cut(near, ":")
	testkit.Must(t, chromedp.Do(tab, chromedp.Navigate(s.server.Address().URL(port))))
	visible(t, tab, ".card")
	testkit.Must(t, chromedp.Do(tab, chromedp.Navigate("http://"+near+s.at("/gate"))))
	visible(t, tab, `button[data-act="approve"]`)
	got := evaluate(t, tab, `return document.body.innerText + ' ' + (document.documentElement.scrollWidth <= innerWidth)`)
	if !strings.Contains(got, "two.txt") || !strings.HasSuffix(got, " true") {
		t.Errorf("the page lacks the difference, or is wider than the phone: %s", got)
	}
	testkit.Must(t, chromedp.Do(tab, chromedp.Click(chromedp.CSS(`button[data-act="approve"]`)), chromedp.WaitVisible(chromedp.CSS("#ask-yes")), chromedp.Click(chromedp.CSS("#ask-yes"))))
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	testkit.Must(t, chromedp.Do(tab, chromedp.Navigate("http://"+near+s.at("/codon?id=a"))))
	visible(t, tab, ".head .word.good") // the page may begin with an event before the last one
	visible(t, tab, ".log")
	if got := evaluate(t, tab, `return document.title + document.querySelectorAll('main img, main script').length + document.querySelector('.log').innerText.includes('<script>')`); got != "Codon a · hank0true" {
		t.Errorf("the text of an agent became something else: %q", got)
	}
	// The page has followed the run to its end by itself.
	testkit.Must(t, chromedp.Do(tab, chromedp.Navigate("http://"+near+s.at(""))))
	visible(t, tab, ".head .word.good")
}

// TestThePageSaysThatTheConnectionIsGone, and keeps what it shows, in grey.
func TestThePageSaysThatTheConnectionIsGone(t *testing.T) {
	t.Parallel()
	s := stageOf(t, gated, nil)
	s.run(exitcode.Waiting, nil)
	tab := open(t, nil)
	testkit.Must(t, chromedp.Do(tab, chromedp.Navigate(s.server.Address().URL(""))))
	visible(t, tab, ".card")
	testkit.Must(t, s.server.http.Close())
	visible(t, tab, "#lost")
	if got := evaluate(t, tab, `return document.body.className + ' ' + document.getElementById('lost').innerText`); !strings.HasPrefix(got, "lost Connection lost. What is below is ") || !strings.Contains(got, "at 20") {
		t.Errorf("%q", got)
	}
}

// axe is where scripts/npm-tool installs axe-core.
const axe = "../../.agents/axe/node_modules/axe-core/axe.min.js"

// TestAxeFindsNothing on any page, in the dark and in the light, as wide as a phone.
func TestAxeFindsNothing(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	library, err := os.ReadFile(axe)
	if os.IsNotExist(err) && os.Getenv("CI") != "true" {
		t.Skip("axe-core is missing; to install it: scripts/npm-tool axe")
	}
	testkit.Must(t, err)
	s := stageOf(t, gated, nil)
	s.run(exitcode.Waiting, nil)
	tab := open(t, nil)
	testkit.Must(t, chromedp.Do(tab, chromedp.Navigate(s.server.Address().URL(""))))
	visible(t, tab, ".card")
	for i, path := range []string{"/", "/needs", s.at(""), s.at("/gate"), s.at("/codon?id=a"), s.at("/checkpoints"), s.at("/diff?from=initial&to=b"), s.at("/rollback?to=a"), s.at("/money"), s.at("/events")} {
		testkit.Must(t, browser.Look(tab, 360, 800, i%2 == 0))
		testkit.Must(t, chromedp.Do(tab, chromedp.Navigate(s.base()+path)))
		visible(t, tab, ".head")
		// In the other light only the colours are others.
		for _, look := range []struct {
			dark bool
			axe  string
		}{{i%2 == 0, string(library) + "; const found = await axe.run(document, { resultTypes: ['violations'] })"}, {i%2 != 0, "const found = await axe.run(document, { runOnly: ['color-contrast'] })"}} {
			testkit.Must(t, browser.Look(tab, 360, 800, look.dark))
			if got := evaluate(t, tab, look.axe+`; return found.violations.map(v => v.id + ' ' + v.nodes.map(n => n.html).slice(0, 3).join(' ')).join('\n') + (document.documentElement.scrollWidth > innerWidth ? '\ntoo wide' : '')`); got != "" {
				t.Errorf("%s, dark %v: %s", path, look.dark, got)
			}
		}
	}
}
