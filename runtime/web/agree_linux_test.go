package web

import (
	"context"
	"errors"
	"fmt"
	"html"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"hank/internal/race"
	"hank/internal/short"
	"hank/internal/vfs"
	"hank/runtime/exitcode"
	"hank/runtime/internal/testkit"
	"hank/runtime/liveview"
	"hank/runtime/report"
	"hank/runtime/report/output"
	"hank/runtime/screen"
	"hank/runtime/verdict"
	"hank/runtime/web/page"
	"hank/state"
	"hank/state/journal"
)

const agreed = `{"meta": {"name": "Agreed", "version": "1.0.0"}, "hank": [
  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo a >a"},
  {"type": "loop", "id": "l", "name": "L", "terminateOn": {"type": "iterationLimit", "limit": 2}, "codons": [
    {"id": "x", "name": "X", "model": "shell", "continuationMode": "fresh", "promptText": "true"},
    {"id": "y", "name": "Y", "model": "shell", "continuationMode": "fresh", "promptText": "true"}]},
  {"id": "z", "name": "Z", "model": "shell", "continuationMode": "fresh", "promptText": "true", "gate": {"id": "ok", "when": "after", "kind": "approve", "summary": "Good?"}}]}`

// story is a journal that goes on at random after what a real run has written.
type story struct {
	r      *rand.Rand
	s      *state.State
	at     state.Time
	sha    state.SHA // of a checkpoint that is there
	events []journal.Event
}

// record adds a transition, if it is a legal one.
func (y *story) record(t state.Transition) bool {
	next, err := state.Apply(y.s, y.s.Seq+1, t)
	if err != nil {
		return false
	}
	data, err := state.Encode(t)
	if err != nil {
		return false
	}
	y.at = state.At(y.at.Add(time.Duration(y.r.IntN(5000)) * time.Millisecond))
	y.events = append(y.events, journal.Event{Seq: next.Seq, ID: fmt.Sprint(next.Seq), Timestamp: y.at.Time, Type: state.TransitionEvent, Data: data})
	y.s = next
	return true
}

// run adds a run that continues from any place, with retries, skips, failures, usage limits,
// interruptions and gates, and ends in any way.
func (y *story) run(number int) {
	id := state.RunID(fmt.Sprintf("%d-aaaaa", number+1))
	from := state.StartingConditions{Type: state.StartFresh}
	if path := y.s.LineagePath(); len(path) > 0 && y.r.IntN(4) > 0 {
		step := path[y.r.IntN(len(path))]
		after := step.Codon.CodonID
		from = state.StartingConditions{Type: state.StartContinuation, Reason: []string{state.ReasonRetry, "rollback", "continue"}[y.r.IntN(3)],
			Source: &state.Position{RunID: step.Run.RunID, AfterCodon: &after, CheckpointSHA: y.sha}}
	}
	if !y.record(state.RunStarted{Run: &state.Run{RunID: id, GitBranch: "run-" + string(id), Status: state.StatusRunning, StartTime: y.at, StartingConditions: from}}) {
		return
	}
	plan := y.s.ExecutionPlan()
	for range y.r.IntN(8) {
		if next := y.s.Next(); next < 0 || next >= len(plan) || !y.codon(id, plan[next]) {
			break
		}
	}
	switch at := y.at; y.r.IntN(3) {
	case 0:
		y.record(state.RunCompleted{RunID: id, EndTime: at})
	case 1:
		y.record(state.RunFailed{RunID: id, EndTime: at, Reason: state.EndStopped})
	default:
		y.record(state.RunFailed{RunID: id, EndTime: at, Reason: []state.EndReason{state.EndCodonFailed, state.EndBudget, state.EndGate}[y.r.IntN(3)], Detail: "because"})
	}
}

// codon adds the attempts at a codon; false: the run ends with it.
func (y *story) codon(run state.RunID, entry *state.PlanEntry) bool {
	for number := 1; number <= 3; number++ {
		r := &state.Codon{CodonID: entry.CodonID, LoopContext: entry.LoopContext, StartTime: y.at, Status: state.Preparing, Attempt: number, Model: "shell", Harness: []string{"shell", state.HarnessReplay}[y.r.IntN(2)], BaseCheckpoint: y.sha}
		if !y.record(state.CodonStarted{RunID: run, Record: r}) {
			return false
		}
		for _, next := range []func(*state.Codon) *state.Codon{(*state.Codon).Start, func(k *state.Codon) *state.Codon { return k.Spawn(7, "log", "") }, func(k *state.Codon) *state.Codon { return k.Work("session") }} {
			r = next(r)
			y.record(state.CodonTransitioned{RunID: run, Record: r})
		}
		for range y.r.IntN(3) {
			y.record(state.CostsUpdated{RunID: run, CodonID: entry.CodonID, Cost: state.USD(y.r.Int64N(3_000_000_000)), Tokens: state.Tokens{Input: y.r.Int64N(1000)}})
		}
		live := y.s.Run(run).Live()
		var final *state.Codon
		how := y.r.IntN(7)
		switch how {
		case 0:
			final = live.Skip(y.at)
			final.SkipCheckpoint = y.sha
		case 1:
			final = live.Fail(y.at, 3, state.FailureReason{Type: state.FailUnknown, Message: "exit status 3"})
		case 2:
			until := state.At(y.at.Add(time.Hour))
			final = live.Fail(y.at, 1, state.FailureReason{Type: state.FailRateLimit, Retriable: true, Message: "usage limit", ResetsAt: &until})
		case 3:
			final = live.Interrupt(y.at, state.InterruptedByStop, "stopped")
		default:
			final = live.Complete(y.at, true)
			final.CompletionCheckpoint = y.sha
		}
		if final.Status == state.Failed {
			final.ErrorCheckpoint = y.sha
		}
		if !y.record(state.CodonTransitioned{RunID: run, Record: final}) {
			return false
		}
		if final.Status == state.Failed && y.r.IntN(3) > 0 {
			continue
		}
		if final.Status != state.Failed && entry.Codon.Gate != nil {
			g := state.Gate{Number: y.s.NextGate(), Gate: entry.Codon.Gate.ID, CodonID: entry.CodonID, Asked: entry.Codon.Gate, Checkpoint: y.sha, Lineage: y.s.Lineage, RunID: run, Time: y.at, Status: state.GatePending}
			if y.record(state.GateRequested{Request: g}) && y.r.IntN(2) == 0 {
				y.record(state.GateAnswered{Number: g.Number, Status: state.GateApproved, Answer: state.GateAnswer{Time: y.at}})
			}
		}
		return final.Status != state.Failed
	}
	return false
}

// TestScreenPageAndJSONAgree about random journals: what each codon has come to and how often it
// was tried, how many are finished, the verdict, and the costs to the billionth of a dollar.
// HANK_LONG=1 tries many more.
func TestScreenPageAndJSONAgree(t *testing.T) {
	t.Parallel()
	race.Without(t)
	short.Skip(t)
	s := stageOf(t, agreed, nil)
	s.run(exitcode.Waiting, nil)
	base := s.view()
	events, saved := journal.Current(base.Layout.Events()), base.Layout.State()
	begin, err := os.ReadFile(events)
	testkit.Must(t, err)
	beginSaved, err := os.ReadFile(saved)
	testkit.Must(t, err)
	count := 150
	if os.Getenv("HANK_LONG") != "" {
		count = 3000
	}
	seen := map[string]int{}
	for seed := range count {
		y := &story{r: rand.New(rand.NewPCG(uint64(seed), 191)), s: base.State, at: state.At(base.State.Newest().StartTime.Add(time.Minute)), sha: state.SHA(base.State.CurrentPosition().CheckpointSHA)}
		for n := range 1 + y.r.IntN(4) {
			y.run(n)
		}
		testkit.Must(t, errors.Join(os.WriteFile(events, begin, 0o600), os.WriteFile(saved, beginSaved, 0o600)))
		j, _, err := journal.Open(vfs.OS, base.Layout.Events(), nil)
		testkit.Must(t, err)
		testkit.Must(t, errors.Join(j.Append(y.events...), j.Close()))
		if agree(t, s, seed, y.s, seen); t.Failed() {
			return // the seed makes the same journal again
		}
	}
	t.Logf("the codons have come to %v", seen)
	for _, of := range []verdict.Verdict{"", verdict.Completed, verdict.Failed, verdict.Skipped} {
		if seen[string(of)] < count/10 {
			t.Errorf("too few journals have a codon that is %q: %d", of, seen[string(of)])
		}
	}
}

var (
	exactData = regexp.MustCompile(`<data[^>]* value="([^"]*)"`)
	rowsOf    = regexp.MustCompile(`(?s)<div role="row" class="prow[^>]*>(.*?)</div>`)
	wordOf    = regexp.MustCompile(`(?s)class="word [^"]*"><span aria-hidden="true">[^<]*</span> ([^<]*)</span>(?: <span class="dim">(\d+) attempts)?`)
)

func agree(t *testing.T, s *stage, seed int, want *state.State, seen map[string]int) {
	t.Helper()
	f, err := liveview.Open(context.Background(), s.root, report.Settings{}, "")
	testkit.Must(t, err)
	v := f.View()
	status, err := report.ReadStatus(context.Background(), s.root, report.Settings{}, "")
	testkit.Must(t, err)
	text, err := json.Marshal(output.StatusOf(status))
	testkit.Must(t, err)
	var printed struct {
		Done    int       `json:"codonsDone"`
		Planned int       `json:"codonsPlanned"`
		Verdict string    `json:"verdict"`
		Cost    state.USD `json:"cost"`
	}
	testkit.Must(t, json.Unmarshal(text, &printed))
	if v.State.Bill() != want.Bill() || printed.Cost != want.Bill().Cost || len(v.State.Runs) != len(want.Runs) {
		t.Errorf("seed %d: %d runs for %s, %s in JSON; the journal has %d for %s", seed, len(v.State.Runs), v.State.Bill().Text(), printed.Cost, len(want.Runs), want.Bill().Text())
	}

	tree := v.Tree()
	sum, rows := tree.Elsewhere.Cost, tree.Rows(func(state.CodonID) bool { return true })
	for _, n := range tree.Nodes {
		sum += n.Bill.Cost
	}
	if sum != printed.Cost || v.Status.Cost != printed.Cost || v.Status.Done != printed.Done || string(v.Status.Verdict) != printed.Verdict {
		t.Errorf("seed %d: the screen has %s, %d, %s; JSON %s, %d, %s", seed, sum, v.Status.Done, v.Status.Verdict, printed.Cost, printed.Done, printed.Verdict)
	}
	look := screen.New()
	look.Viewed(v)
	look.Resize(200, 60)
	if head := look.Draw()[0]; !strings.Contains(head, printed.Verdict) || !strings.Contains(head, fmt.Sprint(printed.Done)+" of ") && printed.Done < printed.Planned {
		t.Errorf("seed %d: the screen begins with %q, JSON has %d of %d, %s", seed, head, printed.Done, printed.Planned, printed.Verdict)
	}

	fresh := page.New(report.Settings{}, func(text string) string { return text }) // it may look at files at rest once a second
	get := func(rest string) string {
		text, err := fresh.Fragment(context.Background(), page.Place{Path: s.at(rest)})
		testkit.Must(t, err)
		return string(text)
	}
	run := get("")
	if !strings.Contains(run, html.EscapeString(printed.Verdict)+"</span></h1>") {
		t.Errorf("seed %d: the page has another verdict than %s", seed, printed.Verdict)
	}
	if money := exactData.FindStringSubmatch(get("/money")); money == nil || money[1] != printed.Cost.String() {
		t.Errorf("seed %d: the page of money has %v, JSON %s", seed, money, printed.Cost)
	}
	onPage := map[string]string{}
	for _, row := range rowsOf.FindAllStringSubmatch(run, -1) {
		name := regexp.MustCompile(`">([^<]*)</a>`).FindStringSubmatch(row[1])
		word, costs := wordOf.FindStringSubmatch(row[1]), exactData.FindStringSubmatch(row[1])
		if name != nil && word != nil && costs != nil {
			onPage[html.UnescapeString(name[1])] = fmt.Sprintf("%s %s %s", html.UnescapeString(word[1]), word[2], costs[1])
		}
	}
	for _, n := range rows {
		if n.Codon == "" {
			continue
		}
		seen[string(n.Verdict)]++
		word, often := string(n.Verdict), ""
		if word == "" && n.Next {
			word = "next"
		} else if word == "" {
			word = "to come"
		}
		if n.Attempts > 1 {
			often = fmt.Sprint(n.Attempts)
		}
		if got, want := onPage[string(n.Codon)], fmt.Sprintf("%s %s %s", word, often, n.Bill.Cost); got != want {
			t.Errorf("seed %d: %s is %q on the page and %q on the screen", seed, n.Codon, got, want)
		}
		list, err := report.ListAttempts(v.Recovery(), n.Codon, 0, "", "", report.Settings{}.Layers)
		if n.Attempts == 0 {
			continue
		}
		testkit.Must(t, err)
		var bill state.USD
		of := verdict.Verdict("")
		for _, a := range list.Codons {
			if bill += a.Bill().Cost; n.Record != nil && a.RunID == n.Run.RunID && a.Attempt == n.Record.Attempt {
				of = a.Verdict
			}
		}
		if bill != n.Bill.Cost || len(list.Codons) != n.Attempts || of != n.Verdict || len(v.Attempts(n.Node)) != n.Attempts {
			t.Errorf("seed %d: %s has %d attempts for %s, %q; the list of attempts %d for %s, %q", seed, n.Codon, n.Attempts, n.Bill.Cost, n.Verdict, len(list.Codons), bill, of)
		}
	}
}
