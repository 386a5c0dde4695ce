//go:build unix

package liveview

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"hank/internal/vfs"
	"hank/recovery"
	"hank/recovery/layout"
	"hank/runtime"
	"hank/runtime/exitcode"
	"hank/runtime/internal/testkit"
	"hank/runtime/report"
	"hank/runtime/report/planview"
	"hank/runtime/request"
	"hank/runtime/reset"
	"hank/runtime/verdict"
	"hank/runtime/why"
	"hank/state"
	"hank/state/journal"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const looped = `{"hank": [
  {"id": "plan", "name": "Plan", "model": "shell", "continuationMode": "fresh", "promptText": "echo plan >plan; echo '::hank usage {\"costUSD\":0.25}'"},
  {"type": "loop", "id": "rounds", "name": "Rounds", "terminateOn": {"type": "iterationLimit", "limit": 3}, "codons": [
    {"id": "write", "name": "Write", "model": "shell", "continuationMode": "fresh", "promptText": "echo x >>text; echo '::hank usage {\"costUSD\":0.125}'"},
    {"id": "check", "name": "Check", "model": "shell", "continuationMode": "fresh", "promptText": "wc text >count; echo '::hank usage {\"costUSD\":0.000000001}'"}]},
  {"id": "flaky", "name": "Flaky", "model": "shell", "continuationMode": "fresh", "promptText": "[ -e ../fixed ] || exit 3", "onFailure": "abort"},
  {"id": "end", "name": "End", "model": "shell", "continuationMode": "fresh", "promptText": "echo end >end", "gate": {"id": "ok", "when": "before", "kind": "approve", "summary": "Is this right?"}}]}`

// start begins an execution of a hank.
func start(t *testing.T, hank string) (root string, run func(request.Mode, exitcode.Code)) {
	t.Helper()
	dir := t.TempDir()
	testkit.Write(t, filepath.Join(dir, "hank.json"), hank)
	root = filepath.Join(t.TempDir(), "execution")
	return root, func(mode request.Mode, want exitcode.Code) {
		t.Helper()
		var said []string
		res, err := runtime.Run(context.Background(), request.Request{Mode: mode, Execution: root, Hank: dir, Version: "test",
			Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}}, request.Answers{}, request.UI{Say: func(line string) { said = append(said, line) }})
		if err != nil || res.Code != want {
			t.Fatalf("ended with %+v, %v; want %d\n%s", res, err, want, strings.Join(said, "\n"))
		}
	}
}

// TestTheFoldIsWhatAReadingFinds: a view that follows event by event has at the end the state,
// the counts and the money of a fresh reading, and on the way the state at each event.
func TestTheFoldIsWhatAReadingFinds(t *testing.T) {
	t.Parallel()
	root, run := start(t, looped)
	run(request.ModeRun, exitcode.Failed)
	testkit.Write(t, filepath.Join(root, "fixed"), "")
	run(request.ModeRetry, exitcode.Waiting)
	fresh, err := recovery.Read(root)
	testkit.Must(t, err)
	whole := of(fresh, time.Time{}, "")

	var folded *state.State
	var v *View
	testkit.Must(t, journal.Read(vfs.OS, layout.Layout{Root: root}.Events(), 1, func(e journal.Event) error {
		if e.Type != state.TransitionEvent {
			return nil
		}
		tr, err := state.Decode(e.Data)
		if err != nil {
			return err
		}
		if folded == nil {
			folded = &state.State{}
		}
		if folded, err = state.Apply(folded, e.Seq, tr); err != nil {
			return err
		}
		if len(folded.ExecutionPlan()) == 0 {
			return nil
		}
		if v == nil { // from here on event by event
			base := *fresh
			base.State, base.Head = folded, folded.Summary()
			v = of(&base, time.Time{}, "")
			return nil
		}
		next, known := v.apply(e)
		if !known {
			return fmt.Errorf("event %d was not taken", e.Seq)
		}
		if next.Seq != e.Seq || !next.At.Equal(e.Timestamp) {
			t.Errorf("after event %d at %s the view is as of %d at %s", e.Seq, e.Timestamp, next.Seq, next.At)
		}
		if text(t, next.State) != text(t, folded) {
			t.Fatalf("after event %d (%s) the view has another state", e.Seq, tr.Type())
		}
		if got, want := next.Recovery().Head.Bill(), folded.Bill(); got != want {
			t.Errorf("after event %d: %v, want %v", e.Seq, got, want)
		}
		tree := next.Tree()
		if got := tree.total(); got != folded.Bill() {
			t.Errorf("after event %d the tree comes to %v, the state to %v", e.Seq, got, folded.Bill())
		}
		v = next
		return nil
	}))
	if v == nil {
		t.Fatal("there was no plan")
	}
	if text(t, v.State) != text(t, whole.State) {
		t.Error("the fold has another state than the reading")
	}
	if got, want := v.Tree().counts(), whole.Tree().counts(); !reflect.DeepEqual(got, want) || got[verdict.Completed] != 8 || got[""] != 1 {
		t.Errorf("the fold counts %v, the reading %v", got, want)
	}
	if got, want := v.Worked(time.Now()), whole.Worked(time.Now()); got != want {
		t.Errorf("the fold has worked %s, the reading %s", got, want)
	}
	status, err := report.ReadStatus(context.Background(), root, report.Settings{}, "")
	testkit.Must(t, err)
	if status.Bill != whole.Tree().total() || status.Cost != state.Dollars(0.25)+3*state.Dollars(0.125)+3 {
		t.Errorf("the status says %v, the tree %v", status.Bill, whole.Tree().total())
	}
	if n := NeedOf(status); n == nil || n.Reason != Gate || !strings.Contains(n.Text, "ok") {
		t.Errorf("at a gate there is the need %+v", n)
	}
}

// text is a state as JSON, without the number of its saves, which no event has.
func text(t *testing.T, s *state.State) string {
	t.Helper()
	of := *s
	of.Serial = 0
	out, err := of.Marshal()
	testkit.Must(t, err)
	return string(out)
}

// total is what all nodes cost.
func (t *Tree) total() state.Bill {
	sum := t.Elsewhere
	for _, n := range t.Nodes {
		sum = sum.Plus(n.Bill)
	}
	return sum
}

// TestWhatAResetHasMovedNeedsNobody: it is in the list, and nobody is asked about it until it is
// moved back.
func TestWhatAResetHasMovedNeedsNobody(t *testing.T) {
	t.Parallel()
	root, run := start(t, looped)
	run(request.ModeRun, exitcode.Failed)
	list := NewList(report.Settings{})
	needs := func(at string) bool {
		t.Helper()
		all, err := list.Read()
		testkit.Must(t, err)
		i := slices.IndexFunc(all.Rows, func(e Execution) bool { return e.Status.Execution == at })
		if i < 0 {
			t.Fatalf("%s is not in the list", at)
		}
		return all.Rows[i].Need != nil
	}
	if !needs(root) {
		t.Error("a failure needs nobody")
	}
	moved, err := reset.Reset(root).Do(reset.Options{})
	testkit.Must(t, err)
	if needs(moved.Directory) {
		t.Error("what was set aside needs somebody")
	}
	back, err := reset.Undo(root)
	testkit.Must(t, err)
	_, err = back.Do(reset.Options{})
	testkit.Must(t, err)
	if !needs(root) {
		t.Error("after the undo a failure needs nobody")
	}
}

// TestWhatAGateAsksAbout is the work of its attempt, and before its codon all that was done.
func TestWhatAGateAsksAbout(t *testing.T) {
	t.Parallel()
	done := &state.Codon{CodonID: "a", BaseCheckpoint: "base"}
	refused := &state.Codon{CodonID: "b", BaseCheckpoint: "base", Status: state.Failed, FailureReason: &state.FailureReason{Class: state.GateClass}}
	tree := &Tree{Nodes: []*Node{{Codon: "a", Record: done}, {Codon: "b", Record: refused}, {Codon: "c"}}}
	for codon, want := range map[state.CodonID]string{"a": "base", "b": "initial", "c": "initial"} {
		if got := tree.Judged(codon); got != want {
			t.Errorf("the gate of %s asks about what came after %q, want %q", codon, got, want)
		}
	}
}

// TestALoopIsFolded: of a loop the newest iteration is drawn, and all when it is open.
func TestALoopIsFolded(t *testing.T) {
	t.Parallel()
	root, run := start(t, looped)
	run(request.ModeRun, exitcode.Failed)
	v, err := recovery.Read(root)
	testkit.Must(t, err)
	view := of(v, time.Time{}, "")
	tree, full := view.Tree(), planview.Of(v)
	if full.Codons, full.Sessions = view.Plan.Codons, view.Plan.Sessions; len(full.Codons) != 0 || !reflect.DeepEqual(view.Plan, full) || len(full.Loops) != 1 {
		t.Errorf("the plan: %+v; want %+v", view.Plan, full)
	}
	names := func(open func(state.CodonID) bool) (out []string) {
		for _, r := range tree.Rows(open) {
			name := string(r.Codon)
			if name == "" {
				name = fmt.Sprintf("(%s %d)", r.Loop, len(r.Has))
			}
			out = append(out, strings.Repeat(" ", r.Depth)+name)
		}
		return out
	}
	folded := []string{"plan", "(rounds 3)", " write#2", " check#2", "flaky", "end"}
	if got := names(nil); !slices.Equal(got, folded) {
		t.Errorf("folded: %q", got)
	}
	open := []string{"plan", "(rounds 3)", " (rounds 2)", "  write#0", "  check#0", " (rounds 2)", "  write#1", "  check#1", " (rounds 2)", "  write#2", "  check#2", "flaky", "end"}
	if got := names(func(state.CodonID) bool { return true }); !slices.Equal(got, open) {
		t.Errorf("open: %q", got)
	}
	if n := tree.Find("flaky"); n == nil || n.Verdict != verdict.Failed || n.Why == "" || n.Attempts != 1 {
		t.Errorf("the codon that has failed: %+v", n)
	}
	if loop := tree.Nodes[1]; !loop.IsLoop() || loop.Verdict != verdict.Completed || loop.Attempts != 6 || loop.Name != "Rounds" || loop.Of == "" {
		t.Errorf("the loop: %+v", loop)
	}
}

// TestARunIsFollowedFromItsFiles: a follower has, while a run goes on and once it has ended, what
// a fresh reading has, and the counts of its views never go back.
func TestARunIsFollowedFromItsFiles(t *testing.T) {
	t.Parallel()
	root, run := start(t, looped)
	run(request.ModeRun, exitcode.Failed)
	f, err := Open(context.Background(), root, report.Settings{}, "")
	testkit.Must(t, err)
	if n := NeedOf(f.View().Status); n == nil || n.Reason != Failure {
		t.Errorf("after a failure there is the need %+v", n)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	testkit.Write(t, filepath.Join(root, "fixed"), "")
	begun, weighed := time.Now(), map[time.Time]bool{}
	go func() {
		last := uint64(0)
		for ; ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
			_, err := f.Poll(ctx)
			v := f.View()
			if !f.weighed.IsZero() {
				weighed[f.weighed] = true
			}
			if v.Seq < last {
				t.Errorf("event %d came after event %d", v.Seq, last)
			}
			if last = v.Seq; err != nil || v.Status.Gate != nil && !v.Live {
				done <- err
				return
			}
		}
		done <- ctx.Err()
	}()
	run(request.ModeRetry, exitcode.Waiting)
	testkit.Must(t, <-done)
	if n, most := len(weighed), 1+int(time.Since(begun)/weighEvery); n > most {
		t.Errorf("its transcripts were weighed %d times, and at most %d times are allowed", n, most)
	}
	fresh, err := recovery.Read(root)
	testkit.Must(t, err)
	if text(t, f.View().State) != text(t, fresh.State) {
		t.Error("what was followed has another state than what is read")
	}
	if !reflect.DeepEqual(f.View().Tree().counts(), of(fresh, time.Time{}, "").Tree().counts()) || f.View().Status.Gate == nil {
		t.Errorf("the last view: %+v", f.View())
	}
}

// TestAnExecutionAtRestIsSeenToChange: another one takes its place, and it is deleted.
func TestAnExecutionAtRestIsSeenToChange(t *testing.T) {
	t.Parallel()
	root, run := start(t, looped)
	run(request.ModeRun, exitcode.Failed)
	f, err := Open(context.Background(), root, report.Settings{}, "")
	testkit.Must(t, err)
	another, run := start(t, looped)
	run(request.ModeRun, exitcode.Failed)
	fresh, err := recovery.Read(another)
	testkit.Must(t, err)
	testkit.Must(t, errors.Join(os.RemoveAll(root), os.Rename(another, root)))
	poll := func() (bool, error) {
		f.looked = time.Time{} // it is time to look again
		return f.Poll(context.Background())
	}
	if changed, err := poll(); !changed || err != nil || f.View().State.Lineage != fresh.State.Lineage {
		t.Errorf("another execution: %v, %v", changed, err)
	}
	testkit.Must(t, os.RemoveAll(root))
	for range 2 {
		if _, err := poll(); err == nil || !strings.Contains(err.Error(), "any more") {
			t.Errorf("none: %v", err)
		}
	}
}

// TestWhatNeedsAPerson: a provider that refuses the key, a budget that is used up, and an agent of
// which nothing is heard are reasons, each with what is known of it.
func TestWhatNeedsAPerson(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		status report.Status
		want   *Need
	}{
		{"exit code 9", report.Status{Verdict: verdict.Refused, EndDetail: "the key was refused", After: "hank run"}, &Need{Agent, "the key was refused", "hank run"}},
		{"budget", report.Status{Verdict: verdict.Budget, EndDetail: "$1.00 of $1.00", After: "hank run --max-cost 2"}, &Need{Spent, "$1.00 of $1.00", "hank run --max-cost 2"}},
		{"silent", report.Status{Verdict: verdict.Running, Live: true, Silent: true, After: "hank log -f"}, &Need{Silent, "no output from the agent for a while", "hank log -f"}},
		{"not silent", report.Status{Verdict: verdict.Running, Live: true}, nil},
		{"silent once, and over", report.Status{Verdict: verdict.Completed, Silent: true}, nil},
	} {
		if got := NeedOf(&c.status); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	for reason, want := range map[Reason]string{Agent: "agent", Spent: "budget", Silent: "silent"} {
		if reason.String() != want {
			t.Errorf("%d is %q, want %q", reason, reason, want)
		}
	}
}

// TestThoseThatNeedAPersonAreFirst: a gate before a failure, before what is done.
func TestThoseThatNeedAPersonAreFirst(t *testing.T) {
	t.Parallel()
	var rows []Execution
	add := func(name string, live bool, reason Reason) {
		e := Execution{Status: &report.Status{Execution: name, Live: live}}
		if reason > 0 {
			e.Need = &Need{Reason: reason}
		}
		rows = append(rows, e)
	}
	add("done", false, 0)
	add("running", true, 0)
	add("failed", false, Failure)
	add("gate", true, Gate)
	add("silent", true, Silent)
	add("limit", true, Limit)
	add("spent", false, Spent)
	add("agent", false, Agent)
	add("blocked", false, Blocked)
	add("held", false, Hold)
	sortRows(rows)
	var got []string
	for _, r := range rows {
		got = append(got, r.Status.Execution)
	}
	if want := []string{"gate", "held", "blocked", "agent", "spent", "failed", "limit", "silent", "running", "done"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestTheMovesAreThoseOfTheJournal: what is read bit by bit explains a codon as the whole does.
func TestTheMovesAreThoseOfTheJournal(t *testing.T) {
	t.Parallel()
	root, run := start(t, looped)
	run(request.ModeRun, exitcode.Failed)
	f, err := Open(context.Background(), root, report.Settings{}, "")
	testkit.Must(t, err)
	if got := f.Moves(); len(got) != 0 {
		t.Errorf("before any move: %v", got)
	}
	v, err := recovery.Read(root)
	testkit.Must(t, err)
	for _, e := range v.State.ExecutionPlan() { // nor is one looked for
		_, err := report.WhyAfter(v, string(e.CodonID), func() []why.Move {
			t.Errorf("%s: the journal is read, and no attempt began after a move", e.CodonID)
			return nil
		})
		testkit.Must(t, err)
	}
	before := f.moved
	for range 2 {
		run(request.ModeRetry, exitcode.Failed)
		f.moved = before // also when the execution is not read from the beginning
		if first, again := len(f.Moves()), len(f.Moves()); first != again {
			t.Errorf("%d moves, and then %d", first, again)
		}
	}
	if got := f.Moves(); len(got) != 2 || got[0].Kind != state.ReasonRetry {
		t.Errorf("after two retries: %v", got)
	}
	v, err = recovery.Read(root)
	testkit.Must(t, err)
	asked := 0
	for _, e := range v.State.ExecutionPlan() {
		want, err := report.Why(v, string(e.CodonID))
		testkit.Must(t, err)
		if got, err := report.WhyAfter(v, string(e.CodonID), func() []why.Move { asked++; return f.Moves() }); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", e.CodonID, got, err, want)
		}
	}
	if asked == 0 {
		t.Error("no attempt began after a retry")
	}
}

// TestTheRecordOfAGateIsNoAttempt: where a gate fails a codon, no agent has worked.
func TestTheRecordOfAGateIsNoAttempt(t *testing.T) {
	t.Parallel()
	n, at := &Node{}, state.At(time.Unix(1, 0))
	worked := &state.Codon{CodonID: "a", Status: state.Completed, StartTime: at, EndTime: &at}
	refused := &state.Codon{CodonID: "a", Status: state.Failed, StartTime: at, EndTime: &at, FailureReason: &state.FailureReason{Class: state.GateClass}}
	for _, k := range []*state.Codon{worked, refused, worked} {
		n.count(k, false)
	}
	if n.Attempts != 2 {
		t.Errorf("%d attempts, want 2", n.Attempts)
	}
}
