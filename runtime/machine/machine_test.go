package machine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"hank/internal/programtest"
	"hank/internal/sandbox"
	"hank/plan"
	"hank/plan/diagnostic"
	"hank/recovery/layout"
	"hank/runtime/agents"
)

const needy = `{
"overrides": {"sandbox": "workspace"},
"requirements": {"env": [" NEEDED ", "THERE"], "tools": ["no-such-program"]},
"hank": [{"id": "a", "name": "A", "model": "sonnet", "continuationMode": "fresh", "promptText": "Do it.", "fallback": ["haiku", "gpt-5"],
  "rigSetup": [{"type": "copy", "copy": {"from": "t", "to": "src"}}, {"type": "copy", "copy": {"from": "t", "to": "new"}}]}]}`

// Each thing that is missing is said once, at the field that asks for it, and as a fact
// about the machine.
func TestWhatTheMachineLacks(t *testing.T) {
	t.Parallel()
	p, found := plan.Load(fstest.MapFS{"hank.json": {Data: []byte(needy)}, "t": {Data: []byte("t")}}, "hank.json")
	if p == nil {
		t.Fatal(diagnostic.Text(found))
	}
	p.Settings.Sandbox = "workspace"
	root := t.TempDir()
	at := layout.LayoutOf(filepath.Join(root, "execution"))
	at.Workspace = filepath.Join(root, "work")
	if err := os.MkdirAll(filepath.Join(at.Workspace, "src"), 0o755); err != nil {
		t.Fatal(err)
	}
	here := Place{Environ: []string{"PATH=/nonexistent", "THERE=1"}, Layout: at, Kernel: sandbox.Support{Why: "there is no Landlock"}, Known: agents.Found{}}
	look := func() (rules, pointers []string) {
		found, _ := Look(t.Context(), p, here)
		for _, d := range found {
			rules, pointers = append(rules, d.Rule), append(pointers, d.Pointer)
			if d.Line == 0 || d.Rule != "fallback-agent" && diagnostic.Of(d.Rule).Machine != (d.Severity == diagnostic.Warning) {
				t.Errorf("%s", d)
			}
		}
		return rules, pointers
	}
	rules, pointers := look()
	if want := []string{"missing-variable", "missing-program", "missing-agent", "fallback-agent", "sandbox-missing", "target-exists"}; !slices.Equal(rules, want) {
		t.Errorf("got %v, want %v", rules, want)
	}
	if want := []string{"/requirements/env/0", "/requirements/tools/0", "/hank/0/model", "/hank/0/fallback/1", "/overrides/sandbox", "/hank/0/rigSetup/0/copy/to"}; !slices.Equal(pointers, want) {
		t.Errorf("got %v, want %v", pointers, want)
	}
	here.Layout.Workspace = root // the execution is inside of it
	if rules, _ = look(); !slices.Contains(rules, "sandbox-place") || slices.Contains(rules, "target-exists") {
		t.Errorf("got %v", rules)
	}
}

// A codon that can begin with a fallback needs no agent for its own model, and the warning
// names both.
func TestACodonThatBeginsWithItsFallbackIsSaid(t *testing.T) {
	t.Parallel()
	agent := filepath.Join(t.TempDir(), "agent")
	programtest.Write(t, agent, "#!/bin/sh\necho '2.1.329 (Claude Code)'\n")
	p, found := plan.Load(fstest.MapFS{"hank.json": {Data: []byte(`{"hank": [{"id": "a", "name": "A", "model": "gpt-5", "continuationMode": "fresh", "promptText": "x", "fallback": ["haiku"]}]}`)}}, "hank.json")
	if p == nil {
		t.Fatal(diagnostic.Text(found))
	}
	here := Place{Environ: []string{"PATH=/nonexistent", "ANTHROPIC_API_KEY=k", "CLAUDE_PATH_TO_CLAUDE_EXECUTABLE=" + agent},
		Layout: layout.LayoutOf(filepath.Join(t.TempDir(), "execution")), Known: agents.Found{}}
	var rules []string
	found, _ = Look(t.Context(), p, here)
	for _, d := range found {
		if rules = append(rules, d.Rule+" "+d.Pointer); !strings.Contains(d.Message, "anthropic/claude-haiku-4-5") || !strings.Contains(d.Message, "openai/gpt-5") {
			t.Errorf("%s", d)
		}
	}
	if want := []string{"fallback-begins /hank/0/model"}; !slices.Equal(rules, want) {
		t.Errorf("got %v, want %v", rules, want)
	}
}
