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

	"hank/checkpoint/diff"
	"hank/internal/prompt"
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
func words(st start, err error) string {
	if err != nil {
		return fmt.Sprintf("%d %v", verdict.CodeOf(err), err)
	}
	var out []string
	add := func(is bool, format string, args ...any) {
		if is {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	if st.end != nil {
		add(true, "end %s %s", st.end.reason, st.end.codon)
	}
	if st.redo != nil {
		add(true, "%s %s", st.kind(), st.redo.CodonID)
		from := "base"
		if st.target == st.redo.RigSetupCheckpoint {
			from = "rig"
		}
		add(true, "from its %s", from)
		add(st.to != st.target, "which is not restored")
		add(st.position.RigDone != st.rigDone, "with a position that does not know of its rig")
	}
	add(st.stay, "in place")
	add(st.rigDone, "without rig")
	if st.resumed != nil {
		add(true, "resume %s", st.resumed.CodonID)
	}
	if st.session != nil {
		add(true, "in its session")
	}
	if st.question != nil {
		add(true, "ask (%d choices): %s", len(st.question.choices), st.question.open.What)
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
	lost, closed := situation{lost: true}, situation{closed: syscall.EROFS}
	for _, c := range []struct {
		state   string
		at      situation
		request Request
		answers Answers
		want    string
	}{
		// Nothing has run.
		{"", situation{}, run, Answers{}, "continue"},
		{"", situation{}, resume, Answers{}, "2 nothing has run yet; start with: `hank run`"},
		{"", situation{}, retry, keep, "2 nothing has run yet; start with: `hank run`"},

		// The plan is completed.
		{"completed", situation{}, run, Answers{}, "end  "},
		{"completed", situation{}, resume, keep, "end  "},
		{"completed", situation{archiveDue: true}, run, Answers{}, "end  "}, // its run has come to its end, and archived
		{"completed", situation{}, retry, Answers{}, "2 no failed codon; specify one: `hank retry CODON`"},
		{"completed", situation{}, named("survey"), Answers{}, "retry survey, from its base"},
		{"completed", situation{}, Request{Mode: ModeRetry, Codon: "draft", FromRigSetup: true}, Answers{}, "retry draft, from its rig, without rig"},
		{"completed", situation{}, named("nobody"), Answers{}, "2 "},

		// A crash has interrupted a codon.
		{"crashed", situation{}, run, Answers{}, "restart draft, from its base"},
		{"crashed", situation{}, run, restore, "restart draft, from its base"},
		{"crashed", situation{}, run, keep, "restart draft, from its base, which is not restored, in place, without rig"},
		{"crashed", situation{}, resume, Answers{}, "without rig, resume draft, in its session"},
		{"crashed", situation{}, resume, restore, "without rig, resume draft, in its session"},
		{"crashed", situation{}, retry, Answers{}, "retry draft, from its base"},
		{"crashed", situation{}, retry, keep, "retry draft, from its base, in place"},
		{"crashed", situation{}, rigged, Answers{}, "retry draft, from its rig, without rig"},
		{"crashed", lost, run, Answers{}, "restart draft, from its base, ask (2 choices): checkpoint 0000"},
		{"crashed", lost, run, restore, "restart draft, from its base, ask (0 choices): checkpoint 0000"},
		{"crashed", lost, run, keep, "restart draft, from its base, which is not restored, in place, without rig"},
		{"crashed", lost, retry, keep, "retry draft, from its base, which is not restored, in place, without rig"},
		{"crashed", lost, resume, Answers{}, "without rig, resume draft, in its session"}, // it goes nowhere
		{"crashed", closed, run, Answers{}, "restart draft, from its base, ask (0 choices): the workspace cannot be put back"},
		{"crashed", closed, run, keep, "restart draft, from its base, which is not restored, in place, without rig"},
		{"crashed", closed, retry, keep, "retry draft, from its base, which is not restored, in place, without rig"},

		// A reader sees a codon that a crash has left as it was.
		{"running", situation{}, run, Answers{}, "restart draft, from its base"},
		{"preparing", situation{}, run, Answers{}, "restart survey, from its base"},
		{"completing-sentinels", situation{}, retry, Answers{}, "retry draft, from its base"},

		// A codon has failed.
		{"failed", situation{}, run, Answers{}, "end codon-failed draft"},
		{"failed", situation{}, run, keep, "end codon-failed draft"},
		{"failed", situation{}, resume, Answers{}, "without rig, resume draft, in its session"},
		{"failed", situation{}, retry, Answers{}, "retry draft, from its base"},
		{"rig-failed", situation{}, run, Answers{}, "end codon-failed survey"},
		{"rig-failed", situation{}, resume, Answers{}, "resume survey"}, // its rig has not ended: it runs again
		{"rig-failed", situation{}, rigged, Answers{}, "2 codon survey has no rig checkpoint to go back to"},
	} {
		c.at.state = &state.State{}
		if c.state != "" {
			c.at.state = told(t, c.state)
		}
		before, err := c.at.state.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		st, err := decide(c.at, c.request, c.answers)
		got := words(st, err)
		if exact := !strings.Contains(c.want, "ask") && !strings.HasPrefix(c.want, "2 "); exact && got != c.want || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s %+v, %s, %+v:\n got %s\nwant %s", c.state, c.at.lost, c.request.Mode, c.answers, got, c.want)
		}
		if after, err := c.at.state.Marshal(); err != nil || string(after) != string(before) {
			t.Errorf("%s: deciding has changed the state (%v)", c.state, err)
		}
		if again, err := decide(c.at, c.request, c.answers); words(again, err) != got {
			t.Errorf("%s: decided again it is %s", c.state, words(again, err))
		}
	}
}

// What a question is answered with is a decision: asked again, decide does not ask.
func TestAnAnswerEndsItsQuestion(t *testing.T) {
	t.Parallel()
	at := situation{state: told(t, "crashed"), lost: true}
	for choice, want := range map[int]string{0: "restart draft, from its base, which is not restored, in place, without rig", 1: "4 ", -1: "4 "} {
		asked := 0
		ui := UI{Ask: func(prompt.Question) int { asked++; return choice }}
		d := &driver{request: Request{Mode: ModeRun}, ui: ui}
		if got := words(d.decided(at)); !strings.HasPrefix(got, want) || asked != 1 {
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
	stays, goes, over := start{}, start{to: "1"}, start{end: &outcome{}}
	for _, c := range []struct {
		st        start
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
		keep, missing := decideEdits(c.st, c.changes, c.completed, c.mode, c.answers)
		got := map[bool]string{true: "keep", false: "restore"}[keep]
		if missing != nil {
			got = "ask: " + missing.open.What
			for i, want := range []Answers{{KeepTree: true}, {Restore: true}} {
				if a := missing.choices[i].with(c.answers); !reflect.DeepEqual(a, want) {
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
			at := situation{state: s, archiveDue: is(0), lost: is(1)}
			if is(2) {
				at.closed = syscall.EROFS
			}
			a := Answers{KeepTree: is(3), Restore: is(4)}
			for _, r := range []Request{{Mode: ModeRun}, {Mode: ModeResume}, {Mode: ModeRetry}, {Mode: ModeRetry, FromRigSetup: true}, {Mode: ModeRetry, Codon: "survey"}} {
				st, err := decide(at, r, a)
				if err != nil {
					continue
				}
				if redo := st.redo != nil; redo != (st.target != "") || redo != (st.position != nil) || redo && st.resumed != nil || st.session != nil && st.resumed == nil {
					t.Errorf("%s, %s, %+v, %+v: %s", name, r.Mode, at, a, words(st, nil))
				}
				if st.to != "" && st.to != st.target || st.to == "" && st.target != "" && !st.stay || st.end != nil && (st.redo != nil || st.rigDone) {
					t.Errorf("%s, %s, %+v, %+v: %s", name, r.Mode, at, a, words(st, nil))
				}
				if asks := st.target != "" && (at.lost || at.closed != nil) && !a.KeepTree; asks != (st.question != nil) {
					t.Errorf("%s, %s, %+v, %+v: asks %v", name, r.Mode, at, a, st.question)
				}
			}
		}
	}
}
