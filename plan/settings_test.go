package plan

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"hank/plan/config"
	"hank/plan/diagnostic"
)

func TestSettingsErrorsAreReported(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want []string
	}{
		{`{}`, nil},
		{`{"model": "sonnet", "outputDirectory": "out", "shimIdleTimeout": 60, "ignoreRigFailures": true, "budget": {"maxDollars": 3}, "anthropicBaseUrl": "http://localhost:1"}`, nil},
		{`{"port": 7777, "autostart": true, "telemetry": {"a": {"b": 1}}, "sentinel": {"enablePersistence": false, "waitForAllHealthChecks": false}}`, []string{"no-effect", "no-effect", "no-effect"}},
		{`{"sentinel": {"enablePersistence": true, "healthCheckGracePeriodMs": 500, "waitForAllHealthChecks": true}}`, slices.Repeat([]string{"sentinel-setting"}, 3)},
		{`{"withoutProxy": true, "showCosts": true, "executionBaseDir": "x", "logParsingInterval": 1000, "dataHashTimeLimit": 5000, "dietOnFinalize": true, "journalDietThresholdBytes": 1000000}`, slices.Repeat([]string{"no-effect"}, 7)},
		{`{"telemetry": false}`, []string{"no-effect"}},
		{`{"telemetry": "off"}`, []string{"no-effect", "wrong-type"}},
		{`{"port": 0}`, []string{"no-effect", "bad-value"}},
		{`{"idleTimeout": 256}`, []string{"no-effect", "bad-value"}},
		{`{"shimIdletimeout": 60}`, []string{"unknown-field"}},
		{`{"budget": {"maxTokens": 1}}`, []string{"unknown-field"}},
		{`{"anthropicBaseUrl": "localhost"}`, []string{"bad-value"}},
		{`{"model": 3, "model": 4}`, []string{"wrong-type", "duplicate-field"}},
		{`{"models": "list.json", "prices": {"lab/small": {"input": 1, "output": 2.5, "cacheRead": 0}}, "requirePrice": true}`, nil},
		{`{"prices": {"small": {"input": 1, "output": 2}, "pi/lab/small": {"input": 1, "output": 2}}}`, []string{"bad-value", "bad-value"}},
		{`{"prices": {"lab/small": {"input": -1}}}`, []string{"missing-field", "bad-value"}},
		{`{"models": {"models": [{"provider": "lab", "id": "a b"}]}}`, []string{"bad-value"}},
		{`[1]`, []string{"wrong-type"}},
		{`{`, []string{"syntax"}},
		{``, []string{"syntax"}},
	} {
		_, ds := config.Parse([]byte(c.text))
		if got := rulesOf(ds); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.text, got, c.want)
		}
		for _, d := range ds {
			if d.File != "hankweave.json" || d.Line != 1 {
				t.Errorf("%s: no position: %s", c.text, d)
			}
		}
	}
	s, ds := config.Parse([]byte(`{"shimIdleTimeout": 60, "outputDirectory": 3}`))
	if s.ShimIdleTimeout != 60 || s.OutputDirectory != "" || !diagnostic.HasErrors(ds) {
		t.Errorf("what is right must be kept: %+v", s)
	}
}

func TestEnvironmentSettings(t *testing.T) {
	t.Parallel()
	no, yes := false, true
	for _, c := range []struct {
		env  string
		want config.Settings
		bad  []string
	}{
		{env: "HOME=/x HANKWEAVE_TOKEN=1 hankweave_runtime_model=x"},
		{env: "HANKWEAVE_RUNTIME_MODEL=opus", want: config.Settings{Model: "opus"}},
		{env: "HANKWEAVE_RUNTIME_SHIM_IDLE_TIMEOUT=90 HANKWEAVE_RUNTIME_IGNORE_RIG_FAILURES=1", want: config.Settings{ShimIdleTimeout: 90, IgnoreRigFailures: &yes}},
		{env: "HANKWEAVE_RUNTIME_IGNORE_RIG_FAILURES=0", want: config.Settings{IgnoreRigFailures: &no}},
		{env: "HANKWEAVE_RUNTIME_MODEL=a HANKWEAVE_RUNTIME_MODEL=b", want: config.Settings{Model: "b"}},
		{env: "HANKWEAVE_RUNTIME_ANTHROPIC_BASE_URL=http://x/", want: config.Settings{AnthropicBaseURL: "http://x/"}},
		{env: "HANKWEAVE_RUNTIME_IGNORE_RIG_FAILURES=no", want: config.Settings{IgnoreRigFailures: &no}},
		{env: "HANKWEAVE_RUNTIME_IGNORE_RIG_FAILURES=False", want: config.Settings{IgnoreRigFailures: &no}},
		{env: "HANKWEAVE_RUNTIME_IGNORE_RIG_FAILURES=", want: config.Settings{IgnoreRigFailures: &no}},
		{env: "HANKWEAVE_RUNTIME_IGNORE_RIG_FAILURES=True", bad: []string{"wrong-type"}},
		{env: "HANKWEAVE_RUNTIME_IGNORE_RIG_FAILURES=yes", bad: []string{"wrong-type"}},
		{env: "HANKWEAVE_RUNTIME_CHECKPOINT_CAP=20GB", want: config.Settings{CheckpointCap: "20GB"}},
		{env: "HANKWEAVE_RUNTIME_CHECKPOINT_CAP=0", want: config.Settings{CheckpointCap: "0"}},
		{env: "HANKWEAVE_RUNTIME_SANDBOX=workspace", want: config.Settings{Sandbox: config.WorkspaceSandbox}},
		{env: "HANKWEAVE_RUNTIME_SANDBOX=on", bad: []string{"bad-value"}},
		{env: "HANKWEAVE_RUNTIME_CHECKPOINT_CAP=-1", bad: []string{"bad-value"}},
		{env: "HANKWEAVE_RUNTIME_SHIM_IDLE_TIMEOUT=1m", bad: []string{"wrong-type"}},
		{env: "HANKWEAVE_RUNTIME_SHIM_IDLE_TIMEOUT=0", bad: []string{"bad-value"}},
		{env: "HANKWEAVE_RUNTIME_MODLE=x", bad: []string{"unknown-variable"}},
		{env: "HANKWEAVE_RUNTIME_BUDGET={}", bad: []string{"unknown-variable"}},
		{env: "HANKWEAVE_RUNTIME_=x HANKWEAVE_RUNTIME_MODEL=", bad: []string{"unknown-variable", "bad-value"}},
	} {
		s, ds := config.ParseEnviron(strings.Fields(c.env))
		s.Unknown = nil
		if got := rulesOf(ds); !slices.Equal(got, c.bad) || c.bad == nil && !reflect.DeepEqual(s, c.want) {
			t.Errorf("%s: got %+v %v", c.env, s, diagnostic.Text(ds))
		}
	}
	if _, ds := config.ParseEnviron([]string{"HANKWEAVE_RUNTIME_SENTINEL_ENABLE_PERSISTENCE=true", "HANKWEAVE_RUNTIME_PORT=80"}); diagnostic.HasErrors(ds) || len(ds) != 2 {
		t.Errorf("settings without effect: %s", diagnostic.Text(ds))
	}
	if _, ds := config.ParseEnviron([]string{"HANKWEAVE_RUNTIME_MODLE=x"}); !strings.Contains(ds[0].Hint, "HANKWEAVE_RUNTIME_MODEL") {
		t.Errorf("the hint must name the variable: %s", ds[0])
	}
	for _, name := range []string{"BUDGET", "BUDGETS"} {
		if _, ds := config.ParseEnviron([]string{"HANKWEAVE_RUNTIME_" + name + "=5"}); strings.Contains(ds[0].Hint, "HANKWEAVE_RUNTIME_BUDGET") {
			t.Errorf("there is no variable of that name: %s", ds[0])
		}
	}
}

func TestHigherLayersWin(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	l := config.Layers{
		File:  config.Settings{Model: "file", ShimIdleTimeout: 1, OutputDirectory: "file", IgnoreRigFailures: &yes, Budget: &config.Ceiling{MaxDollars: 5, MaxTimeSeconds: 50}},
		Env:   config.Settings{ShimIdleTimeout: 3, AnthropicBaseURL: "env"},
		Flags: config.Settings{IgnoreRigFailures: &no, Budget: &config.Ceiling{MaxDollars: 9}},
	}
	got := l.Merge((&Overrides{Model: "hank", ShimIdleTimeout: 2, Budget: &Budget{MaxDollars: 4, MaxTimeSeconds: 60}}).Settings())
	want := config.Settings{Model: "hank", ShimIdleTimeout: 3, OutputDirectory: "file", AnthropicBaseURL: "env", IgnoreRigFailures: &no, Budget: &config.Ceiling{MaxDollars: 9, MaxTimeSeconds: 50}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v %+v", got, got.Budget)
	}
	l.Flags = config.Settings{}
	if b := l.Merge((&Overrides{Budget: &Budget{MaxDollars: 4}}).Settings()).Budget; b.MaxDollars != 4 || b.MaxTimeSeconds != 50 {
		t.Errorf("the lower ceiling of file and hank holds: %+v", b)
	}
	if got := l.Merge(nil); !reflect.DeepEqual(got.Budget, l.File.Budget) || got.Model != "file" {
		t.Errorf("a hank without overrides: %+v", got)
	}
	if l.File.Budget.MaxDollars != 5 {
		t.Error("merging must not change a layer")
	}
}

// A hank may ask for the sandbox; only its user can lift it.
func TestAHankCannotLiftItsUsersSandbox(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, hank, env, flag, want config.Sandbox }{
		{want: ""},
		{hank: config.WorkspaceSandbox, want: config.WorkspaceSandbox},
		{file: config.WorkspaceSandbox, hank: config.NoSandbox, want: config.WorkspaceSandbox},
		{file: config.NoSandbox, hank: config.WorkspaceSandbox, want: config.WorkspaceSandbox},
		{hank: config.WorkspaceSandbox, env: config.NoSandbox, want: config.NoSandbox},
		{file: config.WorkspaceSandbox, flag: config.NoSandbox, want: config.NoSandbox},
		{env: config.NoSandbox, flag: config.WorkspaceSandbox, want: config.WorkspaceSandbox},
	} {
		l := config.Layers{File: config.Settings{Sandbox: c.file}, Env: config.Settings{Sandbox: c.env}, Flags: config.Settings{Sandbox: c.flag}}
		if got := l.Merge((&Overrides{Sandbox: c.hank}).Settings()).Sandbox; got != c.want {
			t.Errorf("%+v: got %q", c, got)
		}
	}
}

func TestAModelOfTheCommandLineIsForAgentsOnly(t *testing.T) {
	t.Parallel()
	dir := folder(map[string]string{"hank.json": hankOf(strings.Replace(agentCodon("a", "fresh"), "sonnet", "gone", 1), shellCodon("b"))})
	p, ds := LoadWith(dir, "hank.json", config.Layers{Flags: config.Settings{Model: "opus"}})
	if p == nil || p.Codon("a").Model.ModelID != "claude-opus-4-8" || !p.Codon("b").Model.Kind().RunsScript {
		t.Fatalf("%s", diagnostic.Text(ds))
	}
	dir = folder(map[string]string{"hank.json": hankOf(agentCodon("a", "fresh"), shellCodon("b"))})
	for from, layers := range map[string]config.Layers{"command line": {Flags: config.Settings{Model: "x"}}, "environment": {Env: config.Settings{Model: "x"}}, "hankweave.json": {File: config.Settings{Model: "x"}}} {
		if p, ds := LoadWith(dir, "hank.json", layers); p != nil || len(ds) != 1 || ds[0].Rule != "unknown-model" || ds[0].File != from {
			t.Errorf("%s: %s", from, diagnostic.Text(ds))
		}
	}
}
