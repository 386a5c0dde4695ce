//go:build unix

package codon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hank/internal/short"
	"hank/runtime/codon"
	"hank/runtime/exitcode"
	"hank/state"
)

func TestACodonIsSkippedWhereItsConditionHolds(t *testing.T) {
	t.Parallel()
	command := func(run string) string { return `"skipIf": {"command": {"run": "` + run + `"}}` }
	rigged := `, "rigSetup": [{"type": "command", "command": {"run": "touch rig"}}]`
	for name, s := range map[string]struct {
		more, want, why string
		log             int // transitions: 2 if nothing ran
	}{
		"a command that holds":       {command("true") + rigged, "skipped - [there]", `skipIf: "true" ended with code 0`, 2},
		"one that does not":          {command("false") + rigged, "completed - [a rig there]", "", 6},
		"what it changes is kept":    {command("touch asked"), "skipped - [asked there]", `skipIf: "touch asked" ended with code 0`, 2},
		"one without an answer":      {command("exit 2") + rigged, "failed skip_if [there]", "skipIf: the command skips the codon with code 0, and runs it with code 1: ", 2},
		"one that is ended":          {command("kill -9 $$"), "failed skip_if [there]", `skipIf: "kill -9 $$" was ended by SIGKILL`, 2},
		"one that takes too long":    {`"skipIf": {"command": {"run": "sleep 60", "timeoutSeconds": 0.1}}`, "failed skip_if [there]", `skipIf: "sleep 60" was stopped after 100ms`, 2},
		"files that are there":       {`"skipIf": {"files": ["there", "th*"]}`, "skipped - [there]", "skipIf: there, th* are there", 2},
		"one that is not":            {`"skipIf": {"files": ["there", "other"]}`, "completed - [a there]", "", 6},
		"a directory is no file":     {`"skipIf": {"files": ["dir/**"]}`, "completed - [a there]", "", 6},
		"both parts":                 {`"skipIf": {"files": ["there"], "command": {"run": "true"}}`, "skipped - [there]", `skipIf: there is there, and "true" ended with code 0`, 2},
		"the command is not reached": {`"skipIf": {"files": ["other"], "command": {"run": "touch asked"}}`, "completed - [a there]", "", 6},
		"one of the two":             {`"skipIf": {"files": ["there"], "command": {"run": "false"}}`, "completed - [a there]", "", 6},
		"a placeholder":              {`"skipIf": {"files": ["t<%CODON_ID%>"]}`, "completed - [a there]", "", 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, c("a", "touch a", s.more))
			if err := os.WriteFile(filepath.Join(h.workspace, "there"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			record := h.must(h.spec(0, 1), s.want)
			why := record.SkipReason
			if f := record.FailureReason; f != nil {
				if why = f.Message; !f.Retriable || f.Class != "skip_if" {
					t.Errorf("%+v", f)
				}
			}
			if !strings.HasPrefix(why, s.why) || (s.why == "") != (why == "") || h.log[0] != "durable CodonStarted" && s.log == 2 || !strings.Contains(s.want, "rig") && len(h.log) != s.log {
				t.Errorf("because %q; recorded %q", why, h.log)
			}
		})
	}
}

// Where the workspace has work of the codon, that would answer for the workspace from
// before it.
func TestACodonThatHasBegunIsNotAskedAbout(t *testing.T) {
	t.Parallel()
	h := newHost(t, c("a", "touch a", `"skipIf": {"command": {"run": "true"}}`))
	spec := h.spec(0, 1)
	spec.Begun = true
	h.must(spec, "completed - [a]")
}

func TestRequestsReachTheQuestionsAboutACodon(t *testing.T) {
	t.Parallel()
	waits := "touch asked; sleep 60"
	stop := codon.Request{Signal: codon.StopNow, Reason: state.EndStopped, Code: exitcode.Stopped}
	for name, s := range map[string]struct {
		more    string
		request codon.Request
		want    string
	}{
		"skip, asked whether":    {`"skipIf": {"command": {"run": "` + waits + `"}}`, codon.Request{Signal: codon.SkipCodon}, "skipped - [asked]"},
		"stop, asked whether":    {`"skipIf": {"command": {"run": "` + waits + `"}}`, stop, "failed stop [asked]"},
		"skip, asked at the end": {`"expect": {"command": {"run": "` + waits + `"}}`, codon.Request{Signal: codon.SkipCodon}, "skipped - [a asked]"},
		"stop, asked at the end": {`"expect": {"command": {"run": "` + waits + `"}}`, stop, "failed stop [a asked]"},
		"skip, at the outputs":   {`"outputFiles": [{"copy": ["a"], "beforeCopy": [{"type": "command", "command": {"run": "` + waits + `"}}]}]`, codon.Request{Signal: codon.SkipCodon}, "skipped - [a asked]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, c("a", "touch a", s.more))
			go func() {
				for range 1000 {
					if _, err := os.Stat(filepath.Join(h.workspace, "asked")); err == nil {
						break
					}
					time.Sleep(10 * time.Millisecond)
				}
				h.requests <- s.request
			}()
			if record := h.must(h.spec(0, 1), s.want); record.SkipReason != "" {
				t.Errorf("a person has skipped it, and not because of %q", record.SkipReason)
			}
		})
	}
}

func TestWhatIsExpectedOfACodonIsCheckedBeforeItIsCompleted(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]struct {
		script, expect, want, rule, says string
	}{
		"all is there":        {"touch a out; echo all DONE now", `{"files": ["a", "o*"], "marker": "DONE", "command": {"run": "test -e out"}}`, "completed - [a out]", "", ""},
		"a file is not":       {"touch a", `{"files": ["a", "out/*.md", "b"]}`, "failed expectation [a]", "files", "expect: no file matches out/*.md, b"},
		"a link that leads":   {"touch a; ln -s a b; ln -s nowhere d", `{"files": ["b"]}`, "completed - [a b d]", "", ""},
		"one that does not":   {"ln -s nowhere d", `{"files": ["d"]}`, "failed expectation [d]", "files", "expect: no file matches d"},
		"a directory":         {"mkdir d", `{"files": ["d"]}`, "failed expectation [d]", "files", "expect: no file matches d"},
		"a placeholder":       {"touch out-a", `{"files": ["out-<%CODON_ID%>"], "marker": "<%CODON_ID%>"}`, "failed expectation [out-a]", "marker", `expect: the last message does not contain "a"; there was none`},
		"another marker":      {"echo DONE; echo not yet", `{"marker": "DONE"}`, "failed expectation []", "marker", `expect: the last message does not contain "DONE"; it ends: "not yet"`},
		"no message":          {"touch a", `{"marker": "DONE"}`, "failed expectation [a]", "marker", `expect: the last message does not contain "DONE"; there was none`},
		"a command that says": {"touch a", `{"command": {"run": "echo no good; exit 3"}}`, "failed expectation [a]", "command", "expect: \"echo no good; exit 3\" ended with code 3:\nno good"},
		"one that hangs":      {"touch a", `{"command": {"run": "sleep 60", "timeoutSeconds": 0.1}}`, "failed expectation [a]", "command", "expect: \"sleep 60\" was stopped after 100ms"},
		"after a failure":     {"exit 3", `{"files": ["a"]}`, "failed exit []", "exit:3", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, c("a", s.script, `"expect": `+s.expect, `"outputFiles": [{"copy": ["a"], "beforeCopy": [{"type": "command", "command": {"run": "touch copied; rm copied"}}]}]`))
			record := h.must(h.spec(0, 1), s.want)
			if f := record.FailureReason; f != nil && (f.Rule != s.rule || !f.Retriable || s.says != "" && !strings.HasPrefix(f.Message, s.says)) {
				t.Errorf("%+v", f)
			}
		})
	}
}

// A codon that its budget has ended, and whose work is not there, is not tried again:
// nothing is left to try it with.
func TestAnExpectationIsNotRetriedWithoutABudget(t *testing.T) {
	t.Parallel()
	h := newHost(t, c("a", `echo '::hank usage {"costUSD":3}'; sleep 60`, `"budget": {"maxDollars": 2}`, `"expect": {"files": ["a"]}`))
	if f := h.must(h.spec(0, 1), "failed expectation []").FailureReason; f.Retriable {
		t.Errorf("%+v", f)
	}
}

// Nothing that a command of skipIf or expect starts outlives it.
func TestWhatAQuestionStartsIsEnded(t *testing.T) {
	t.Parallel()
	leave := `(nohup sleep 60 >/dev/null 2>&1 & echo $! >pid)`
	for _, more := range []string{`"skipIf": {"command": {"run": "` + leave + `"}}`, `"expect": {"command": {"run": "` + leave + `"}}`} {
		h := newHost(t, c("a", "true", more))
		spec := h.spec(0, 1)
		record, err := codon.Run(t.Context(), spec, h)
		if err != nil || !strings.Contains(strings.Join(record.Notes, "\n"), "killed leftover process") {
			t.Errorf("%v: %v", err, record.Notes)
		}
	}
}

// A timeout that a slow machine lets pass before the script has made its file a says
// nothing about the script: it is tried again with twice the time.
func TestATimeoutEndsTheAgentOfAnAttempt(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]struct{ script, more, want string }{
		"a script that hangs":       {"touch a; sleep 60", "", "failed timeout [a]"},
		"one that ends with 0 then": {"trap 'touch b; exit 0' TERM; touch a; sleep 60 & wait", "", "failed timeout [a b]"},
		"all turns together":        {"touch a", `, "maxExtensions": 1000, "exhaustWithPrompt": "sleep 0.2"`, "failed timeout [a]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for timeout := 400 * time.Millisecond; ; timeout *= 2 {
				h := newHost(t, c("a", s.script, fmt.Sprintf(`"timeout": %v`, timeout.Seconds())+s.more))
				began := time.Now()
				record, err := codon.Run(t.Context(), h.spec(0, 1), h)
				if err != nil {
					t.Fatal(err)
				}
				f := record.FailureReason
				if f == nil || f.Type != state.FailTimeout || !f.Retriable || f.Message != fmt.Sprintf("its timeout of %v is over", timeout) || time.Since(began) > timeout+30*time.Second {
					t.Fatalf("after %s: %+v", time.Since(began), f)
				}
				if len(h.checkpoints[record.Checkpoint()]) == 0 && timeout < time.Minute {
					continue
				}
				h.ended(record, s.want)
				return
			}
		})
	}
	h := newHost(t, c("a", "touch a", `"timeout": 60`))
	h.must(h.spec(0, 1), "completed - [a]")
}

func TestACodonIsExtendedUntilSomethingEndsIt(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]struct {
		more, want string
		turns      int
		full       bool
	}{
		"its context is full":    {`"exhaustWithPrompt": "echo >>more; test $(wc -l <more) = 2 && echo ::hank context-exceeded; true"`, "completed - [a more]", 2, true},
		"full, and it fails":     {`"exhaustWithPrompt": "echo >>more; test $(wc -l <more) = 2 && echo ::hank context-exceeded && exit 1; true"`, "completed - [a more]", 2, true},
		"the most prompts":       {`"maxExtensions": 3, "exhaustWithPrompt": "echo >>more"`, "completed - [a more]", 3, false},
		"one fails":              {`"exhaustWithPrompt": "echo >>more; test $(wc -l <more) = 1"`, "failed exit [a more]", 2, false},
		"a placeholder":          {`"maxExtensions": 1, "exhaustWithPrompt": "touch <%CODON_ID%>-more"`, "completed - [a a-more]", 1, false},
		"checked after the last": {`"maxExtensions": 2, "exhaustWithPrompt": "echo >>more; echo LAST $(wc -l <more)", "expect": {"marker": "LAST 2", "files": ["more"]}`, "completed - [a more]", 2, false},
		"its budget":             {`"budget": {"maxDollars": 2}, "exhaustWithPrompt": "echo >>more; echo '::hank usage {\"costUSD\":1}'"`, "completed - [a more]", 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, c("a", "touch a", s.more))
			spec := h.spec(0, 1)
			record := h.must(spec, s.want)
			if record.ExtensionCount == nil || *record.ExtensionCount != s.turns || record.ContextExceeded != s.full {
				t.Errorf("%v more prompts, context %v", record.ExtensionCount, record.ContextExceeded)
			}
			text, err := os.ReadFile(spec.Layout.Transcript(run, "a", 1))
			if err != nil || strings.Count(string(text), `"start"`) < s.turns+1 {
				t.Errorf("the transcript has not each of its turns: %v\n%s", err, text)
			}
		})
	}
}

// A skip, or a stop, between two turns or in one of them: no other prompt follows.
func TestARequestEndsTheExtensions(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for name, s := range map[string]struct {
		request codon.Request
		want    string
	}{
		"skip": {codon.Request{Signal: codon.SkipCodon}, "skipped - [a more]"},
		"stop": {codon.Request{Signal: codon.StopNow, Reason: state.EndStopped, Code: exitcode.Stopped}, "failed stop [a more]"},
	} {
		h := newHost(t, c("a", "touch a", `"exhaustWithPrompt": "touch more; sleep 60"`))
		go func() {
			for range 1000 {
				if _, err := os.Stat(filepath.Join(h.workspace, "more")); err == nil {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			h.requests <- s.request
		}()
		if record := h.must(h.spec(0, 1), s.want); *record.ExtensionCount != 1 {
			t.Errorf("%s: %d more prompts", name, *record.ExtensionCount)
		}
	}
}

// An attempt is told its number, why the one before it failed, and what the hank declares,
// in its prompt and in the environment of all that it starts.
func TestAnAttemptIsToldWhyTheOneBeforeItFailed(t *testing.T) {
	t.Parallel()
	h := newHost(t, c("a", `test '<%ATTEMPT%> <%LAST_FAILURE%>' = "$HANK_ATTEMPT_NUMBER $HANK_LAST_FAILURE" && echo "$HANK_LAST_FAILURE" && touch told-$HANK_ATTEMPT_NUMBER`,
		`"expect": {"marker": "no good", "command": {"run": "test \"$HANK_LAST_FAILURE\" = 'no good'"}}`))
	spec := h.spec(0, 2)
	spec.LastFailure = "no good"
	h.must(spec, "completed - [told-2]")
	h = newHost(t, c("a", `echo "$HANK_LAST_FAILURE"`, `"expect": {"marker": "none"}`))
	h.must(h.spec(0, 1), "completed - []")
}
