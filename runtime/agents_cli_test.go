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
	"hank/recovery"
	"hank/runtime/codon"
	"hank/runtime/exitcode"
	"hank/runtime/report/cost"
	"hank/state"
)

// realAgent is an agent whose pinned command line (scripts/install-agents) works through a
// hank, against a stand-in for its provider.
type realAgent struct {
	name, model string
	environ     func(*modelserver.Server) []string
	// limit is how its provider refuses until a limit ends, in a second.
	limit modelserver.Error
	// minute is set if it does not say when a limit ends, so that the run waits for a minute.
	minute bool
	// before is a script that makes its own tries few, in the workspace.
	before string
}

func anthropicLimit() modelserver.Error {
	return modelserver.Error{Status: 429, RetryAfter: "1", Message: "You've hit your session limit · resets in 1 second"}
}

var realAgents = []realAgent{
	{name: "claude", model: "sonnet", limit: anthropicLimit(),
		environ: func(s *modelserver.Server) []string { return append(s.Environ(), "CLAUDE_CODE_MAX_RETRIES=1") }},
	{name: "codex", model: "gpt-5.5", environ: (*modelserver.Server).OpenAIEnviron, minute: true,
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
// the next run takes the checkpoint, whatever it did to stay; only the request that was open is in
// no figure; and the session is continued.
func TestARealAgentIsKilledTogetherWithTheRuntime(t *testing.T) {
	short.Skip(t)
	eachAgent(t, []string{"claude", "codex", "gemini", "pi"}, func(t *testing.T, a realAgent) {
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
		// What is open is in no figure, and what came before it is.
		answered := served{input: modelserver.DefaultUsage.Input, output: modelserver.DefaultUsage.Output}
		within(t, 3*time.Minute, "the agent has told of its first request", func() bool {
			v, err := recovery.Read(o.Execution)
			return err == nil && known(v).withoutCost() == answered
		})
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
		if used := counted(killed.TokenCount(), 0); used != answered || killed.Cost() == 0 {
			t.Errorf("it has used %+v for %s, and was answered %+v", used, killed.Cost(), answered)
		}
		if sums := cost.SumUp(s.view(), cost.Query{By: "codon"}, askHere); sums.Unreported != (cost.Unreported{Attempts: 1}) {
			t.Errorf("of the request that was open hank cost says %+v", sums.Unreported)
		}
		for _, pid := range strings.Fields(s.git("show", string(killed.ErrorCheckpoint)+":pids")) {
			n, err := strconv.Atoi(pid)
			if err != nil {
				t.Error(err)
			} else if syscall.Kill(n, 0) == nil { // of that number: by now it may be another one
				if args, _ := exec.Command("ps", "-o", "args=", "-p", pid).Output(); strings.Contains(string(args), "beat") {
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

// TestARealAgentContinuesAfterALimitAndAfterARollback: the run waits for what the provider
// says, and then tells the agent to continue, in its session and with the files that it has
// written. A wait of a minute is stopped, and the next run ends it (--now). After a rollback the
// files are back, what came later is in no checkpoint, and the session is continued once more,
// from where it was. Both are one test, because most of its time is that in which agents start.
func TestARealAgentContinuesAfterALimitAndAfterARollback(t *testing.T) {
	short.Skip(t)
	eachAgent(t, []string{"claude", "codex", "gemini", "opencode", "pi"}, func(t *testing.T, a realAgent) {
		var over atomic.Bool
		limited := func(turn int) modelserver.Error {
			if turn == 1 && !over.Load() {
				return a.limit
			}
			return modelserver.Error{}
		}
		server := playing(t, limited, act{command: "echo first >>first", text: "I will."}, act{text: "Continued."},
			act{command: "echo second >second", text: "I will make what is undone."}, act{text: "Done."},
			act{command: "echo third >third", text: "I will."}, act{text: "Done."})
		s := stageOf(t, a.hank())
		s.opts.Environ = append(s.opts.Environ, a.variables(t, server)...)
		requests, code := make(chan codon.Request, 1), exitcode.Done
		if a.minute {
			code = exitcode.Stopped
		}
		s.must(ModeRun, code, func(o *command) {
			say := o.Say
			o.Requests, o.Say = requests, func(line string) {
				say(line)
				if !strings.Contains(line, "--now") {
					return
				}
				if over.Store(true); a.minute {
					requests <- codon.Request{Signal: codon.StopNow, Reason: state.EndStopped, Code: exitcode.Stopped}
				}
			}
		})
		if a.minute {
			s.must(ModeRun, exitcode.Done, func(o *command) { o.Now = true })
		}
		var records []string
		var all []*state.Codon
		for _, run := range slices.Backward(s.view().State.Runs) { // the oldest first
			for _, c := range run.Codons() {
				if c.CodonID != "before" {
					all, records = append(all, c), append(records, string(c.CodonID)+":"+string(c.Status))
				}
			}
		}
		if got, want := strings.Join(records, " "), "work:failed work:completed more:completed"; got != want {
			t.Fatalf("the records are %s, want %s", got, want)
		}
		first, work, more := all[0], all[1], all[2]
		if first.Interrupted != state.InterruptedByLimit || first.FailureReason.ResetsAt == nil || first.ErrorCheckpoint == "" {
			t.Errorf("%+v %+v", first, first.FailureReason)
		}
		if f := first.FailureReason; f.Class != "usage_limit" && f.Class != "rate_limit" {
			t.Errorf("it is %s by %s: %s", f.Class, f.Rule, f.Message)
		}
		if work.ClaudeSessionID == "" || work.ClaudeSessionID != first.ClaudeSessionID || work.BaseCheckpoint != first.BaseCheckpoint {
			t.Errorf("the session was not continued in its workspace: %q and %q", first.ClaudeSessionID, work.ClaudeSessionID)
		}
		if got := s.git("show", string(work.CompletionCheckpoint)+":first"); got != "first\n" {
			t.Errorf("the file has %q", got)
		}

		s.mustRollback("work")
		if onDisk(s.workspace(), "second") || !onDisk(s.workspace(), "first") {
			t.Error("the files are not those of the checkpoint")
		}
		s.must(ModeRun, exitcode.Done)
		again := s.last("more")
		if more.ClaudeSessionID != work.ClaudeSessionID || again.ClaudeSessionID != work.ClaudeSessionID {
			t.Errorf("the sessions are %q, %q and %q", work.ClaudeSessionID, more.ClaudeSessionID, again.ClaudeSessionID)
		}
		turns, told := server.Turns(), ""
		for _, m := range turns[len(turns)-1].Messages {
			told += m.Text + "\n"
		}
		if strings.Contains(told, "I will make what is undone.") || !strings.Contains(told, "Continued.") {
			t.Errorf("the agent remembers what was undone, or not what was not: %s", told)
		}
		if more, tree := s.treeIn(more.CompletionCheckpoint), s.treeIn(again.CompletionCheckpoint); more["third"] != "" || more["second"] == "" ||
			onDisk(s.workspace(), "second") || tree["second"] != "" || tree["first"] == "" || tree["third"] == "" {
			t.Errorf("its checkpoints have %v and %v", more, tree)
		}
		if again.FinalTokens.Input != more.FinalTokens.Input || again.FinalTokens.Output != more.FinalTokens.Output || again.Cost() != more.Cost() {
			t.Errorf("it counts %+v, and counted %+v for as much", again.FinalTokens, more.FinalTokens)
		}
		s.fsck()
	})
}
