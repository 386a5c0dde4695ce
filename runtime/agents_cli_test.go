//go:build unix

package runtime

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hank/internal/modelserver"
	"hank/internal/short"
	"hank/runtime/exitcode"
	"hank/state"
)

// realAgent is an agent whose pinned command line (scripts/install-agents) works through a
// hank, against a stand-in for its provider.
type realAgent struct {
	name, model string
	environ     func(*modelserver.Server) []string
	// limit is how its provider refuses until a limit ends, in a second.
	limit modelserver.Error
	// before is a script that makes its own tries few, in the workspace.
	before string
}

func anthropicLimit() modelserver.Error {
	return modelserver.Error{Status: 429, RetryAfter: "1", Message: "You've hit your session limit · resets in 1 second"}
}

var realAgents = []realAgent{
	{name: "claude", model: "sonnet", limit: anthropicLimit(),
		environ: func(s *modelserver.Server) []string { return append(s.Environ(), "CLAUDE_CODE_MAX_RETRIES=1") }},
	{name: "codex", model: "gpt-5.5", environ: (*modelserver.Server).OpenAIEnviron,
		limit: modelserver.Error{Status: 429, Type: "usage_limit_reached", RetryAfter: "1", Message: "You've hit your usage limit. Try again in 1 second."}},
	{name: "gemini", model: "gemini-2.5-pro", environ: (*modelserver.Server).GeminiEnviron,
		limit:  modelserver.Error{Status: 429, Type: "RESOURCE_EXHAUSTED", RetryAfter: "1", Message: "Resource has been exhausted (e.g. check quota). Please retry in 1s."},
		before: `mkdir -p .gemini && echo '{"general": {"maxAttempts": 1}}' >.gemini/settings.json`},
	{name: "opencode", model: "opencode/anthropic/claude-sonnet-4-5", environ: (*modelserver.Server).Environ, limit: anthropicLimit()},
	{name: "pi", model: "pi/anthropic/claude-sonnet-4-5", environ: (*modelserver.Server).Environ, limit: anthropicLimit()},
}

// eachAgent runs a test for each agent that is installed. Those that are not named as quick
// take the test 8 to 30 seconds of processor time: they have it if HANK_LONG is set.
func eachAgent(t *testing.T, quick []string, test func(*testing.T, realAgent)) {
	t.Parallel()
	short.Skip(t)
	for _, a := range realAgents {
		if os.Getenv("HANK_LONG") == "" && !slices.Contains(quick, a.name) {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			if _, err := os.Stat(a.program(t)); err != nil {
				t.Skipf("the %s command line is not installed; run scripts/install-agents", a.name)
			}
			test(t, a)
		})
	}
}

func (a realAgent) program(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", ".agents", a.name, "node_modules", ".bin", a.name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// hank has two codons of one session.
func (a realAgent) hank() string {
	first := ""
	if a.before != "" {
		first = fmt.Sprintf(`{"id": "before", "name": "Before", "model": "shell", "continuationMode": "fresh", "promptText": %q},`, a.before)
	}
	return fmt.Sprintf(`{"hank": [%s
		{"id": "work", "name": "Work", "model": %q, "continuationMode": "fresh", "promptText": "Do the work."},
		{"id": "more", "name": "More", "model": %[2]q, "continuationMode": "continue-previous", "promptText": "Do more."}]}`, first, a.model)
}

func (a realAgent) variables(t *testing.T, server *modelserver.Server) []string {
	return append(a.environ(server), strings.ToUpper(a.name+"_path_to_"+a.name+"_executable=")+a.program(t))
}

// act is a turn of the model: it has the agent run a command, if there is one.
type act struct {
	command, text string
	breaks        modelserver.Break
}

// playing answers the conversation with turns in order; refused is an answer that comes
// before any of them, or empty.
func playing(t *testing.T, refused func(turn int) modelserver.Error, script ...act) *modelserver.Server {
	var next atomic.Int64
	return modelserver.NewFunc(t, func(r modelserver.Request) modelserver.Turn {
		if len(r.Tools) == 0 {
			return modelserver.Turn{Text: "ok"}
		}
		if refused != nil {
			if e := refused(int(next.Load())); e.Status != 0 {
				return modelserver.Turn{Error: e}
			}
		}
		n := int(next.Add(1)) - 1
		if n >= len(script) {
			t.Errorf("a request after the last of %d turns", len(script))
			return modelserver.Turn{Error: modelserver.Error{Status: 400}}
		}
		turn := modelserver.Turn{Text: script[n].text, Break: script[n].breaks}
		if script[n].command != "" {
			turn.Tools = []modelserver.Tool{shellTool(r, script[n].command)}
		}
		return turn
	})
}

// TestARealAgentIsKilledTogetherWithTheRuntime: of what it has started nothing is left when
// the next run takes the checkpoint, whatever it did to stay; and the session is continued.
func TestARealAgentIsKilledTogetherWithTheRuntime(t *testing.T) {
	short.Skip(t)
	eachAgent(t, []string{"claude", "codex", "gemini", "pi"}, func(t *testing.T, a realAgent) {
		// Two that have left their sessions, ignore every signal that can be ignored and write
		// all the time, and one in the background of a shell that is gone. Gemini CLI refuses
		// commands with another one in "$()".
		leaves := `for n in 1 2; do (setsid sh -c 'trap "" TERM INT HUP QUIT; echo $$ >>pids; while :; do echo x >>beat; sleep 0.02; done' >/dev/null 2>&1 </dev/null &); done;` +
			` sh -c 'sleep 600 >/dev/null 2>&1 </dev/null & echo $! >>pids'; until [ -s beat ] && sort -u pids | sed -n 3p | grep -q .; do sleep 0.02; done`
		server := playing(t, nil, act{command: leaves, text: "I will."}, act{text: "par", breaks: modelserver.Stall}, act{text: "Continued."}, act{text: "More."})
		dir := t.TempDir()
		put(t, dir, "hank/hank.json", a.hank())
		put(t, dir, "registry/consents/"+a.name+".json", "{}")
		o := order{Execution: filepath.Join(dir, "execution"), Hank: filepath.Join(dir, "hank"), Output: filepath.Join(dir, "output")}
		l := o.start(t, append(a.variables(t, server), "HOME="+t.TempDir())...)
		go func() {
			for l.next() != nil {
			}
		}()
		select {
		case <-server.Stalled():
		case <-time.After(3 * time.Minute):
			t.Fatal("the agent has not asked twice")
		}
		if err := l.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = l.cmd.Wait()

		s := newStage(t, o.Hank)
		s.root, s.opts.Execution = o.Execution, o.Execution
		s.opts.Environ = append(s.opts.Environ, a.variables(t, server)...)
		s.must(ModeResume, exitcode.Done)
		runs := s.view().State.Runs // the newest first
		begun := runs[len(runs)-1]
		killed := begun.Codon(begun.Len() - 1)
		if killed.ErrorCheckpoint == "" {
			t.Fatalf("%+v", killed)
		}
		for _, pid := range strings.Fields(s.git("show", string(killed.ErrorCheckpoint)+":pids")) {
			n, err := strconv.Atoi(pid)
			if err != nil {
				t.Error(err)
			} else if syscall.Kill(n, 0) == nil { // of that number: by now it may be another one
				if args, _ := exec.Command("ps", "-o", "args=", "-p", pid).Output(); strings.Contains(string(args), "beat") || strings.Contains(string(args), "sleep 600") {
					t.Errorf("process %s is alive: %s", pid, args)
				}
			}
		}
		if kept, now := s.git("show", string(killed.ErrorCheckpoint)+":beat"), content(t, s.workspace(), "beat"); kept != now {
			t.Errorf("something wrote after the checkpoint was taken: %d and %d bytes", len(kept), len(now))
		}
		if work, more := s.last("work"), s.last("more"); work.ClaudeSessionID == "" || work.ClaudeSessionID != killed.ClaudeSessionID || more.ClaudeSessionID != work.ClaudeSessionID {
			t.Errorf("the sessions are %q, %q and %q", killed.ClaudeSessionID, work.ClaudeSessionID, more.ClaudeSessionID)
		}
		s.fsck()
	})
}

// TestARealAgentContinuesAfterARollback: files are back, what came later is in no checkpoint,
// and the session is continued once more.
func TestARealAgentContinuesAfterARollback(t *testing.T) {
	short.Skip(t)
	eachAgent(t, []string{"claude", "codex"}, func(t *testing.T, a realAgent) {
		server := playing(t, nil, act{command: "echo first >first", text: "I will."}, act{text: "Done."}, act{command: "echo second >second", text: "I will make what is undone."}, act{text: "Done."},
			act{command: "echo third >third", text: "I will."}, act{text: "Done."})
		s := stageOf(t, a.hank())
		s.opts.Environ = append(s.opts.Environ, a.variables(t, server)...)
		s.must(ModeRun, exitcode.Done)
		work, more := s.last("work"), s.last("more")
		s.mustRollback("work")
		if onDisk(s.workspace(), "second") || !onDisk(s.workspace(), "first") {
			t.Error("the files are not those of the checkpoint")
		}
		s.must(ModeRun, exitcode.Done)
		again := s.last("more")
		if work.ClaudeSessionID == "" || more.ClaudeSessionID != work.ClaudeSessionID || again.ClaudeSessionID != work.ClaudeSessionID {
			t.Errorf("the sessions are %q, %q and %q", work.ClaudeSessionID, more.ClaudeSessionID, again.ClaudeSessionID)
		}
		turns := server.Turns()
		for _, m := range turns[len(turns)-1].Messages {
			if strings.Contains(m.Text, "I will make what is undone.") {
				t.Errorf("the agent remembers what was undone: %s", m.Text)
			}
		}
		tree := s.treeIn(again.CompletionCheckpoint)
		if onDisk(s.workspace(), "second") || tree["second"] != "" || tree["first"] == "" || tree["third"] == "" {
			t.Errorf("its checkpoint has %v", tree)
		}
		if again.FinalTokens.Input != more.FinalTokens.Input || again.FinalTokens.Output != more.FinalTokens.Output || again.Cost() != more.Cost() {
			t.Errorf("it counts %+v, and counted %+v for as much", again.FinalTokens, more.FinalTokens)
		}
	})
}

// TestARealAgentIsContinuedAfterAUsageLimit: the run waits for what the provider says, and
// then tells the agent to continue, in its session and with the files that it has written.
func TestARealAgentIsContinuedAfterAUsageLimit(t *testing.T) {
	short.Skip(t)
	eachAgent(t, []string{"codex", "gemini"}, func(t *testing.T, a realAgent) {
		var over atomic.Bool
		limited := func(turn int) modelserver.Error {
			if turn == 1 && !over.Load() {
				return a.limit
			}
			return modelserver.Error{}
		}
		server := playing(t, limited, act{command: "echo begun >>file", text: "I will."}, act{text: "Continued."}, act{text: "More."})
		s := stageOf(t, a.hank())
		s.opts.Environ = append(s.opts.Environ, a.variables(t, server)...)
		s.must(ModeRun, exitcode.Done, func(o *command) {
			say := o.Say
			o.Say = func(line string) {
				say(line)
				if strings.Contains(line, "--now") {
					over.Store(true)
				}
			}
		})
		var records []string
		for _, r := range s.records() {
			if !strings.HasPrefix(r, "before:") {
				records = append(records, r)
			}
		}
		if got, want := strings.Join(records, " "), "work:failed work:completed more:completed"; got != want {
			t.Fatalf("the records are %s, want %s", got, want)
		}
		run := s.view().State.Newest()
		first, second := run.Codon(run.Len()-3), run.Codon(run.Len()-2)
		if first.Interrupted != state.InterruptedByLimit || first.FailureReason.ResetsAt == nil || first.ErrorCheckpoint == "" {
			t.Errorf("%+v %+v", first, first.FailureReason)
		}
		if second.ClaudeSessionID == "" || second.ClaudeSessionID != first.ClaudeSessionID || second.BaseCheckpoint != first.BaseCheckpoint {
			t.Errorf("the session was not continued in its workspace: %q and %q", first.ClaudeSessionID, second.ClaudeSessionID)
		}
		if got := content(t, s.workspace(), "file"); got != "begun\n" {
			t.Errorf("the file has %q", got)
		}
		if f := first.FailureReason; f.Class != "usage_limit" && f.Class != "rate_limit" {
			t.Errorf("it is %s by %s: %s", f.Class, f.Rule, f.Message)
		}
	})
}
