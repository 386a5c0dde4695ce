//go:build unix

package runtime

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hank/internal/proc"
	"hank/internal/short"
	"hank/recovery"
	"hank/runtime/exitcode"
	"hank/runtime/history"
	"hank/runtime/keeper"
	"hank/state"
)

// The long form, scripts/prove verbs, stops runtimes for minutes.
var stopFor = flag.Duration("verbs.stop", 100*time.Millisecond, "for how long TestAStoppedRuntimeIsNotDead stops a runtime")

// stubborn is a hank whose codons leave processes that ignore every signal
// that can be ignored, have forked twice, and have sessions of their own.
const stubborn = `{"meta": {"name": "Stubborn", "version": "1.0.0"}, "hank": [
  {"id": "one", "name": "One", "model": "shell", "continuationMode": "fresh", "promptText": "@%[1]s; echo 1 >one; echo 1 >log; touch a b"},
  {"id": "two", "name": "Two", "model": "shell", "continuationMode": "fresh", "promptText": "@%[1]s; echo 2 >two; echo 2 >>log; rm a"},
  {"id": "three", "name": "Three", "model": "shell", "continuationMode": "fresh", "promptText": "@%[1]s; echo 3 >three; echo 3 >>log; touch d"}
]}`

const holdsOn = `trap '' TERM HUP INT QUIT; sleep 50 & setsid sh -c 'sleep 50; sleep 50' & (setsid sleep 50 &); (nohup sleep 50 >/dev/null 2>&1 &); sleep 0.15`

// cast is who works at a run at one moment.
type cast struct{ runtime, keepers, watchdogs, agents []proc.Info }

func castOf(t *testing.T, runtime int) (c cast, all []proc.Info) {
	t.Helper()
	list, err := proc.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		if p.PID == runtime {
			c.runtime = append(c.runtime, p)
		}
	}
	for _, p := range proc.Below(list, runtime) {
		if p.Zombie {
			continue
		}
		switch line := p.CmdLine(); {
		case p.Parent == runtime && strings.HasSuffix(line, keeper.Subcommand+" --watchdog"):
			c.watchdogs = append(c.watchdogs, p)
			continue // it ends when it has nothing to do any more
		case p.Parent == runtime && strings.Contains(line, keeper.Subcommand):
			c.keepers = append(c.keepers, p)
		case slices.ContainsFunc(c.keepers, func(k proc.Info) bool { return k.PID == p.Parent }):
			c.agents = append(c.agents, p)
		}
		all = append(all, p)
	}
	return c, all
}

// TestAnyPartOfARunMayBeKilled kills, at random moments, the agent, the keeper,
// the runtime, the watchdog, and several of them together. What the codon had
// started is gone within five seconds, and in the end everything is as in an
// undisturbed run.
func TestAnyPartOfARunMayBeKilled(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	l := newLane(t, program, fmt.Sprintf(stubborn, holdsOn), 100)
	defer l.tell()
	victims := []struct {
		name string
		pick func(c cast) []proc.Info
	}{
		{"the agent", func(c cast) []proc.Info { return c.agents }},
		{"the keeper", func(c cast) []proc.Info { return c.keepers }},
		{"keeper and agent", func(c cast) []proc.Info { return slices.Concat(c.keepers, c.agents) }},
		{"the runtime", func(c cast) []proc.Info { return c.runtime }},
		{"runtime and keeper", func(c cast) []proc.Info { return slices.Concat(c.runtime, c.keepers) }},
		{"keeper and runtime", func(c cast) []proc.Info { return slices.Concat(c.keepers, c.runtime) }},
		{"runtime, keeper and agent", func(c cast) []proc.Info { return slices.Concat(c.runtime, c.keepers, c.agents) }},
		{"runtime and watchdog", func(c cast) []proc.Info { return slices.Concat(c.runtime, c.watchdogs) }},
		{"the watchdog", func(c cast) []proc.Info { return c.watchdogs }},
	}
	longest := time.Duration(0)
	next, kills := "run", map[string]int{}
	var turns []int // each victim once, before one has its turn again
	for l.kills < *verbsCount && !t.Failed() && !nearlyOver(t) {
		if next == "run" {
			l.must(exitcode.Done, "rollback", "--to", "initial", "--yes")
		}
		cmd, out := l.start(nil, next)
		time.Sleep(time.Duration(l.rng.Int64N(int64(l.took["run"]))))
		if len(turns) == 0 {
			turns = l.rng.Perm(len(victims))
		}
		v := victims[turns[0]]
		turns = turns[1:]
		c, all := castOf(t, cmd.Process.Pid)
		chosen := v.pick(c)
		for _, p := range chosen {
			_ = p.Kill(syscall.SIGKILL)
		}
		began := time.Now()
		if slices.ContainsFunc(chosen, func(p proc.Info) bool { return p.PID == cmd.Process.Pid }) {
			limit := 5 * time.Second
			if l.took["run"] > 3*time.Second { // undisturbed: on a machine that has time it takes one
				limit = patience
			}
			within(t, limit, "what the run had started is gone, after "+v.name+" was killed", func() bool {
				return !slices.ContainsFunc(all, func(p proc.Info) bool { verdict, _ := p.Check(); return verdict != proc.Dead })
			})
			longest = max(longest, time.Since(began))
		}
		_ = cmd.Wait() // its error is in the state
		code := exitcode.Code(cmd.ProcessState.ExitCode())
		if len(chosen) > 0 {
			l.kills++
			kills[v.name]++
		}
		l.log = append(l.log, fmt.Sprintf("%3d. hank %s: killed %s (%d processes): %d", l.kills, next, v.name, len(chosen), code))
		l.survey()
		switch next = "run"; code {
		case -1: // killed: run continues, unless the keeper's death was recorded before
			if l.rng.IntN(2) == 0 {
				verb := "run"
				if v, err := recovery.Read(l.Execution); err == nil && brokenDown(history.LastRecord(v.State)) {
					verb = "retry"
				}
				l.endAnyhow(verb)
			}
		case exitcode.Failed:
			l.endAnyhow("retry")
		case exitcode.Done:
			l.wants("at the end", l.end)
			l.clean(t)
		default:
			t.Fatalf("hank run ended with %d:\n%s", code, out)
		}
	}
	t.Logf("seed %d: %d kills (%v); the longest that anything outlived its runtime: %s", *verbsSeed, l.kills, kills, longest.Round(time.Millisecond))
}

// brokenDown tells that a codon has failed, by itself or with its keeper, or that what
// is recorded of its end says so: between two kills there may be any time.
func brokenDown(last *state.Codon) bool {
	if last != nil && last.Settling != nil {
		last = last.Conclude(state.Time{})
	}
	return last != nil && last.Status == state.Failed && last.Interrupted == ""
}

// endAnyhow brings the hank to its end.
func (l *lane) endAnyhow(verb string) {
	l.t.Helper()
	l.must(exitcode.Done, verb)
	l.wants("at the end", l.end)
	l.rest()
	l.clean(l.t)
}

// tell says what was done, if the test has failed.
func (l *lane) tell() {
	if l.t.Failed() {
		l.t.Logf("seed %d; what was done:\n%s", *verbsSeed, strings.Join(l.log, "\n"))
	}
}

// TestAStoppedRuntimeIsNotDead stops runtimes (SIGSTOP) at random moments:
// everybody sees a live run, nobody can take it, with a message that says who
// has it, since when, and what to do; continued, it comes to the same end.
func TestAStoppedRuntimeIsNotDead(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	l := newLane(t, program, storied, 101)
	defer l.tell()
	said := regexp.MustCompile(`/x/\.hankweave is held by hank process (\d+) on \S+ since \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ \(hank run; its directory is locked\); wait for it, or end it with: hank stop`)
	stops := max(3, *verbsCount/4)
	if *stopFor > time.Second {
		stops = 3
	}
	for i := 0; i < stops && !t.Failed(); i++ {
		l.must(exitcode.Done, "rollback", "--to", "initial", "--yes")
		cmd, out := l.start(nil, "run")
		within(t, patience, "the run begins", func() bool {
			v, err := recovery.Read(l.Execution)
			return err == nil && v.Live && v.State.CurrentRunID != ""
		})
		time.Sleep(time.Duration(l.rng.Int64N(int64(l.took["run"]) / 2)))
		_ = cmd.Process.Signal(syscall.SIGSTOP)
		v, err := recovery.Read(l.Execution)
		if err != nil {
			t.Fatal(err)
		}
		if !v.Live { // it was done before
			_ = cmd.Process.Signal(syscall.SIGCONT)
			if err := cmd.Wait(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			i--
			continue
		}
		if v.Crashed(v.State.Newest()) {
			t.Error("a stopped run is shown as crashed")
		}
		if r, known := l.killedWith(cmd, i); known {
			l.log = append(l.log, r)
			l.toEnd()
			continue
		}
		for _, verb := range [][]string{{"run"}, {"retry"}, {"rollback", "--to", "initial", "--yes"}, {"doctor", "--fix"}, {"gc", "--apply"}}[:1+4*(i%2)] {
			text := l.must(exitcode.Held, verb...)
			if m := said.FindStringSubmatch(text); m == nil || m[1] != fmt.Sprint(cmd.Process.Pid) {
				t.Errorf("hank %v says %q", verb, text)
			}
		}
		if out := l.must(exitcode.Done, "status"); !strings.Contains(out, "running") {
			t.Errorf("status says:\n%s", out)
		}
		time.Sleep(*stopFor) // it must be stopped for a while, and that is all
		_ = cmd.Process.Signal(syscall.SIGCONT)
		if err := cmd.Wait(); err != nil {
			t.Fatalf("continued, it ended with %v:\n%s", err, out)
		}
		l.log = append(l.log, fmt.Sprintf("%3d. stopped, and continued", i))
		l.wants("at the end", l.end)
		l.rest()
		l.clean(t)
	}
	t.Logf("seed %d: %d runtimes stopped, for %s", *verbsSeed, stops, *stopFor)
}

// killedWith kills every third stopped runtime instead of continuing it.
func (l *lane) killedWith(cmd *exec.Cmd, i int) (string, bool) {
	if i%3 != 2 {
		return "", false
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	l.survey()
	return fmt.Sprintf("%3d. stopped, and killed", i), true
}

// TestRacingRunsDoEachCodonOnce starts several runtimes at once on one
// execution, and on executions that share a workspace, and kills some of them:
// at most one works at a time, and each agent begins once.
func TestRacingRunsDoEachCodonOnce(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	t.Run("execution", func(t *testing.T) {
		t.Parallel()
		l := newLane(t, program, storied, 102)
		defer l.tell()
		held, done, killed := 0, 0, 0
		for range max(3, *verbsCount/6) {
			l.must(exitcode.Done, "rollback", "--to", "initial", "--yes")
			for round := 0; ; round++ {
				var racers []*exec.Cmd
				for range 4 {
					cmd, _ := l.start(nil, "run")
					racers = append(racers, cmd)
				}
				if round == 0 {
					time.Sleep(time.Duration(l.rng.Int64N(int64(l.took["run"]) / 2)))
					_ = racers[l.rng.IntN(len(racers))].Process.Kill()
				}
				before := done
				for _, cmd := range racers {
					_ = cmd.Wait() // its code says it
					switch code := exitcode.Code(cmd.ProcessState.ExitCode()); code {
					case exitcode.Done:
						done++
					case exitcode.Held:
						held++
					case -1:
						killed++
					default:
						t.Fatalf("a racer ended with %d", code)
					}
				}
				if l.survey(); done > before {
					break
				}
			}
			l.wants("at the end", l.end)
			l.rest()
			l.clean(t)
		}
		t.Logf("seed %d: of the racers %d came to the end, %d were refused, %d killed", *verbsSeed, done, held, killed)
		if held == 0 {
			t.Error("nobody raced")
		}
	})
	t.Run("workspace", func(t *testing.T) {
		t.Parallel()
		l := newLane(t, program, storied, 103)
		defer l.tell()
		shared := t.TempDir()
		codes := map[exitcode.Code]int{}
		var racers []*exec.Cmd
		for i := range 4 {
			l.Execution = fmt.Sprintf("%s/own%d", l.dir, i)
			cmd, _ := l.start(nil, "run", l.Hank, "--workspace", shared)
			racers = append(racers, cmd)
		}
		for _, cmd := range racers {
			_ = cmd.Wait() // its code says it
			codes[exitcode.Code(cmd.ProcessState.ExitCode())]++
		}
		if codes[exitcode.Done] == 0 || codes[exitcode.Done]+codes[exitcode.Held] != len(racers) {
			t.Errorf("the racers ended with %v", codes)
		}
		text, err := os.ReadFile(l.counter)
		if err != nil {
			t.Fatal(err)
		}
		if n, want := strings.Count(string(text), "\n"), 6*(1+codes[exitcode.Done]); n != want { // newLane's own run besides
			t.Errorf("%d agents began, want %d: %v\n%s", n, want, codes, text)
		}
	})
}

// A rollback uncovers what was ignored. That is no edit of the user's, also if
// the run behind it ends, and ends again, before its first codon has begun.
func TestARunKilledRightAfterARollbackAsksNothing(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	l := newLane(t, program, storied, 103)
	defer l.tell()
	begun := 0
	for n := 1; n <= 6; n++ {
		l.must(exitcode.Done, "rollback", "--to", "initial", "--yes")
		for range 2 {
			cmd, out := l.start([]string{fmt.Sprintf("HANK_FAILPOINT=transition.acknowledged:%d", n)}, "run")
			_ = cmd.Wait()
			if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() {
				t.Fatalf("it was not killed: %s", out)
			}
			v, err := recovery.Read(l.Execution)
			if err != nil {
				t.Fatal(err)
			}
			if r := v.State.Newest(); v.State.Position == nil && r.Len() == 0 {
				begun++
			}
			l.log = append(l.log, fmt.Sprintf("     killed at transition %d", n))
		}
		l.endAnyhow("run")
	}
	if begun < 2 {
		t.Errorf("%d runs were killed before their first codon; this test looks at nothing", begun)
	}
}

// A run that is killed when its directory is there and its first event is not
// leaves nothing behind that anybody has to look at.
func TestARunKilledBeforeItBeganLeavesNoFolder(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	l := newLane(t, program, storied, 105)
	defer l.tell()
	l.must(exitcode.Done, "rollback", "--to", "initial", "--yes")
	folders := func() int {
		list, err := os.ReadDir(l.layout().Runs())
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	before := folders()
	cmd, out := l.start([]string{"HANK_FAILPOINT=run.foldered:1"}, "run")
	_ = cmd.Wait()
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || folders() != before+1 {
		t.Fatalf("it was not killed: %s", out)
	}
	l.must(exitcode.Done, "doctor", "--fix")
	if n := folders(); n != before {
		t.Errorf("%d folders, and %d were there before", n, before)
	}
	l.endAnyhow("run")
}

// A run that has nothing left to do but to end, and is killed while it does:
// the workspace is in its exit checkpoint in the end.
func TestARunKilledWhileItEndsGetsItsExitCheckpoint(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	l := newLane(t, program, storied, 106)
	defer l.tell()
	for n := 1; n <= 4; n++ {
		for _, kill := range [][]string{{"plan.done:1", "retry", "close"}, {fmt.Sprintf("scan.walked:%d", n), "run"}} {
			cmd, _ := l.start([]string{"HANK_FAILPOINT=" + kill[0]}, kill[1:]...)
			_ = cmd.Wait() // its error is in the state
			l.log = append(l.log, fmt.Sprintf("     hank %v, to be killed at %s: %v", kill[1:], kill[0], cmd.ProcessState))
		}
		l.toEnd()
		if v, err := recovery.Read(l.Execution); err != nil || v.State.Newest().Head == "" {
			t.Errorf("%v: the newest run has no checkpoint", err)
		}
	}
}

// A rig whose work the tree has is not done again, also if the run that was
// to continue from there ends before its codon has begun.
func TestARunKilledBeforeItsCodonDoesNoRigAgain(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	l := newLane(t, program, `{"meta": {"name": "Rigged", "version": "1.0.0"}, "hank": [
  {"id": "one", "name": "One", "model": "shell", "continuationMode": "fresh", "promptText": "@touch a b c; echo 1 >log"},
  {"id": "two", "name": "Two", "model": "shell", "continuationMode": "fresh",
   "rigSetup": [{"type": "command", "command": {"run": "echo rig >>log"}}], "promptText": "@echo 2 >>log; touch d"}
]}`, 104)
	defer l.tell()
	for n := 1; n <= 4; n++ {
		cmd, out := l.start([]string{fmt.Sprintf("HANK_FAILPOINT=transition.acknowledged:%d", n)}, "retry", "two", "--from", "rig-setup")
		_ = cmd.Wait()
		if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() {
			t.Fatalf("it was not killed: %s", out)
		}
		cmd, _ = l.start([]string{"HANK_FAILPOINT=transition.acknowledged:1"}, "run")
		_ = cmd.Wait()
		l.log = append(l.log, fmt.Sprintf("     killed at transition %d, and a run at its first", n))
		l.endAnyhow("run")
	}
}
