package state

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hank/internal/short"
	"hank/plan"
	"hank/plan/model"
	"hank/state/observer"
)

const statesDir = "../fixtures/states"

// story makes a state by the moves that the runtime makes, at times and with
// commits that are the same whenever it is told.
type story struct {
	t    testing.TB
	s    *State
	log  []Transition
	runs int
	shas int
	now  time.Time
}

func newStory(t testing.TB) *story {
	st := &story{t: t, s: &State{Lineage: "0f1e2d3c4b5a69788796a5b4c3d2e1f0"}, now: time.Date(2026, 1, 2, 9, 0, 0, 0, time.UTC)}
	st.do(InitialCheckpointSet{SHA: st.sha()})
	return st
}

func (st *story) at() Time {
	st.now = st.now.Add(1250 * time.Millisecond)
	return At(st.now)
}

func (st *story) sha() SHA {
	st.shas++
	return SHA(fmt.Sprintf("%040x", 0xabc0000+st.shas))
}

func (st *story) do(t Transition) {
	st.t.Helper()
	next, err := Apply(st.s, st.s.Seq+1, t)
	if err != nil {
		st.t.Fatal(err)
	}
	st.s, st.log = next, append(st.log, t)
}

func entry(id CodonID, name string) plan.Entry {
	return plan.Entry{CodonID: id, Codon: &plan.Codon{ID: id, Name: name, PromptFile: plan.Refs{"prompts/" + string(id) + ".md"},
		Model: model.Ref{ProviderID: "anthropic", ModelID: "claude-sonnet-4-5"}, ContinuationMode: plan.Fresh}}
}

func iteration(n int) []plan.Entry {
	var out []plan.Entry
	for i, e := range []plan.Entry{entry("review", "Review the draft"), entry("revise", "Revise it")} {
		e.CodonID = plan.IterationID(e.CodonID, n)
		e.LoopContext = &plan.LoopContext{LoopID: "polish", Iteration: n, CodonIndexInLoop: i}
		out = append(out, e)
	}
	return out
}

func (st *story) json(v any) jsontext.Value {
	text, err := json.Marshal(v)
	if err != nil {
		st.t.Fatal(err)
	}
	return text
}

// plans lays out survey and draft, and whatever comes behind.
func (st *story) plans(more ...plan.Entry) *story {
	entries := append([]plan.Entry{entry("survey", "Survey the sources"), entry("draft", "Write a draft")}, more...)
	st.do(PlanSet{Program: st.sha(), HankHash: "sha256:" + strings.Repeat("5", 64), Entries: st.json(entries)})
	return st
}

func (st *story) run(start StartingConditions) *story {
	st.runs++
	now := st.at()
	id := RunID(fmt.Sprintf("%d-run%02d", now.UnixMilli(), st.runs))
	st.do(RunStarted{&Run{RunID: id, RunFolder: "/home/ada/report/.hankweave/runs/" + string(id), GitBranch: "run-" + string(id), StartingConditions: start,
		Status: StatusRunning, StartTime: now, ServerPid: 4711 + st.runs,
		Process:   jsontext.Value(`{"host":"ada","bootId":"7f3c3f5e-9a53-4d6a-9f4e-1d2c3b4a5f60","pid":4712,"startTicks":123456}`),
		StartedBy: &StartedBy{User: "ada", Host: "ada", Argv: []string{"hank", "run"}}}})
	return st
}

func (st *story) fresh() *story {
	return st.run(StartingConditions{Type: StartFresh, InitialCheckpointSHA: st.s.InitialCheckpoint})
}

func (st *story) move(c *Codon) *story {
	st.do(CodonTransitioned{st.s.CurrentRunID, c})
	return st
}

func (st *story) live() *Codon { return st.s.Current().Live() }

// begin takes a codon to a status that is not final.
func (st *story) begin(id CodonID, upto CodonStatus) *story {
	at := st.s.PlanIndex(id)
	st.do(CodonStarted{st.s.CurrentRunID, &Codon{CodonID: id, StartTime: st.at(), Status: Preparing, LoopContext: st.s.ExecutionPlan()[at].LoopContext,
		Attempt: 1, Harness: "claude", Model: "anthropic/claude-sonnet-4-5", BaseCheckpoint: st.s.Base}})
	if upto == Preparing {
		return st
	}
	next := st.live().Start()
	next.RigSetupCheckpoint = st.sha()
	next.Sentinels = &Sentinels{Loaded: []Sentinel{{ID: "narrator", Model: "anthropic/claude-haiku-4-5", LoadedAt: st.at(), Status: "active"}}}
	st.move(next)
	if upto == Starting {
		return st
	}
	session := st.s.PreviousSession(at).ID
	run := st.s.CurrentRunID
	st.move(st.live().Spawn(5000+st.shas, fmt.Sprintf(".hankweave/runs/%s/%s.1.jsonl", run, id), session))
	if upto == Initializing {
		return st
	}
	st.move(st.live().Work(fmt.Sprintf("00000000-0000-4000-8000-%012d", st.shas)))
	st.do(CostsUpdated{RunID: run, CodonID: id, Cost: Dollars(0.0234), Tokens: Tokens{Input: 1500, Output: 800, CacheRead: 500}, Messages: 5})
	if upto == CompletingSentinels {
		st.move(st.live().Settle(Settling{Status: Completed, ResultSeen: true}))
		done := st.live().Sentinels.Loaded[0]
		at := st.at()
		done.Status, done.UnloadReason, done.UnloadedAt = observer.SentinelUnloaded, observer.UnloadComplete, &at
		st.do(SentinelsUpdated{RunID: run, CodonID: id, Sentinels: &Sentinels{Loaded: []Sentinel{done}}})
	}
	return st
}

func (st *story) complete(id CodonID) *story {
	st.begin(id, CompletingSentinels)
	done := st.live().Conclude(st.at())
	done.CompletionCheckpoint = st.sha()
	return st.move(done)
}

func (st *story) fail(id CodonID, during CodonStatus, reason FailureReason) *story {
	st.begin(id, during)
	bad := st.live().Fail(st.at(), 1, reason)
	bad.ErrorCheckpoint = st.sha()
	return st.move(bad)
}

func (st *story) skip(id CodonID) *story {
	st.begin(id, Running)
	left := st.live().Skip(st.at())
	left.SkipCheckpoint = st.sha()
	return st.move(left)
}

func (st *story) end(reason EndReason) *story {
	if reason == "" {
		st.do(RunCompleted{st.s.CurrentRunID, st.at()})
	} else {
		st.do(RunFailed{RunID: st.s.CurrentRunID, EndTime: st.at(), Reason: reason})
	}
	return st
}

var overloaded = FailureReason{Type: FailTimeout, Retriable: true, Message: "API request timed out after 30s", Class: "overloaded", Rule: "text"}

// stories are the states of fixtures/states by name.
var stories = map[string]func(*story) *story{
	"preparing":    func(st *story) *story { return st.plans().fresh().begin("survey", Preparing) },
	"starting":     func(st *story) *story { return st.plans().fresh().begin("survey", Starting) },
	"initializing": func(st *story) *story { return st.plans().fresh().complete("survey").begin("draft", Initializing) },
	"running":      func(st *story) *story { return st.plans().fresh().complete("survey").begin("draft", Running) },
	"completing-sentinels": func(st *story) *story {
		return st.plans().fresh().complete("survey").begin("draft", CompletingSentinels)
	},
	"completed": func(st *story) *story { return st.plans().fresh().complete("survey").complete("draft").end("") },
	"failed": func(st *story) *story {
		return st.plans().fresh().complete("survey").fail("draft", Running, overloaded).end(EndCodonFailed)
	},
	"rig-failed": func(st *story) *story {
		return st.plans().fresh().fail("survey", Preparing, FailureReason{Type: FailUnknown, Retriable: true, Message: "command 1 of the rig ended with exit code 3", Class: "rig", Rule: "rig-command"}).end(EndCodonFailed)
	},
	"skipped": func(st *story) *story { return st.plans().fresh().skip("survey").complete("draft").end("") },
	"crashed": func(st *story) *story {
		st.plans().fresh().complete("survey").begin("draft", Running)
		cut := st.live().Interrupt(st.at(), InterruptedByCrash, "hank ended while the codon was running")
		cut.ErrorCheckpoint = st.sha()
		st.move(cut)
		st.do(RunCrashed{RunID: st.s.CurrentRunID, EndTime: st.at(), Detail: "its process 4712 is gone"})
		return st
	},
	"loop": func(st *story) *story {
		st.plans(iteration(0)...).fresh().complete("survey").complete("draft").complete("review#0").complete("revise#0")
		st.do(PlanGrown{After: "revise#0", Add: st.json(iteration(1))})
		return st.complete("review#1").begin("revise#1", Running)
	},
	"continuation": func(st *story) *story {
		st.plans().fresh().complete("survey").complete("draft").end("")
		first := st.s.Newest()
		survey := CodonID("survey")
		before := st.s.CurrentPosition()
		back := &Position{RunID: first.RunID, AfterCodon: &survey, CheckpointSHA: first.Codon(0).CompletionCheckpoint, RestartAt: "draft", Reason: ReasonRollback, Before: &before}
		safety := st.sha()
		back.Before.CheckpointSHA = safety
		st.do(IntentOpened{Intent{ID: "0011223344556677", Kind: "rollback", Safety: safety, Owned: safety, To: back.CheckpointSHA, Position: back}})
		st.do(IntentClosed{ID: "0011223344556677"})
		here := st.s.CurrentPosition()
		return st.run(StartingConditions{Type: StartContinuation, Source: &here, Reason: ReasonRollback}).begin("draft", Running)
	},
	"retried": func(st *story) *story {
		st.plans().fresh().complete("survey").fail("draft", Running, overloaded)
		return st.complete("draft").end("")
	},
}

func tell(t testing.TB, name string) *State {
	st := stories[name](newStory(t))
	st.s.Serial = uint64(len(st.log))
	return st.s
}

func stateFile(name string) string { return filepath.Join(statesDir, name+".json") }

func TestEveryCodonStatusHasAStateThatFitsTheSchema(t *testing.T) {
	t.Parallel()
	schema := compile(t, stateSchema())
	seen := map[CodonStatus]bool{}
	for name := range stories {
		s := tell(t, name)
		want := text(t, s)
		published(t, stateFile(name), want)
		if err := fits(schema, want); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if v := validated(s); !v.Valid || len(v.Warnings) > 0 {
			t.Errorf("%s: %v %v", name, v.Errors, v.Warnings)
		}
		back, err := Unmarshal(want)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !bytes.Equal(text(t, back), want) {
			t.Errorf("%s does not survive a round trip", name)
		}
		for _, r := range back.Runs {
			for _, c := range r.Codons() {
				seen[c.Status] = true
			}
		}
	}
	for status := range moves {
		if !seen[status] {
			t.Errorf("no state shows a codon that is %s", status)
		}
	}
}

// The state of another runtime has none of hank's additions, and members that
// hank does not know.
func TestStateOfAnotherRuntimeFitsTheSchemaAndKeepsItsMembers(t *testing.T) {
	t.Parallel()
	foreign, err := os.ReadFile(stateFile("foreign"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(foreign, []byte(`"hank":`)) || bytes.Contains(foreign, []byte(`"digest":`)) {
		t.Fatal("the foreign state has members of hank")
	}
	if err := fits(compile(t, stateSchema()), foreign); err != nil {
		t.Error(err)
	}
	s, err := Unmarshal(foreign)
	if err != nil {
		t.Fatal(err)
	}
	if v := validated(s); !v.Valid {
		t.Error(v.Errors)
	}
	var before, after any
	if err := json.Unmarshal(foreign, &before); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text(t, s), &after); err != nil {
		t.Fatal(err)
	}
	if lost := firstLost(before, after, ""); lost != "" {
		t.Errorf("%s is lost", lost)
	}
}

// firstLost returns the pointer of the first value that is not in another
// document, or nothing.
func firstLost(before, after any, at string) string {
	switch b := before.(type) {
	case map[string]any:
		a, ok := after.(map[string]any)
		for key, value := range b {
			if !ok {
				return at
			}
			kept, there := a[key]
			if !there {
				return at + "/" + key
			}
			if lost := firstLost(value, kept, at+"/"+key); lost != "" {
				return lost
			}
		}
	case []any:
		a, ok := after.([]any)
		if !ok || len(a) != len(b) {
			return at
		}
		for i := range b {
			if lost := firstLost(b[i], a[i], fmt.Sprintf("%s/%d", at, i)); lost != "" {
				return lost
			}
		}
	default:
		if before != after {
			return at
		}
	}
	return ""
}

// verdict is what hank says about a text: damaged, newer, the first error of
// Validate, or ok.
func verdict(data []byte) string {
	s, err := Unmarshal(data)
	var newer *NewerError
	var damaged *DamagedError
	switch {
	case errors.As(err, &newer):
		return "newer"
	case errors.As(err, &damaged):
		return "damaged"
	case err != nil:
		return "unexpected " + err.Error()
	}
	if v := validated(s); !v.Valid {
		return v.First
	}
	return "ok"
}

// broken are the states of fixtures/states/broken with the verdict on each.
var broken = []struct {
	name, verdict string
	make          func(t *testing.T, good []byte) []byte
}{
	{"truncated", "damaged", func(_ *testing.T, good []byte) []byte { return good[:len(good)*2/3] }},
	{"empty", "damaged", func(*testing.T, []byte) []byte { return nil }},
	{"zeroed", "damaged", func(_ *testing.T, good []byte) []byte { return make([]byte, 512) }},
	{"bit-flipped", "damaged", func(_ *testing.T, good []byte) []byte {
		bad := bytes.Clone(good)
		bad[bytes.Index(bad, []byte("0.0234"))+5] ^= 1 // a cost that is still a number
		return bad
	}},
	{"wrong-digest", "damaged", func(t *testing.T, good []byte) []byte {
		at := bytes.LastIndex(good, []byte("sha256:")) + len("sha256:")
		return append(append(bytes.Clone(good[:at]), strings.Repeat("0", 64)...), good[at+64:]...)
	}},
	{"no-digest", "damaged", func(t *testing.T, good []byte) []byte {
		return append(bytes.Clone(good[:bytes.LastIndex(good, []byte(digestKey))]), "\n}\n"...)
	}},
	{"newer-schema", "newer", func(t *testing.T, good []byte) []byte {
		return resealed(t, good, fmt.Sprintf(`"schema": %d`, SchemaVersion), `"schema": 99`)
	}},
	{"missing-run", "missing_run", func(t *testing.T, good []byte) []byte {
		run := tell(t, "running").CurrentRunID
		return resealed(t, good, fmt.Sprintf(`"currentRunId": %q`, run), `"currentRunId": "gone"`)
	}},
	{"invalid-codon", "invalid_codon", func(t *testing.T, good []byte) []byte {
		return resealed(t, good, `"finalCost": `, `"finalCosts": `)
	}},
	{"not-a-state", "damaged", func(*testing.T, []byte) []byte { return []byte("{\"runs\": 1}\n") }},
}

// resealed replaces a text once and gives the result a right digest.
func resealed(t *testing.T, good []byte, from, to string) []byte {
	t.Helper()
	body := good[:bytes.LastIndex(good, []byte(digestKey))]
	if !bytes.Contains(body, []byte(from)) {
		t.Fatalf("%q is not in the state", from)
	}
	return sealed(bytes.Replace(body, []byte(from), []byte(to), 1))
}

func sealed(body []byte) []byte {
	return fmt.Appendf(slices.Clone(body), "%s%x\"\n}\n", digestKey, sha256.Sum256(body))
}

func TestBrokenStatesGetTheRightVerdict(t *testing.T) {
	t.Parallel()
	good := text(t, tell(t, "running"))
	if got := verdict(good); got != "ok" {
		t.Fatalf("the whole state is %s", got)
	}
	names := map[string]bool{}
	for _, b := range broken {
		data := b.make(t, good)
		published(t, stateFile("broken/"+b.name), data)
		if got := verdict(data); got != b.verdict {
			t.Errorf("%s is %s, want %s", b.name, got, b.verdict)
		}
		names[b.name+".json"] = true
	}
	entries, err := os.ReadDir(filepath.Join(statesDir, "broken"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !names[e.Name()] {
			t.Errorf("broken/%s has no verdict", e.Name())
		}
	}
}

// The questions of the state file's reference, answered by a reader that knows
// the documented shape only.
func TestSampleQuestionsAreAnsweredByAnotherReader(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed: the questions of a foreign reader are not asked")
	}
	type answers struct {
		Running     string  `json:"running"`
		LastSuccess string  `json:"lastSuccess"`
		Cost        float64 `json:"cost"`
		TotalCost   float64 `json:"totalCost"`
		Failed      string  `json:"failed"`
	}
	names := []string{"foreign"}
	for name := range stories {
		names = append(names, name)
	}
	slices.Sort(names)
	args := []string{filepath.Join(statesDir, "questions.mjs"), "--json"}
	for _, name := range names {
		args = append(args, stateFile(name))
	}
	out, err := exec.Command(node, args...).Output()
	if err != nil {
		t.Fatalf("node: %v\n%s", err, out)
	}
	var got []answers
	if err := json.Unmarshal(out, &got); err != nil || len(got) != len(names) {
		t.Fatalf("%v\n%s", err, out)
	}
	sha := func(name string, run, codon int) string {
		return string(tell(t, name).Runs[run].Codon(codon).CompletionCheckpoint)
	}
	const each = 0.0234
	timedOut := "draft failed during running: API request timed out after 30s (retriable)"
	want := map[string]answers{
		"preparing":            {Running: "survey"},
		"starting":             {Running: "survey"},
		"initializing":         {Running: "draft", LastSuccess: sha("initializing", 0, 0), Cost: each, TotalCost: each},
		"running":              {Running: "draft", LastSuccess: sha("running", 0, 0), Cost: 2 * each, TotalCost: 2 * each},
		"completing-sentinels": {Running: "draft", LastSuccess: sha("completing-sentinels", 0, 0), Cost: 2 * each, TotalCost: 2 * each},
		"completed":            {LastSuccess: sha("completed", 0, 1), Cost: 2 * each, TotalCost: 2 * each},
		"failed":               {LastSuccess: sha("failed", 0, 0), Cost: 2 * each, TotalCost: 2 * each, Failed: timedOut},
		"rig-failed":           {Failed: "survey failed during preparing: command 1 of the rig ended with exit code 3 (retriable)"},
		"skipped":              {LastSuccess: sha("skipped", 0, 1), Cost: 2 * each, TotalCost: 2 * each},
		"crashed": {LastSuccess: sha("crashed", 0, 0), Cost: 2 * each, TotalCost: 2 * each,
			Failed: "draft failed during running: hank ended while the codon was running (retriable)"},
		"loop":         {Running: "revise#1", LastSuccess: sha("loop", 0, 4), Cost: 6 * each, TotalCost: 6 * each},
		"continuation": {Running: "draft", LastSuccess: sha("continuation", 1, 0), Cost: each, TotalCost: 3 * each},
		"retried":      {LastSuccess: sha("retried", 0, 2), Cost: 3 * each, TotalCost: 3 * each, Failed: timedOut},
		"foreign": {Running: "write", LastSuccess: "0123456789abcdef0123456789abcdef01234567", Cost: 0.0575, TotalCost: 0.0731,
			Failed: "check failed during running: the model is overloaded (retriable)"},
	}
	for i, name := range names {
		g, w := got[i], want[name]
		if dollars(g.Cost) != dollars(w.Cost) || dollars(g.TotalCost) != dollars(w.TotalCost) {
			t.Errorf("%s: costs %v and %v, want %v and %v", name, g.Cost, g.TotalCost, w.Cost, w.TotalCost)
		}
		g.Cost, g.TotalCost, w.Cost, w.TotalCost = 0, 0, 0, 0
		if g != w {
			t.Errorf("%s: %+v, want %+v", name, g, w)
		}
	}
}

// dollars rounds away what adding floats leaves.
func dollars(f float64) USD { return (Dollars(f) + 500) / 1000 }
