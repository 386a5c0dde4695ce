package kind

import "testing"

func TestTheTableFitsTogether(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for h := range All() {
		if h.Name == "" || seen[h.Name] {
			t.Errorf("two rows, or a row without a name: %q", h.Name)
		}
		seen[h.Name] = true
		if Of(h.Name) != h {
			t.Errorf("%s is %+v", h.Name, Of(h.Name))
		}
		if h.Driven != (h.Choice != "") {
			t.Errorf("%s: what a message proposes is a harness that hank has", h.Name)
		}
		if h.RunsScript == h.UsesModel {
			t.Errorf("%s: a prompt is either a script or for a model", h.Name)
		}
		if _, ok := Agent(h.Name); ok != h.UsesModel {
			t.Errorf("%s can precede a model: %v", h.Name, ok)
		}
		if usual, ok := Usual(h.Provider); ok && usual.Name != h.Name && usual.Provider == h.Provider && h.Driven {
			t.Errorf("%s and %s are both usual for %s", usual.Name, h.Name, h.Provider)
		}
	}
}

func TestAHarnessWithoutARowIsAnAgent(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "exec-2", "claude-2"} {
		if h := Of(name); h.Driven || h.RunsScript || !h.HasSessions || !h.UsesModel {
			t.Errorf("%q: %+v", name, h)
		}
		if _, ok := Agent(name); ok {
			t.Errorf("%q can precede a model", name)
		}
	}
}

func TestWhatHasNoProviderHasNoUsualHarness(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"", "mistral", "shell", "lab"} {
		if h, ok := Usual(provider); ok {
			t.Errorf("%q: %+v", provider, h)
		}
	}
	for provider, want := range map[string]string{"anthropic": "claude", "openai": "codex", "google": "gemini", "opencode": "opencode", "exec": "exec"} {
		if h, ok := Usual(provider); !ok || h.Name != want {
			t.Errorf("%s: %+v", provider, h)
		}
	}
}
