//go:build unix

package runtime

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hank/internal/proc"
	"hank/internal/short"
	"hank/recovery"
	"hank/runtime/exitcode"
	"hank/runtime/internal/testkit"
	"hank/state"
)

// patience is how long a test waits for what must come. It is no measure.
const patience = 30 * time.Second

// leaks are the processes that the codon of the hank leaky leaves behind.
var leaks = []string{"nohup", "orphan", "session", "daemon", "nameless", "talker"}

// lastingLeaks is the hank leaky whose first codon, at its first start, waits
// when everything that it leaves behind is alive.
func lastingLeaks(t *testing.T, dir string) string {
	t.Helper()
	hank := filepath.Join(dir, "hank")
	if err := os.CopyFS(hank, os.DirFS("../fixtures/hanks/leaky")); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(hank, "prompts", "leak.sh")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	waits := "\necho \"start $HANK_CODON\" >>\"$COUNTER\"\nif [ \"$(wc -l <\"$COUNTER\")\" -eq 1 ]; then sleep 120; fi\n"
	if err := os.WriteFile(name, append(text, waits...), 0o644); err != nil {
		t.Fatal(err)
	}
	return hank
}

// TestNothingOutlivesAKilledRun kills the runtime while processes that try to
// stay are alive: nohup, orphans, new sessions, daemons, without environment.
func TestNothingOutlivesAKilledRun(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	dir := t.TempDir()
	o := order{Execution: filepath.Join(dir, "x"), Hank: lastingLeaks(t, dir)}
	counter := "COUNTER=" + filepath.Join(dir, "counter")
	l := o.start(t, counter)
	l.until(t, "event", "*", "CodonTransitioned", "leak", "running")
	within(t, patience, "the codon left everything behind", func() bool { return testkit.Exists(filepath.Join(dir, "counter")) })

	var alive []proc.Identity
	for _, name := range leaks {
		text, err := os.ReadFile(filepath.Join(o.layout().Workspace, "leaks", name+".pid"))
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		id, err := proc.Of(pid)
		if err != nil {
			t.Fatalf("%s is not alive before the kill: %v", name, err)
		}
		alive = append(alive, id)
	}
	s := o.fold(t).state
	attempt := recovery.Attempt(s.Lineage, s.CurrentRunID, s.Current().Live())
	if found, err := proc.WithEnv("HANK_ATTEMPT", attempt); err != nil || len(found) < 5 {
		t.Fatalf("of the attempt only %d processes are alive (%v); this test looks at nothing", len(found), err)
	}

	l.kill()
	l.wait()
	within(t, 5*time.Second, "all that the codon started is gone", func() bool {
		found, err := proc.WithEnv("HANK_ATTEMPT", attempt)
		if err != nil {
			t.Fatal(err)
		}
		left := len(found)
		for _, id := range alive {
			if verdict, _ := id.Check(); verdict != proc.Dead {
				left++
			}
		}
		return left == 0
	})
	o.compareSaved(t, o.fold(t))

	again := o.start(t, counter)
	again.end(t, exitcode.Done)
	o.clean(t)
	run := o.fold(t).state.Newest()
	notes := strings.Join(run.Codon(0).Notes, "\n")
	if n := strings.Count(notes, "killed leftover process"); n < len(leaks) {
		t.Errorf("the record names %d of %d processes that were killed:\n%s", n, len(leaks), notes)
	}
}

// lonely writes a hank of one codon, which waits at its first start, in its
// rig or running, with a process beside it, and ends well at any other.
func lonely(t *testing.T, dir, policy string, inRig bool) order {
	t.Helper()
	const waits = "echo \"start work\" >>\"$COUNTER\"\n(nohup sleep 120 >/dev/null 2>&1 &)\necho begun >begun.txt\n" +
		"if [ \"$(wc -l <\"$COUNTER\")\" -eq 1 ]; then sleep 120; fi\n"
	codon := map[string]any{"id": "work", "name": "Work", "model": "shell", "continuationMode": "fresh", "promptText": "echo done >done.txt\n"}
	if policy != "" {
		codon["onFailure"], codon["retryConfig"] = policy, map[string]any{"maxAttempts": 1, "delayMs": 1}
	}
	if inRig {
		codon["rigSetup"] = []any{map[string]any{"type": "command", "command": map[string]any{"run": waits}}}
	} else {
		codon["promptText"] = waits + codon["promptText"].(string)
	}
	text, err := json.Marshal(map[string]any{"meta": map[string]any{"name": "Lonely", "version": "1.0.0"}, "hank": []any{codon}})
	if err != nil {
		t.Fatal(err)
	}
	hank := filepath.Join(dir, "hank.json")
	if err := os.WriteFile(hank, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return order{Execution: filepath.Join(dir, "x"), Hank: hank}
}

// begin starts a life and waits until its codon waits.
func (o order) begin(t *testing.T, counter string) *life {
	t.Helper()
	l := o.start(t, "COUNTER="+counter)
	within(t, patience, "the codon has begun", func() bool { return testkit.Exists(filepath.Join(o.layout().Workspace, "begun.txt")) })
	return l
}

// TestAKilledPartFailsTheCodon kills only the keeper, or only the agent: the
// runtime continues, says what happened, and keeps to the codon's policy.
func TestAKilledPartFailsTheCodon(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"agent", "keeper"} {
		for _, policy := range []string{"", "retry"} {
			t.Run(fmt.Sprintf("%s, policy %q", part, policy), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				o := lonely(t, dir, policy, false)
				l := o.begin(t, filepath.Join(dir, "counter"))
				l.until(t, "event", "*", "CodonTransitioned", "work", "running")
				pid := o.fold(t).state.Current().Live().ClaudePid
				if part == "keeper" {
					pid = parent(t, pid)
				}
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				want, records := exitcode.Failed, 1
				if policy == "retry" {
					want, records = exitcode.Done, 2
				}
				l.end(t, want)
				o.clean(t)
				run := o.fold(t).state.Newest()
				if run.Len() != records {
					t.Fatalf("%d records instead of %d", run.Len(), records)
				}
				first := run.Codon(0)
				reason := map[string]string{"agent": "SIGKILL", "keeper": "keeper"}[part]
				if f := first.FailureReason; first.Status != state.Failed || !strings.Contains(f.Message, reason) || !f.Retriable || first.Interrupted != "" {
					t.Errorf("the record does not say what happened: %s %+v", first.Status, f)
				}
				if first.ErrorCheckpoint == "" {
					t.Error("what the killed attempt had done is in no checkpoint")
				}
				if last := run.Codon(run.Len() - 1); policy == "retry" && (last.Status != state.Completed || last.Attempt != 2) {
					t.Errorf("the second attempt: %s, number %d", last.Status, last.Attempt)
				}
				if policy == "" && (run.EndReason != state.EndCodonFailed || run.Status != state.StatusFailed) {
					t.Errorf("the run ended %s (%s)", run.Status, run.EndReason)
				}
			})
		}
	}
}

// parent returns the parent of a process.
func parent(t *testing.T, pid int) int {
	t.Helper()
	all, err := proc.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if p.PID == pid && p.Parent > 1 {
			return p.Parent
		}
	}
	t.Fatalf("process %d has no parent", pid)
	return 0
}

// TestASignalEndsTheRunInOrder sends the runtime a signal while its codon is
// running, or in its rig: all ends, the run says so, and the next one redoes
// the codon from before it.
func TestASignalEndsTheRunInOrder(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for sig, code := range map[syscall.Signal]exitcode.Code{syscall.SIGTERM: exitcode.Terminated, syscall.SIGINT: exitcode.Interrupted} {
		for _, inRig := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, in the rig: %v", sig, inRig), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				o := lonely(t, dir, "", inRig)
				counter := filepath.Join(dir, "counter")
				l := o.begin(t, counter)
				if err := l.cmd.Process.Signal(sig); err != nil {
					t.Fatal(err)
				}
				l.end(t, code)
				o.clean(t)
				run := o.fold(t).state.Newest()
				if run.Status != state.StatusFailed || run.EndReason != state.EndSignal {
					t.Errorf("the run ended %s (%s)", run.Status, run.EndReason)
				}
				if c := run.Codon(0); c.Status != state.Failed || c.Interrupted != state.InterruptedBySignal {
					t.Errorf("the codon ended %s, interrupted by %q: %+v", c.Status, c.Interrupted, c.FailureReason)
				}
				o.start(t, "COUNTER="+counter).end(t, exitcode.Done)
				o.clean(t)
				if n := starts(t, counter)["work"]; n != 2 {
					t.Errorf("the codon started %d times", n)
				}
				if s := o.fold(t).state; len(s.Runs) != 2 || !testkit.Exists(filepath.Join(o.layout().Workspace, "done.txt")) {
					t.Errorf("%d runs", len(s.Runs))
				}
			})
		}
	}
}

// TestARetryThatWasCutOffIsStillDue ends the runtime, by a signal or by
// kill -9, while it waits before a retry that the codon's policy grants. The
// next run makes it, as if nothing had been.
func TestARetryThatWasCutOffIsStillDue(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			counter := filepath.Join(dir, "counter")
			const hank = `{"meta": {"name": "Flaky", "version": "1.0.0"}, "hank": [{"id": "work", "name": "Work", "model": "shell", "continuationMode": "fresh",
				"promptText": "echo 'start work' >>\"$COUNTER\"\n[ ! -e half.txt ] || exit 7\necho half >half.txt\n[ $(wc -l <\"$COUNTER\") -eq 2 ]\n",
				"onFailure": "retry", "retryConfig": {"maxAttempts": 1, "delayMs": 60000, "maxDelayMs": 60000}}]}`
			if err := os.WriteFile(filepath.Join(dir, "hank.json"), []byte(hank), 0o644); err != nil {
				t.Fatal(err)
			}
			o := order{Execution: filepath.Join(dir, "x"), Hank: filepath.Join(dir, "hank.json")}
			l := o.start(t, "COUNTER="+counter)
			l.until(t, "say", "retrying")
			if err := l.cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if sig == syscall.SIGTERM {
				l.end(t, exitcode.Terminated)
				o.clean(t)
			} else if _, killed := l.wait(); !killed {
				t.Fatalf("it was not killed:\n%s", &l.log)
			}
			o.start(t, "COUNTER="+counter).end(t, exitcode.Done)
			o.clean(t)
			if n := starts(t, counter)["work"]; n != 2 {
				t.Errorf("the codon started %d times", n)
			}
		})
	}
}
