//go:build unix

package runtime

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hank/internal/modelserver"
	"hank/internal/proc"
	"hank/runtime/exitcode"
)

// inBackground is the call by which Claude Code and Codex start a command that they do not wait
// for; ok is false for other agents, whose shell has to do it.
func inBackground(r modelserver.Request, command string) (tool modelserver.Tool, ok bool) {
	tool = shellTool(r, command)
	switch input := tool.Input.(type) {
	case map[string]string:
		if tool.Name == "Bash" {
			tool.Input = map[string]any{"command": command, "description": "Start it", "run_in_background": true}
			return tool, true
		}
	case map[string]any:
		if tool.Name == "exec_command" {
			input["yield_time_ms"] = 250
			return tool, true
		}
	}
	return tool, false
}

// TestABackgroundShellDoesNotOutliveKeeperAndRuntime: what a real agent runs in the background,
// by its own means if it has any, is gone after the keeper and the runtime were killed at one moment, and
// before the next run takes the checkpoint.
func TestABackgroundShellDoesNotOutliveKeeperAndRuntime(t *testing.T) {
	eachAgent(t, []string{"claude"}, func(t *testing.T, a realAgent) {
		// The shell itself ignores what can be ignored, and another one has left its session.
		stays := `trap "" TERM INT HUP QUIT; (setsid sh -c 'trap "" TERM INT HUP QUIT; echo $$ >>pids; while :; do echo x >>beat; sleep 0.02; done' >/dev/null 2>&1 </dev/null &);` +
			` echo $$ >>pids; while :; do sleep 0.1; done`
		left := `(setsid sh -c 'trap "" TERM INT HUP QUIT; echo $$ >>pids; while :; do echo x >>beat; sleep 0.02; done' >/dev/null 2>&1 </dev/null &);` +
			` sh -c 'trap "" TERM INT HUP QUIT; echo $$ >>pids; while :; do sleep 0.1; done' >/dev/null 2>&1 </dev/null & until [ -s beat ]; do sleep 0.02; done`
		var asked atomic.Int64
		server := modelserver.NewFunc(t, func(r modelserver.Request) modelserver.Turn {
			if len(r.Tools) == 0 {
				return modelserver.Turn{Text: "ok"}
			}
			switch asked.Add(1) {
			case 1:
				tool, ok := inBackground(r, stays)
				if !ok {
					tool = shellTool(r, left)
				}
				return modelserver.Turn{Text: "I will.", Tools: []modelserver.Tool{tool}}
			case 2:
				return modelserver.Turn{Text: "par", Break: modelserver.Stall}
			}
			return modelserver.Turn{Text: "Continued."}
		})
		dir := t.TempDir()
		put(t, dir, "hank/hank.json", a.hank())
		put(t, dir, "registry/consents/"+a.name+".json", "{}")
		o := order{Execution: filepath.Join(dir, "execution"), Hank: filepath.Join(dir, "hank"), Output: filepath.Join(dir, "output")}
		l := o.start(t, append(a.variables(t, server), "HOME="+t.TempDir())...)
		go func() {
			for l.next() != nil {
			}
		}()
		var shells []string
		stalled := false
		within(t, 3*time.Minute, "the agent asks again while its shell works", func() bool {
			select {
			case <-server.Stalled():
				stalled = true
			default:
			}
			text, _ := os.ReadFile(filepath.Join(o.Execution, "agentRoot", "pids"))
			shells = strings.Fields(string(text))
			return stalled && len(shells) == 2
		})
		cast, all := castOf(t, l.cmd.Process.Pid)
		if len(cast.keepers) == 0 || len(cast.agents) == 0 {
			t.Fatalf("%d keepers and %d agents are at work", len(cast.keepers), len(cast.agents))
		}
		for _, pid := range shells {
			if !slices.ContainsFunc(all, func(p proc.Info) bool { return strconv.Itoa(p.PID) == pid }) {
				t.Errorf("process %s is not below the run", pid)
			}
		}
		victims := slices.Concat(cast.keepers, cast.runtime)
		for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} { // none of them sees the end of another
			for _, p := range victims {
				_ = p.Kill(signal)
			}
		}
		killed := time.Now()
		within(t, patience, "what the agent has started is gone", func() bool {
			return !slices.ContainsFunc(all, func(p proc.Info) bool { verdict, _ := p.Check(); return verdict != proc.Dead })
		})
		t.Logf("%d processes were gone %s after keeper and runtime were killed", len(all), time.Since(killed).Round(time.Millisecond))
		_ = l.cmd.Wait()

		s := newStage(t, o.Hank)
		s.root, s.opts.Execution = o.Execution, o.Execution
		s.opts.Environ = append(s.opts.Environ, a.variables(t, server)...)
		s.must(ModeResume, exitcode.Done)
		runs := s.view().State.Runs // the newest first
		begun := runs[len(runs)-1]
		first := begun.Codon(begun.Len() - 1)
		if kept, now := s.git("show", string(first.ErrorCheckpoint)+":beat"), content(t, s.workspace(), "beat"); kept != now || kept == "" {
			t.Errorf("something wrote after the checkpoint was taken: %d and %d bytes", len(kept), len(now))
		}
		s.fsck()
	})
}
