package web

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	cdp "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"hank/internal/browser"
	"hank/runtime/exitcode"
	"hank/runtime/internal/testkit"
	"hank/runtime/report"
	"hank/runtime/web/page"
	"hank/state"
)

// press presses keys, one after the other.
func press(t *testing.T, tab context.Context, keys string) {
	t.Helper()
	testkit.Must(t, chromedp.Do(tab, chromedp.KeyEvent(keys)))
}

// until waits until an expression of the page is true.
func until(t *testing.T, tab context.Context, is string) {
	t.Helper()
	eventually(t, is, func() bool { return evaluate(t, tab, "return String("+is+")") == "true" })
}

// atFocus says where the keys go, and what is wrong with it: nobody sees that, or it is out of
// sight.
const atFocus = `
const at = document.activeElement, style = getComputedStyle(at), box = at.getBoundingClientRect()
const shown = at.matches(':focus-visible') && style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2
const inside = box.width > 0 && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth
return [[...document.querySelectorAll('*')].indexOf(at), at.localName, shown ? '' : 'no outline', inside ? '' : 'out of sight', at.outerHTML.slice(0, 80)].join('\n')`

// TestEveryPageIsWalkedThroughByTab: from the beginning of its content on, everything that can be
// used is reached by the tab key, once, in the order in which it is read; it is seen to have the
// keys, and nothing holds them.
func TestEveryPageIsWalkedThroughByTab(t *testing.T) {
	t.Parallel()
	s := stageOf(t, gated, nil)
	s.run(exitcode.Waiting, nil)
	tab := open(t, nil)
	testkit.Must(t, browser.Look(tab, 1000, 800, false))
	testkit.Must(t, chromedp.Do(tab, chromedp.Navigate(s.server.Address().URL(""))))
	visible(t, tab, ".card")
	for _, path := range []string{"/", "/needs", s.at(""), s.at("/gate"), s.at("/codon?id=a"), s.at("/checkpoints"), s.at("/diff?from=initial&to=b"), s.at("/rollback?to=a"), s.at("/money"), s.at("/events")} {
		testkit.Must(t, chromedp.Do(tab, chromedp.Navigate(s.base()+path)))
		visible(t, tab, ".head")
		evaluate(t, tab, `document.querySelectorAll('details').forEach(d => { d.open = true }); document.activeElement.blur(); getSelection().setPosition(document.body, 0); return ''`)
		want := strings.Split(evaluate(t, tab, `return [...document.querySelectorAll('a[href], button, input, textarea, summary, [tabindex="0"]')].filter(e => !e.matches('.jump') && e.checkVisibility() && !e.disabled && (e.type !== 'radio' || e === document.querySelector('input[name="' + e.name + '"]:checked, input[name="' + e.name + '"]'))).map(e => [...document.querySelectorAll('*')].indexOf(e)).join(' ')`), " ")
		var got []string
		for range 3 * len(want) {
			press(t, tab, kb.Tab)
			at := strings.Split(evaluate(t, tab, atFocus), "\n")
			if at[1] == "body" || len(got) > 0 && at[0] == got[0] {
				break // it has gone round
			}
			if got = append(got, at[0]); at[2] != "" || at[3] != "" {
				t.Errorf("%s: %s %s: %s", path, at[2], at[3], at[4])
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: tab leads through %v of %v", path, got, want)
		}
	}
}

// TestAGateIsAnsweredByKeysAlone: from the list to the gate, a reply, the question before the act,
// which a no and escape leave, and the answer.
func TestAGateIsAnsweredByKeysAlone(t *testing.T) {
	t.Parallel()
	s := stageOf(t, gated, nil)
	s.run(exitcode.Waiting, nil)
	tab := open(t, nil)
	testkit.Must(t, chromedp.Do(tab, chromedp.Navigate(s.server.Address().URL(""))))
	visible(t, tab, ".card")
	to := func(css string) {
		t.Helper()
		for range 200 {
			if press(t, tab, kb.Tab); evaluate(t, tab, `return String(document.activeElement.matches('`+css+`'))`) == "true" {
				return
			}
		}
		t.Fatalf("tab does not lead to %s", css)
	}
	// The keys begin at the content; the link that leads there is before it, and is seen when it has them.
	until(t, tab, `document.activeElement.id === 'page'`)
	testkit.Must(t, chromedp.Do(tab, chromedp.KeyEvent(kb.Tab, chromedp.KeyModifiers(chromedp.ModifierShift))))
	if got := evaluate(t, tab, `return document.activeElement.className + (document.activeElement.getBoundingClientRect().left >= 0)`); got != "jumptrue" {
		t.Errorf("before the content is %q", got)
	}
	press(t, tab, kb.Enter)
	until(t, tab, `document.activeElement.id === 'page'`)
	press(t, tab, "n")
	until(t, tab, `location.pathname === '/needs' && document.querySelector('.card') !== null`)
	to(`a[href="` + s.at("/gate") + `"]`)
	press(t, tab, kb.Enter)
	visible(t, tab, `button[data-act="approve"]`)
	to("#reply")
	press(t, tab, "by keys")
	to(`button[data-act="approve"]`)
	for _, no := range []string{kb.Escape, "no"} {
		press(t, tab, " ")
		until(t, tab, `document.querySelector('#ask').open && document.querySelector('#ask').contains(document.activeElement)`)
		for range 4 { // the keys stay in the question
			press(t, tab, kb.Tab)
			if got := evaluate(t, tab, `return String(document.activeElement === document.body || document.querySelector('#ask').contains(document.activeElement))`); got != "true" {
				t.Errorf("behind the question the keys go to %s", evaluate(t, tab, atFocus))
			}
		}
		if no == "no" {
			to("#ask-no")
			no = kb.Enter
		}
		press(t, tab, no)
		until(t, tab, `!document.querySelector('#ask').open && document.activeElement.matches('button[data-act="approve"]')`)
	}
	if g := s.view().State.Gates[0]; g.Status != state.GatePending {
		t.Fatalf("a no has answered the gate: %+v", g)
	}
	press(t, tab, kb.Enter)
	until(t, tab, `document.querySelector('#ask').open`)
	to("#ask-yes")
	press(t, tab, kb.Enter)
	answered := func() bool { return len(s.view().State.Gates) > 0 && s.view().State.Gates[0].Answer != nil }
	for end := time.Now().Add(30 * time.Second); !answered() && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
	if !answered() {
		t.Fatalf("no answer: %s", evaluate(t, tab, `return document.getElementById('said').textContent + ' | ' + document.querySelector('#ask').open + ' | ' + document.activeElement.outerHTML.slice(0, 100) + ' | ' + page.innerText`))
	}
	if g := s.view().State.Gates[0]; g.Answer == nil || g.Answer.Reply != "by keys" {
		t.Errorf("the gate: %+v", g.Answer)
	}
}

// TestTheKeysStayWhereTheyAre while the page follows a run: what a part becomes has the keys that
// it had, and the text that is being typed its cursor.
func TestTheKeysStayWhereTheyAre(t *testing.T) {
	t.Parallel()
	s := stageOf(t, `{"hank": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "for i in 1 2; do echo line $i; until [ -e ../go$i ]; do sleep 0.05; done; done; echo line 3; until [ -e ../go3 ]; do sleep 0.05; done"}]}`, nil)
	ended := make(chan error, 1)
	go func() { ended <- s.runs(exitcode.Done, nil) }()
	tab := open(t, nil)
	eventually(t, "known", func() bool {
		status, _ := s.send("GET", "/f"+s.at(""), s.server.Address().Act, nil)
		return status == 200
	})
	testkit.Must(t, chromedp.Do(tab, chromedp.Navigate(s.server.Address().URL(""))))
	visible(t, tab, ".card")
	testkit.Must(t, chromedp.Do(tab, chromedp.Navigate(s.base()+s.at(""))))
	visible(t, tab, `button[data-act="stop"]`)
	until(t, tab, `page.innerText.includes('line 1')`)
	for i, css := range []string{`button[data-act="stop"]`, `button[data-act="skip"]`} {
		evaluate(t, tab, `globalThis.was = document.querySelector('`+css+`'); was.focus(); return ''`)
		testkit.Write(t, s.root+"/go"+strconv.Itoa(i+1), "")
		until(t, tab, fmt.Sprintf(`page.innerText.includes('line %d') && !was.isConnected`, i+2))
		until(t, tab, `document.activeElement.matches('`+css+`')`)
	}
	testkit.Write(t, s.root+"/go3", "")
	testkit.Must(t, <-ended)
}

// TestASilentConnectionIsSeenToBeGone within 15 seconds of the clock of the page, which this test
// turns: a connection that is there and says nothing is as gone as one that was closed.
func TestASilentConnectionIsSeenToBeGone(t *testing.T) {
	t.Parallel()
	asset, _, _ := page.Asset("page.js")
	patience := regexp.MustCompile(`const patience = ([\d_]+)`).FindSubmatch(asset)
	ms, err := strconv.Atoi(strings.ReplaceAll(string(patience[1]), "_", ""))
	testkit.Must(t, err)
	if given := time.Duration(ms) * time.Millisecond; given+time.Second > 15*time.Second || given < 2*aliveEvery {
		t.Errorf("the page waits %s for a sign of life, which comes every %s", given, aliveEvery)
	}
	s := stageOf(t, gated, nil)
	s.server.alive = time.Hour // the stream says nothing but what is new
	s.run(exitcode.Waiting, nil)
	tab := open(t, nil)
	_, err = chromedp.Call(tab, cdp.AddScriptToEvaluateOnNewDocument, cdp.AddScriptToEvaluateOnNewDocumentParams{Source: `
const begun = Date.now(), ticks = []
let turned = 0
Date.now = () => begun + turned
globalThis.setInterval = tick => ticks.push(tick)
globalThis.turn = seconds => { for (let i = 0; i < seconds; i++) { turned += 1000; ticks.forEach(tick => tick()) } return document.body.className }`})
	testkit.Must(t, err)
	testkit.Must(t, chromedp.Do(tab, chromedp.Navigate(s.server.Address().URL(""))))
	visible(t, tab, ".card")
	testkit.Must(t, chromedp.Do(tab, chromedp.Navigate(s.base()+s.at("/gate")))) // of the list there is always news
	visible(t, tab, `button[data-act="approve"]`)
	until(t, tab, `turn(0) === ''`)
	eventually(t, "the stream has begun", func() bool { return s.reached.Load() >= 4 })
	if got := evaluate(t, tab, `return turn(`+strconv.Itoa(ms/1000-1)+`)`); got != "" {
		t.Errorf("too early it is %q", got)
	}
	if got := evaluate(t, tab, `return turn(15 - `+strconv.Itoa(ms/1000-1)+`) + ' ' + document.getElementById('lost').innerText`); !strings.HasPrefix(got, "lost Connection lost. What is below is as of event ") {
		t.Errorf("after 15 s it is %q", got)
	}
	status, text := s.send("POST", "/a"+strings.TrimPrefix(s.at(""), "/x")+"/approve", s.server.Address().Act, data(t, s.get("/gate"), "approve"))
	if status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	until(t, tab, `document.body.className === '' && document.getElementById('lost').hidden`)
}

// TestAnUnmaskedPageShowsSecrets in the browser, and a masked one none of them, not in its title
// either.
func TestAnUnmaskedPageShowsSecrets(t *testing.T) {
	t.Parallel()
	const value = "no-known-shape-0123456789"
	hank := `{"meta": {"name": "Leaky ` + value + `", "version": "1.0.0"}, "hank": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo the key is ` + value + `"}]}`
	tab := open(t, nil)
	for name, mask := range map[string]func(string) string{"masked": func(text string) string { return strings.ReplaceAll(text, value, "***") }, "unmasked": func(text string) string { return text }} {
		s := stageOf(t, hank, func(o *Options) { o.Pages = page.New(report.Settings{}, mask) })
		s.run(exitcode.Done, nil)
		testkit.Must(t, chromedp.Do(tab, chromedp.Navigate(s.server.Address().URL(""))))
		visible(t, tab, ".card")
		testkit.Must(t, chromedp.Do(tab, chromedp.Navigate(s.base()+s.at("/codon?id=a"))))
		visible(t, tab, ".log")
		got := evaluate(t, tab, `return document.title + document.documentElement.innerHTML`)
		if strings.Contains(got, "the key is "+value) != (name == "unmasked") || strings.Contains(got, value) != (name == "unmasked") || !strings.Contains(got, "the key is ") {
			t.Errorf("%s: %s", name, got)
		}
	}
}
