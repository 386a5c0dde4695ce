package harness

import (
	"context"
	"hank/internal/programtest"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestVersionsAreComparedAsNumbers(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{
		"2.1.329": true, "2.1.329 (Claude Code)": true, "2.1.1000": true, "2.2.0": true, "10.0.0": true,
		"2.1.328": false, "2.1.33": false, "2.0.999": false, "1.9.999": false, "": false, "unknown": false,
	} {
		if got := AtLeast(version, 2, 1, 329); got != want {
			t.Errorf("AtLeast(%q) = %v", version, got)
		}
	}
}

// Without a terminal an agent can print its version on the standard error.
func TestTheVersionIsFoundWhereverItIsPrinted(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"echo tool 1.2.3": "1.2.3", "echo 1.2.3 >&2": "1.2.3", "echo warning of 9.9.9 >&2; echo 1.2.3": "1.2.3", "echo none": "", "echo 1.2.3; exit 1": "",
	} {
		path := filepath.Join(t.TempDir(), "tool")
		programtest.Write(t, path, "#!/bin/sh\n"+script+"\n")
		if got, err := Version(t.Context(), path, nil); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", script, got, err)
		}
	}
}

// An agent that does not answer in time need not be broken: the machine may be busy.
func TestAnAgentThatDoesNotAnswerIsNotCalledBroken(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "agent")
	programtest.Write(t, file, "#!/bin/sh\nexec sleep 600\n")
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	c := Program{Name: "agent", Package: "p", Variable: "AGENT"}.Find(ctx, []string{"PATH=/bin:/usr/bin", "AGENT=" + file})
	if !strings.Contains(c.Problem, "no answer within 30s; try again when the machine is less busy") || strings.Contains(c.Problem, "reinstall") {
		t.Errorf("%+v", c)
	}
}
