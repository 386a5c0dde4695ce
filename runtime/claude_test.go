package runtime

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hank/checkpoint/remote"
	"hank/internal/modelserver"
	"hank/internal/short"
	"hank/recovery/execution"
	"hank/runtime/exitcode"
	"hank/runtime/report"
	"hank/runtime/transfer"
	"hank/runtime/verdict"
	"hank/state"
)

// claudeStage is an execution of the real Claude Code command line, that of
// scripts/install-agents, which asks a stand-in server.
func claudeStage(t *testing.T, script ...modelserver.Turn) (*stage, *modelserver.Server) {
	t.Helper()
	cli, err := filepath.Abs("../.agents/claude/node_modules/.bin/claude")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(cli); err != nil {
		t.Skip("the Claude Code command line is not installed; run scripts/install-agents claude")
	}
	server := modelserver.New(t, script...)
	s := newStage(t, fixture(t, "hanks/claude-two"))
	s.opts.Environ = append(s.opts.Environ, server.Environ()...)
	s.opts.Environ = append(s.opts.Environ, "CLAUDE_CODE_MAX_RETRIES=1", "CLAUDE_PATH_TO_CLAUDE_EXECUTABLE="+cli)
	return s, server
}

const haiku = "nothing is lost now\nthe codon may fail, and fail\nthe tree remembers\n"

var (
	writes = modelserver.Turn{Text: "I will write it.", Usage: modelserver.Usage{Input: 1200, Output: 80},
		Tools: []modelserver.Tool{{Name: "Write", Input: map[string]string{"file_path": "haiku.txt", "content": haiku}}}}
	extends = modelserver.Turn{Text: "I will extend it.", Usage: modelserver.Usage{Input: 1500, Output: 90},
		Tools: []modelserver.Tool{{Name: "Bash", Input: map[string]string{"command": "cat haiku.txt >twice && cat twice >>haiku.txt && rm twice", "description": "Extend the file"}}}}
	written  = modelserver.Turn{Text: "Written.", Usage: modelserver.Usage{Input: 1300, Output: 10}}
	extended = modelserver.Turn{Text: "Extended.", Usage: modelserver.Usage{Input: 1600, Output: 12}}
)

func TestTheRealClaudeWorksThroughAHank(t *testing.T) {
	t.Parallel()
	s, server := claudeStage(t, writes, written, extends, extended)
	s.must(ModeRun, exitcode.Done)
	first, second := s.last("write"), s.last("extend")
	if got := content(t, s.workspace(), "haiku.txt"); got != haiku+haiku {
		t.Errorf("haiku.txt: %q", got)
	}
	for c, want := range map[*state.Codon]string{first: haiku, second: haiku + haiku} {
		if got := s.git("show", string(c.CompletionCheckpoint)+":haiku.txt"); got != want {
			t.Errorf("the checkpoint of %s has %q", c.CodonID, got)
		}
		if names := s.treeIn(c.CompletionCheckpoint); len(names) != 1 {
			t.Errorf("the checkpoint of %s has %v", c.CodonID, names)
		}
		if c.Harness != "claude" || *c.AssistantMessageCount == 0 || c.ResultMessageReceived == nil || !*c.ResultMessageReceived {
			t.Errorf("the record of %s: %+v", c.CodonID, c)
		}
	}
	if first.ClaudeSessionID == "" || second.ClaudeSessionID != first.ClaudeSessionID || second.PreviousSessionID != first.ClaudeSessionID {
		t.Errorf("the sessions are %q and %q, continued from %q", first.ClaudeSessionID, second.ClaudeSessionID, second.PreviousSessionID)
	}
	if a, b := *first.FinalTokens, *second.FinalTokens; a.Input != 2500 || a.Output != 90 || b.Input != 3100 || b.Output != 102 {
		t.Errorf("the tokens are %+v and %+v", a, b)
	}
	// $2 and $10 a million in and out; of the session only what is new.
	if a, b := first.Cost(), second.Cost(); a != 5_900_000 || b != 7_220_000 {
		t.Errorf("the costs are %s and %s", a, b)
	}
	turns := server.Turns()
	var told strings.Builder
	for _, m := range turns[2].Messages {
		told.WriteString(m.Role + ": " + m.Text + "\n")
	}
	for _, part := range []string{"a haiku about checkpoints", "assistant: Written.", "Add a second haiku"} {
		if !strings.Contains(told.String(), part) {
			t.Errorf("the second codon's model was not told %q, but:\n%s", part, told.String())
		}
	}
	if !strings.Contains(turns[0].System, "Work in the current folder only.") {
		t.Error("the system prompt did not arrive")
	}
	if log := content(t, s.root, first.ClaudeLogPath); !strings.Contains(log, "I will write it.") {
		t.Error("the transcript has not what the agent said")
	}

	// Gone back and run on, the second codon continues the same session.
	s.mustRollback("write")
	if got := content(t, s.workspace(), "haiku.txt"); got != haiku {
		t.Errorf("rolled back, haiku.txt is %q", got)
	}
}

func TestARealClaudeCanBePlayedAgain(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s, server := claudeStage(t, writes, written, extends, extended)
	s.must(ModeRun, exitcode.Done)
	server.Close()
	again := newStage(t, fixture(t, "hanks/claude-two"))
	again.opts.Replay = s.root
	again.must(ModeRun, exitcode.Done)
	sameTree(t, "played", again.tree(), s.tree())
	for _, id := range []state.CodonID{"write", "extend"} {
		if got, want := again.last(id), s.last(id); got.Cost() != want.Cost() || got.FinalTokens.Input != want.FinalTokens.Input || got.FinalTokens.Output != want.FinalTokens.Output || got.ClaudeSessionID != want.ClaudeSessionID {
			t.Errorf("%s cost %s, played %s", id, want.Cost(), got.Cost())
		}
	}
}

// The command line says "success" of a request that the provider refused.
func TestAnAPIErrorOfTheRealClaudeIsAFailedCodon(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s, _ := claudeStage(t, writes, written, modelserver.Turn{Error: modelserver.Error{Status: 400, Message: "messages.3.content: Input should be a valid list"}, Repeat: true})
	s.must(ModeRun, exitcode.Failed)
	failed := s.last("extend")
	if failed.Status != state.Failed || failed.FailureReason.Type != state.FailAPI || failed.FailureReason.Retriable || !strings.Contains(failed.FailureReason.Message, "valid list") {
		t.Errorf("%s: %+v", failed.Status, failed.FailureReason)
	}
	if failed.ErrorCheckpoint == "" {
		t.Error("it has no error checkpoint")
	}
	if !strings.Contains(content(t, s.root, failed.ClaudeLogPath), `\"subtype\":\"success\"`) && !strings.Contains(content(t, s.root, failed.ClaudeLogPath), `"subtype":"success"`) {
		t.Error("the command line did not say success: the test shows nothing")
	}

	// A retry continues in the session of the codon before.
	better := modelserver.New(t, extends, extended)
	s.must(ModeRetry, exitcode.Done, func(o *command) { o.Environ = append(o.Environ, better.Environ()...) })
	if got := content(t, s.workspace(), "haiku.txt"); got != haiku+haiku {
		t.Errorf("haiku.txt: %q", got)
	}
	if done := s.last("extend"); done.ClaudeSessionID != s.last("write").ClaudeSessionID {
		t.Errorf("the session is %s", done.ClaudeSessionID)
	}
}

// TestARefusedKeyOrModelEndsTheAgentAtOnce: what waiting cannot heal is not waited
// for, is no failure of the codon, and a plain run does the codon again.
func TestARefusedKeyOrModelEndsTheAgentAtOnce(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for name, c := range map[string]struct {
		refusal    modelserver.Error
		says, next string
	}{
		"key":   {modelserver.Error{Status: 401}, "refuses the key or the login: authentication_failed (HTTP 401)", "hank run"},
		"model": {modelserver.Error{Status: 404}, `correct "model" of codon write`, "hank run --adopt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, server := claudeStage(t, modelserver.Turn{Error: c.refusal, Repeat: true})
			hank := t.TempDir()
			if err := os.CopyFS(hank, os.DirFS(s.opts.Hank)); err != nil {
				t.Fatal(err)
			}
			text := content(t, hank, "hank.json")
			put(t, hank, "hank.json", strings.Replace(text, `"id": "write",`, `"id": "write", "onFailure": "ignore",`, 1))
			s.opts.Hank = hank
			s.opts.Environ = append(s.opts.Environ, "CLAUDE_CODE_MAX_RETRIES=10")
			res := s.must(ModeRun, exitcode.Agent)
			if res.EndReason != state.EndAgent || !strings.Contains(res.Message, c.says) || res.Next != c.next {
				t.Errorf("%s: %q, next %q", res.EndReason, res.Message, res.Next)
			}
			record := s.last("write")
			if record.Status != state.Failed || record.FailureIgnored || record.Interrupted != state.InterruptedByRefusal || record.FailureReason.Retriable {
				t.Errorf("the record: %+v, %+v", record, record.FailureReason)
			}
			if n := len(server.Turns()); n > 3 {
				t.Errorf("the provider was asked %d times", n)
			}
			better := modelserver.New(t, writes, written, extends, extended)
			s.must(ModeRun, exitcode.Done, func(o *command) { o.Environ = append(o.Environ, better.Environ()...) })
			if got := strings.Join(s.records(), " "); got != "write:failed write:completed extend:completed" {
				t.Errorf("the records are %s", got)
			}
		})
	}
}

// TestTheRealClaudeDoesNotRememberWhatWasRolledBack: neither what an attempt said that is
// done again, nor what came after the checkpoint of a rollback. What it had said is kept.
func TestTheRealClaudeDoesNotRememberWhatWasRolledBack(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s, _ := claudeStage(t, writes, written, extends, extended)
	s.must(ModeRun, exitcode.Done)
	first := s.last("extend")
	s.mustRollback("write")
	for _, mode := range []Mode{ModeRun, ModeRetry} {
		better := modelserver.New(t, extends, modelserver.Turn{Text: "Extended again."})
		s.must(mode, exitcode.Done, func(o *command) {
			if o.Environ = append(o.Environ, better.Environ()...); mode == ModeRetry {
				o.Codon = "extend"
			}
		})
		var told strings.Builder
		for _, m := range better.Turns()[0].Messages {
			told.WriteString(m.Role + ": " + m.Text + "\n")
		}
		if text := told.String(); strings.Count(text, "Add a second haiku") != 1 || !strings.Contains(text, "assistant: Written.") || strings.Contains(text, "Extended") {
			t.Errorf("%v: the model was told:\n%s", mode, text)
		}
		if again := s.last("extend"); again.ClaudeSessionID != first.ClaudeSessionID || again.SessionCheckpoint == "" || again.SessionCheckpoint == first.SessionCheckpoint {
			t.Errorf("%v: session %s at %q, and before %s at %q", mode, again.ClaudeSessionID, again.SessionCheckpoint, first.ClaudeSessionID, first.SessionCheckpoint)
		}
	}
	list, err := report.ListSession(s.view(), first.ClaudeSessionID[:8], 0, "", "")
	if err != nil || len(list.Codons) != 4 || list.Codons[3].CodonID != "write" {
		t.Errorf("the attempts in the session are %+v, %v", list, err)
	}
	if _, err := report.ListSession(s.view(), "none", 0, "", ""); verdict.CodeOf(err) != exitcode.Usage {
		t.Errorf("a session that no attempt has: %v", err)
	}
	if kept := s.git("grep", "-l", "Extended.", string(first.SessionCheckpoint)); !strings.Contains(kept, first.ClaudeSessionID) {
		t.Errorf("what was said before the rollback is in %q", kept)
	}

	// An export has none of it, unless it is asked for. Then the work can be continued
	// elsewhere, and what was done before the rollback is not remembered there either.
	s.mustRollback("write")
	for _, sessions := range []bool{false, true} {
		to := remote.Remote{Address: filepath.Join(t.TempDir(), "backup"), Sessions: sessions}
		if _, err := transfer.Export(t.Context(), s.view(), to, nil); err != nil {
			t.Fatal(err)
		}
		there := newStage(t, fixture(t, "hanks/claude-two"))
		there.opts.Environ = s.opts.Environ
		if _, err := transfer.Import(t.Context(), there.root, to, execution.Options{}); err != nil {
			t.Fatal(err)
		}
		there.mustRollback("write") // of which an import does not know
		if !sessions {
			there.must(ModeRun, exitcode.Failed)
			if f := there.last("extend").FailureReason; f.Class != "session_not_found" || !strings.Contains(f.Message, "cannot be brought back") {
				t.Errorf("without its session the codon failed: %+v", f)
			}
			continue
		}
		elsewhere := modelserver.New(t, extends, extended)
		there.must(ModeRun, exitcode.Done, func(o *command) { o.Environ = append(o.Environ, elsewhere.Environ()...) })
		var told strings.Builder
		for _, m := range elsewhere.Turns()[0].Messages {
			told.WriteString(m.Text + "\n")
		}
		if text := told.String(); strings.Count(text, "Add a second haiku") != 1 || !strings.Contains(text, "Written.") || strings.Contains(text, "Extended") {
			t.Errorf("elsewhere the model was told:\n%s", text)
		}
	}
	if refs := s.git("for-each-ref", "--format=%(refname)", "refs/hank"); len(strings.Fields(refs)) != 3 {
		t.Errorf("the references of the runs' sessions are %q", refs)
	}
}
