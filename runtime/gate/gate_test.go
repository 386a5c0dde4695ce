package gate

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"hank/plan"
	"hank/plan/model"
	"hank/recovery/finding"
	"hank/runtime/exitcode"
	"hank/state"
)

var epoch = state.At(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))

// world plays transitions on a state.
type world struct {
	t     *testing.T
	s     *state.State
	made  int // checkpoints
	clock state.Time
}

func sha(n int) state.SHA { return state.SHA(fmt.Sprintf("%040x", n)) }

func question(id string, when plan.GateWhen, kind plan.GateKind) *plan.Gate {
	return &plan.Gate{ID: id, When: when, Kind: kind, Summary: id + "?"}
}

// gated has gates wherever one may be: after a, before and after the loop, after its
// codon b, and before c.
func gated(iterations int) []plan.Entry {
	shell := func(id plan.CodonID, g *plan.Gate) *plan.Codon {
		return &plan.Codon{ID: id, Name: string(id), Model: model.Ref{ProviderID: "shell", ModelID: "shell"}, ContinuationMode: plan.Fresh, Gate: g}
	}
	b := shell("b", question("b-ok", plan.After, plan.Approve))
	entries := []plan.Entry{{Codon: shell("a", question("a-ok", plan.After, plan.Reply)), CodonID: "a"}}
	for n := range iterations {
		entries = append(entries, plan.Entry{Codon: b, CodonID: plan.IterationID("b", n),
			LoopContext: &plan.LoopContext{LoopID: "l", Iteration: n, LoopGate: question("l-ok", plan.Before, plan.Approve)}})
	}
	return append(entries, plan.Entry{Codon: shell("c", question("c-ok", plan.Before, plan.Approve)), CodonID: "c"})
}

func newWorld(t *testing.T, entries []plan.Entry) *world {
	t.Helper()
	text, err := json.Marshal(entries)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, s: &state.State{Lineage: "l"}, clock: epoch}
	w.do(state.InitialCheckpointSet{SHA: sha(0)}, state.PlanSet{Entries: text})
	return w
}

func (w *world) do(moves ...state.Transition) {
	w.t.Helper()
	for _, m := range moves {
		next, err := state.Apply(w.s, w.s.Seq+1, m)
		if err != nil {
			w.t.Fatal(err)
		}
		w.s = next
	}
}

// run begins a run after the codon that was settled last.
func (w *world) run(id state.RunID) {
	w.t.Helper()
	start := state.StartingConditions{Type: state.StartFresh, InitialCheckpointSHA: sha(0)}
	if len(w.s.Runs) > 0 {
		here := w.s.CurrentPosition()
		start = state.StartingConditions{Type: state.StartContinuation, Source: &here, Reason: state.ReasonContinue}
	}
	w.do(state.RunStarted{Run: &state.Run{RunID: id, GitBranch: "run-" + string(id), Status: state.StatusRunning, StartTime: epoch, StartingConditions: start}})
}

// complete plays the next codon.
func (w *world) complete() {
	w.t.Helper()
	e := w.s.ExecutionPlan()[w.s.Next()]
	c := &state.Codon{CodonID: e.CodonID, StartTime: epoch, Status: state.Preparing, BaseCheckpoint: w.s.Base, Attempt: 1, LoopContext: e.LoopContext}
	id := w.s.CurrentRunID
	w.do(state.CodonStarted{RunID: id, Record: c})
	w.made++
	done := c.Start().Spawn(1, "log", "").Work("s")
	for _, next := range []*state.Codon{c.Start(), c.Start().Spawn(1, "log", ""), done} {
		w.do(state.CodonTransitioned{RunID: id, Record: next})
	}
	if g := At(w.s); g != nil {
		w.t.Fatalf("while %s is running: at gate %s", e.CodonID, g.Name)
	}
	done = done.Complete(epoch, true)
	done.CompletionCheckpoint = sha(w.made)
	w.do(state.CodonTransitioned{RunID: id, Record: done})
}

// ask records the request of the gate that the execution is at, which must have a name.
func (w *world) ask(name string) {
	w.t.Helper()
	g := At(w.s)
	if g == nil || g.Name != name || g.Request != nil {
		w.t.Fatalf("at %+v, want %s, which was not asked", g, name)
	}
	w.do(g.Ask(w.s, w.s.CurrentRunID, w.clock))
	if g := At(w.s); g == nil || g.Name != name || !g.Waiting() {
		w.t.Fatalf("after the question: %+v", g)
	}
}

func (w *world) answer(name string, status state.GateStatus, reply string) {
	w.t.Helper()
	t, _, err := Decide(w.s, Answer{Gate: name, Status: status, Reply: reply}, w.clock)
	if err != nil {
		w.t.Fatal(err)
	}
	w.do(*t)
}

func (w *world) at(want string) {
	w.t.Helper()
	name := ""
	if g := At(w.s); g != nil {
		name = g.Name
	}
	if name != want {
		w.t.Fatalf("at gate %q, want %q", name, want)
	}
}

// A command that is given twice does not answer for the next iteration.
func TestAnAnswerNamesTheIterationOrTheCheckpoint(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gated(2))
	w.run("r")
	w.complete()
	for _, name := range []string{"a-ok", "l-ok"} {
		w.ask(name)
		w.answer(name, state.GateApproved, "go")
	}
	w.complete()
	w.ask("b-ok#0")
	var usage *exitcode.UsageError
	if _, _, err := Decide(w.s, Answer{Gate: "b-ok", Status: state.GateApproved}, epoch); !errors.As(err, &usage) {
		t.Errorf("without an iteration: %v", err)
	}
	move, _, err := Decide(w.s, Answer{Gate: "b-ok", Status: state.GateApproved, Checkpoint: string(sha(2))}, epoch)
	if err != nil {
		t.Fatal(err)
	}
	w.do(*move)
	w.complete()
	w.ask("b-ok#1")
	for _, again := range []Answer{{Gate: "b-ok", Checkpoint: string(sha(2))}, {Gate: "b-ok#0"}, {Gate: "b-ok#0", Checkpoint: string(sha(2))}} {
		again.Status = state.GateApproved
		if move, about, err := Decide(w.s, again, epoch); err != nil || move != nil || about == nil || about.Gate != "b-ok#0" {
			t.Errorf("the same answer again, %+v: %+v, %v", again, move, err)
		}
	}
	for want, other := range map[string]Answer{
		"an answer is not changed":      {Gate: "b-ok", Status: state.GateRejected, Checkpoint: string(sha(2))},
		"waits for an answer about":     {Gate: "b-ok", Status: state.GateApproved, Checkpoint: "ffff"},
		"about checkpoint 000000000000": {Gate: "b-ok#0", Status: state.GateApproved, Checkpoint: "0000000000000000000000000000000000000003"},
	} {
		if move, _, err := Decide(w.s, other, epoch); move != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %+v, %v", other, move, err)
		}
	}
}

// Every gate is come to once, in the order of the plan, that of a codon in a loop in each
// iteration.
func TestGatesAreComeToInTheOrderOfThePlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gated(2))
	w.run("r")
	w.at("")
	w.complete()
	for _, gates := range []string{"a-ok l-ok", "b-ok#0", "b-ok#1 c-ok"} {
		for _, name := range strings.Fields(gates) {
			w.ask(name)
			w.answer(name, state.GateApproved, "words of "+name)
		}
		w.at("")
		want := map[string]string{"a-ok l-ok": "words of a-ok\n\nwords of l-ok", "b-ok#0": "words of b-ok#0", "b-ok#1 c-ok": "words of b-ok#1\n\nwords of c-ok"}[gates]
		if got := Words(w.s, w.s.Next(), nil); got != want {
			t.Errorf("the next prompt gets %q, want %q", got, want)
		}
		w.complete()
	}
	w.at("")
	if len(w.s.Gates) != 5 {
		t.Errorf("%d requests", len(w.s.Gates))
	}
}

// What is said at the gates right before a codon reaches it together, and no environment holds more.
// What it could not be told is refused, and a shorter reply is taken.
func TestAReplyThatItsCodonCannotBeTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gated(1))
	w.run("r")
	w.complete()
	long := strings.Repeat("x", mostSaid/2)
	refused := func(name string, status state.GateStatus, reply string, want ...string) {
		t.Helper()
		var usage *exitcode.UsageError
		move, _, err := Decide(w.s, Answer{Gate: name, Status: status, Reply: reply}, w.clock)
		if move != nil || !errors.As(err, &usage) {
			t.Fatalf("%s %s: %v, %v", status, name, move, err)
		}
		for _, part := range want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s %s: %v, want %q", status, name, err, part)
			}
		}
	}
	w.ask("a-ok")
	refused("a-ok", state.GateApproved, long+"x", fmt.Sprintf("the reply at gate a-ok has %d bytes, and may have %d:", len(long)+1, len(long)))
	w.answer("a-ok", state.GateApproved, long)
	w.ask("l-ok")
	refused("l-ok", state.GateApproved, long, fmt.Sprintf("and may have %d:", mostSaid/4))
	w.answer("l-ok", state.GateApproved, "short")
	w.complete()

	// The no that has failed an attempt is told with the yes to the next one.
	w.ask("b-ok#0")
	w.answer("b-ok#0", state.GateApproved, "")
	w.ask("c-ok")
	w.answer("c-ok", state.GateRejected, long)
	w.do(At(w.s).Fail(w.s, "r", w.clock, w.s.Base, 1)...)
	w.ask("c-ok")
	refused("c-ok", state.GateApproved, long, "and may have")
	refused("c-ok", state.GateRejected, long+long)
	w.answer("c-ok", state.GateApproved, "")
	if got := Words(w.s, w.s.Next(), w.s.Newest().Codon(w.s.Newest().Len()-1)); got != long {
		t.Errorf("the codon is told %d bytes, want %d", len(got), len(long))
	}
}

// What was answered at a gate about one checkpoint can be said again, whatever was
// answered there about another one.
func TestTheSameAnswerAgainIsAboutItsCheckpoint(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gated(1))
	w.run("r")
	w.complete()
	w.ask("a-ok")
	w.do(state.RunFailed{RunID: "r", EndTime: epoch, Reason: state.EndGate})
	back := func(to state.Position) {
		w.do(state.IntentOpened{Intent: state.Intent{ID: "i", Kind: "rollback", Safety: sha(90), To: to.CheckpointSHA, Owned: sha(90), Position: &to}}, state.IntentClosed{ID: "i"})
	}
	a := state.CodonID("a")
	back(state.Position{RunID: "r", CheckpointSHA: sha(0)})
	w.run("s")
	w.complete()
	w.ask("a-ok")
	w.answer("a-ok", state.GateApproved, "second")
	w.do(state.RunFailed{RunID: "s", EndTime: epoch, Reason: state.EndGate})
	back(state.Position{RunID: "r", AfterCodon: &a, CheckpointSHA: sha(1)})
	w.answer("a-ok", state.GateRejected, "first")
	for _, c := range []struct {
		about   state.SHA
		status  state.GateStatus
		refused bool
	}{
		{sha(1), state.GateRejected, false}, {"", state.GateRejected, false}, {sha(2), state.GateApproved, false},
		{sha(1), state.GateApproved, true}, {"", state.GateApproved, true}, {sha(2), state.GateRejected, true}, {sha(7), state.GateRejected, true},
	} {
		move, about, err := Decide(w.s, Answer{Gate: "a-ok", Status: c.status, Checkpoint: string(c.about)}, epoch)
		if move != nil || (err != nil) != c.refused || err == nil && c.about != "" && about.Checkpoint != c.about {
			t.Errorf("%s about %q: %+v, %+v, %v", c.status, c.about, move, about, err)
		}
	}
}

// The table of answers: to what waits, again, and to what does not wait.
func TestAnAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before string // what was answered already
		gate   string
		status state.GateStatus
		reply  string
		sha    string
		late   time.Duration
		want   string // record, same, usage or refused
	}{
		"yes":                       {gate: "a-ok", status: state.GateApproved, reply: "go", want: "record"},
		"yes, about what is judged": {gate: "a-ok", status: state.GateApproved, reply: "go", sha: string(sha(1)), want: "record"},
		"yes, in time":              {gate: "a-ok", status: state.GateApproved, reply: "go", late: 59 * time.Second, want: "record"},
		"yes, too late":             {gate: "a-ok", status: state.GateApproved, reply: "go", late: time.Minute, want: "refused"},
		"no, too late":              {gate: "a-ok", status: state.GateRejected, late: time.Hour, want: "refused"},
		"yes without the words":     {gate: "a-ok", status: state.GateApproved, reply: "  ", want: "usage"},
		"no needs no words":         {gate: "a-ok", status: state.GateRejected, want: "record"},
		"about another checkpoint":  {gate: "a-ok", status: state.GateApproved, reply: "go", sha: "ffff", want: "refused"},
		"a gate to come":            {gate: "l-ok", status: state.GateApproved, want: "refused"},
		"an iteration to come":      {gate: "b-ok#1", status: state.GateApproved, want: "refused"},
		"no gate":                   {gate: "a-okay", status: state.GateApproved, want: "usage"},
		"the same again":            {before: "go", gate: "a-ok", status: state.GateApproved, want: "same"},
		"with the same words":       {before: "go", gate: "a-ok", status: state.GateApproved, reply: "go", sha: string(sha(1))[:12], want: "same"},
		"with other words":          {before: "go", gate: "a-ok", status: state.GateApproved, reply: "stay", want: "refused"},
		"another answer":            {before: "go", gate: "a-ok", status: state.GateRejected, want: "refused"},
		"again, about another":      {before: "go", gate: "a-ok", status: state.GateApproved, sha: "ffff", want: "refused"},
	} {
		entries := gated(1)
		entries[0].Codon.Gate.ExpiresAfter = 60
		w := newWorld(t, entries)
		w.run("r")
		w.complete()
		w.ask("a-ok")
		if c.before != "" {
			w.answer("a-ok", state.GateApproved, c.before)
		}
		move, about, err := Decide(w.s, Answer{Gate: c.gate, Status: c.status, Reply: c.reply, Checkpoint: c.sha}, state.At(epoch.Add(c.late)))
		var usage *exitcode.UsageError
		var refused *finding.DecisionError
		got := "?"
		switch {
		case errors.As(err, &usage):
			got = "usage"
		case errors.As(err, &refused):
			got = "refused"
		case err == nil && move == nil && about != nil:
			got = "same"
		case err == nil && move != nil && about != nil:
			got = "record"
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s (%v)", name, got, c.want, err)
		}
	}
}

// To the gate, the request is what it was; to before it, the work is another one; a no has
// counted once.
func TestAnOpenRequestHasTheExpiryOfThePlan(t *testing.T) {
	t.Parallel()
	for _, status := range []state.GateStatus{state.GatePending, state.GateApproved, state.GateRejected} {
		entries := gated(1)
		entries[0].Codon.Gate.ExpiresAfter = 60
		w := newWorld(t, entries)
		w.run("r")
		w.complete()
		w.ask("a-ok")
		if status != state.GatePending {
			w.answer("a-ok", status, "words")
		}
		before := At(w.s)
		for _, adopted := range []float64{0, 30, 90, 60} {
			entries[0].Codon.Gate.ExpiresAfter = adopted
			text, err := json.Marshal(entries)
			if err != nil {
				t.Fatal(err)
			}
			if w.s, err = w.s.WithPlan(text); err != nil {
				t.Fatal(err)
			}
			if now, counts := At(w.s), adopted == 60 || status != state.GatePending; now.Name != before.Name || counts && (now.Request == nil) != (before.Request == nil) || !counts && now.Request != nil {
				t.Errorf("%s, with an expiry of %gs: %+v, before %+v", status, adopted, now, before)
			}
		}
	}
}

func TestWhatAMoveDoesToARequest(t *testing.T) {
	t.Parallel()
	a := state.CodonID("a")
	to := func(w *world, p state.Position) {
		w.do(state.IntentOpened{Intent: state.Intent{ID: "i", Kind: "rollback", Safety: sha(90), To: p.CheckpointSHA, Owned: sha(90), Position: &p}}, state.IntentClosed{ID: "i"})
	}
	behind, start := state.Position{RunID: "r", AfterCodon: &a, CheckpointSHA: sha(1)}, state.Position{RunID: "r", CheckpointSHA: sha(0)}
	for _, status := range []state.GateStatus{state.GatePending, state.GateApproved, state.GateRejected} {
		w := newWorld(t, gated(1))
		w.run("r")
		w.complete()
		w.ask("a-ok")
		if status != state.GatePending {
			w.answer("a-ok", status, "words")
		}
		w.do(state.RunFailed{RunID: "r", EndTime: epoch, Reason: state.EndGate})
		before := At(w.s)
		undo := w.s.UndoPosition()
		undo.CheckpointSHA = sha(91) // the safety checkpoint of the move
		to(w, behind)
		if now := At(w.s); now.Name != before.Name || (now.Request == nil) != (before.Request == nil) {
			t.Errorf("%s, to the gate: %+v, before %+v", status, now, before)
		}
		to(w, start)
		w.at("")
		to(w, undo)
		if now := At(w.s); now.Name != before.Name || (now.Request == nil) != (before.Request == nil) {
			t.Errorf("%s, undone: %+v, before %+v", status, now, before)
		}
		to(w, start)
		w.run("s")
		w.complete()
		w.ask("a-ok")
		if w.s.Lineage = "copy"; At(w.s).Request != nil {
			t.Errorf("%s: a copy counts the answer", status)
		}
	}
}

// A no fails the codon, in a way that a crash can come before or after, and once.
func TestANoFailsTheCodonOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gated(1))
	w.run("r")
	w.complete()
	w.ask("a-ok")
	w.answer("a-ok", state.GateRejected, "too short")
	w.do(state.RunCrashed{RunID: "r", EndTime: epoch})
	w.run("s")
	g := At(w.s)
	w.do(g.Fail(w.s, "s", epoch, "", 1)...) // the first record of this codon in this run
	run := w.s.Current()
	failed := run.Codon(run.Len() - 1)
	if !failed.FailedAtGate() || failed.FailureReason.Message != "rejected at gate a-ok: too short" || failed.BaseCheckpoint != sha(0) || failed.Attempt != 1 || w.s.Next() != 0 || w.s.Base != sha(0) {
		t.Errorf("%+v, reason %+v, next %d, base %s", failed, failed.FailureReason, w.s.Next(), w.s.Base)
	}
	if words := Words(w.s, 0, failed); words != "too short" {
		t.Errorf("its next prompt gets %q", words)
	}
	if words := Words(w.s, 0, nil); words != "" {
		t.Errorf("a prompt after a rollback gets %q", words)
	}
	w.complete()
	w.ask("a-ok") // of the same name, about other work
	if n := len(w.s.Gates); n != 2 || w.s.Gates[0].Checkpoint == w.s.Gates[1].Checkpoint {
		t.Errorf("%+v", w.s.Gates)
	}

	// Again, in the run that has done the work: about the same attempt.
	w.answer("a-ok", state.GateRejected, "too long")
	w.do(At(w.s).Fail(w.s, "s", epoch, "", 3)...)
	if run = w.s.Current(); run.Codon(run.Len()-1).Attempt != run.Codon(run.Len()-2).Attempt {
		t.Errorf("attempt %d has failed, and %d was judged", run.Codon(run.Len()-1).Attempt, run.Codon(run.Len()-2).Attempt)
	}
	w.complete()
	w.ask("a-ok")

	// Before a codon, and in no time.
	w.answer("a-ok", state.GateApproved, "go")
	w.ask("l-ok")
	g = At(w.s)
	w.do(g.Fail(w.s, "s", epoch, w.s.Base, 1)...)
	run = w.s.Current()
	if failed = run.Codon(run.Len() - 1); failed.CodonID != "b#0" || !strings.Contains(failed.FailureReason.Message, "l-ok has expired") || w.s.Next() != 1 {
		t.Errorf("%+v, next %d", failed, w.s.Next())
	}
	w.ask("l-ok") // anew

	// All that was said to the codon reaches it: the yes before, the no, and the yes after.
	w.answer("l-ok", state.GateRejected, "not yet")
	w.do(At(w.s).Fail(w.s, "s", epoch, w.s.Base, 2)...)
	run = w.s.Current()
	failed = run.Codon(run.Len() - 1)
	w.ask("l-ok")
	w.answer("l-ok", state.GateApproved, "now")
	if words := Words(w.s, w.s.Next(), failed); words != "go\n\nnot yet\n\nnow" {
		t.Errorf("its next prompt gets %q", words)
	}
}
