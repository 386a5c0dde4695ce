//go:build unix

package runtime

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hank/internal/modelserver"
	"hank/internal/short"
	"hank/runtime/codon"
	"hank/runtime/exitcode"
	"hank/runtime/usagelimit"
	"hank/state"
)

// limitedOnce is a hank whose first codon meets a usage limit the first time that it runs.
// What it has written until then is a part of its work that must not stay.
func limitedOnce(seconds, more string) string {
	return fmt.Sprintf(`{"hank": [
		{"id": "a", "name": "a", "model": "shell", "continuationMode": "fresh"%s,
			"promptText": "echo x >>part; if [ ! -e $COUNTER ]; then touch $COUNTER; echo '::hank usage {\"costUSD\":1}'; echo '::hank usage-limit %s'; exit 1; fi; touch done"},
		{"id": "b", "name": "b", "model": "shell", "continuationMode": "fresh", "promptText": "touch b"}]}`, more, seconds)
}

func limitStage(t *testing.T, seconds, more string) *stage {
	s := stageOf(t, limitedOnce(seconds, more))
	s.opts.Environ = append(s.opts.Environ, "COUNTER="+filepath.Join(t.TempDir(), "counter"))
	return s
}

// events are the types of what was noted.
func (s *stage) noted(kind string) int {
	text, err := os.ReadFile(filepath.Join(s.root, ".hankweave", "events", "events.jsonl"))
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.Count(string(text), `"type":"`+kind+`"`)
}

func TestARunWaitsForAUsageLimit(t *testing.T) {
	t.Parallel()
	s := limitStage(t, "0.2", "")
	told := filepath.Join(t.TempDir(), "told")
	s.opts.Notify = "cat >>" + told
	res := s.must(ModeRun, exitcode.Done)
	if got, want := strings.Join(s.records(), " "), "a:failed a:completed b:completed"; got != want {
		t.Errorf("the records are %s, want %s", got, want)
	}
	if got := content(t, s.workspace(), "part"); got != "x\n" {
		t.Errorf("a script begins anew, and part has %q", got)
	}
	first := s.view().State.Newest().Codon(0)
	if first.Interrupted != state.InterruptedByLimit || first.FailureReason.Class != "usage_limit" || first.ErrorCheckpoint == "" || first.FailureReason.ResetsAt == nil {
		t.Errorf("%+v %+v", first, first.FailureReason)
	}
	if len(s.view().State.Runs) != 1 || res.Cost != state.Dollar {
		t.Errorf("%d runs, %s", len(s.view().State.Runs), res.Cost)
	}
	if s.noted("run.waiting") != 1 || s.noted("run.waited") != 1 {
		t.Error("the wait is not in the events")
	}
	if text := content(t, told, ""); strings.Count(text, `"exitCode"`) != 2 || !strings.Contains(text, "waiting for the provider's usage limit until ") {
		t.Errorf("the notification command was told %s", text)
	}
	if !strings.Contains(strings.Join(s.said, "\n"), "hank run --now") {
		t.Errorf("it said %q", s.said)
	}
	s.fsck()
}

// A limit uses up no retry, and where the hank does not wait it is a failure like others.
func TestALimitIsNoFailureUnlessTheHankSaysSo(t *testing.T) {
	t.Parallel()
	s := limitStage(t, "0.2", `, "onFailure": "retry", "retryConfig": {"maxAttempts": 1, "delayMs": 0}, "expect": {"command": {"run": "test -e $COUNTER.2 || { touch $COUNTER.2; false; }"}}`)
	s.must(ModeRun, exitcode.Done)
	if got, want := strings.Join(s.records(), " "), "a:failed a:failed a:completed b:completed"; got != want {
		t.Errorf("the records are %s, want %s", got, want)
	}
	s = limitStage(t, "0.2", `, "onUsageLimit": "fail"`)
	s.must(ModeRun, exitcode.Failed)
	if c := s.last("a"); c.Interrupted != "" || c.FailureReason.Class != "usage_limit" || c.FailureReason.ResetsAt != nil {
		t.Errorf("%+v %+v", c, c.FailureReason)
	}
	s = limitStage(t, "100", `, "maxUsageLimitWait": 50`)
	s.must(ModeRun, exitcode.Failed)
	if c := s.last("a"); c.Interrupted != "" || !strings.Contains(strings.Join(c.Notes, "\n"), "not waited for: its limit ends at ") {
		t.Errorf("%+v %q", c, c.Notes)
	}
	s = limitStage(t, "100", `, "onUsageLimit": "fail", "onFailure": "ignore"`)
	s.must(ModeRun, exitcode.Done)
}

// --now ends a wait that an earlier run has left, and none that begins in its own run.
func TestNowIsOfAnEarlierWait(t *testing.T) {
	t.Parallel()
	s := limitStage(t, "0.2", "")
	s.must(ModeRun, exitcode.Done, func(o *command) { o.Now = true })
	if s.noted("run.waiting") != 1 {
		t.Error("it did not wait")
	}
}

// waiting runs until the run waits, and then does something to it.
func (s *stage) waiting(code exitcode.Code, then func(chan<- codon.Request)) *Result {
	s.t.Helper()
	requests := make(chan codon.Request)
	done := make(chan struct{})
	defer close(done)
	return s.must(ModeRun, code, func(o *command) {
		o.Requests = requests
		say := o.Say
		o.Say = func(line string) {
			say(line)
			if strings.Contains(line, "--now") {
				go then(requests)
			}
		}
	})
}

func TestAWaitIsContinuedByTheNextRun(t *testing.T) {
	t.Parallel()
	s := limitStage(t, "3600", "")
	stop := func(r chan<- codon.Request) {
		r <- codon.Request{Signal: codon.StopNow, Reason: state.EndStopped, Code: exitcode.Stopped}
	}
	s.waiting(exitcode.Stopped, stop)
	w := usagelimit.Of(s.view().State)
	if w == nil || w.Codon != "a" || time.Until(w.Until.Time) < 50*time.Minute {
		t.Fatalf("%+v", w)
	}
	s.waiting(exitcode.Stopped, stop) // for what is left of it
	if next := usagelimit.Of(s.view().State); next == nil || !next.Until.Equal(w.Until.Time) {
		t.Errorf("%+v", next)
	}
	if got, want := strings.Join(s.records(), " "), "a:failed"; got != want {
		t.Errorf("the records are %s, want %s", got, want)
	}
	s.must(ModeRun, exitcode.Done, func(o *command) { o.Now = true })
	if got, want := strings.Join(s.records(), " "), "a:failed a:completed b:completed"; got != want {
		t.Errorf("the records are %s, want %s", got, want)
	}
	if got := content(t, s.workspace(), "part"); got != "x\n" {
		t.Errorf("part has %q", got)
	}
}

// TestAWaitThatIsKilledKeepsItsEnd: after kill -9 in a wait the next run waits until the same
// time.
func TestAWaitThatIsKilledKeepsItsEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "hank/hank.json", limitedOnce("3600", ""))
	o := order{Execution: filepath.Join(dir, "x"), Hank: filepath.Join(dir, "hank"), Output: filepath.Join(dir, "output")}
	env := "COUNTER=" + filepath.Join(dir, "counter")
	var until []time.Time
	for range 2 {
		if _, killed := o.start(t, env, "HANK_FAILPOINT=limit.announced:1").wait(); !killed {
			t.Fatal("it was not killed")
		}
		w := usagelimit.Of(o.fold(t).state)
		if w == nil {
			t.Fatal("it does not wait any more")
		}
		until = append(until, w.Until.Time)
	}
	if time.Until(until[0]) < 50*time.Minute || !until[1].Equal(until[0]) {
		t.Errorf("it waits until %s", until)
	}
}

// TestAWaitKilledAnywhere kills a run before, during and after its wait: the next one ends as
// an undisturbed one.
func TestAWaitKilledAnywhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, point := range []string{"limit.announced:1", "limit.over:1"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			hank := t.TempDir()
			put(t, hank, "hank.json", limitedOnce("1", ""))
			name := strings.NewReplacer(".", "-", ":", "-").Replace(point)
			o := order{Execution: filepath.Join(dir, name), Hank: hank, Output: filepath.Join(dir, name+"-output")}
			env := "COUNTER=" + filepath.Join(dir, name+"-counter")
			if _, killed := o.start(t, env, "HANK_FAILPOINT="+point).wait(); !killed {
				t.Fatal("it was not killed")
			}
			o.start(t, env).end(t, exitcode.Done)
			o.clean(t)
			s := o.fold(t).state
			if got, want := settledOf(s), "a completed \"\" 0\nb completed \"\" 0"; got != want {
				t.Errorf("it has come to %s", got)
			}
			for _, r := range s.Runs {
				for _, c := range r.Codons() {
					if c.Status == state.Failed && c.Interrupted == "" {
						t.Errorf("%s has failed: %+v", c.CodonID, c.FailureReason)
					}
				}
			}
		})
	}
}

// A wait of a real agent is left by one run, and ended by the next, which continues the
// session all the same.
func TestTheRealClaudeContinuesAfterAKillInItsWait(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	limit := modelserver.Turn{Error: modelserver.Error{Status: 429, Message: "You've hit your session limit · resets in 2 hours"}}
	s, server := claudeStage(t, writes, limit, limit, written, extends, extended)
	s.waiting(exitcode.Stopped, func(r chan<- codon.Request) {
		r <- codon.Request{Signal: codon.StopNow, Reason: state.EndSignal, Code: exitcode.Stopped}
	})
	if w := usagelimit.Of(s.view().State); w == nil || time.Until(w.Until.Time) < time.Hour {
		t.Fatalf("%+v", w)
	}
	s.must(ModeRun, exitcode.Done, func(o *command) { o.Now = true })
	if first, last := s.view().State.Runs[1].Codon(0), s.view().State.Newest().Codon(0); last.ClaudeSessionID != first.ClaudeSessionID || len(server.Turns()[3].Messages) < 3 {
		t.Error("the session was not continued")
	}
	if got := content(t, s.workspace(), "haiku.txt"); got != haiku+haiku {
		t.Errorf("haiku.txt: %q", got)
	}
}

// The real agent is told to go on in its session, in the workspace as it has left it.
func TestTheRealClaudeContinuesAfterALimit(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	limit := modelserver.Turn{Error: modelserver.Error{Status: 429, Message: "You've hit your session limit · resets in 1 second"}}
	s, server := claudeStage(t, writes, limit, limit, written, extends, extended)
	s.must(ModeRun, exitcode.Done)
	if got, want := strings.Join(s.records(), " "), "write:failed write:completed extend:completed"; got != want {
		t.Fatalf("the records are %s, want %s", got, want)
	}
	first, second := s.view().State.Newest().Codon(0), s.view().State.Newest().Codon(1)
	if first.Interrupted != state.InterruptedByLimit || second.ClaudeSessionID != first.ClaudeSessionID {
		t.Errorf("%+v, sessions %s and %s", first.FailureReason, first.ClaudeSessionID, second.ClaudeSessionID)
	}
	if second.BaseCheckpoint != first.BaseCheckpoint || s.git("show", string(second.CompletionCheckpoint)+":haiku.txt") != haiku {
		t.Error("the attempt was not continued in its workspace")
	}
	turns := server.Turns()
	if n := len(turns[3].Messages); n < 3 {
		t.Errorf("the model was told %d messages: the session was not continued", n)
	}
	// $2 and $10 a million in and out: each request is paid for once.
	if a, b := first.Cost(), second.Cost(); a != 3_200_000 || b != 2_700_000 {
		t.Errorf("the costs are %s and %s", a, b)
	}
}
