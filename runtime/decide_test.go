package runtime

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"hank/checkpoint/diff"
	"hank/internal/prompt"
	plansteps "hank/plan/steps"
	"hank/runtime/startpoint"
	"hank/runtime/verdict"
	"hank/state"
)

// told reads a state of fixtures/states.
func told(t *testing.T, name string) *state.State {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "fixtures", "states", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := state.Unmarshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// words is a start in one line, with the codon instead of checkpoints and positions.
func words(st startpoint.Start, mode Mode, err error) string {
	if err != nil {
		return fmt.Sprintf("%d %v", verdict.CodeOf(err), err)
	}
	var out []string
	add := func(is bool, format string, args ...any) {
		if is {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	if st.End != nil {
		add(true, "end %s %s", st.End.Reason, st.End.Codon)
	}
	if st.Redo != nil {
		add(true, "%s %s", st.Kind(mode), st.Redo.CodonID)
		from := "base"
		if st.Target == st.Redo.RigSetupCheckpoint {
			from = "rig"
		}
		add(true, "from its %s", from)
		add(st.To != st.Target, "which is not restored")
		add(st.Position.RigDone != st.RigDone, "with a position that does not know of its rig")
	}
	add(st.Stay, "in place")
	add(st.RigDone, "without rig")
	if st.Resumed != nil {
		add(true, "resume %s", st.Resumed.CodonID)
	}
	if st.Session != nil {
		add(true, "in its session")
	}
	if st.Question != nil {
		add(true, "ask (%d choices): %s", len(st.Question.Choices), st.Question.Open.What)
	}
	if len(out) == 0 {
		return "continue"
	}
	return strings.Join(out, ", ")
}

func TestAStartIsDecidedByWhatWasReadAndAnsweredAlone(t *testing.T) {
	t.Parallel()
	keep, restore := Answers{KeepTree: true}, Answers{Restore: true}
	run, resume, retry := Request{Mode: ModeRun}, Request{Mode: ModeResume}, Request{Mode: ModeRetry}
	rigged := Request{Mode: ModeRetry, FromRigSetup: true}
	named := func(id state.CodonID) Request { return Request{Mode: ModeRetry, Codon: id} }
	lost, closed := startpoint.Situation{Lost: true}, startpoint.Situation{Closed: syscall.EROFS}
	for _, c := range []struct {
		state   string
		at      startpoint.Situation
		request Request
		answers Answers
		want    string
	}{
		// Nothing has run.
		{"", startpoint.Situation{}, run, Answers{}, "continue"},
		{"", startpoint.Situation{}, resume, Answers{}, "2 nothing has run yet; start with: `hank run`"},
		{"", startpoint.Situation{}, retry, keep, "2 nothing has run yet; start with: `hank run`"},

		// The plan is completed.
		{"completed", startpoint.Situation{}, run, Answers{}, "end  "},
		{"completed", startpoint.Situation{}, resume, keep, "end  "},
		{"completed", startpoint.Situation{ArchiveDue: true}, run, Answers{}, "end  "}, // its run has come to its end, and archived
		{"completed", startpoint.Situation{}, retry, Answers{}, "2 no failed codon; specify one: `hank retry CODON`"},
		{"completed", startpoint.Situation{}, named("survey"), Answers{}, "retry survey, from its base"},
		{"completed", startpoint.Situation{}, Request{Mode: ModeRetry, Codon: "draft", FromRigSetup: true}, Answers{}, "retry draft, from its rig, without rig"},
		{"completed", startpoint.Situation{}, named("nobody"), Answers{}, "2 "},

		// A crash has interrupted a codon.
		{"crashed", startpoint.Situation{}, run, Answers{}, "restart draft, from its base"},
		{"crashed", startpoint.Situation{}, run, restore, "restart draft, from its base"},
		{"crashed", startpoint.Situation{}, run, keep, "restart draft, from its base, which is not restored, in place, without rig"},
		{"crashed", startpoint.Situation{}, resume, Answers{}, "without rig, resume draft, in its session"},
		{"crashed", startpoint.Situation{}, resume, restore, "without rig, resume draft, in its session"},
		{"crashed", startpoint.Situation{}, retry, Answers{}, "retry draft, from its base"},
		{"crashed", startpoint.Situation{}, retry, keep, "retry draft, from its base, in place"},
		{"crashed", startpoint.Situation{}, rigged, Answers{}, "retry draft, from its rig, without rig"},
		{"crashed", lost, run, Answers{}, "restart draft, from its base, ask (2 choices): checkpoint 0000"},
		{"crashed", lost, run, restore, "restart draft, from its base, ask (0 choices): checkpoint 0000"},
		{"crashed", lost, run, keep, "restart draft, from its base, which is not restored, in place, without rig"},
		{"crashed", lost, retry, keep, "retry draft, from its base, which is not restored, in place, without rig"},
		{"crashed", lost, resume, Answers{}, "without rig, resume draft, in its session"}, // it goes nowhere
		{"crashed", closed, run, Answers{}, "restart draft, from its base, ask (0 choices): the workspace cannot be put back"},
		{"crashed", closed, run, keep, "restart draft, from its base, which is not restored, in place, without rig"},
		{"crashed", closed, retry, keep, "retry draft, from its base, which is not restored, in place, without rig"},

		// A reader sees a codon that a crash has left as it was.
		{"running", startpoint.Situation{}, run, Answers{}, "restart draft, from its base"},
		{"preparing", startpoint.Situation{}, run, Answers{}, "restart survey, from its base"},
		{"completing-sentinels", startpoint.Situation{}, retry, Answers{}, "retry draft, from its base"},

		// A codon has failed.
		{"failed", startpoint.Situation{}, run, Answers{}, "end codon-failed draft"},
		{"failed", startpoint.Situation{}, run, keep, "end codon-failed draft"},
		{"failed", startpoint.Situation{}, resume, Answers{}, "without rig, resume draft, in its session"},
		{"failed", startpoint.Situation{}, retry, Answers{}, "retry draft, from its base"},
		{"rig-failed", startpoint.Situation{}, run, Answers{}, "end codon-failed survey"},
		{"rig-failed, may be skipped", startpoint.Situation{}, resume, Answers{}, "restart survey, from its base"}, // it is asked about again

		// It has no retry left, and the run was paused.
		{"failed, exhausted", startpoint.Situation{}, run, Answers{}, "restart draft, from its base"},
		{"failed, exhausted", startpoint.Situation{}, Request{Mode: ModeRun, Unattended: true}, Answers{}, "end exhausted draft"},
		{"failed, exhausted", startpoint.Situation{}, run, keep, "restart draft, from its base, which is not restored, in place, without rig"},
		{"failed, exhausted", startpoint.Situation{}, resume, Answers{}, "without rig, resume draft, in its session"},
		{"failed, exhausted", startpoint.Situation{}, retry, Answers{}, "retry draft, from its base"},
		{"failed, exhausted", lost, run, Answers{}, "restart draft, from its base, ask (2 choices): checkpoint 0000"},
		{"rig-failed", startpoint.Situation{}, resume, Answers{}, "resume survey"}, // its rig has not ended: it runs again
		{"rig-failed", startpoint.Situation{}, rigged, Answers{}, "2 codon survey has no rig checkpoint to go back to"},
	} {
		c.at.State = &state.State{}
		if c.state != "" {
			name, change, _ := strings.Cut(c.state, ", ")
			c.at.State = told(t, name)
			switch change {
			case "exhausted":
				c.at.State.Runs[0].EndReason = state.EndExhausted
			case "may be skipped":
				c.at.State.ExecutionPlan()[c.at.State.PlanIndex("survey")].Codon.SkipIf = &plansteps.Condition{Files: []string{"x"}}
			}
		}
		before, err := c.at.State.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		st, err := startpoint.Decide(c.at, c.request, c.answers)
		got := words(st, c.request.Mode, err)
		if exact := !strings.Contains(c.want, "ask") && !strings.HasPrefix(c.want, "2 "); exact && got != c.want || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s %+v, %s, %+v:\n got %s\nwant %s", c.state, c.at.Lost, c.request.Mode, c.answers, got, c.want)
		}
		if after, err := c.at.State.Marshal(); err != nil || string(after) != string(before) {
			t.Errorf("%s: deciding has changed the state (%v)", c.state, err)
		}
		if again, err := startpoint.Decide(c.at, c.request, c.answers); words(again, c.request.Mode, err) != got {
			t.Errorf("%s: decided again it is %s", c.state, words(again, c.request.Mode, err))
		}
	}
}

// An attempt that continues one which a limit has interrupted keeps its rig and its session, also
// after hank was killed before anything came of it: in the run of the limit, or in the next.
func TestALimitIsContinuedAfterAKillAtOnce(t *testing.T) {
	t.Parallel()
	for _, later := range []bool{false, true} {
		s := told(t, "running")
		at, live := state.At(s.Newest().StartTime.Add(time.Hour)), s.Newest().Live()
		do := func(list ...state.Transition) {
			t.Helper()
			for _, tr := range list {
				next, err := state.Apply(s, s.Seq+1, tr)
				if err != nil {
					t.Fatal(err)
				}
				s = next
			}
		}
		run := s.Newest().RunID
		cut := func(c *state.Codon, by string) state.Transition {
			final := c.Interrupt(at, by, "it was interrupted")
			final.ErrorCheckpoint, final.PartialTokens = "0000000000000000000000000000000000000001", &state.Tokens{Output: 5}
			if by == state.InterruptedByLimit {
				final.FailureReason.Class = "usage_limit"
			}
			return state.CodonTransitioned{RunID: run, Record: final}
		}
		do(cut(live, state.InterruptedByLimit))
		limited := s.Newest().Codon(s.Newest().Len() - 1)
		if later {
			do(state.RunCrashed{RunID: run, EndTime: at})
			st, err := startpoint.Decide(startpoint.Situation{State: s}, Request{Mode: ModeRun}, Answers{})
			if err != nil || st.Resumed != limited {
				t.Fatalf("%s", words(st, ModeRun, err))
			}
			run = "later"
			do(state.RunStarted{Run: &state.Run{RunID: run, Status: state.StatusRunning, StartTime: at, StartingConditions: startpoint.Conditions(s, st, ModeRun, "0000000000000000000000000000000000000001")}})
		}
		do(state.CodonStarted{RunID: run, Record: &state.Codon{CodonID: live.CodonID, StartTime: at, Status: state.Preparing, LoopContext: live.LoopContext, Attempt: 2,
			BaseCheckpoint: live.BaseCheckpoint, RigSetupCheckpoint: live.RigSetupCheckpoint}})
		do(cut(s.Newest().Live(), state.InterruptedByCrash), state.RunCrashed{RunID: run, EndTime: at})
		for _, mode := range []Mode{ModeRun, ModeResume} {
			st, err := startpoint.Decide(startpoint.Situation{State: s}, Request{Mode: mode}, Answers{})
			if got := words(st, mode, err); got != "without rig, resume draft, in its session" || st.Resumed != limited || st.Session != limited {
				t.Errorf("later %t, hank %s: %s", later, mode, got)
			}
		}
	}
}

// What a question is answered with is a decision: asked again, decide does not ask.
func TestAnAnswerEndsItsQuestion(t *testing.T) {
	t.Parallel()
	at := startpoint.Situation{State: told(t, "crashed"), Lost: true}
	for choice, want := range map[int]string{0: "restart draft, from its base, which is not restored, in place, without rig", 1: "4 ", -1: "4 "} {
		asked := 0
		ui := UI{Ask: func(prompt.Question) int { asked++; return choice }}
		d := &driver{request: Request{Mode: ModeRun}, ui: ui}
		st, err := d.decided(at)
		if got := words(st, ModeRun, err); !strings.HasPrefix(got, want) || asked != 1 {
			t.Errorf("answer %d: %s, asked %d times", choice, got, asked)
		}
		if d.answers.KeepTree != (choice == 0) {
			t.Errorf("answer %d has decided %+v", choice, d.answers)
		}
	}
	d := &driver{request: Request{Mode: ModeRun}}
	if _, err := d.decided(at); err == nil || errors.Is(err, os.ErrInvalid) || verdict.CodeOf(err) != 4 {
		t.Errorf("without a terminal: %v", err)
	}
}

func TestWhatBecomesOfChangesByTheUser(t *testing.T) {
	t.Parallel()
	changed := []diff.Change{{Path: "a", Kind: diff.Modified}}
	stays, goes, over := startpoint.Start{}, startpoint.Start{To: "1"}, startpoint.Start{End: &verdict.Outcome{}}
	for _, c := range []struct {
		st        startpoint.Start
		changes   []diff.Change
		completed bool
		mode      Mode
		answers   Answers
		want      string
	}{
		{stays, nil, false, ModeRun, Answers{}, "restore"},
		{stays, nil, false, ModeRun, Answers{KeepTree: true}, "restore"}, // there is nothing to keep
		{stays, changed, false, ModeRun, Answers{KeepTree: true}, "keep"},
		{stays, changed, false, ModeRun, Answers{Restore: true}, "restore"},
		{stays, changed, false, ModeResume, Answers{}, "keep"},
		{stays, changed, false, ModeResume, Answers{Restore: true}, "restore"},
		{over, changed, true, ModeResume, Answers{}, "ask: the hank is completed, and the workspace was changed"},
		{stays, changed, false, ModeRun, Answers{}, "ask: the workspace was changed"},
		{goes, changed, true, ModeRetry, Answers{}, "ask: the workspace was changed"},
	} {
		keep, missing := startpoint.DecideEdits(c.st, c.changes, c.completed, c.mode, c.answers)
		got := map[bool]string{true: "keep", false: "restore"}[keep]
		if missing != nil {
			got = "ask: " + missing.Open.What
			for i, want := range []Answers{{KeepTree: true}, {Restore: true}} {
				if a := missing.Choices[i].With(c.answers); !reflect.DeepEqual(a, want) {
					t.Errorf("choice %d decides %+v", i, a)
				}
			}
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%+v: %s, want %s", c, got, c.want)
		}
	}
}

// Whatever a state is, and whatever is asked and answered, a start that runs a codon
// again knows the checkpoint and the position to start from, and one that keeps the
// workspace goes nowhere else.
func TestEveryStartIsComplete(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "fixtures", "states", "*.json"))
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if name == "foreign" { // its records get their bases when the execution is adopted
			continue
		}
		s := told(t, name)
		for bits := range 1 << 5 {
			is := func(n int) bool { return bits>>n&1 == 1 }
			at := startpoint.Situation{State: s, ArchiveDue: is(0), Lost: is(1)}
			if is(2) {
				at.Closed = syscall.EROFS
			}
			a := Answers{KeepTree: is(3), Restore: is(4)}
			for _, r := range []Request{{Mode: ModeRun}, {Mode: ModeResume}, {Mode: ModeRetry}, {Mode: ModeRetry, FromRigSetup: true}, {Mode: ModeRetry, Codon: "survey"}} {
				st, err := startpoint.Decide(at, r, a)
				if err != nil {
					continue
				}
				if redo := st.Redo != nil; redo != (st.Target != "") || redo != (st.Position != nil) || redo && st.Resumed != nil || st.Session != nil && st.Resumed == nil {
					t.Errorf("%s, %s, %+v, %+v: %s", name, r.Mode, at, a, words(st, r.Mode, nil))
				}
				if st.To != "" && st.To != st.Target || st.To == "" && st.Target != "" && !st.Stay || st.End != nil && (st.Redo != nil || st.RigDone) {
					t.Errorf("%s, %s, %+v, %+v: %s", name, r.Mode, at, a, words(st, r.Mode, nil))
				}
				if asks := st.Target != "" && (at.Lost || at.Closed != nil) && !a.KeepTree; asks != (st.Question != nil) {
					t.Errorf("%s, %s, %+v, %+v: asks %v", name, r.Mode, at, a, st.Question)
				}
			}
		}
	}
}
