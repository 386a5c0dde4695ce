//go:build unix

package agents

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/go-json-experiment/json"

	"hank/internal/programtest"
	"hank/plan"
	"hank/plan/config"
	"hank/plan/diagnostic"
	"hank/runtime/harness"
	"hank/state"
)

// here is an environment with stand-ins for pi and opencode, and no key of a provider.
func here(t *testing.T, more ...string) []string {
	t.Helper()
	home := t.TempDir()
	environ := []string{"HOME=" + home, "PATH=/bin:/usr/bin"}
	for name, version := range map[string]string{"pi": "0.73.1", "opencode": "1.18.33"} {
		file := filepath.Join(home, name)
		programtest.Write(t, file, "#!/bin/sh\necho "+version+"\n")
		environ = append(environ, strings.ToUpper(name)+"_PATH_TO_"+strings.ToUpper(name)+"_EXECUTABLE="+file)
	}
	return append(environ, more...)
}

func programOf(t *testing.T, codon string) *plan.Program {
	t.Helper()
	p, found := plan.LoadWith(fstest.MapFS{"hank.json": {Data: []byte(`{"hank": [{"id": "a", "name": "a", "continuationMode": "fresh", "promptText": "x", ` + codon + `}]}`)}}, "hank.json", config.Layers{})
	if p == nil {
		t.Fatal(diagnostic.Text(found))
	}
	return p
}

// A key that is missing for the provider of a codon is missed before the run, and not by the
// agent; a key in the codon's own variables counts, and so does what can have a key that
// hank does not know.
func TestAMissingKeyOfAProviderIsFoundBeforeTheRun(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]struct {
		codon   string
		environ []string
		file    string // in the home, with something in it
		want    string // in the problem; empty: there is none
	}{
		"pi, another key":         {`"model": "pi/groq/llama-3.3-70b-versatile"`, []string{"OPENAI_API_KEY=k"}, "", "pi has no credentials for groq; set GROQ_API_KEY, or use /login in pi"},
		"pi, its key":             {`"model": "pi/groq/llama-3.3-70b-versatile"`, []string{"GROQ_API_KEY=k"}, "", ""},
		"pi, own models":          {`"model": "pi/groq/llama-3.3-70b-versatile"`, []string{"OPENAI_API_KEY=k"}, ".pi/agent/models.json", ""},
		"pi, unknown":             {`"model": "pi/somewhere/m"`, []string{"OPENAI_API_KEY=k"}, "", ""},
		"pi, of the codon":        {`"model": "pi/groq/llama-3.3-70b-versatile", "env": {"GROQ_API_KEY": "k"}`, []string{"OPENAI_API_KEY=k"}, "", ""},
		"opencode, another key":   {`"model": "opencode/anthropic/claude-sonnet-4-5"`, []string{"OPENAI_API_KEY=k"}, "", "opencode has no credentials for anthropic; set ANTHROPIC_API_KEY, or run opencode auth login"},
		"opencode, its key":       {`"model": "opencode/anthropic/claude-sonnet-4-5"`, []string{"ANTHROPIC_API_KEY=k"}, "", ""},
		"opencode, configuration": {`"model": "opencode/anthropic/claude-sonnet-4-5"`, []string{"OPENAI_API_KEY=k"}, ".config/opencode/opencode.json", ""},
		"opencode, login":         {`"model": "opencode/anthropic/claude-sonnet-4-5"`, nil, ".local/share/opencode/auth.json", ""},
		"opencode, unknown":       {`"model": "opencode/somewhere/m"`, nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			environ := here(t, s.environ...)
			if s.file != "" {
				file := filepath.Join(strings.TrimPrefix(environ[0], "HOME="), s.file)
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(`{"anthropic": {"type": "api", "key": "k"}}`), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			p := programOf(t, s.codon)
			_, err := Found{}.Look(t.Context(), p.Hank, p.Initial(), environ, func(string) {})
			survey := ""
			for _, a := range Survey(t.Context(), p, environ) {
				if a.Needed {
					survey += a.Problem
				}
			}
			switch {
			case s.want == "" && (err != nil || survey != ""):
				t.Errorf("%v; the survey says %q", err, survey)
			case s.want != "" && (err == nil || err.Error() != s.want || survey != s.want):
				t.Errorf("%v; the survey says %q; want %q", err, survey, s.want)
			}
		})
	}
}

// What an agent of many providers will use is what the hank's models need, and not what comes
// first in the environment.
func TestTheSurveyNamesTheKeysOfTheProviders(t *testing.T) {
	t.Parallel()
	environ := here(t, "ANTHROPIC_API_KEY=k", "OPENAI_API_KEY=k", "GROQ_API_KEY=k", "CODEX_API_KEY=k")
	for codon, want := range map[string]string{
		`"model": "pi/openai/gpt-5.5"`:                                             "OPENAI_API_KEY",
		`"model": "opencode/openai/gpt-5.5"`:                                       "OPENAI_API_KEY",
		`"model": "opencode/groq/m", "fallback": ["opencode/openai/gpt-5.5"]`:      "GROQ_API_KEY",
		`"model": "pi/somewhere/m"`:                                                "ANTHROPIC_API_KEY",
		`"model": "opencode/openai/gpt-5.5", "env": {"OPENAI_API_KEY": "another"}`: "OPENAI_API_KEY",
	} {
		for _, a := range Survey(t.Context(), programOf(t, codon), environ) {
			if a.Needed && a.Credentials != want {
				t.Errorf("%s uses %q, want %q", codon, a.Credentials, want)
			}
		}
	}
	for _, a := range Survey(t.Context(), nil, here(t, "CODEX_API_KEY=k")) {
		if a.Agent != "codex" && a.Credentials != "" {
			t.Errorf("%s uses %q", a.Agent, a.Credentials)
		}
	}
}

// A key or a program that only a codon sets is found for this codon and for no other, also
// where the plan comes from the state, which has no value of it.
func TestWhatACodonSetsCountsForItsAgent(t *testing.T) {
	t.Parallel()
	const name = "PI_PATH_TO_PI_EXECUTABLE"
	file := harness.NewEnviron(here(t))[name]
	for _, c := range []struct{ own, other, want string }{
		{`"model": "pi/groq/llama-3.3-70b-versatile", "env": {"GROQ_API_KEY": "k"}`, `"model": "pi/groq/llama-3.3-70b-versatile"`, "pi has no credentials"},
		{`"model": "openai/gpt-5", "env": {"OPENAI_API_KEY": "k"}`, `"model": "openai/gpt-5", "env": {"OTHER": "k"}`, "codex has no credentials"},
		{`"model": "anthropic/claude-haiku-4-5", "env": {"ANTHROPIC_API_KEY": "k"}`, `"model": "anthropic/claude-haiku-4-5"`, "claude has no credentials"},
		{`"model": "google/gemini-2.5-pro", "env": {"GEMINI_API_KEY": "k"}`, `"model": "google/gemini-2.5-pro"`, "gemini has no credentials"},
	} {
		t.Run(c.own, func(t *testing.T) {
			t.Parallel()
			environ := here(t)
			for agent, version := range map[string]string{"codex": "0.169.0", "claude": "2.1.329", "gemini": "0.61.0"} {
				file := filepath.Join(t.TempDir(), agent)
				programtest.Write(t, file, "#!/bin/sh\necho "+version+"\n")
				environ = append(environ, strings.ToUpper(agent)+"_PATH_TO_"+strings.ToUpper(agent)+"_EXECUTABLE="+file)
			}
			p := programOf(t, c.own)
			entries, err := json.Marshal(plan.StoredEntries(p.Initial()))
			if err != nil {
				t.Fatal(err)
			}
			s, err := (&state.State{}).WithPlan(entries)
			if err != nil {
				t.Fatal(err)
			}
			rest, err := ToRun(s, p)
			if err != nil {
				t.Fatal(err)
			}
			found := Found{}
			fresh, err := found.Look(t.Context(), p.Hank, rest, environ, func(string) {})
			if err != nil || len(fresh) != 1 {
				t.Fatalf("found %q: %v", fresh, err)
			}
			if check := found.Of(p.Initial()[0].Codon); check.Path == "" || !check.LoggedIn {
				t.Errorf("found %+v", check)
			}
			for _, a := range Survey(t.Context(), p, environ) {
				if a.Needed && (a.Problem != "" || !strings.Contains(a.Note, "with the variables that codon a sets (env)")) {
					t.Errorf("the survey says %+v", a)
				}
			}
			other := programOf(t, c.other)
			if _, err := found.Look(t.Context(), other.Hank, other.Initial(), environ, func(string) {}); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("of a codon that sets nothing: %v", err)
			}
		})
	}

	t.Run("program", func(t *testing.T) {
		t.Parallel()
		environ := append(here(t, "GROQ_API_KEY=k"), name+"=/nowhere")
		p := programOf(t, `"model": "pi/groq/llama-3.3-70b-versatile", "env": {"`+name+`": "`+file+`"}`)
		found := Found{}
		_, err := found.Look(t.Context(), p.Hank, p.Initial(), environ, func(string) {})
		if got := found.Of(p.Initial()[0].Codon).Path; err != nil || got != file {
			t.Errorf("found %q: %v", got, err)
		}
	})
}

// A codon without a key for its own model begins with the fallback that has one; others
// that need the same agent are not in the way.
func TestACodonWithoutAKeyBeginsWithItsFallback(t *testing.T) {
	t.Parallel()
	environ := here(t, "OPENAI_API_KEY=k")
	p := programOf(t, `"model": "pi/groq/llama-3.3-70b-versatile", "fallback": ["opencode/anthropic/claude-sonnet-4-5", "pi/openai/gpt-5"]`)
	c, found := p.Initial()[0].Codon, Found{}
	var said []string
	fresh, err := found.Look(t.Context(), p.Hank, p.Initial(), environ, func(line string) { said = append(said, line) })
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(said, "\n")
	if !strings.Contains(text, "codon a begins with its fallback pi/openai/gpt-5, because its own model pi/groq/llama-3.3-70b-versatile cannot be used here: pi has no credentials for groq") ||
		!strings.Contains(text, "codon a cannot fall back to opencode/anthropic/claude-sonnet-4-5: opencode has no credentials for anthropic") {
		t.Errorf("it says %s", text)
	}
	if len(fresh) == 0 || fresh[0] != "pi" {
		t.Errorf("found %v", fresh)
	}
	usable := found.Usable(c, environ)
	if usable(c.Model) || usable(c.Fallback[0].Model) || !usable(c.Fallback[1].Model) {
		t.Error("it is not the last one alone that can be used")
	}
}
