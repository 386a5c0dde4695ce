package state

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"hank/plan"
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
	s := &State{
		Lineage: "l", Seq: 7, InitialCheckpoint: sha("1"), Program: sha("2"), HankHash: "h", Base: sha("3"), plan: newList(entries), CurrentRunID: "r",
		Runs: []*Run{
			{RunID: "r", GitBranch: "run-r", Status: StatusRunning, StartTime: epoch, Head: sha("4"), Labels: map[string]string{"a": "b"}, live: full(Running)},
			{RunID: "q", GitBranch: "run-q", Status: StatusFailed, StartTime: epoch, Head: sha("5"), done: newList([]*Codon{old})},
		},
		Position: &Position{RunID: "q", CheckpointSHA: sha("6"), Kept: []string{"x"}, Before: &Position{RunID: "q", CheckpointSHA: sha("7")}},
		Intent: &Intent{ID: "i", Kind: "rollback", Safety: sha("8"), To: sha("9"), Owned: sha("8"), Paths: []string{"p"},
			Position: &Position{RunID: "q", CheckpointSHA: sha("9"), Kept: []string{"y"}}},
		Removed: []Removal{{"recovery/a", sha("a"), epoch}, {"recovery/b", sha("b"), epoch}}, Removal: sha("c"), Limits: Limits{MaxDollars: Dollar},
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
		"RunFailed":                     {RunFailed{"r", epoch, EndStopped, "why"}, noRecord},
		"RunPaused":                     {RunPaused{RunID: "r", Time: epoch, Reason: EndDecision, Detail: "why"}, nothing},
		"RunCrashed":                    {RunCrashed{"r", epoch, "why"}, noRecord},
		"CodonStarted":                  {CodonStarted{"r", started}, noRecord},
		"CodonTransitioned":             {CodonTransitioned{"r", full(CompletingSentinels)}, nothing},
		"CodonTransitioned, to its end": {CodonTransitioned{"r", full(Completed)}, nothing},
		"CostsUpdated":                  {CostsUpdated{RunID: "r", CodonID: "c", Cost: 5, Tokens: Tokens{Input: 1}, Messages: 2, Extensions: 1}, nothing},
		"CheckpointCreated":             {CheckpointCreated{Kind: KindManual, SHA: sha, RunID: "r", CodonID: "c", Branch: "run-r", Base: true, Note: "n"}, nothing},
		"IntentOpened":                  {IntentOpened{intent}, noIntent},
		"IntentClosed":                  {IntentClosed{ID: "i", Kept: []string{"z"}}, nothing},
		"IntentClosed, given up":        {IntentClosed{ID: "i", Cancelled: true}, nothing},
		"BranchesRemoved":               {BranchesRemoved{sha, epoch, []BranchRemove{{"recovery/a", SHA(strings.Repeat("e", 40))}}}, nothing},
		"LimitsSet":                     {LimitsSet{Limits{MaxDollars: 2 * Dollar, MaxTimeSeconds: 60}}, nothing},
	}
}

// A transition of any type leaves the state that it is applied to as it was, to
// the last byte of its text, and comes back from the journal as it was written.
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
		Running:             working,
		CompletingSentinels: working,
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
			if before, now := Validate(s, World{}), Validate(next, World{}); !before.Valid || !now.Valid {
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

// record is the text of a record.
func record(t *testing.T, c *Codon) string {
	t.Helper()
	out, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
