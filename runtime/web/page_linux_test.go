package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hank/internal/consent"
	"hank/internal/secret"
	"hank/internal/short"
	"hank/internal/vfs"
	"hank/runtime/exitcode"
	"hank/runtime/internal/testkit"
	"hank/runtime/liveview"
	"hank/runtime/report"
	"hank/runtime/report/cost"
	"hank/runtime/report/output"
	"hank/runtime/verdict"
	"hank/runtime/web/page"
	"hank/state"
	"hank/state/costindex"
	"hank/state/journal"
)

// pages are all pages of an execution with these codons, and its export.
func pages(t *testing.T, s *stage, codons ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	paths := []string{"", "/gate", "/checkpoints", "/diff?from=initial", "/rollback?to=initial", "/money", "/money?by=day", "/events"}
	for _, c := range codons {
		paths = append(paths, "/codon?id="+c)
	}
	for _, path := range paths {
		all[path] = s.get(path)
	}
	for _, path := range []string{"/", "/needs"} {
		_, all[path] = s.send("GET", "/f"+path, s.server.Address().Look, nil)
	}
	var file bytes.Buffer
	testkit.Must(t, s.server.o.Pages.Export(context.Background(), &file, s.root))
	all["export"] = file.String()
	return all
}

// TestNoPageHasASecret, wherever an agent writes it; and without the mask all of these places
// show it.
func TestNoPageHasASecret(t *testing.T) {
	t.Parallel()
	const key = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	hank := `{"meta": {"name": "Leaky ` + key + `", "version": "1.0.0"}, "hank": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh",
	  "promptText": "echo 'the key is ` + key + `'; echo '` + key + `' >key.txt; touch 'name ` + key + `'; echo 'failed with ` + key + `' >&2; exit 3"}]}`
	for masked, mask := range map[bool]func(string) string{true: secret.Text, false: func(text string) string { return text }} {
		s := stageOf(t, hank, func(o *Options) { o.Pages = page.New(report.Settings{}, mask) })
		s.run(exitcode.Failed, nil)
		shown := 0
		for path, text := range pages(t, s, "a") {
			if strings.Contains(text, key) {
				shown++
				if masked {
					t.Errorf("%q shows the secret", path)
				}
			}
		}
		if !masked && shown < 6 {
			t.Errorf("only %d pages show it unmasked", shown)
		}
	}
}

// TestNoDateIsBroken: on a phone a line does not end at the hyphen of a date.
func TestNoDateIsBroken(t *testing.T) {
	t.Parallel()
	s := stageOf(t, gated, nil)
	s.run(exitcode.Waiting, nil)
	dates := 0
	for path, text := range pages(t, s, "a", "b") {
		for _, m := range regexp.MustCompile(`<([^<>]*)>([^<]*\b\d{4}-\d\d-\d\d\b[^<]*)`).FindAllStringSubmatch(text, -1) {
			if m[1] == "title" { // no text of the page
				continue
			}
			if dates++; m[1] != `span class="whole"` && m[1] != "time" {
				t.Errorf("%q: a line may end in %q", path, m[2])
			}
		}
	}
	if dates < 20 {
		t.Errorf("only %d dates", dates)
	}
}

// TestAPartOfASecretIsNotShown: not where a long line is cut, nor to who searches for it.
func TestAPartOfASecretIsNotShown(t *testing.T) {
	t.Parallel()
	const value = "no-known-shape-0123456789"
	mask := func(text string) string { return strings.ReplaceAll(text, value, "***") }
	before := strings.Repeat("a", 145)
	s := stageOf(t, `{"hank": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo `+before+` `+value+` `+strings.Repeat("b", 700)+`"}]}`,
		func(o *Options) { o.Pages = page.New(report.Settings{}, mask) })
	s.run(exitcode.Done, nil)
	for path, text := range pages(t, s, "a") {
		if strings.Contains(text, value[:8]) {
			t.Errorf("%q shows a part of the secret", path)
		}
	}
	if got := s.get("/codon?id=a&q=" + value[:12]); strings.Contains(got, before) {
		t.Errorf("a part of the secret is found: %s", got)
	}
	if got := s.get("/codon?id=a&q=aaaa"); !strings.Contains(got, before) {
		t.Errorf("what is shown is not found: %s", got)
	}
}

// TestAGateThatExpiresDoesSoEverywhere: the status, the lists, the view of the terminal and the
// pages have the same answer before and after, though no file changes meanwhile; the stream tells
// the page of it.
func TestAGateThatExpiresDoesSoEverywhere(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for wait := 4; ; wait *= 3 { // a slow machine needs longer to look at all of them before it expires
		s := stageOf(t, strings.Replace(gated, `"kind": "approve"`, fmt.Sprintf(`"kind": "approve", "expiresAfter": %d`, wait), 1), nil)
		s.run(exitcode.Waiting, nil)
		f, err := liveview.Open(context.Background(), s.root, report.Settings{}, "")
		testkit.Must(t, err)
		shown := regexp.MustCompile(`data-live="([^"]*)"`).FindStringSubmatch(s.get(""))[1]
		seen := watched{since: s.view().State.Seq, shown: shown}
		n, err := s.server.look(context.Background(), nameOf(s.root), &seen)
		testkit.Must(t, err)
		wrong := s.disagree(f, true, verdict.Waiting)
		if n.Change {
			wrong = append(wrong, fmt.Sprintf("the page is told of a change: %+v", n))
		}
		expires := s.view().State.Gates[0].Expires.Time
		if !time.Now().Before(expires) && wait < 100 {
			continue
		}
		eventually(t, "expired", func() bool { return !time.Now().Before(expires) })
		wrong = append(wrong, s.disagree(f, false, verdict.Stopped)...)
		if n, err := s.server.look(context.Background(), nameOf(s.root), &seen); err != nil || !n.Change {
			wrong = append(wrong, fmt.Sprintf("the page is not told: %+v, %v", n, err))
		}
		for _, text := range wrong {
			t.Error(text)
		}
		return
	}
}

// disagree tells who does not say that the gate of the stage waits, or that it has expired.
func (s *stage) disagree(f *liveview.Follower, waits bool, want verdict.Verdict) (wrong []string) {
	s.t.Helper()
	add := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	status, err := report.ReadStatus(context.Background(), s.root, report.Settings{}, "")
	testkit.Must(s.t, err)
	_, err = f.Poll(context.Background())
	testkit.Must(s.t, err)
	all, err := liveview.NewList(report.Settings{}).Read()
	testkit.Must(s.t, err)
	ls, err := report.ListExecutions(report.Settings{}, 0, "", false)
	testkit.Must(s.t, err)
	said := map[string]*report.Status{"status": status, "watch": f.View().Status}
	for _, e := range all.Rows {
		if e.Status.Execution == s.root {
			said["the list of watch"] = e.Status
			if e.Need == nil || e.Need.Reason != liveview.Gate {
				add("the list needs %+v", e.Need)
			}
		}
	}
	for i := range ls.Executions {
		if ls.Executions[i].Execution == s.root {
			said["ls"] = &ls.Executions[i]
		}
	}
	if len(said) != 4 {
		add("only these tell of it: %v", said)
	}
	for who, st := range said {
		if (st.Gate != nil) != waits || st.Verdict != want || waits == strings.Contains(st.Answered, "gate ok has expired on ") {
			add("%s: %s, %+v, %q; want it to wait: %t", who, st.Verdict, st.Gate, st.Answered, waits)
		}
	}
	for path, asks := range map[string]string{"": "A gate waits for you", "/gate": `data-act="approve"`} {
		text := s.get(path)
		head, _, _ := strings.Cut(text, "</header>")
		if strings.Contains(text, asks) != waits || strings.Contains(text, "gate ok has expired on ") == waits || !strings.Contains(head, "</span> "+string(want)+"</span>") {
			add("page %q, want it to wait: %t: %s", path, waits, text)
		}
	}
	if _, needs := s.send("GET", "/f/needs", s.server.Address().Look, nil); !strings.Contains(needs, nameOf(s.root)) || strings.Contains(needs, nameOf(s.root)+"/gate") != waits {
		add("what needs you, want it to wait: %t: %s", waits, needs)
	}
	return wrong
}

// TestEventsAreSearchedByRanges: the newest ones at once, and the page says how far; the address
// that it gives searches the older ones.
func TestEventsAreSearchedByRanges(t *testing.T) {
	t.Parallel()
	s := stageOf(t, gated, nil)
	s.run(exitcode.Waiting, nil)
	j, found, err := journal.Open(vfs.OS, s.view().Layout.Events(), nil)
	testkit.Must(t, err)
	const count = 20_500
	events := make([]journal.Event, count)
	for i := range events {
		events[i] = journal.Event{Seq: found.Highest + 1 + uint64(i), ID: fmt.Sprint(i), Timestamp: time.Now().UTC(), Type: "assistant.action", Data: jsontext.Value("{}")}
	}
	testkit.Must(t, errors.Join(j.Append(events...), j.Close()))
	if text := s.get("/events"); strings.Count(text, "assistant.action") != 200 || strings.Contains(text, "Searched") {
		t.Errorf("the newest events: %s", text)
	}
	text := s.get("/events?q=initial+checkpoint")
	from := found.Highest + count - 20_000 + 1
	if !strings.Contains(text, fmt.Sprintf("Searched: 20000 events from event %d on.", from)) {
		t.Errorf("how far it has searched: %s", text)
	}
	if text = s.get(fmt.Sprintf("/events?before=%d&q=initial+checkpoint", from)); strings.Count(text, "<strong>") != 1 || strings.Contains(text, "Searched") {
		t.Errorf("the older ones: %s", text)
	}
}

// TestAnExportIsOneFileWithoutAScript.
func TestAnExportIsOneFileWithoutAScript(t *testing.T) {
	t.Parallel()
	s := stageOf(t, gated, nil)
	s.run(exitcode.Waiting, nil)
	text := pages(t, s)["export"]
	for _, wrong := range []string{"<script", "src=", "href=\"http", "onerror=alert(1)>", "data-act", "href=\"/"} {
		if strings.Contains(strings.ReplaceAll(text, "src=x onerror", ""), wrong) {
			t.Errorf("the file has %q", wrong)
		}
	}
	for _, m := range regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(text, -1) {
		if !strings.Contains(text, `id="`+html.UnescapeString(m[1])+`"`) && m[1] != "" {
			t.Errorf("the place %q is not in the file", m[1])
		}
	}
	if !strings.Contains(text, "default-src 'none'; style-src 'sha256-") || !strings.Contains(text, "two.txt") {
		t.Error("the file lacks its policy, or what has changed")
	}
}

// TestALongFileIsShownAsFarAsItFits: who asks for its lines gets the first ones and the number of
// the others, and the sums are its own.
func TestALongFileIsShownAsFarAsItFits(t *testing.T) {
	t.Parallel()
	s := stageOf(t, `{"hank": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "seq 30000 >long; seq 6104 >other"}]}`, nil)
	s.run(exitcode.Done, nil)
	text := s.get("/diff?from=initial&file=long")
	if !strings.Contains(text, "&#43;20000\n") || !strings.Contains(text, "9802 lines more; to see all: <code>hank diff initial --patch -e ") || !strings.Contains(text, ": 1 file, 30000 lines added") {
		t.Errorf("the lines of the long file: %s", text[max(0, len(text)-600):])
	}
	if text = s.get("/diff?from=initial"); !strings.Contains(text, ": 2 files, 36104 lines added") || strings.Count(text, "Load this file") != 2 {
		t.Errorf("both files: %s", text)
	}
}

// TestAPageIsBounded, however long the lines are that an agent prints and writes; what is left out
// can be had, and a file of all pages says that it lacks it.
func TestAPageIsBounded(t *testing.T) {
	t.Parallel()
	s := stageOf(t, `{"hank": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "line() { head -c $1 /dev/zero | tr '\\0' $2; echo; }; for i in $(seq 12); do line 900000 x; line 400000 y >file$i; done; line 9000000 z >long; until [ -e ../go ]; do sleep 0.01; done"}]}`, nil)
	ended := make(chan error, 1)
	go func() { ended <- s.runs(exitcode.Done, nil) }()
	eventually(t, "printed", func() bool {
		_, err := os.Stat(s.root + "/agentRoot/long")
		return err == nil
	})
	bounded := func(what, text string, most int) string {
		t.Helper()
		if len(text) > most {
			t.Errorf("%s has %d bytes", what, len(text))
		}
		return text
	}
	bounded("the run", s.get(""), 300<<10)
	testkit.Write(t, s.root+"/go", "")
	testkit.Must(t, <-ended)
	all := pages(t, s, "a")
	bounded("the export", all["export"], 2<<20)
	text := bounded("the codon", all["/codon?id=a"], 2<<20)
	if strings.Count(text, "Load this file") != 11 || strings.Count(text, "Load the whole line") != 12 || strings.Count(all["export"], "The rest of the line is left out of this file.") != 12 {
		t.Errorf("the page has %d files and %d lines to load", strings.Count(text, "Load this file"), strings.Count(text, "Load the whole line"))
	}
	whole := regexp.MustCompile(`href="[^"]*(/codon[^"]*)">Load the whole line`).FindStringSubmatch(text)
	if whole == nil {
		t.Fatal("no address of a whole line")
	}
	if text = s.get(html.UnescapeString(whole[1])); !strings.Contains(text, strings.Repeat("x", 900_000)) || strings.Count(text, `class="entry`) != 1 {
		t.Errorf("the whole line has %d bytes", len(text))
	}
	if text = s.get("/diff?from=initial&file=file12"); !strings.Contains(text, strings.Repeat("y", 400_000)) || strings.Contains(text, "left out") {
		t.Errorf("a file by itself has %d bytes", len(text))
	}
	if text = bounded("the long file", s.get("/diff?from=initial&file=long"), 5<<20); !strings.Contains(text, "The rest is left out; to see all: <code>hank diff initial --patch -e ") || len(text) < 3<<20 {
		t.Errorf("the long file has %d bytes", len(text))
	}
}

// TestATranscriptIsShownToItsEnd: an address behind it leads to its last lines.
func TestATranscriptIsShownToItsEnd(t *testing.T) {
	t.Parallel()
	s := stageOf(t, `{"hank": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "seq 300"}]}`, nil)
	s.run(exitcode.Done, nil)
	lines := regexp.MustCompile(`(\d+)–(\d+) of (\d+) lines`)
	last := lines.FindString(s.get("/codon?id=a"))
	for _, from := range []string{"1000", "99999999999999999999"} {
		if got := lines.FindString(s.get("/codon?id=a&from=" + from)); got != last || last == "" {
			t.Errorf("from line %s: %q, want %q", from, got, last)
		}
	}
}

// TestPagesAndJSONAgree: counts, states, and costs to the billionth of a dollar.
func TestPagesAndJSONAgree(t *testing.T) {
	t.Parallel()
	sum := sha256.Sum256([]byte("sh")) // the user has allowed this program
	testkit.Must(t, consent.Give("exec-"+hex.EncodeToString(sum[:8]), time.Now()))
	var codons []string
	var names []string
	for i, price := range []string{"0.000000001", "0.123456789", "1.5", "0.1", "0.2"} {
		name := fmt.Sprintf("c%d", i)
		names = append(names, name)
		codons = append(codons, fmt.Sprintf(`{"id": %q, "name": "C", "model": "exec/demo", "continuationMode": "fresh", "promptText": "p",
		  "exec": ["sh", "-c", "echo '{\"type\":\"session\",\"id\":\"s%d\"}'; echo '{\"type\":\"usage\",\"inputTokens\":1,\"outputTokens\":1,\"costUSD\":%s}'; echo '{\"type\":\"result\",\"ok\":true,\"text\":\"x\"}'"]}`, name, i, price))
	}
	s := stageOf(t, `{"hank": [`+strings.Join(codons, ",")+`]}`, nil)
	s.run(exitcode.Done, nil)
	status, err := report.ReadStatus(context.Background(), s.root, report.Settings{}, "")
	testkit.Must(t, err)
	text, err := json.Marshal(output.StatusOf(status))
	testkit.Must(t, err)
	var printed struct {
		Done    int       `json:"codonsDone"`
		Verdict string    `json:"verdict"`
		Cost    state.USD `json:"cost"`
	}
	testkit.Must(t, json.Unmarshal(text, &printed))
	const want state.USD = 1_923_456_790
	if printed.Cost != want || printed.Done != len(codons) {
		t.Fatalf("the execution is not as planned: %+v", printed)
	}
	v := s.view()
	for _, by := range cost.Ways {
		sums := cost.SumUp(v, cost.Query{By: by, Zone: time.Local}, func(string, costindex.By) (cost.Answer, error) { return cost.Answer{}, io.EOF })
		got := s.get("/money?by=" + by)
		amounts := regexp.MustCompile(`<data[^>]* value="([^"]*)"`).FindAllStringSubmatch(got, -1)
		if len(amounts) != 1+len(sums.Sums) || amounts[0][1] != printed.Cost.String() {
			t.Errorf("by %s: %v; want the total %s and %d sums", by, amounts, printed.Cost, len(sums.Sums))
			continue
		}
		for i, sum := range sums.Sums {
			if amounts[1+i][1] != sum.Cost.String() {
				t.Errorf("by %s: %s costs %s on the page, and %s in the sums", by, sum.Key, amounts[1+i][1], sum.Cost)
			}
		}
	}
	run := s.get("")
	if got := strings.Count(run, "word good"); got != len(names)+2 { // the heading and the run, too
		t.Errorf("%d completed on the page: %s", got, run)
	}
	_, list := s.send("GET", "/f/", s.server.Address().Look, nil)
	card := list[strings.Index(list, nameOf(s.root)):]
	if !strings.Contains(card, fmt.Sprintf("%d/%d codons", printed.Done, len(codons))) || !strings.Contains(card, `value="`+printed.Cost.String()+`"`) || !strings.Contains(card, printed.Verdict) {
		t.Errorf("the list: %s", card)
	}
}

// TestAPageThatManyReadIsNotOld: however often it is read, it shows what has happened since.
func TestAPageThatManyReadIsNotOld(t *testing.T) {
	t.Parallel()
	s := stageOf(t, `{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "until [ -e ../go ]; do sleep 0.01; done"},
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "true"}]}`, nil)
	ended := make(chan error, 1)
	go func() { ended <- s.runs(exitcode.Done, nil) }()
	eventually(t, "begun", func() bool {
		status, text := s.send("GET", "/f"+s.at(""), s.server.Address().Look, nil)
		return status == http.StatusOK && strings.Contains(text, "▶")
	})
	testkit.Write(t, s.root+"/go", "")
	over := make(chan struct{})
	shown := make(chan string, 1)
	go func() {
		text := ""
		for ended := false; !ended && !strings.Contains(text, "2 of 2 finished"); time.Sleep(time.Millisecond) {
			select {
			case <-over:
				ended = true
			default:
			}
			_, text = s.send("GET", "/f"+s.at(""), s.server.Address().Look, nil)
		}
		shown <- text
	}()
	testkit.Must(t, <-ended)
	defer time.AfterFunc(30*time.Second, func() { close(over) }).Stop()
	if text := <-shown; !strings.Contains(text, "2 of 2 finished") {
		t.Errorf("half a minute later the page shows %s", text)
	}
}

// TestThePartsOfAPageAreOfOneTime: of a run in progress the first look has all events that are in the
// journal, and the time of the status is that of the plan.
func TestThePartsOfAPageAreOfOneTime(t *testing.T) {
	t.Parallel()
	s := stageOf(t, `{"hank": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo one; echo two; until [ -e ../go ]; do sleep 0.01; done"}]}`, nil)
	ended := make(chan error, 1)
	go func() { ended <- s.runs(exitcode.Done, nil) }()
	var pages *page.Pages
	get := func(rest string) string {
		text, err := pages.Fragment(context.Background(), page.Place{Path: s.at(rest)})
		if err != nil {
			return ""
		}
		return string(text)
	}
	eventually(t, "printed", func() bool {
		pages = page.New(report.Settings{}, func(text string) string { return text })
		return strings.Contains(get("/events"), "a: two")
	})
	seq := regexp.MustCompile(`data-seq="(\d+)"|<span class="num dim">(\d+)`).FindAllStringSubmatch(get("/events"), 2)
	pages = page.New(report.Settings{}, func(text string) string { return text }) // the first look
	text := get("")
	if now := regexp.MustCompile(`data-seq="(\d+)"`).FindStringSubmatch(text); len(seq) != 2 || now == nil || now[1] != seq[1][2] {
		t.Errorf("the page is as of event %v, and the journal has %v", now, seq)
	}
	for range 3 {
		took := regexp.MustCompile(`(?s)<dt>time</dt><dd>(\S+) of work.*</span></span><span role="cell">([^<]+)</span>`).FindStringSubmatch(text)
		if took == nil || took[1] != took[2] {
			t.Fatalf("the status has worked as long as the plan: %v in %s", took, text)
		}
		text = get("")
	}
	testkit.Write(t, s.root+"/go", "")
	testkit.Must(t, <-ended)
}

// TestTheEventsAreThoseOfTheFilesThatAreThere: the page of events follows a journal that is
// replaced, as by the next segment, by a repair, and by another execution in the same place.
func TestTheEventsAreThoseOfTheFilesThatAreThere(t *testing.T) {
	t.Parallel()
	hank := func(id string) string {
		return `{"hank": [{"id": "` + id + `", "name": "N", "model": "shell", "continuationMode": "fresh", "promptText": "true"}]}`
	}
	s := stageOf(t, hank("earlier"), nil)
	s.run(exitcode.Done, nil)
	if text := s.get("/events"); !strings.Contains(text, "earlier") {
		t.Errorf("the page has %s", text)
	}
	testkit.Must(t, os.RemoveAll(s.root))
	testkit.Write(t, s.hank, hank("later"))
	s.run(exitcode.Done, nil)
	if text := s.get("/events"); strings.Contains(text, "earlier") || !strings.Contains(text, "later") {
		t.Errorf("after another execution was begun in its place the page has %s", text)
	}
}
