//go:build unix

package runtime

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"hank/internal/modelserver"
	"hank/internal/proc"
	"hank/recovery/layout"
	"hank/runtime/codon"
	"hank/runtime/exitcode"
	"hank/state"
	"hank/state/journal"
)

// leaves is a command of an agent's shell that leaves three processes behind, all of which
// ignore every signal that can be ignored and write all the time: one in a session of its own,
// one under nohup whose parent is gone, and one of both kinds without the agent's environment.
// It ends when they are at work. Gemini CLI refuses commands with another one in "$()".
const leaves = `stay='trap "" TERM INT HUP QUIT; echo $$ >>pids; while :; do echo x >>beat; sleep 0.02; done';` +
	` (setsid sh -c "$stay" >/dev/null 2>&1 </dev/null &);` +
	` sh -c '(nohup sh -c "$0" >/dev/null 2>&1 </dev/null &) &' "$stay";` +
	` (env -i PATH="$PATH" setsid nohup sh -c "$stay" >/dev/null 2>&1 </dev/null &);` +
	` until [ -s beat ] && sort -u pids | sed -n 3p | grep -q .; do sleep 0.02; done`

// ending is a way in which a codon of a real agent ends.
type ending struct {
	name   string
	quick  string // the agent that does it in each run of the tests
	orders bool   // the agent ends by itself; else it waits for an answer that never comes
	end    func(t *testing.T, s *stage, requests chan<- codon.Request)
	code   exitcode.Code
	status state.CodonStatus
}

var endings = []ending{
	{name: "exit", quick: "opencode", orders: true, code: exitcode.Done, status: state.Completed},
	{name: "stop", quick: "codex", code: exitcode.Stopped, status: state.Failed, end: func(_ *testing.T, _ *stage, requests chan<- codon.Request) {
		requests <- codon.Request{Signal: codon.StopNow, Reason: state.EndStopped, Code: exitcode.Stopped}
	}},
	{name: "skip", quick: "gemini", code: exitcode.Done, status: state.Skipped, end: func(_ *testing.T, _ *stage, requests chan<- codon.Request) {
		requests <- codon.Request{Signal: codon.SkipCodon}
	}},
	{name: "time-out", quick: "claude", code: exitcode.Failed, status: state.Failed, end: func(*testing.T, *stage, chan<- codon.Request) {}},
	{name: "crash", quick: "pi", code: exitcode.Failed, status: state.Failed, end: func(t *testing.T, s *stage, _ chan<- codon.Request) {
		if err := syscall.Kill(s.view().State.Current().Live().ClaudePid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}},
}

// TestARealAgentLeavesNothingBehind: however a codon ends, nothing that its agent has
// started is alive when the checkpoint is taken, whatever it did to stay. Of an agent that is
// killed together with the runtime TestARealAgentIsKilledTogetherWithTheRuntime has the same.
func TestARealAgentLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	for _, e := range endings {
		t.Run(e.name, func(t *testing.T) {
			eachAgent(t, []string{e.quick}, func(t *testing.T, a realAgent) {
				if e.name != "time-out" {
					if !e.leaves(t, a, "") {
						t.Error("less was left behind than could have stayed")
					}
					return
				}
				// How long an agent takes to begin is not known: the limit grows until it has begun.
				for seconds := 6; !e.leaves(t, a, fmt.Sprintf(`, "timeout": %d`, seconds)); seconds *= 2 {
					t.Logf("the agent has left nothing within %d s", seconds)
				}
			})
		})
	}
}

// leaves has an agent leave processes behind in a codon of its own, which ends in this way, and
// reports whether there were any.
func (e ending) leaves(t *testing.T, a realAgent, more string) bool {
	t.Helper()
	var left struct {
		sync.Mutex
		all []proc.Identity
	}
	s := stageOf(t, "")
	workspace := layout.DefaultWorkspace(s.root)
	var asked atomic.Int64
	server := modelserver.NewFunc(t, func(r modelserver.Request) modelserver.Turn {
		if len(r.Tools) == 0 {
			return modelserver.Turn{Text: "ok"}
		}
		if asked.Add(1) == 1 {
			return modelserver.Turn{Text: "I will.", Tools: []modelserver.Tool{shellTool(r, leaves)}}
		}
		left.Lock()
		defer left.Unlock()
		if left.all == nil {
			left.all = processesIn(t, filepath.Join(workspace, "pids"))
		}
		if e.orders {
			return modelserver.Turn{Text: "Done."}
		}
		return modelserver.Turn{Text: "par", Break: modelserver.Stall}
	})
	text, err := json.Marshal(map[string]any{"id": "work", "name": "Work", "model": a.model, "continuationMode": "fresh", "promptText": "Do the work."})
	if err != nil {
		t.Fatal(err)
	}
	put(t, s.opts.Hank, "hank.json", `{"hank": [`+strings.TrimSuffix(string(text), "}")+more+`}]}`)
	s.opts.Environ = append(s.opts.Environ, a.variables(t, server)...)
	requests, over := make(chan codon.Request, 1), make(chan struct{})
	if !e.orders {
		go func() {
			select {
			case <-server.Stalled():
				e.end(t, s, requests)
			case <-over:
			}
		}()
	}
	s.must(ModeRun, e.code, func(o *command) {
		o.Requests = requests
		o.Appended = func(_ journal.Event, st *state.State) { // the checkpoint is taken after the first of these, and before the last
			run := st.Newest()
			if run == nil || run.Len() == 0 || run.Codon(0).Settling == nil && !run.Codon(0).Status.Terminal() {
				return
			}
			left.Lock()
			defer left.Unlock()
			for _, p := range left.all {
				if lives, why := p.Check(); lives != proc.Dead {
					t.Errorf("when the codon was settled, process %d of its agent was alive: %s", p.PID, why)
				}
			}
		}
	})
	close(over)
	c := s.last("work")
	if len(left.all) == 0 && c.FailureReason != nil && c.FailureReason.Class == "timeout" {
		return false
	}
	if c.Status != e.status || (c.FailureReason != nil && c.FailureReason.Class == "timeout") != (e.name == "time-out") {
		t.Errorf("the codon ended %s: %+v", c.Status, c.FailureReason)
	}
	if kept, now := s.git("show", string(c.Checkpoint())+":beat"), content(t, s.workspace(), "beat"); kept != now || kept == "" {
		t.Errorf("something wrote after the checkpoint was taken: %d and %d bytes", len(kept), len(now))
	}
	s.fsck()
	return len(left.all) >= 2
}

// processesIn are the processes whose numbers a file has, as far as they are alive.
func processesIn(t *testing.T, name string) (all []proc.Identity) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Error(err)
	}
	for _, word := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Errorf("%s has %q", name, text)
			continue
		}
		// Codex itself ends what is in the process group of its command.
		if p, err := proc.Of(pid); err == nil && !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}
