package state

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"hank/plan"
	"hank/plan/loop"
	"hank/state/observer"
)

// rich is a state in which every member that a transition replaces is set: two
// runs, the newer one with a live record, a position and an intent with one.
func rich(t *testing.T, change ...func(*State)) *State {
	t.Helper()
	entries, err := frozen(append([]plan.Entry{entry("c", "Write"), entry("d", "Check")}, iteration(0)...))
	if err != nil {
		t.Fatal(err)
	}
	sha := func(digit string) SHA { return SHA(strings.Repeat(digit, 40)) }
	old := full(Completed)
	if err := old.freeze(); err != nil {
		t.Fatal(err)
	}
	ended := full(Completed)
	ended.CodonID, ended.LoopContext = plan.IterationID("revise", 0), iteration(0)[1].LoopContext
	ended.Decision = &loop.Ballot{Decision: loop.Stop, Reason: "done"}
	if err := ended.freeze(); err != nil {
		t.Fatal(err)
	}
	s := &State{
		Lineage: "l", Seq: 7, InitialCheckpoint: sha("1"), Program: sha("2"), HankHash: "h", Base: sha("3"), plan: newList(entries), CurrentRunID: "r",
		Runs: []*Run{
			{RunID: "r", GitBranch: "run-r", Status: StatusRunning, StartTime: epoch, Head: sha("4"), Labels: map[string]string{"a": "b"}, done: newList([]*Codon{ended}), live: full(Running)},
			{RunID: "q", GitBranch: "run-q", Status: StatusFailed, StartTime: epoch, Head: sha("5"), done: newList([]*Codon{old})},
		},
		Position: &Position{RunID: "q", CheckpointSHA: sha("6"), Kept: []string{"x"}, Before: &Position{RunID: "q", CheckpointSHA: sha("7")}},
		Intent: &Intent{ID: "i", Kind: "rollback", Safety: sha("8"), To: sha("9"), Owned: sha("8"), Paths: []string{"p"},
			Position: &Position{RunID: "q", CheckpointSHA: sha("9"), Kept: []string{"y"}}},
		Removed: []Removal{{Branch: "recovery/a", Head: sha("a"), Time: epoch}, {Branch: "recovery/b", Head: sha("b"), Time: epoch}}, Removal: sha("c"), Limits: Limits{MaxDollars: Dollar},
		Gates: []Gate{asked(1, GatePending), asked(2, GateRejected)}, Hold: &Hold{Time: epoch, By: StartedBy{User: "u"}, Reason: "why"},
	}
	for _, c := range change {
		c(s)
	}
	return s
}

// movesOfEachType are legal transitions of each type, each with what must not be
// in a rich state for it.
func movesOfEachType(t *testing.T) map[string]struct {
	t       Transition
	without func(*State)
} {
	type move = struct {
		t       Transition
		without func(*State)
	}
	nothing := func(*State) {}
	noRecord := func(s *State) { s.Runs[0].live = nil }
	noRun := func(s *State) { s.Runs, s.CurrentRunID, s.Intent = s.Runs[1:], "", nil }
	noIntent := func(s *State) { s.Intent = nil }
	sha := SHA(strings.Repeat("d", 40))
	more, err := json.Marshal(iteration(1))
	if err != nil {
		t.Fatal(err)
	}
	intent := *rich(t).Intent
	intent.ID = "j"
	started := full(Preparing)
	started.CodonID = "d"
	return map[string]move{
		"Rebased":                       {Rebased{State: text(t, rich(t, noRun)), Reason: "test"}, nothing},
		"InitialCheckpointSet":          {InitialCheckpointSet{sha}, func(s *State) { s.InitialCheckpoint = "" }},
		"PlanSet":                       {PlanSet{Program: sha, HankHash: "new", Entries: entriesJSON(t, 2)}, noRecord},
		"PlanGrown":                     {PlanGrown{After: plan.IterationID("revise", 0), Add: more}, nothing},
		"RunStarted":                    {RunStarted{&Run{RunID: "n", GitBranch: "run-n", Status: StatusRunning, StartTime: epoch}}, noRun},
		"RunCompleted":                  {RunCompleted{"r", epoch}, noRecord},
		"RunFailed":                     {RunFailed{RunID: "r", EndTime: epoch, Reason: EndStopped, Detail: "why"}, noRecord},
		"RunPaused":                     {RunPaused{RunID: "r", Time: epoch, Reason: EndDecision, Detail: "why"}, nothing},
		"RunCrashed":                    {RunCrashed{"r", epoch, "why"}, noRecord},
		"CodonStarted":                  {CodonStarted{"r", started}, noRecord},
		"CodonTransitioned":             {CodonTransitioned{"r", full(CompletingSentinels)}, nothing},
		"CodonTransitioned, to its end": {CodonTransitioned{"r", full(Completed)}, nothing},
		"CostsUpdated":                  {CostsUpdated{RunID: "r", CodonID: "c", Cost: 5, Tokens: Tokens{Input: 1}, Messages: 2, Extensions: 1}, nothing},
		"SentinelsUpdated":              {SentinelsUpdated{RunID: "r", CodonID: "c", Sentinels: &Sentinels{Loaded: []Sentinel{{ID: "s", Model: "m", LoadedAt: epoch, LLMCallCount: 1, TotalTriggers: 1, TotalCost: 7, Status: observer.SentinelActive, Tokens: Tokens{Input: 3}}}, TotalCost: 7}}, nothing},
		"CheckpointCreated":             {CheckpointCreated{Kind: KindManual, SHA: sha, RunID: "r", CodonID: "c", Branch: "run-r", Base: true, Note: "n"}, nothing},
		"IntentOpened":                  {IntentOpened{intent}, noIntent},
		"IntentClosed":                  {IntentClosed{ID: "i", Kept: []string{"z"}}, nothing},
		"IntentClosed, given up":        {IntentClosed{ID: "i", Cancelled: true}, nothing},
		"BranchesRemoved":               {BranchesRemoved{sha, epoch, []BranchRemove{{"recovery/a", SHA(strings.Repeat("e", 40))}}}, nothing},
		"IterationJudged": {IterationJudged{RunID: "r", Judgement: &Judgement{CodonID: plan.IterationID("revise", 0), LoopID: "polish", Time: epoch, Tree: sha, Changed: &Changed{Files: 1, Lines: 3},
			Verdict: loop.Verdict{Decision: loop.Stop, Reason: "why", Votes: []loop.Vote{{Rule: loop.Plateau, Voter: loop.ByAgent, Codon: "revise", Decision: loop.Stop, Reason: "done", InARow: 2, Met: true}}}}}, noRecord},
		"GateRequested":     {GateRequested{asked(3, GatePending)}, noRecord},
		"GateAnswered":      {GateAnswered{1, GateApproved, GateAnswer{Time: epoch, By: StartedBy{User: "u"}, Reply: "yes"}}, noRecord},
		"GateClosed":        {GateClosed{2}, nothing},
		"HoldSet":           {HoldSet{Hold{Time: epoch, By: StartedBy{User: "v"}}}, nothing},
		"HoldReleased":      {HoldReleased{Time: epoch}, nothing},
		"LimitsSet":         {LimitsSet{Limits{MaxDollars: 2 * Dollar, MaxTimeSeconds: 60}}, nothing},
		"OperationAnswered": {OperationAnswered{Operation{ID: "o", Command: "run", Arguments: "sha256:1", Time: epoch, Answered: true, ExitCode: 8, Answer: "{}"}}, nothing},
	}
}

// A transition of any type leaves the state that it is applied to as it was, to
// the last byte of its text, and comes back from the journal as it was written. Its event
// names the run and the codon that it is about. One of a type that is not known is an
// error of its own, which no reader takes for damage.
func TestATransitionOfAnyTypeReadsBackAndLeavesTheOldStateAlone(t *testing.T) {
	t.Parallel()
	left := maps.Clone(decoders)
	for name, m := range movesOfEachType(t) {
		delete(left, m.t.Type())
		once, err := Encode(m.t)
		if err != nil {
			t.Fatal(name, err)
		}
		back, err := Decode(once)
		if err != nil {
			t.Errorf("%s: it was written and cannot be read: %v", name, err)
			continue
		}
		if twice, err := Encode(back); err != nil || !bytes.Equal(once, twice) {
			t.Errorf("%s: it is not the same again: %v\n%s\n%s", name, err, once, twice)
		}
		type about struct {
			RunID   RunID   `json:"runId"`
			CodonID CodonID `json:"codonId"`
			After   CodonID `json:"after"`
			Run     *about  `json:"run"`
			Record  *about  `json:"record"`
			Request *about  `json:"request"`
			Judged  *about  `json:"judgement"`
		}
		var event struct {
			about
			Transition struct {
				Data about `json:"data"`
			} `json:"transition"`
		}
		if err := json.Unmarshal(once, &event); err != nil {
			t.Fatal(name, err)
		}
		of := event.Transition.Data
		if of.Request != nil {
			of = *of.Request
		}
		if of.Run == nil {
			of.Run = &of
		}
		if of.Record == nil {
			of.Record = cmp.Or(of.Judged, &of)
		}
		if want := cmp.Or(of.Record.CodonID, of.After); event.RunID != of.Run.RunID || event.CodonID != want {
			t.Errorf("%s: its event is about run %q and codon %q, and it about %q and %q", name, event.RunID, event.CodonID, of.Run.RunID, want)
		}
		newer := bytes.ReplaceAll(once, []byte(`"`+m.t.Type()+`"`), []byte(`"`+m.t.Type()+`2"`))
		var unknown *UnknownTransitionError
		if got, err := Decode(newer); !errors.As(err, &unknown) || unknown.Type != m.t.Type()+"2" {
			t.Errorf("%s of a newer hank: %v, %v", name, got, err)
		}
		s := rich(t, m.without)
		before := text(t, s)
		next, err := Apply(s, s.Seq+1, back)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !bytes.Equal(before, text(t, s)) {
			t.Errorf("%s has changed the state that it was applied to:\n%s\n%s", name, before, text(t, s))
		}
		after := text(t, next)
		if _, err := Apply(s, s.Seq+1, back); err != nil || !bytes.Equal(after, text(t, next)) {
			t.Errorf("%s, applied to the old state again, has changed the new one: %v", name, err)
		}
	}
	if len(left) > 0 {
		t.Errorf("no transition of these types was tried: %v", slices.Collect(maps.Keys(left)))
	}
}

// Apply refuses what does not fit the state, for each reason of apply.go and removal.go, and the
// state stays as it was.
func TestWhatDoesNotFitTheStateIsRefused(t *testing.T) {
	t.Parallel()
	type change = func(*State)
	idle := func(s *State) { s.Runs[0].live = nil } // between two codons
	paused := func(s *State) { s.Runs[0].Paused = &Pause{} }
	rest := func(s *State) { s.Runs, s.CurrentRunID, s.Intent = s.Runs[1:], "", nil } // between two runs
	run := func(change func(*Run)) Transition {
		r := &Run{RunID: "n", GitBranch: "run-n", Status: StatusRunning, StartTime: epoch}
		change(r)
		return RunStarted{r}
	}
	record := func(status CodonStatus, change func(*Codon)) *Codon {
		c := full(status)
		change(c)
		return c
	}
	as := func(*Run) {}
	d := record(Preparing, func(c *Codon) { c.CodonID = "d" })
	grown, err := json.Marshal(iteration(2))
	if err != nil {
		t.Fatal(err)
	}
	last, sha := plan.IterationID("revise", 0), SHA(strings.Repeat("d", 40))
	for _, c := range []struct {
		t   Transition
		in  change
		why string
	}{
		{Rebased{State: []byte("{}")}, idle, "the state is damaged: runs and executionPlan must be lists"},
		{InitialCheckpointSet{sha}, idle, "the initial checkpoint is " + strings.Repeat("1", 40) + " already"},
		{PlanSet{Entries: entriesJSON(t, 2)}, nil, "codon c is in progress"},
		{PlanSet{Entries: []byte(`[{"codonId":"a"},{"codonId":"a"}]`)}, idle, "a occurs twice in the plan"},
		{PlanGrown{After: "x"}, nil, "x is not in the plan"},
		{PlanGrown{After: last, Drop: 1}, nil, "cannot drop 1 of the 0 entries after " + string(last)},
		{PlanGrown{After: last, Add: grown}, nil, string(plan.IterationID("review", 2)) + " is not of the iteration after " + string(last)},
		{LimitsSet{Limits{MaxDollars: -1}}, nil, "a limit cannot be negative"},
		{run(as), idle, "run r is running"},
		{run(func(r *Run) { r.RunID = "q" }), rest, "there is a run q already"},
		{run(as), func(s *State) { rest(s); s.Intent = &Intent{ID: "i", Kind: "rollback"} }, "a rollback of the workspace is unfinished"},
		{run(func(r *Run) { r.RunID = "" }), rest, "a run needs runId"},
		{run(func(r *Run) { r.Status = StatusFailed }), rest, "a run begins running and without records"},
		{run(func(r *Run) { r.live = full(Running) }), rest, "a run begins running and without records"},
		{RunCompleted{"x", epoch}, idle, "there is no run x"},
		{RunFailed{RunID: "q", EndTime: epoch}, idle, "run q is failed"},
		{RunCrashed{RunID: "r", EndTime: epoch}, nil, "codon c of run r is running"},
		{RunPaused{RunID: "q", Time: epoch}, nil, `run "q" is not the current one`},
		{RunPaused{RunID: "r", Time: epoch}, idle, "no codon of run r is in progress"},
		{RunPaused{RunID: "r", Time: epoch}, paused, "run r is paused already"},
		{CodonStarted{"q", d}, idle, `run "q" is not the current one`},
		{CodonStarted{"r", d}, nil, "codon c is running"},
		{CodonStarted{"r", d}, func(s *State) { idle(s); paused(s) }, "run r is paused"},
		{CodonStarted{"r", record(Starting, func(c *Codon) { c.CodonID = "d" })}, idle, "a record begins preparing, not starting"},
		{CodonStarted{"r", record(Preparing, func(c *Codon) { c.CodonID = "x" })}, idle, "x is not in the plan"},
		{CodonTransitioned{"r", d}, nil, "codon d is not in progress in run r"},
		{CodonTransitioned{"r", full(CompletingSentinels)}, paused, "run r is paused: codon c can only end"},
		{CodonTransitioned{"r", record(CompletingSentinels, func(c *Codon) { c.RigSetupCheckpoint = sha })}, func(s *State) { s.Runs[0].live.RigSetupCheckpoint = "x" }, "the rig checkpoint of c cannot change"},
		{CostsUpdated{RunID: "r", CodonID: "d"}, nil, "codon d is not in progress in run r"},
		{CostsUpdated{RunID: "r", CodonID: "c"}, paused, "codon c is not in progress in run r"},
		{CheckpointCreated{Kind: KindManual, Branch: "main"}, nil, "it has no commit"},
		{CheckpointCreated{Kind: KindManual, Branch: "run-x", RunID: "x", SHA: sha}, nil, "there is no run x"},
		{IntentOpened{Intent{ID: "j"}}, nil, "a rollback is under way (i)"},
		{IntentClosed{ID: "j"}, nil, "no such change is under way"},
		{IntentClosed{ID: "i"}, rest, "no such change is under way"},
		{BranchesRemoved{sha, epoch, []BranchRemove{{"run-r", sha}}}, nil, "run r is needed"},
		{BranchesRemoved{sha, epoch, []BranchRemove{{"main", sha}}}, nil, `branch "main" is always needed`},
		{BranchesRemoved{sha, epoch, []BranchRemove{{"recovery/a", SHA(strings.Repeat("9", 40))}}}, nil, "checkpoint 999999999999 is needed"},
	} {
		s := rich(t)
		if c.in != nil {
			c.in(s)
		}
		before := text(t, s)
		_, err := Apply(s, s.Seq+1, c.t)
		isRefused(t, fmt.Sprintf("%s %+v", c.t.Type(), c.t), err, c.why)
		if !bytes.Equal(before, text(t, s)) {
			t.Errorf("%s: what was refused has changed the state", c.t.Type())
		}
	}
}

// Apply refuses a record that lacks any one thing that its status needs.
func TestARecordThatLacksWhatItsStatusNeedsIsRefused(t *testing.T) {
	t.Parallel()
	type lack struct {
		name  string
		clear func(*Codon)
	}
	always := []lack{{"startTime", func(c *Codon) { c.StartTime = Time{} }}}
	end := lack{"endTime", func(c *Codon) { c.EndTime = nil }}
	exit := lack{"exitCode", func(c *Codon) { c.ExitCode = nil }}
	working := []lack{
		{"claudeSessionId", func(c *Codon) { c.ClaudeSessionID = "" }},
		{"currentCost", func(c *Codon) { c.CurrentCost = nil }},
		{"currentTokens", func(c *Codon) { c.CurrentTokens = nil }},
	}
	for to, lacks := range map[CodonStatus][]lack{
		Starting: nil,
		Initializing: {
			{"claudePid", func(c *Codon) { c.ClaudePid = 0 }},
			{"claudeLogPath", func(c *Codon) { c.ClaudeLogPath = "" }},
		},
		Running: working,
		CompletingSentinels: append(slices.Clone(working),
			lack{"settling.status", func(c *Codon) { c.Settling = &Settling{Status: Running} }},
			lack{"settling.failureReason", func(c *Codon) { c.Settling = &Settling{Status: Failed, ExitCode: 1} }}),
		Completed: {end, exit,
			{"finalCost", func(c *Codon) { c.FinalCost = nil }},
			{"finalTokens", func(c *Codon) { c.FinalTokens = nil }},
			{"completionCheckpoint", func(c *Codon) { c.CompletionCheckpoint = " " }},
		},
		Failed: {end, exit,
			{"failedDuring", func(c *Codon) { c.FailedDuring = "" }},
			{"failureReason", func(c *Codon) { c.FailureReason = nil }},
		},
		Skipped: {end, {"skippedDuring", func(c *Codon) { c.SkippedDuring = "" }}},
	} {
		for from, next := range moves {
			if !slices.Contains(next, to) {
				continue
			}
			for _, l := range append(slices.Clone(always), lacks...) {
				s := rich(t, func(s *State) { s.Runs[0].live = full(from) })
				before, record := text(t, s), full(to)
				l.clear(record)
				name := fmt.Sprintf("%s -> %s without %s", from, to, l.name)
				_, err := Apply(s, s.Seq+1, CodonTransitioned{"r", record})
				isRefused(t, name, err, fmt.Sprintf("a record that is %s needs %s", to, l.name))
				if !bytes.Equal(before, text(t, s)) {
					t.Errorf("%s has changed the state", name)
				}
			}
		}
	}
}

// What Apply accepts, Validate finds nothing wrong with: whichever one member of the record
// is missing from a transition that builds one.
func TestWhatApplyAcceptsIsValid(t *testing.T) {
	t.Parallel()
	built := 0
	try := func(name string, tr Transition, without func(*State)) {
		s := rich(t, without)
		next, err := Apply(s, s.Seq+1, tr)
		var refused *IllegalMoveError
		if err != nil && !errors.As(err, &refused) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			if before, now := validated(s), validated(next); !before.Valid || !now.Valid {
				t.Errorf("%s was accepted, and the state was %v and is %v", name, before.Errors, now.Errors)
			}
		}
	}
	members := func(name string, of any, with func(reflect.Value) Transition, without func(*State)) {
		whole := reflect.ValueOf(of).Elem()
		for i := range whole.NumField() {
			if field := whole.Type().Field(i); field.IsExported() {
				less := reflect.New(whole.Type())
				less.Elem().Set(whole)
				less.Elem().Field(i).SetZero()
				try(name+" without "+field.Name, with(less), without)
				built++
			}
		}
	}
	codon := func(r reflect.Value) *Codon { return r.Interface().(*Codon) }
	for name, m := range movesOfEachType(t) {
		try(name, m.t, m.without)
		switch tr := m.t.(type) {
		case RunStarted:
			members(name, tr.Run, func(r reflect.Value) Transition { return RunStarted{r.Interface().(*Run)} }, m.without)
		case CodonStarted:
			members(name, tr.Record, func(r reflect.Value) Transition { return CodonStarted{tr.RunID, codon(r)} }, m.without)
		}
	}
	for from, next := range moves {
		for _, to := range next {
			members(fmt.Sprintf("%s -> %s", from, to), full(to), func(r reflect.Value) Transition { return CodonTransitioned{"r", codon(r)} },
				func(s *State) { s.Runs[0].live = full(from) })
		}
	}
	if built < 100 {
		t.Errorf("only %d records were tried", built)
	}
}

// The next form of a record is another record: the one that it is made from stays
// as it is.
func TestTheNextFormOfARecordLeavesThePresentOneAlone(t *testing.T) {
	t.Parallel()
	settled := func(s Settling) func(*Codon) *Codon {
		return func(c *Codon) *Codon {
			c.Settling = &s
			return c
		}
	}
	asIs := func(c *Codon) *Codon { return c }
	reason := FailureReason{Type: FailUnknown}
	at := At(epoch.Add(1))
	type form struct {
		given func(*Codon) *Codon
		next  func(*Codon) *Codon
	}
	left := map[string]bool{}
	for m := range reflect.TypeFor[*Codon]().Methods() {
		if m.Type.NumOut() == 1 && m.Type.Out(0) == reflect.TypeFor[*Codon]() {
			left[m.Name] = true
		}
	}
	conclude := func(c *Codon) *Codon { return c.Conclude(at) }
	for name, f := range map[string]form{
		"Start":              {asIs, func(c *Codon) *Codon { return c.Start() }},
		"Spawn":              {asIs, func(c *Codon) *Codon { return c.Spawn(9, "log", "p") }},
		"Work":               {asIs, func(c *Codon) *Codon { return c.Work("session") }},
		"Settle":             {asIs, func(c *Codon) *Codon { return c.Settle(Settling{Status: Completed}) }},
		"Complete":           {asIs, func(c *Codon) *Codon { return c.Complete(at, true) }},
		"Fail":               {asIs, func(c *Codon) *Codon { return c.Fail(at, 3, reason) }},
		"Interrupt":          {asIs, func(c *Codon) *Codon { return c.Interrupt(at, InterruptedByStop, "m") }},
		"Skip":               {asIs, func(c *Codon) *Codon { return c.Skip(at) }},
		"Conclude":           {settled(Settling{Status: Completed, ResultSeen: true}), conclude},
		"Conclude a failure": {settled(Settling{Status: Failed, ExitCode: 3, FailureReason: &reason, Ignored: true}), conclude},
		"Conclude a skip":    {settled(Settling{Status: Skipped}), conclude},
		"Conclude anything":  {settled(Settling{}), conclude},
	} {
		delete(left, name)
		c := full(Running)
		c.EndTime = nil
		c.Sentinels = &Sentinels{Loaded: []Sentinel{{ID: "s", LoadedAt: epoch}}, TotalCost: 2}
		c = f.given(c)
		before := record(t, c)
		next := f.next(c)
		if now := record(t, c); now != before {
			t.Errorf("%s has changed its receiver:\n%s\n%s", name, before, now)
		}
		if next == c || record(t, next) == before {
			t.Errorf("%s returned the same record", name)
		}
	}
	if len(left) > 0 {
		t.Errorf("these were not tried: %v", slices.Collect(maps.Keys(left)))
	}
}

// What is known of a codon carries over into the next form of its record: only what the
// step says is another, and in a final one what the documented shape gives another name.
func TestWhatIsKnownCarriesOver(t *testing.T) {
	t.Parallel()
	reason := &FailureReason{Type: FailTimeout}
	at := At(epoch.Add(1))
	c := full(Running)
	fill(reflect.ValueOf(c).Elem())
	settled := func(s Settling) *Codon {
		next := *c
		next.Settling = &s
		return &next
	}
	always := []string{"Status"}
	end := append(always, "EndTime", "CurrentCost", "CurrentTokens", "Sentinels", "ExitCode")
	cut := append(end, "PartialCost", "PartialTokens", "FailedDuring", "FailureReason")
	for name, f := range map[string]struct {
		next    *Codon
		changed []string
	}{
		"Start":              {c.Start(), always},
		"Spawn":              {c.Spawn(9, "log", "p"), append(always, "ClaudePid", "ClaudeLogPath", "PreviousSessionID")},
		"Work":               {c.Work("session"), append(always, "ClaudeSessionID", "CurrentCost", "CurrentTokens", "AssistantMessageCount", "ExtensionCount")},
		"Settle":             {c.Settle(Settling{Status: Completed}), append(always, "Settling")},
		"Complete":           {c.Complete(at, true), append(end, "FinalCost", "FinalTokens", "ResultMessageReceived")},
		"Fail":               {c.Fail(at, 3, *reason), cut},
		"Interrupt":          {c.Interrupt(at, InterruptedByStop, "m"), append(cut, "Interrupted")},
		"Skip":               {c.Skip(at), append(end, "PartialCost", "PartialTokens", "SkippedDuring")},
		"Conclude":           {settled(Settling{Status: Completed}).Conclude(at), append(end, "FinalCost", "FinalTokens", "ResultMessageReceived", "Settling")},
		"Conclude a failure": {settled(Settling{Status: Failed, FailureReason: reason}).Conclude(at), append(cut, "FailureIgnored", "Interrupted", "Settling")},
	} {
		was, is := reflect.ValueOf(*c), reflect.ValueOf(*f.next)
		for i := range was.NumField() {
			if field := was.Type().Field(i); field.IsExported() && !slices.Contains(f.changed, field.Name) && !reflect.DeepEqual(was.Field(i).Interface(), is.Field(i).Interface()) {
				t.Errorf("%s: %s was %v and is %v", name, field.Name, was.Field(i), is.Field(i))
			}
		}
		if s := f.next.Sentinels; f.next.Status.Terminal() && (len(s.Loaded) > 0 || !reflect.DeepEqual(s.Executed, c.Sentinels.Loaded) || s.TotalCost != c.Sentinels.TotalCost) {
			t.Errorf("%s: the sentinels are %+v", name, s)
		}
		if f.next.Status.Terminal() && (f.next.Cost() != *c.CurrentCost || !reflect.DeepEqual(f.next.TokenCount(), *c.CurrentTokens)) {
			t.Errorf("%s: it cost %v, %v", name, f.next.Cost(), f.next.TokenCount())
		}
	}
	failed := settled(Settling{Status: Failed, ExitCode: 3, FailureReason: reason, Ignored: true, Interrupted: InterruptedByStop}).Conclude(at)
	if *failed.ExitCode != 3 || !reflect.DeepEqual(failed.FailureReason, reason) || !failed.FailureIgnored || failed.Interrupted != InterruptedByStop || failed.FailedDuring != Running {
		t.Errorf("the failure that was announced became %+v", failed)
	}
	if done := settled(Settling{Status: Completed, ResultSeen: true}).Conclude(at); !*done.ResultMessageReceived || *done.ExitCode != 0 {
		t.Errorf("the success that was announced became %+v", done)
	}
}

// fill sets what is zero in a struct, however deep.
func fill(v reflect.Value) {
	if !v.CanSet() {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		fill(v.Elem())
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0))
		}
	case reflect.String:
		v.SetString("known")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint64:
		v.SetUint(7)
	case reflect.Float64:
		v.SetFloat(7)
	}
}

// record is the text of a record.
func record(t *testing.T, c *Codon) string {
	t.Helper()
	out, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
