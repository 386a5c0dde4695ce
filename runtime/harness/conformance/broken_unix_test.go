//go:build unix

package conformance_test

import (
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hank/runtime/harness"
	"hank/runtime/harness/conformance"
	"hank/runtime/harness/exec"
	"hank/runtime/harness/pi"
	"hank/state"
)

// broken is a harness that breaks one promise.
type broken struct {
	harness.Harness
	command func(harness.Request, *harness.Command)
	reader  func(harness.Reader) harness.Reader
	request func(*harness.Request) // instead of the one that came
}

func (b broken) Command(req harness.Request) (harness.Command, error) {
	c, err := b.Harness.Command(req)
	if b.command != nil {
		b.command(req, &c)
	}
	return c, err
}

func (b broken) Reader(req harness.Request) harness.Reader {
	if b.request != nil {
		b.request(&req)
	}
	r := b.Harness.Reader(req)
	if b.reader != nil {
		r = b.reader(r)
	}
	return r
}

// twisted is a reader of which one thing is different.
type twisted struct {
	harness.Reader
	line func(harness.Reader, []byte) []harness.Observation
	end  func(v *harness.Verdict, code int)
}

func (r twisted) Line(line []byte) []harness.Observation {
	if r.line != nil {
		return r.line(r.Reader, line)
	}
	return r.Reader.Line(line)
}

func (r twisted) End(code int, signal string) harness.Verdict {
	v := r.Reader.End(code, signal)
	if r.end != nil {
		r.end(&v, code)
	}
	return v
}

func succeed(v *harness.Verdict) { v.Success, v.Failure, v.ResultSeen = true, nil, true }

func ends(end func(*harness.Verdict, int)) func(harness.Reader) harness.Reader {
	return func(r harness.Reader) harness.Reader { return twisted{Reader: r, end: end} }
}

func reads(line func(harness.Reader, []byte) []harness.Observation) func(harness.Reader) harness.Reader {
	return func(r harness.Reader) harness.Reader { return twisted{Reader: r, line: line} }
}

// breaks are harnesses, each with the subtest that must fail.
var breaks = map[string]struct {
	broken
	fails string
}{
	"the prompt is an argument":       {broken{command: func(r harness.Request, c *harness.Command) { c.Args = append(c.Args, r.Prompt) }}, "command/prompts_are_in_no_list_of_processes"},
	"nothing stops it":                {broken{command: func(_ harness.Request, c *harness.Command) { c.StopSignal = 0 }}, "command/the_keeper_can_start_and_stop_it"},
	"it has the keys of sentinels":    {broken{command: func(r harness.Request, c *harness.Command) { c.Env = append(c.Env, r.Environ...) }}, "command/it_has_no_secrets_that_are_not_for_it"},
	"it takes proxies away":           {broken{command: func(_ harness.Request, c *harness.Command) { c.Env = append(c.Env, "HTTPS_PROXY=") }}, "command/it_is_told_where_it_is"},
	"it writes into the workspace":    {broken{command: func(r harness.Request, _ *harness.Command) { _ = os.WriteFile(r.Workspace+"/made", nil, 0o600) }}, "command/it_writes_in_its_own_directories_alone"},
	"it forgets the session":          {broken{command: func(r harness.Request, c *harness.Command) { c.Stdin, c.Env = nil, nil }}, "command/a_session_that_is_asked_for"},
	"a success without an end":        {broken{reader: ends(func(v *harness.Verdict, code int) { v.Success = code == 0; v.Failure = nil })}, "reader/nothing_printed_is_no_success"},
	"a success with any exit":         {broken{reader: ends(func(v *harness.Verdict, _ int) { succeed(v) })}, "recordings/write/no_success_with_a_bad_exit"},
	"a success without the last line": {broken{reader: ends(func(v *harness.Verdict, code int) { v.Success = code == 0 && v.Session != ""; succeedIf(v) })}, "recordings/write/no_success_without_the_good_end"},
	"any session will do":             {broken{request: func(r *harness.Request) { r.Session = "" }}, "recordings/write/no_success_in_another_session"},
	"the use falls": {broken{reader: reads(func(r harness.Reader, l []byte) []harness.Observation {
		return append(r.Line(l), harness.Usage{Tokens: state.Tokens{Input: int64(1000 - len(l)%7)}})
	})}, "recordings/write/the_session_is_named_first"},
	"the session comes late": {broken{reader: reads(func(r harness.Reader, l []byte) []harness.Observation {
		return append([]harness.Observation{harness.Message{Text: "x"}}, r.Line(l)...)
	})}, "recordings/write/the_session_is_named_first"},
	"garbage ends it": {broken{reader: func(r harness.Reader) harness.Reader {
		bad := false
		return twisted{Reader: r, line: func(r harness.Reader, l []byte) []harness.Observation {
			bad = bad || !strings.HasPrefix(string(l), "{")
			return r.Line(l)
		},
			end: func(v *harness.Verdict, _ int) {
				if bad {
					v.Success, v.Failure = false, harness.Fail("protocol", "x", false, "garbage")
				}
			}}
	}}, "recordings/write/garbage_in_between_changes_nothing"},
	"it keeps lines": {broken{reader: func(r harness.Reader) harness.Reader {
		var kept []byte
		return twisted{Reader: r, line: func(r harness.Reader, l []byte) []harness.Observation { kept = l; return r.Line(l) },
			end: func(v *harness.Verdict, _ int) { v.Text = string(kept) }}
	}}, "recordings/write/lines_are_not_kept"},
	"a reason without a rule": {broken{reader: ends(func(v *harness.Verdict, _ int) {
		if v.Failure != nil {
			v.Failure.Rule = ""
		}
	})}, "reader/nothing_printed_is_no_success"},
	"a login that is copied": {broken{command: func(r harness.Request, _ *harness.Command) {
		if text, err := os.ReadFile(harness.NewEnviron(r.Environ)["HOME"] + "/.pi/agent/auth.json"); err == nil {
			_ = os.WriteFile(filepath.Join(r.Home, "copy"), text, 0o600)
		}
	}}, "command/a_login_is_a_link,_and_never_a_copy"},
}

func succeedIf(v *harness.Verdict) {
	if v.Success {
		succeed(v)
	}
}

const isBroken = "HANK_TEST_CONFORMANCE_BROKEN"

// TestBroken fails: it is started by the test below.
func TestBroken(t *testing.T) {
	if os.Getenv(isBroken) == "" {
		t.Skip("it is a part of TestTheSuiteNoticesEachBrokenPromise")
	}
	for name, b := range breaks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := conformance.Subject{Harness: pi.Harness{}, Provider: "anthropic", Model: "claude-sonnet-4-5", Environ: []string{"ANTHROPIC_API_KEY=k"},
				Recordings: []string{"../pi/testdata/write.jsonl"}, Login: file(".pi/agent/auth.json", `{"anthropic":{"type":"oauth","access":"`, `","refresh":"r","expires":1}}`)}
			if b.fails == "command/a_session_that_is_asked_for" {
				s = conformance.Subject{Harness: exec.Harness{Program: []string{"x"}}, Provider: "exec", Model: "x"}
			}
			b.Harness = s.Harness
			s.Harness = b.broken
			conformance.Test(t, s)
		})
	}
}

// TestTheSuiteNoticesEachBrokenPromise: a suite that everybody passes holds nobody to
// anything.
func TestTheSuiteNoticesEachBrokenPromise(t *testing.T) {
	t.Parallel()
	cmd := osexec.Command(os.Args[0], "-test.run=^TestBroken$", "-test.v")
	cmd.Env = append(os.Environ(), isBroken+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatalf("nobody failed:\n%s", out)
	}
	for name, b := range breaks {
		if !strings.Contains(string(out), "--- FAIL: TestBroken/"+strings.ReplaceAll(name, " ", "_")+"/"+b.fails) {
			t.Errorf("%s: %s did not fail", name, b.fails)
		}
	}
	if t.Failed() {
		t.Logf("%.20000s", out)
	}
}
