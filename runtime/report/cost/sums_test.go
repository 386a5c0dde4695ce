package cost

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"hank/plan"
	"hank/state"
	"hank/state/costindex"
)

// A day begins and ends at midnight of the zone, whatever its difference from UTC is.
func TestDaysAreThoseOfTheZone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		zone := time.FixedZone("Z", rapid.IntRange(-12*4, 14*4).Draw(rt, "quarters")*900)
		want, seen := map[string]state.USD{}, map[string]*costindex.Total{}
		at := time.Unix(1_700_000_000, 0)
		var quarters []costindex.Total
		for i := range rapid.IntRange(0, 30).Draw(rt, "costs") {
			at = at.Add(time.Duration(rapid.IntRange(0, 20*3600).Draw(rt, "later")) * time.Second)
			cost := state.USD(i + 1)
			want[at.In(zone).Format(time.DateOnly)] += cost
			key := costindex.Quarter(at)
			if seen[key] == nil {
				quarters = append(quarters, costindex.Total{Key: key})
			}
			seen[key] = &quarters[len(quarters)-1]
			seen[key].Cost += cost
			seen[key].Entries++
		}
		days := daysOf(quarters, zone)
		if len(days) != len(want) {
			rt.Fatalf("%d days, want %d", len(days), len(want))
		}
		for _, d := range days {
			if d.Cost != want[d.Key] {
				rt.Fatalf("%s has %d, want %d", d.Key, d.Cost, want[d.Key])
			}
		}
	})
	if got := zoneName(time.UTC); got != "UTC" {
		t.Errorf("UTC is called %q", got)
	}
}

// Sentinels make no attempts: by model and by harness their calls are told, also where none was
// answered.
func TestCallsAreNoAttempts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		by   string
		sum  Sum
		want string
	}{
		{"model", Sum{Key: "m", Attempts: 2}, "2"},
		{"model", Sum{Key: "m", Attempts: 2, Calls: 1}, "2, 1 call"},
		{"model", Sum{Key: "m", Calls: 3}, "3 calls"},
		{"model", Sum{Key: "m"}, "0 calls"},
		{"model", Sum{}, "-"},
		{"harness", Sum{Key: "sentinels", Calls: 3}, "3 calls"},
		{"codon", Sum{Key: "a", Attempts: 2, Calls: 3}, "2"},
	} {
		s := Sums{By: c.by}
		if got := s.Requests(c.sum); got != c.want {
			t.Errorf("%s %+v: %q, want %q", c.by, c.sum, got, c.want)
		}
	}
}

// What was cut off while a model worked may have cost more than it has told.
func TestWhatWasCutOffIsUnreported(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		record state.Codon
		want   Unreported
	}{
		"killed":                 {state.Codon{Status: state.Failed, Harness: "codex", ClaudeLogPath: "l", Interrupted: state.InterruptedByCrash}, Unreported{Attempts: 1}},
		"stopped":                {state.Codon{Status: state.Failed, Harness: "pi", ClaudeLogPath: "l", Interrupted: state.InterruptedByStop}, Unreported{Attempts: 1}},
		"skipped":                {state.Codon{Status: state.Skipped, Harness: "pi", ClaudeLogPath: "l"}, Unreported{Attempts: 1}},
		"too late":               {state.Codon{Status: state.Failed, Harness: "pi", ClaudeLogPath: "l", FailureReason: &state.FailureReason{Type: state.FailTimeout}}, Unreported{Attempts: 1}},
		"a budget":               {state.Codon{Status: state.Completed, Harness: "claude", ClaudeLogPath: "l", BudgetExceeded: &state.BudgetExceeded{}}, Unreported{Attempts: 1}},
		"a budget, at its end":   {state.Codon{Status: state.Completed, Harness: "claude", ClaudeLogPath: "l", BudgetExceeded: &state.BudgetExceeded{Finished: true}}, Unreported{}},
		"before its agent":       {state.Codon{Status: state.Failed, Harness: "claude", Interrupted: state.InterruptedByCrash}, Unreported{}},
		"a script":               {state.Codon{Status: state.Failed, Harness: "shell", ClaudeLogPath: "l", Interrupted: state.InterruptedByCrash}, Unreported{}},
		"a replay":               {state.Codon{Status: state.Failed, Harness: "replay", ClaudeLogPath: "l", Interrupted: state.InterruptedByCrash}, Unreported{}},
		"a limit":                {state.Codon{Status: state.Failed, Harness: "pi", ClaudeLogPath: "l", Interrupted: state.InterruptedByLimit}, Unreported{}},
		"completed":              {state.Codon{Status: state.Completed, Harness: "pi", ClaudeLogPath: "l"}, Unreported{}},
		"a sentinel's open call": {state.Codon{Status: state.Completed, Sentinels: &state.Sentinels{Executed: []state.Sentinel{{OpenCalls: 1, UncountedCalls: 2}}}}, Unreported{Calls: 3}},
		"a call that goes on":    {state.Codon{Status: state.Running, Sentinels: &state.Sentinels{Loaded: []state.Sentinel{{OpenCalls: 1}}}}, Unreported{}},
	} {
		if got := unreported(&c.record); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// The calls of sentinels are counted under the keys of their costs.
func TestCallsHaveTheKeysOfCosts(t *testing.T) {
	t.Parallel()
	end := state.At(time.Date(2026, 1, 2, 23, 50, 0, 0, time.UTC))
	c := &state.Codon{CodonID: "a", StartTime: state.At(end.Add(-time.Hour)), EndTime: &end, Model: "big", Harness: "claude", LoopContext: &plan.LoopContext{LoopID: "l"},
		Sentinels: &state.Sentinels{Executed: []state.Sentinel{{ID: "s", Model: "small", LLMCallCount: 3, Tokens: state.Tokens{Input: 1}}}}}
	zone := time.FixedZone("", 3600)
	for way, by := range byWay {
		q := Query{By: way, Zone: zone}
		entries := costsOf(1, "r", c)
		totals := addCosts(nil, by, entries[1:])
		if by == costindex.ByQuarter {
			totals = daysOf(totals, zone)
		}
		if got := q.keyOf("r", c, c.Sentinels.Executed[0]); len(totals) != 1 || got != totals[0].Key {
			t.Errorf("by %s: the calls are under %q, the costs are %+v", way, got, totals)
		}
	}
}

// What --csv prints is read back by a reader of CSV, with every billionth of a dollar.
func TestCSVIsExact(t *testing.T) {
	t.Parallel()
	s := Sums{By: "model", Sums: []Sum{
		{Key: `a, "b"`, Attempts: 2, Bill: state.Bill{Cost: 1_000_000_001, Replayed: 1}, Tokens: state.Tokens{Input: 1, Output: 2, CacheCreation: 3, CacheRead: 4}, Calls: 5},
		{Key: ""},
	}}
	var out bytes.Buffer
	if err := s.WriteCSV(&out); err != nil {
		t.Fatal(err)
	}
	const want = "model,attempts,costUSD,replayedCostUSD,inputTokens,outputTokens,cacheCreationTokens,cacheReadTokens,calls\r\n" +
		"\"a, \"\"b\"\"\",2,1.000000001,0.000000001,1,2,3,4,5\r\n,0,0,0,0,0,0,0,0\r\n"
	if out.String() != want {
		t.Errorf("got\n%s", out.String())
	}
	rows, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
	if err != nil || len(rows) != 3 || rows[1][0] != `a, "b"` {
		t.Errorf("read back: %q, %v", rows, err)
	}
}

// The answer that is written in pieces is the one that readIndex returns, and what goes
// wrong is in it.
func TestAnAnswerInPiecesIsTheWholeAnswer(t *testing.T) {
	t.Parallel()
	ask := func(by costindex.By, execution string) (a Answer) {
		var out bytes.Buffer
		if err := WriteAnswer(&out, execution, by); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out.Bytes(), &a); err != nil {
			t.Fatalf("%v: %s", err, out.String())
		}
		return a
	}
	if a := ask(costindex.ByRun, t.TempDir()); a.Error == "" || len(a.Totals) > 0 {
		t.Errorf("no journal: %+v", a)
	}
	rapid.Custom(func(rt *rapid.T) int {
		c := newCostJournal(rt, t.TempDir())
		at := state.At(time.Unix(1_700_000_000, 0))
		c.record(state.RunStarted{Run: &state.Run{RunID: "r", GitBranch: "x", Status: state.StatusRunning, StartTime: at}})
		c.codon("r", "a", at, true)
		c.codon("r", "b#0", at, true)
		got := ask(costindex.ByCodon, c.layout.Root)
		whole, err := readIndex(c.layout.Root, costindex.ByCodon)
		if err != nil || got.Error != "" || got.Position != whole.Position || len(got.Totals) != 2 || len(whole.Totals) != 2 ||
			got.Totals[0].Bill != whole.Totals[0].Bill || got.Totals[1].Bill != whole.Totals[1].Bill {
			rt.Errorf("in pieces %+v, whole %+v, %v", got, whole, err)
		}
		return 0
	}).Example(1)
}
