package runtime

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hank/internal/sandbox"
	"hank/internal/short"
	"hank/plan/config"
	"hank/recovery/finding"
	"hank/recovery/layout"
	"hank/runtime/exitcode"
)

// confinedHank asks for the sandbox and runs a script as rig, agent and check, to answer
// whether it is skipped, and to find what is expected.
func confinedHank(script string) string {
	return fmt.Sprintf(`{"overrides": {"sandbox": "workspace"}, "hank": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": %[1]q,
	  "rigSetup": [{"type": "command", "command": {"run": %[1]q}}],
	  "skipIf": {"command": {"run": %[2]q}}, "expect": {"command": {"run": %[1]q}},
	  "outputFiles": [{"copy": ["inside"], "beforeCopy": [{"type": "command", "command": {"run": %[1]q}}]}]}]}`, script, "(\n"+script+"\n) && exit 1; exit 9")
}

// needSandbox skips, and says why, where the kernel cannot confine.
func needSandbox(t *testing.T) {
	t.Helper()
	if s := sandbox.Kernel(); !s.InForce() {
		t.Skip(s.Why)
	}
}

// Rig, agent and check try every way out of the workspace; each attempt that
// succeeds leaves a word in escaped.
func TestAConfinedAgentWritesOnlyWhereItMay(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	needSandbox(t)
	outside := t.TempDir()
	put(t, outside, "victim", "whole\n")
	put(t, outside, "folder/file", "whole\n")
	before := treeOn(t, outside)
	script := strings.NewReplacer("OUT", outside).Replace(`
		try() { if sh -c "$1" 2>/dev/null; then echo "$1" >>escaped; fi; }
		try 'echo x >OUT/new'
		try 'echo x >>OUT/victim'
		try ': >OUT/victim'
		try 'truncate -s 0 OUT/victim'
		try 'rm -f OUT/victim'
		try 'rm -rf OUT/folder'
		try 'mv OUT/victim ./victim'
		try 'mv OUT/folder OUT/other'
		try 'ln OUT/victim hard'
		try 'ln -s x OUT/link'
		try 'mkdir OUT/made'
		try 'mkfifo OUT/fifo'
		try 'ln -sfn OUT way; echo x >way/new'
		try 'echo x >../.hankweave/state.json'
		try 'rm -rf ../.hankweave/events/events.jsonl'
		try 'echo x >../.hankweave/planted'
		try 'echo x >../.hankweave/homes/other'
		try 'mv ../.hankweave/tmp ../.hankweave/tmp2'
		try 'ln -sfn OUT "$TMPDIR.link"'
		rm -f way
		echo in >inside && echo home >"$HOME/file" && echo temp >"$TMPDIR/file" && mkdir -p a/b && mv a/b c && echo >/dev/null
	`)
	s := stageOf(t, confinedHank(script))
	res := s.must(ModeRun, exitcode.Done)
	if c := res.Sandbox; c == nil || !c.InForce || c.ABI < sandbox.MinABI || !slices.Contains(c.Writable, sandbox.Real(s.workspace())) {
		t.Errorf("the result says of the sandbox: %+v", c)
	}
	if onDisk(s.workspace(), "escaped") {
		t.Errorf("it got out by:\n%s", content(t, s.workspace(), "escaped"))
	}
	sameTree(t, "outside", treeOn(t, outside), before)
	if !slices.ContainsFunc(s.said, func(line string) bool {
		return strings.HasPrefix(line, "sandbox: active") && strings.Contains(line, s.workspace())
	}) {
		t.Errorf("the allow-list was not said: %q", s.said)
	}
	if s.view().Report.Has(finding.Lost) {
		t.Error("something was lost")
	}
}

// The same hank without the sandbox gets out: the test above can fail.
func TestWithoutTheSandboxTheSameScriptGetsOut(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	s := stageOf(t, confinedHank("echo x >"+outside+"/new; echo x >inside"))
	s.must(ModeRun, exitcode.Done, func(o *command) { o.Layers.Flags.Sandbox = config.NoSandbox })
	if !onDisk(outside, "new") {
		t.Error("nothing was confined, and it could not write")
	}
}

// What a confined process started is confined too, and cannot end what is
// outside.
func TestChildrenOfTheConfinedAreConfined(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	needSandbox(t)
	outside := t.TempDir()
	s := stageOf(t, confinedHank(fmt.Sprintf(`(setsid sh -c 'echo x >%[1]s/late; echo done >late') & wait; until test -e late; do :; done
		%[2]s echo x >inside`, outside, map[bool]string{true: fmt.Sprintf("if kill -0 %d 2>/dev/null; then exit 7; fi;", os.Getpid())}[sandbox.Kernel().ABI >= 6])))
	s.must(ModeRun, exitcode.Done)
	if onDisk(outside, "late") {
		t.Error("a child of the agent wrote outside")
	}
}

func TestAHankThatAsksForTheSandboxIsNotRunWithout(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := stageOf(t, confinedHank("echo x >inside"))
	without := func(o *command) { o.Kernel = &sandbox.Support{Why: "it was not switched on at boot"} }
	_, err := s.run(ModeRun, without)
	var agent *exitcode.AgentError
	if !errors.As(err, &agent) || !strings.Contains(err.Error(), "not switched on") || !strings.Contains(err.Error(), "--sandbox none") {
		t.Errorf("got %v", err)
	}
	if onDisk(s.root, layout.Dir) {
		t.Error("an execution was made")
	}
	// An execution keeps the sandbox that a command has chosen for it.
	retry := func(o *command) { o.Codon = "a" }
	s.must(ModeRun, exitcode.Done, func(o *command) { o.Layers.Flags.Sandbox = config.NoSandbox })
	s.must(ModeRetry, exitcode.Done, without, retry)
	if _, err := s.run(ModeRetry, without, retry, func(o *command) { o.Layers.Flags.Sandbox = config.WorkspaceSandbox }); !errors.As(err, &agent) {
		t.Errorf("an execution that is there: %v", err)
	}
}

// An execution inside the workspace cannot be told from the agents' files.
func TestAWorkspaceThatHoldsTheExecutionCannotBeConfined(t *testing.T) {
	t.Parallel()
	s := stageOf(t, confinedHank("echo x >inside"))
	around := filepath.Dir(s.root)
	_, err := s.run(ModeRun, func(o *command) { o.Workspace = around })
	var usage *exitcode.UsageError
	if !errors.As(err, &usage) || !strings.Contains(err.Error(), "-e DIR") {
		t.Errorf("got %v", err)
	}
	if onDisk(s.root, layout.Dir) {
		t.Error("an execution was made")
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(around, link); err != nil {
		t.Fatal(err)
	}
	if _, err := s.run(ModeRun, func(o *command) { o.Workspace = link }); !errors.As(err, &usage) {
		t.Errorf("by a link: %v", err)
	}
}
