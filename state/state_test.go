package state

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"hank/internal/race"
	"hank/plan"
	"hank/plan/loop"
	"path"
	"regexp"
	"strconv"
)

var epoch = At(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))

// walker makes random legal histories.
type walker struct {
	t    *rapid.T
	s    *State
	seq  uint64
	log  []Transition
	runs int
	shas int
}

func (w *walker) sha() SHA {
	w.shas++
	return SHA(fmt.Sprintf("%040x", w.shas))
}

func (w *walker) do(t Transition) {
	w.seq++
	next, err := Apply(w.s, w.seq, t)
	if err != nil {
		w.t.Fatalf("legal move refused: %v", err)
	}
	w.s = next
	w.log = append(w.log, t)
}

func entriesJSON(t testing.TB, n int) []byte {
	entries := make([]plan.Entry, n)
	for i := range entries {
		id := CodonID(fmt.Sprintf("c%d", i))
		entries[i] = plan.Entry{Codon: &plan.Codon{ID: id, Name: string(id)}, CodonID: id}
	}
	text, err := json.Marshal(entries)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func newWalker(t *rapid.T, entries []byte) *walker {
	w := &walker{t: t, s: &State{Lineage: "l"}}
	w.do(InitialCheckpointSet{SHA: w.sha()})
	w.do(PlanSet{Program: w.sha(), HankHash: "h", Entries: entries})
	return w
}

func (w *walker) startRun(start StartingConditions) RunID {
	w.runs++
	id := RunID(fmt.Sprintf("run%d", w.runs))
	w.do(RunStarted{&Run{RunID: id, GitBranch: "run-" + string(id), Status: StatusRunning, StartTime: epoch, StartingConditions: start}})
	return id
}

// attempt takes a codon through random legal statuses to a final one. On the
// way the run may be paused; then only the final status is left.
func (w *walker) attempt(run RunID, id CodonID) {
	rec := Codon{CodonID: id, StartTime: epoch, Status: Preparing, BaseCheckpoint: w.s.Base}
	first := rec
	w.do(CodonStarted{run, &first})
	for !rec.Status.Terminal() {
		legal := slices.Clone(moves[rec.Status])
		if w.s.Run(run).Paused == nil && rapid.IntRange(0, 9).Draw(w.t, "pause") == 0 {
			w.do(RunPaused{RunID: run, Time: epoch, Reason: EndDecision, Detail: "d"})
		}
		if w.s.Run(run).Paused != nil {
			legal = slices.DeleteFunc(legal, func(s CodonStatus) bool { return !s.Terminal() })
		}
		next := rapid.SampledFrom(legal).Draw(w.t, "next")
		cost := USD(rapid.Int64Range(0, 1e9).Draw(w.t, "cost"))
		w.fill(&rec, next, cost)
		copied := rec
		w.do(CodonTransitioned{run, &copied})
		if next == Running && rapid.Bool().Draw(w.t, "costs") {
			w.do(CostsUpdated{RunID: run, CodonID: id, Cost: cost * 2, Tokens: Tokens{Input: 1}, Messages: 3})
		}
	}
}

func (w *walker) fill(rec *Codon, next CodonStatus, cost USD) {
	zero, end, from := 0, epoch, rec.Status
	rec.Status = next
	switch next {
	case Initializing:
		rec.ClaudePid, rec.ClaudeLogPath = 7, "log"
	case Running:
		rec.ClaudeSessionID, rec.CurrentCost, rec.CurrentTokens = "s", &cost, &Tokens{}
	case Completed:
		rec.EndTime, rec.ExitCode, rec.FinalCost, rec.FinalTokens, rec.CompletionCheckpoint = &end, &zero, &cost, &Tokens{}, w.sha()
	case Failed:
		rec.EndTime, rec.ExitCode, rec.FailedDuring, rec.FailureReason = &end, &zero, from, &FailureReason{Type: FailUnknown}
		rec.FailureIgnored = rapid.Bool().Draw(w.t, "ignored")
		rec.ErrorCheckpoint = w.sha()
	case Skipped:
		rec.EndTime, rec.SkippedDuring, rec.SkipCheckpoint = &end, from, w.sha()
	}
}

func text(t interface{ Fatal(...any) }, s *State) []byte {
	b, err := s.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestEveryLegalHistoryRoundTripsAndReplays(t *testing.T) {
	t.Parallel()
	entries := entriesJSON(t, 6)
	rapid.Check(t, func(rt *rapid.T) {
		w := newWalker(rt, entries)
		start := StartingConditions{Type: StartFresh, InitialCheckpointSHA: w.s.InitialCheckpoint}
		var texts [][]byte
		var states []*State
		for range rapid.IntRange(1, 4).Draw(rt, "runs") {
			run := w.startRun(start)
			for w.s.Next() < 6 && w.s.Run(run).Paused == nil && rapid.IntRange(0, 3).Draw(rt, "go on") > 0 {
				w.attempt(run, w.s.ExecutionPlan()[w.s.Next()].CodonID)
				states, texts = append(states, w.s), append(texts, text(rt, w.s))
			}
			w.do(RunFailed{RunID: run, EndTime: epoch, Reason: EndStopped})
			if w.s.Run(run).Paused != nil {
				rt.Fatal("a run that has ended is paused")
			}
			last := w.s.LastSettled()
			start = StartingConditions{Type: StartContinuation, Reason: ReasonContinue, Source: &Position{RunID: run, CheckpointSHA: w.s.Base}}
			if last != nil {
				start.Source.RunID, start.Source.AfterCodon = last.Run.RunID, &last.Codon.CodonID
			}
		}
		for i, s := range states { // purity: no older state was changed
			if !bytes.Equal(text(rt, s), texts[i]) {
				rt.Fatalf("state %d changed after it was replaced", i)
			}
		}
		back, err := Unmarshal(text(rt, w.s))
		if err != nil {
			rt.Fatal(err)
		}
		if got, want := text(rt, back), text(rt, w.s); !bytes.Equal(got, want) {
			rt.Fatalf("round trip differs:\n%s\n---\n%s", got, want)
		}
		if v := validated(w.s); !v.Valid {
			rt.Fatalf("a legal state is invalid: %v", v.Errors)
		}
		replay(rt, w)
	})
}

// replay folds the journal's form of the history and expects the same state.
func replay(rt *rapid.T, w *walker) {
	s := &State{Lineage: "l"}
	for i, tr := range w.log {
		next, err := Apply(s, uint64(i+1), tr)
		if err != nil {
			rt.Fatal(err)
		}
		data, err := next.Event(tr)
		if err != nil {
			rt.Fatal(err)
		}
		decoded, err := Decode(data)
		if err != nil {
			rt.Fatal(err)
		}
		if s, err = Apply(s, uint64(i+1), decoded); err != nil {
			rt.Fatal(err)
		}
		if carried := s.spent; carried != s.addUp() && s.CurrentRunID != "" || carried.total != s.Bill().Cost {
			rt.Fatalf("after %s the state says %+v, and its records come to %+v", tr.Type(), carried, s.addUp())
		}
	}
	if !bytes.Equal(text(rt, s), text(rt, w.s)) {
		rt.Fatal("the fold of the journal is not the state")
	}
	rebased, err := s.Rebase("test")
	if err != nil {
		rt.Fatal(err)
	}
	data, err := Encode(rebased)
	if err != nil {
		rt.Fatal(err)
	}
	again, err := Decode(data)
	if err != nil {
		rt.Fatal(err)
	}
	if s, err = Apply(&State{}, s.Seq, again); err != nil || !bytes.Equal(text(rt, s), text(rt, w.s)) {
		rt.Fatalf("a rebased state differs (%v)", err)
	}
}

// The transition table decides alone: every pair of statuses is tried.
func TestIllegalMovesAreRefusedAndChangeNothing(t *testing.T) {
	t.Parallel()
	all := []CodonStatus{Preparing, Starting, Initializing, Running, CompletingSentinels, Completed, Failed, Skipped}
	// All pairs, written down once more: a row is what a record is, a column what it may become.
	legal := map[CodonStatus]string{
		//                   P S I R C c f s
		Preparing:           "- + - - - - + +",
		Starting:            "- - + - - - + +",
		Initializing:        "- - - + - - + +",
		Running:             "- - - - + + + +",
		CompletingSentinels: "- - - - - + + +",
		Completed:           "- - - - - - - -",
		Failed:              "- - - - - - - -",
		Skipped:             "- - - - - - - -",
	}
	for _, from := range all {
		for i, to := range all {
			run := &Run{RunID: "r", Status: StatusRunning}
			s := &State{Runs: []*Run{run}, CurrentRunID: "r"}
			why := fmt.Sprintf("codon c cannot go from %s to %s", from, to)
			if rec := full(from); from.Terminal() {
				run.done = newList([]*Codon{rec})
				why = "codon c is not in progress in run r"
			} else {
				run.live = rec
			}
			if legal[from][2*i] == '+' {
				why = ""
			}
			before := text(t, s)
			_, err := Apply(s, 1, CodonTransitioned{"r", full(to)})
			isRefused(t, fmt.Sprintf("%s -> %s", from, to), err, why)
			if !bytes.Equal(before, text(t, s)) {
				t.Errorf("%s -> %s changed the state it was applied to", from, to)
			}
		}
	}
}

// An event that the state reflects already, or that comes from before, is not
// applied again; only a whole state takes its place, wherever it stands.
func TestAnEventThatIsNotBehindTheLastIsRefused(t *testing.T) {
	t.Parallel()
	s := apply(t, &State{Lineage: "l"}, InitialCheckpointSet{SHA: "1"}, PlanSet{Entries: entriesJSON(t, 2)}, LimitsSet{Limits{MaxDollars: Dollar}})
	before := text(t, s)
	for _, seq := range []uint64{0, 1, 2, 3} {
		_, err := Apply(s, seq, LimitsSet{Limits{MaxDollars: 2 * Dollar}})
		isRefused(t, fmt.Sprintf("event %d", seq), err, fmt.Sprintf("event %d is not after event 3", seq))
	}
	if !bytes.Equal(before, text(t, s)) {
		t.Error("what was refused has changed the state")
	}
	if next, err := Apply(s, 4, LimitsSet{}); err != nil || next.Seq != 4 {
		t.Errorf("event 4: %v", err)
	}
	if next, err := Apply(s, 2, Rebased{State: before}); err != nil || next.Seq != 2 {
		t.Errorf("a whole state: %v", err)
	}
}

// isRefused checks that a move was refused for a reason; for none, that it was not.
func isRefused(t *testing.T, name string, err error, why string) {
	t.Helper()
	var illegal *IllegalMoveError
	switch {
	case why == "" && err != nil:
		t.Errorf("%s: %v", name, err)
	case why != "" && (!errors.As(err, &illegal) || illegal.Why != why):
		t.Errorf("%s: %v; must be refused because %s", name, err, why)
	}
}

// Of a paused run only the end of its record, and then its own, is still to come.
func TestAPausedRunCanOnlyEnd(t *testing.T) {
	t.Parallel()
	pause := RunPaused{RunID: "r", Time: epoch, Reason: EndDecision, Detail: "why"}
	at := func(live CodonStatus, paused *Pause) *State {
		return &State{Runs: []*Run{{RunID: "r", Status: StatusRunning, live: full(live), Paused: paused}}, CurrentRunID: "r"}
	}
	s, err := Apply(at(CompletingSentinels, nil), 1, pause)
	if err != nil || s.Run("r").Paused == nil || s.Run("r").Paused.Detail != "why" || s.CurrentRunID != "r" || !validated(s).Valid {
		t.Fatalf("%+v, %v, %+v", s, err, validated(s))
	}
	done := &State{Runs: []*Run{{RunID: "r", Status: StatusRunning}}, CurrentRunID: "r"}
	costs := CostsUpdated{RunID: "r", CodonID: "c"}
	for name, try := range map[string]struct {
		s   *State
		t   Transition
		why string
	}{
		"a second pause":        {s, pause, "run r is paused already"},
		"a pause between two":   {done, pause, "no codon of run r is in progress"},
		"a pause of another":    {at(Running, nil), RunPaused{RunID: "q"}, `run "q" is not the current one`},
		"the next codon status": {at(Running, &Pause{}), CodonTransitioned{"r", full(CompletingSentinels)}, "run r is paused: codon c can only end"},
		"costs":                 {at(Running, &Pause{}), costs, "codon c is not in progress in run r"},
		"costs without a pause": {at(Running, nil), costs, ""},
		"the run's end first":   {s, RunFailed{RunID: "r", EndTime: epoch}, "codon c of run r is completing-sentinels"},
	} {
		_, err := Apply(try.s, 2, try.t)
		isRefused(t, name, err, try.why)
	}
	s.plan = newList([]*PlanEntry{{Entry: plan.Entry{CodonID: "c", Codon: &plan.Codon{}}}})
	if s, err = Apply(s, 2, CodonTransitioned{"r", full(Completed)}); err != nil {
		t.Fatal(err)
	}
	_, err = Apply(s, 3, CodonStarted{"r", full(Preparing)})
	isRefused(t, "another codon", err, "run r is paused")
	if s, err = Apply(s, 3, RunFailed{RunID: "r", EndTime: epoch, Reason: EndDecision}); err != nil || s.Run("r").Paused != nil || s.CurrentRunID != "" {
		t.Errorf("%+v, %v", s.Run("r"), err)
	}
}

// full is a record with every field that any status needs.
func full(status CodonStatus) *Codon {
	zero, cost, end := 0, USD(1), epoch
	return &Codon{CodonID: "c", StartTime: epoch, Status: status, EndTime: &end, ClaudePid: 1, ClaudeLogPath: "l", ClaudeSessionID: "s",
		CurrentCost: &cost, CurrentTokens: &Tokens{}, FinalCost: &cost, FinalTokens: &Tokens{}, ExitCode: &zero,
		CompletionCheckpoint: SHA(strings.Repeat("a", 40)), FailedDuring: Running, SkippedDuring: Running, FailureReason: &FailureReason{Type: FailUnknown}}
}

func TestAnyFlippedBitOfStateIsNoticed(t *testing.T) {
	t.Parallel()
	race.Without(t)
	s := &State{Lineage: "l", Runs: []*Run{{RunID: "r", Status: StatusRunning, live: full(Running)}}, CurrentRunID: "r"}
	good := text(t, s)
	if err := Verify(good); err != nil {
		t.Fatal(err)
	}
	for i := range good {
		for bit := range 8 {
			bad := bytes.Clone(good)
			bad[i] ^= 1 << bit
			if Verify(bad) == nil {
				t.Fatalf("flipping bit %d of byte %d (%q -> %q) went unnoticed", bit, i, good[i], bad[i])
			}
		}
		if Verify(good[:i]) == nil {
			t.Fatalf("cut to %d bytes went unnoticed", i)
		}
	}
}

func TestForeignStateKeepsUnknownFieldsAtEveryLevel(t *testing.T) {
	t.Parallel()
	foreign := `{"runs":[{"runId":"r","runFolder":"/x","gitBranch":"run-r","startingConditions":{"type":"fresh","x1":1},
	"codons":[{"codonId":"a","startTime":"2025-01-04T12:00:00.000Z","status":"running","claudePid":1,"claudeSessionId":"s","claudeLogPath":"l",
	"currentCost":0.0234,"currentTokens":{"inputTokens":1,"outputTokens":2,"cacheCreationTokens":0,"cacheReadTokens":5,"x7":1},"assistantMessageCount":5,
	"sentinels":{"loaded":[{"id":"n","model":"m","loadedAt":"2025-01-04T12:00:05.000Z","llmCallCount":12,"failedLLMCalls":0,"totalTriggers":15,"totalCost":0.0012,"status":"active","x3":[1]}],"totalCost":0.0012,"x4":{}},"x2":{"deep":true}}],
	"status":"running","startTime":"2025-01-04T12:00:00.000Z","serverPid":1,"x5":"y"}],"currentRunId":"r","executionPlan":[],"x6":null}`
	s, err := Unmarshal([]byte(foreign))
	if err != nil {
		t.Fatal(err)
	}
	out := string(text(t, s))
	for _, want := range []string{`"x1": 1`, `"x2": {`, `"x3": [`, `"x4": {}`, `"x5": "y"`, `"x6": null`, `"x7": 1`} {
		if !strings.Contains(out, want) {
			t.Errorf("%s is lost in\n%s", want, out)
		}
	}
	again, err := Unmarshal([]byte(out))
	if err != nil {
		t.Fatal(err)
	}
	if string(text(t, again)) != out {
		t.Error("a second round trip changes the text")
	}
}

func TestNewerStateIsNotDamage(t *testing.T) {
	t.Parallel()
	var newer *NewerError
	for name, text := range map[string]string{
		"of our shape":      `{"runs":[],"currentRunId":null,"executionPlan":[],"hank":{"schema":99}}`,
		"of another shape":  `{"runs":{"a":1},"hank":{"schema":99}}`,
		"other additions":   `{"runs":[],"currentRunId":null,"executionPlan":[],"hank":{"schema":99,"seq":"many"}}`,
		"without our lists": `{"hank":{"schema":99}}`,
	} {
		if err := Verify([]byte(text)); !errors.As(err, &newer) || newer.Schema != 99 {
			t.Errorf("%s: got %v, want a NewerError", name, err)
		}
	}
	var damaged *DamagedError
	if err := Verify([]byte(`{"runs":{},"hank":{"schema":1}}`)); !errors.As(err, &damaged) {
		t.Errorf("a present schema with another shape: got %v, want a DamagedError", err)
	}
	if err := Verify([]byte(`{"hank":{"schema":99},"runs":[`)); !errors.As(err, &damaged) {
		t.Errorf("a newer schema, cut off: got %v, want a DamagedError", err)
	}
}

func TestAbsentFlagsAreLeftOut(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]any{"startedBy": StartedBy{}, "position": Position{}, "failureReason": FailureReason{}} {
		text, err := indent(v, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, member := range []string{"unattended", "rigDone", "retryAfterMs"} {
			if strings.Contains(string(text), member) {
				t.Errorf("%s: an absent %s is written: %s", name, member, text)
			}
		}
	}
}

func TestTheLineagePathLeavesOutWhatARollbackLeftBehind(t *testing.T) {
	t.Parallel()
	entries := entriesJSON(t, 4)
	rapid.Check(t, func(rt *rapid.T) {
		w := newWalker(rt, entries)
		run := w.startRun(StartingConditions{Type: StartFresh})
		for i := range 4 {
			w.complete(run, CodonID(fmt.Sprintf("c%d", i)))
		}
		w.do(RunCompleted{run, epoch})
		keep := rapid.IntRange(-1, 3).Draw(rt, "keep")
		pos := &Position{RunID: run, CheckpointSHA: w.sha()}
		if keep >= 0 {
			id := CodonID(fmt.Sprintf("c%d", keep))
			pos.AfterCodon = &id
		}
		w.do(IntentOpened{Intent{ID: "i", Kind: "rollback", Position: pos}})
		w.do(IntentClosed{ID: "i"})
		if got := len(w.s.LineagePath()); got != keep+1 || w.s.Next() != keep+1 {
			rt.Fatalf("after a rollback behind %d: lineage path of %d, next %d", keep, got, w.s.Next())
		}
		run2 := w.startRun(StartingConditions{Type: StartContinuation, Source: pos, Reason: ReasonRollback})
		for i := keep + 1; i < 4; i++ {
			w.complete(run2, CodonID(fmt.Sprintf("c%d", i)))
		}
		if len(w.s.LineagePath()) != 4 || w.s.Next() != 4 {
			rt.Fatalf("after the second run: lineage path %d, next %d", len(w.s.LineagePath()), w.s.Next())
		}
	})
}

func (w *walker) complete(run RunID, id CodonID) {
	pre := full(Preparing)
	pre.CodonID, pre.CompletionCheckpoint = id, ""
	w.do(CodonStarted{run, pre})
	for _, status := range []CodonStatus{Starting, Initializing, Running, Completed} {
		rec := full(status)
		rec.CodonID, rec.CompletionCheckpoint = id, w.sha()
		w.do(CodonTransitioned{run, rec})
	}
}

func TestMoneyIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		u := USD(rapid.Int64Range(-1<<50, 1<<50).Draw(rt, "usd"))
		b, _ := u.MarshalJSON()
		var back USD
		if err := back.UnmarshalJSON(b); err != nil || back != u {
			rt.Fatalf("%d -> %s -> %d, %v", int64(u), b, int64(back), err)
		}
	})
}

// What a newer hank has added to any object of the state is kept: in a live record, in what
// hank itself adds to the documented shape, and in what is final.
func TestUnknownMembersOfEveryObjectAreKept(t *testing.T) {
	t.Parallel()
	s := rich(t, func(s *State) {
		by := &StartedBy{User: "u"}
		s.Runs[0].StartedBy = by
		s.Runs[0].live.Settling = &Settling{Status: Completed, FailureReason: &FailureReason{Type: FailUnknown}}
		s.Runs[0].live.BudgetExceeded = &BudgetExceeded{Currency: "USD"}
		s.Gates[1].Answer = &GateAnswer{Time: epoch, By: *by}
		s.Intent.Operation = &Operation{ID: "o", Command: "rollback"}
		s.Operations = []Operation{{ID: "p", Command: "skip"}}
		judged := &Judgement{CodonID: "revise#0", LoopID: "l", Time: epoch, Changed: &Changed{Files: 1}, Verdict: loop.Verdict{Decision: loop.Stop, Votes: []loop.Vote{{Rule: "plateau"}}}}
		if err := judged.freeze(); err != nil {
			t.Fatal(err)
		}
		s.Runs[0].judged = newList([]*Judgement{judged})
	})
	var doc map[string]any
	if err := json.Unmarshal(text(t, s), &doc); err != nil {
		t.Fatal(err)
	}
	delete(doc, "digest")
	planted := 0
	var plant func(at string, v any)
	plant = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, member := range v {
				plant(at+"/"+name, member)
			}
			if name := path.Base(at); name != "labels" && name != "env" { // whose names are the user's
				v["x"+strconv.Itoa(planted)] = at
				planted++
			}
		case []any:
			for i, item := range v {
				plant(at+"/"+strconv.Itoa(i), item)
			}
		}
	}
	plant("", doc)
	with, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	with = bytes.TrimSuffix(with, []byte("}"))
	with = fmt.Appendf(bytes.Clone(with), "%s%x\"\n}\n", digestKey, sha256.Sum256(with))
	read, err := Unmarshal(with)
	if err != nil {
		t.Fatal(err)
	}
	out := string(text(t, read))
	for at := range planted {
		name := "x" + strconv.Itoa(at)
		if !strings.Contains(out, `"`+name+`": "`) {
			where := regexp.MustCompile(`"` + name + `":"([^"]*)"`).FindStringSubmatch(string(with))
			t.Errorf("a member of %s is lost", where)
		}
	}
	if planted < 20 {
		t.Errorf("only %d objects", planted)
	}
}
