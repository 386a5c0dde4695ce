package web

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"hank/internal/browser"
	"hank/runtime/exitcode"
	"hank/runtime/internal/testkit"
)

// lengthy is a hank with long names, a loop and large amounts, which waits at a gate.
const lengthy = `{"meta": {"name": "Migrate the billing service, its fourteen clients and the reconciliation jobs to the new ledger", "version": "1.0.0"}, "hank": [
  {"id": "migrate-the-whole-billing-service-to-the-new-ledger-api", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo one >a-name-of-a-file-that-is-as-long-as-names-in-repositories-of-java-are.txt; echo '::hank usage {\"inputTokens\":2747801404,\"costUSD\":16246.91}'"},
  {"type": "loop", "id": "verify-and-repair-until-all-clients-pass", "name": "L", "terminateOn": {"type": "iterationLimit", "limit": 2}, "codons": [
    {"id": "repair-what-the-tests-have-found", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo x >>b.txt"}]},
  {"id": "notify", "name": "N", "model": "shell", "continuationMode": "fresh", "promptText": "true",
   "gate": {"id": "all-clients-may-be-switched-over-to-the-new-ledger", "when": "before", "kind": "approve", "summary": "Good?"}}]}`

// TestLongNamesAndLargeAmountsFit on each page, as wide as a phone and as a desk has it: nothing is
// scrolled to the side, and an amount is in one line.
func TestLongNamesAndLargeAmountsFit(t *testing.T) {
	t.Parallel()
	s := stageOf(t, lengthy, nil)
	s.run(exitcode.Waiting, nil)
	tab := open(t, nil)
	testkit.Must(t, chromedp.Do(tab, chromedp.Navigate(s.server.Address().URL(""))))
	visible(t, tab, ".card")
	first := "migrate-the-whole-billing-service-to-the-new-ledger-api"
	for _, path := range []string{"/", "/needs", s.at(""), s.at("/gate"), s.at("/codon?id=" + first), s.at("/codon?id=verify-and-repair-until-all-clients-pass"), s.at("/checkpoints"), s.at("/diff?from=initial&to=" + first), s.at("/rollback?to=initial"), s.at("/money"), s.at("/events")} {
		for _, width := range []int64{360, 700, 1024, 1440} {
			testkit.Must(t, browser.Look(tab, width, 800, false))
			testkit.Must(t, chromedp.Do(tab, chromedp.Navigate(s.base()+path)))
			visible(t, tab, ".head")
			if got := evaluate(t, tab, `
				const wide = [...document.querySelectorAll('html, .scroll')].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.localName + ' is ' + e.scrollWidth + ' wide')
				const broken = [...document.querySelectorAll('data')].filter(e => e.getClientRects().length > 1 && !e.textContent.includes(' ')).map(e => e.textContent + ' is broken')
				return [...wide, ...broken].join(', ')`); got != "" {
				t.Errorf("%s, %d wide: %s", path, width, got)
			}
		}
	}
}

// TestWhatNeedsYouIsFirst on the page of a run: why, the command that continues, by itself, and the
// way to the codon; nothing of it is said again below.
func TestWhatNeedsYouIsFirst(t *testing.T) {
	t.Parallel()
	s := stageOf(t, `{"hank": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo first >&2; echo last >&2; exit 3"}]}`, nil)
	s.run(exitcode.Failed, nil)
	_, text, _ := strings.Cut(s.get(""), "</header>")
	part := regexp.MustCompile(`(?s)^\s*<section data-part="need".*?</section>`).FindString(text)
	for _, want := range []string{"<h2>failed</h2>", "a: the script ended with exit status 3: … last", "<code>hank retry ", `href="` + s.at("/codon?id=a") + `"`} {
		if !strings.Contains(part, want) {
			t.Errorf("%q is not in what comes first: %s", want, text)
		}
	}
	if rest := strings.TrimPrefix(text, part); strings.Contains(rest, "<dt>failed</dt>") || strings.Contains(rest, "<dt>next</dt>") {
		t.Errorf("it is said again: %s", rest)
	}
}

// TestAPlaceInAPageIsNoNewPage: the link to the answer of a gate goes there, and asks for nothing.
func TestAPlaceInAPageIsNoNewPage(t *testing.T) {
	t.Parallel()
	s := stageOf(t, strings.Replace(gated, "echo two >two.txt", "seq 2000 >two.txt", 1), nil)
	s.run(exitcode.Waiting, nil)
	tab := open(t, nil)
	testkit.Must(t, browser.Look(tab, 390, 844, false))
	testkit.Must(t, chromedp.Do(tab, chromedp.Navigate(s.server.Address().URL(""))))
	visible(t, tab, ".card")
	testkit.Must(t, chromedp.Do(tab, chromedp.Navigate(s.base()+s.at("/gate"))))
	visible(t, tab, "#answer")
	if got := evaluate(t, tab, `
		const asked = [], fetch = window.fetch
		window.fetch = (to, ...more) => { asked.push(to); return fetch(to, ...more) }
		const gone = new Promise(go => addEventListener('hashchange', go)) // after popstate
		document.querySelector('a[href="#answer"]').click()
		await gone
		return asked.filter(to => to.startsWith('/f')).join(' ')`); got != "" {
		t.Errorf("pages asked for: %s", got)
	}
	until(t, tab, `document.getElementById('answer').getBoundingClientRect().top < innerHeight`)
}

// TestAPageThatIsNotThereHasAWayOut, for who has no keys.
func TestAPageThatIsNotThereHasAWayOut(t *testing.T) {
	t.Parallel()
	s := stageOf(t, gated, nil)
	s.run(exitcode.Waiting, nil)
	tab := open(t, nil)
	testkit.Must(t, chromedp.Do(tab, chromedp.Navigate(s.server.Address().URL(""))))
	visible(t, tab, ".card")
	testkit.Must(t, chromedp.Do(tab, chromedp.Navigate(s.base()+"/x/"+strconv.Itoa(1e11))))
	visible(t, tab, `#page a[href="/"]`)
	evaluate(t, tab, `document.querySelector('#page a[href="/"]').click(); return ''`)
	visible(t, tab, ".card")
}
