//go:build unix

package conformance_test

import (
	"cmp"
	"os"
	osexec "os/exec"
	"strings"
	"testing"

	"hank/internal/programtest"
	"hank/runtime/harness/conformance"
	"hank/runtime/harness/exec"
)

const (
	programVariable = "HANK_CONFORMANCE"        // the program and its arguments
	promptVariable  = "HANK_CONFORMANCE_PROMPT" // what it does well and soon
	longVariable    = "HANK_CONFORMANCE_LONG"   // what keeps it busy for minutes
)

// TestProgram tries a program of the user:
//
//	HANK_CONFORMANCE='/opt/mine --fast' go test -v -count=1 -run '^TestProgram$' ./runtime/harness/conformance
func TestProgram(t *testing.T) {
	program := strings.Fields(os.Getenv(programVariable))
	if len(program) == 0 {
		t.Skip(programVariable + " names no program")
	}
	conformance.Test(t, conformance.Subject{
		Harness: exec.Harness{Program: program}, Provider: "exec", Model: "conformance",
		Live: &conformance.Live{Environ: os.Environ(), Good: cmp.Or(os.Getenv(promptVariable), "Say hello."), Long: os.Getenv(longVariable)},
	})
}

// TestTheHomeOfWhoTestsIsLeftAlone: the suite lays files into a home, which must not be that
// of a person, whatever the environment says.
func TestTheHomeOfWhoTestsIsLeftAlone(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	conformance.Test(t, conformance.Subject{Harness: exec.Harness{Program: []string{counter(t)}}, Provider: "exec", Model: "x", Environ: []string{"HOME=" + home}})
	if all, err := os.ReadDir(home); err != nil || len(all) > 0 {
		t.Errorf("there is %v, %v", all, err)
	}
}

// TestAProgramOfTheUserIsTried: the example of the documentation passes, and one that
// always begins a new session does not.
func TestAProgramOfTheUserIsTried(t *testing.T) {
	t.Parallel()
	forgetful := t.TempDir() + "/forgetful"
	script := "#!/bin/sh\necho '{\"type\":\"session\",\"id\":\"'$HANK_ATTEMPT'\"}'\necho '{\"type\":\"result\",\"ok\":true}'\n"
	programtest.Write(t, forgetful, script)
	for program, want := range map[string]string{counter(t): "", forgetful: "--- FAIL: TestProgram/live/a_session_is_continued"} {
		cmd := osexec.Command(os.Args[0], "-test.run=^TestProgram$", "-test.v")
		cmd.Env = append(os.Environ(), programVariable+"="+program)
		out, err := cmd.CombinedOutput()
		if (err != nil) != (want != "") || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, want %q\n%s", program, err, want, out)
		}
	}
}
