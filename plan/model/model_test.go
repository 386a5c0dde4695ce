package model

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"
)

func TestNamesMeanTheirModels(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"shell":  "shell",
		"sonnet": "anthropic/claude-sonnet-5", "opus": "anthropic/claude-opus-4-8", "haiku": "anthropic/claude-haiku-4-5", "flash": "google/gemini-3.5-flash",
		"Sonnet": "anthropic/claude-sonnet-5", "anthropic/sonnet": "anthropic/claude-sonnet-5", "codex": "openai/gpt-5.3-codex", "google/pro": "google/gemini-3.1-pro-preview",
		"anthropic/claude-opus-4-8": "anthropic/claude-opus-4-8", "openrouter/anthropic/claude-opus-4.8": "openrouter/anthropic/claude-opus-4.8",
		"gpt-4o": "openai/gpt-4o", "o3": "openai/o3", "gpt-5": "openai/gpt-5",
		"claude-sonnet-4-5": "anthropic/claude-sonnet-4-5", "claude-sonnet-4-5-20250929": "anthropic/claude-sonnet-4-5-20250929",
		"claude-opus-4-6-20260205": "anthropic/claude-opus-4-6-20260205", "claude-opus-4": "anthropic/claude-opus-4-20250514", "claude-sonnet-4": "anthropic/claude-sonnet-4-20250514", "gemini-3-pro": "google/gemini-3-pro-preview", "kimi-k2": "opencode/kimi-k2", "opencode/claude-3-5-haiku-20241022": "opencode/claude-3-5-haiku-20241022", "big-pickle": "opencode/big-pickle", "claude-3-5-sonnet": "anthropic/claude-3-5-sonnet-20241022",
		"sonnet-4.5": "anthropic/claude-sonnet-4-5", "sonnet 4": "anthropic/claude-sonnet-4-0", "opus-4": "anthropic/claude-opus-4-0", "claude-3-sonnet": "anthropic/claude-3-sonnet-20240229",
		"grok": "xai/grok-4.3", "glm": "zai/glm-5.2",
	} {
		if ref, err := Default().Lookup(name); err != nil || ref.String() != want {
			t.Errorf("%q: got %s, %v; want %s", name, ref, err, want)
		}
	}
}

func TestNamesSayWhichAgentAndHowMuchItThinks(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Ref{
		"sonnet-high": {ProviderID: "anthropic", ModelID: "claude-sonnet-5", Effort: "high"}, "anthropic/claude-opus-4-8-xhigh": {ProviderID: "anthropic", ModelID: "claude-opus-4-8", Effort: "xhigh"},
		"opus-medium": {ProviderID: "anthropic", ModelID: "claude-opus-4-8", Effort: "medium"}, "opus-max": {ProviderID: "anthropic", ModelID: "claude-opus-4-8", Effort: "max"},
		"gpt-5-low": {ProviderID: "openai", ModelID: "gpt-5", Effort: "low"}, "gpt-5.1-codex-max": {ProviderID: "openai", ModelID: "gpt-5.1-codex-max"}, "openrouter/openai/o4-mini-high": {ProviderID: "openrouter", ModelID: "openai/o4-mini-high"},
		"pi/anthropic/claude-sonnet-4-5": {ProviderID: "anthropic", ModelID: "claude-sonnet-4-5", HarnessOverride: "pi"}, "pi/sonnet-high": {ProviderID: "anthropic", ModelID: "claude-sonnet-5", HarnessOverride: "pi", Effort: "high"},
		"pi/openai/gpt-5-minimal": {ProviderID: "openai", ModelID: "gpt-5", HarnessOverride: "pi", Effort: "minimal"}, "opencode/openai/gpt-5": {ProviderID: "openai", ModelID: "gpt-5", HarnessOverride: "opencode"},
		"opencode/claude-opus-4-8": {ProviderID: "opencode", ModelID: "claude-opus-4-8"}, "codex/gpt-5": {ProviderID: "openai", ModelID: "gpt-5"}, "codex/openai-codex/gpt-5": {ProviderID: "openai-codex", ModelID: "gpt-5"},
		"claude/opus": {ProviderID: "anthropic", ModelID: "claude-opus-4-8"}, "gemini/flash": {ProviderID: "google", ModelID: "gemini-3.5-flash"},
		"openai-codex/gpt-5-high": {ProviderID: "openai-codex", ModelID: "gpt-5", Effort: "high"}, "pi/openai-codex/gpt-5": {ProviderID: "openai-codex", ModelID: "gpt-5", HarnessOverride: "pi"},
		"moonshot/kimi-k2.6": {ProviderID: "openrouter", ModelID: "moonshotai/kimi-k2.6"}, "bedrock/amazon.nova-pro-v1:0": {ProviderID: "amazon-bedrock", ModelID: "amazon.nova-pro-v1:0"},
	} {
		ref, err := Default().Lookup(name)
		if err != nil || ref.Cost == nil || ref.Limits == nil {
			t.Errorf("%q: %+v, %v", name, ref, err)
			continue
		}
		if ref.Name, ref.Cost, ref.Limits = "", nil, nil; !reflect.DeepEqual(ref, want) {
			t.Errorf("%q: %+v, want %+v", name, ref, want)
		}
	}
	if a, b := (Ref{ProviderID: "p", ModelID: "m", Effort: "low"}), (Ref{ProviderID: "p", ModelID: "m", Effort: "high"}); a.String() == b.String() || a.WithoutEffort().String() != b.WithoutEffort().String() {
		t.Error("two efforts of a model read the same, or are two models")
	}
}

// A list cannot know what only an agent does: its models have no price.
func TestAModelThatOnlyAnAgentKnows(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Ref{
		"pi/pi/x": {ProviderID: "pi", ModelID: "x", HarnessOverride: "pi"}, "pi/ollama/qwen3:30b": {ProviderID: "ollama", ModelID: "qwen3:30b", HarnessOverride: "pi"}, "pi/lab/a/b-c-high": {ProviderID: "lab", ModelID: "a/b-c", HarnessOverride: "pi", Effort: "high"},
		"opencode/local/llama": {ProviderID: "local", ModelID: "llama", HarnessOverride: "opencode"}, "opencode/brand-new": {ProviderID: "opencode", ModelID: "brand-new"},
		"codex/o99": {ProviderID: "openai", ModelID: "o99", HarnessOverride: "codex"}, "claude/next": {ProviderID: "anthropic", ModelID: "next", HarnessOverride: "claude"}, "pi/qwen/qwen3-max": {ProviderID: "qwen", ModelID: "qwen3-max", HarnessOverride: "pi"},
	} {
		ref, err := Default().Lookup(name)
		want.unlisted = true
		if err != nil || !reflect.DeepEqual(ref, want) || !ref.Unlisted() {
			t.Errorf("%q: %+v, %v", name, ref, err)
		}
		if again, err := Default().Lookup(ref.String()); err != nil || !reflect.DeepEqual(again, ref) {
			t.Errorf("%q is %s, and that is %+v (%v)", name, ref, again, err)
		}
	}
}

// What is proposed is a model, and there is no proposal for what is another's business.
func TestNearNamesAreRight(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"sonett": "anthropic/claude-sonnet", "antropic/claude-sonnet-4-5": "anthropic/claude-sonnet-4-5", "anthropic/gpt-5": "openai/gpt-5", "anthropic/claude-sonet-4-5": "anthropic/claude-sonnet-4-5",
		"claude-3-5-haiku-20241022": "anthropic/claude-haiku-4-5", "kimi-k2-20250711": "moonshotai/kimi-k2", "opus-minimal": "anthropic/claude-opus-4-8-low", "claude-opus-4-5-minimal": "anthropic/claude-opus-4-5-low",
		"claude-opus-99": "anthropic/claude-opus", "openai/claude-opus-4-8": "anthropic/claude-opus-4-8",
		"ollama/mistral-7b": "", "foo/bar": "", "pi/whatever": "", "my-gpt": "", "local-llama-sonnet": "", "shell/x": "", "pi/": "",
	} {
		var unknown *UnknownError
		if ref, err := Default().Lookup(name); !errors.As(err, &unknown) {
			t.Errorf("%q: got %s, %v", name, ref, err)
			continue
		}
		if want == "" && len(unknown.Near) > 0 || want != "" && (len(unknown.Near) == 0 || !strings.HasPrefix(unknown.Near[0], want)) {
			t.Errorf("%q: near are %v, want %q", name, unknown.Near, want)
		}
		for _, near := range unknown.Near {
			if ref, err := Default().Lookup(near); err != nil || ref.String() != near {
				t.Errorf("%q: %s is proposed, which is %s, %v", name, near, ref, err)
			}
		}
	}
}

func TestAListIsLaidOverAnother(t *testing.T) {
	t.Parallel()
	price := Rate(7 * nanos)
	r := Default().With(List{Source: "mine", Date: "2026-11-01", Models: []Entry{
		{Provider: "anthropic", ID: "claude-sonnet-4-5", Cost: &Cost{Input: price, Output: price}},
		{Provider: "anthropic", ID: "claude-opus-9", Released: "2026-10-31"}, {Provider: "lab", ID: "small", Cost: &Cost{}},
	}})
	old, err := r.Lookup("claude-sonnet-4-5")
	if err != nil || old.Cost.Input != price || old.Limits == nil || old.Name == "" {
		t.Errorf("a price that is laid over: %+v, %v", old, err)
	}
	if ref, err := r.Lookup("opus"); err != nil || ref.ModelID != "claude-opus-9" || ref.Cost != nil {
		t.Errorf("opus is %s, %v", ref, err)
	}
	if ref, err := r.Lookup("pi/lab/small"); err != nil || ref.Cost == nil || ref.HarnessOverride != "pi" {
		t.Errorf("pi/lab/small is %+v, %v", ref, err)
	}
	if before, _ := Default().Lookup("claude-sonnet-4-5"); before.Cost.Input == price {
		t.Error("the compiled-in list has changed")
	}
	if len(r.Origins) != 2 || r.Origins[1] != (Origin{"mine", "2026-11-01", 3}) || len(r.Models()) != len(Default().Models())+2 {
		t.Errorf("%+v, %d models", r.Origins, len(r.Models()))
	}
}

func TestTheDayOfTheListIsKnownWithoutItsModels(t *testing.T) {
	t.Parallel()
	if got, want := Date(), Default().Origins[0].Date; got != want || got == "" {
		t.Errorf("%q, want %q", got, want)
	}
	if ref, err := Lookup(func() *Registry { panic("a script needs no list") }, Shell); err != nil || !ref.Kind().RunsScript {
		t.Errorf("%+v %v", ref, err)
	}
}

func TestADatedIdKeepsItsDateAndHasThePrice(t *testing.T) {
	t.Parallel()
	ref, err := Default().Lookup("anthropic/claude-opus-4-6-20260205")
	if err != nil || ref.ModelID != "claude-opus-4-6-20260205" || ref.Cost == nil || ref.Limits.Context != 1_000_000 {
		t.Errorf("got %+v, %v", ref, err)
	}
}

func TestUnknownAndAmbiguousNamesHelp(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "/", "anthropic/", "4.5", "claude", "sonet", "nobody", "anthropic/gpt-5", "openai/claude-opus-4-8", "claude-opus-99", "shell/x", strings.Repeat("x-", 5000)} {
		var unknown *UnknownError
		if ref, err := Default().Lookup(name); !errors.As(err, &unknown) || unknown.Name != name {
			t.Errorf("%q: got %s, %v", name, ref, err)
		}
	}
	var unknown *UnknownError
	if _, err := Default().Lookup("claude-sonet-4-5"); !errors.As(err, &unknown) || !slices.Contains(unknown.Near, "anthropic/claude-sonnet-4-5") {
		t.Errorf("near names: %v", unknown)
	}
	var ambiguous *AmbiguousError
	if _, err := Default().Lookup("pro"); !errors.As(err, &ambiguous) || len(ambiguous.Fits) < 2 || !slices.IsSorted(ambiguous.Fits) {
		t.Errorf("pro: %v", ambiguous)
	}
}

func TestEveryModelIsFoundByItsFullName(t *testing.T) {
	t.Parallel()
	r := Default()
	if len(r.models) < 600 || r.Origins[0].Date != "2026-07-02" || !strings.Contains(r.Origins[0].Source, "models.dev") || len(r.Providers) < 10 {
		t.Fatalf("the registry has %d models of %v from %+v", len(r.models), r.Providers, r.Origins)
	}
	for _, m := range r.models {
		ref, err := r.Lookup(m.Provider + "/" + m.ID)
		if err != nil || ref.ProviderID != m.Provider || ref.ModelID != m.ID || ref.Name == "" {
			t.Errorf("%s/%s: %s, %v", m.Provider, m.ID, ref, err)
		}
	}
}

// Whatever is looked up: the answer is stable, and its full name means itself.
func TestLookupIsStable(t *testing.T) {
	t.Parallel()
	var words []string
	for _, m := range Default().models {
		words = append(words, strings.FieldsFunc(m.ID, func(r rune) bool { return r == '-' || r == '/' })...)
	}
	rapid.Check(t, func(t *rapid.T) {
		name := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 1, 3).Draw(t, "words"), "-")
		ref, err := Default().Lookup(name)
		if err != nil {
			return
		}
		again, err := Default().Lookup(ref.String())
		if err != nil || !reflect.DeepEqual(again, ref) {
			t.Fatalf("%q is %s, and that is %s (%v)", name, ref, again, err)
		}
	})
}

func TestHarnessIsChosenByProvider(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"shell": "shell", "sonnet": "claude", "gpt-5": "codex", "codex/gpt-5": "codex", "openai-codex/gpt-5": "codex", "codex/o99": "codex", "gemini-2.5-pro": "gemini", "gemini/flash": "gemini", "pi/sonnet": "pi", "pi/groq/x": "pi"} {
		ref, _ := Default().Lookup(name)
		if got, err := ref.Harness(); err != nil || got != want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	ref, _ := Default().Lookup("codex/xai/grok-4.3")
	var none *NoHarnessError
	if _, err := ref.Harness(); !errors.As(err, &none) || none.Model.ProviderID != "xai" {
		t.Errorf("codex/xai/grok-4.3: %v", err)
	}
}

// What is frozen may have been written by anybody: only the reference to the shell is a
// script, and an agent that hank has takes the models of its provider alone.
func TestAReferenceHasAKind(t *testing.T) {
	t.Parallel()
	none := `no harness for provider %q yet (model %s): use an anthropic model, an openai model, a google model, "opencode/PROVIDER/MODEL", "pi/PROVIDER/MODEL", "exec/MODEL" with a program of yours or "shell"`
	other := `hank cannot drive the agent %q yet (model %s): use an anthropic model, an openai model, a google model, "opencode/PROVIDER/MODEL", "pi/PROVIDER/MODEL", "exec/MODEL" with a program of yours or "shell"`
	for _, c := range []struct {
		ref     Ref
		script  bool
		harness string
		why     string
	}{
		{Ref{ModelID: "shell"}, true, "shell", ""},
		{Ref{ProviderID: "shell", ModelID: "shell"}, true, "shell", ""},
		{Ref{ProviderID: "shell", ModelID: "x"}, false, "", fmt.Sprintf(none, "shell", "shell/x")},
		{Ref{ProviderID: "lab", ModelID: "shell"}, false, "pi", ""},
		{Ref{ProviderID: "groq", ModelID: "a"}, false, "pi", ""},
		{Ref{ProviderID: "exec", ModelID: "a"}, false, "exec", ""},
		{Ref{ProviderID: "openai", ModelID: "a", HarnessOverride: "exec"}, false, "exec", ""},
		{Ref{ModelID: "sonnet"}, false, "", fmt.Sprintf(none, "", "sonnet")},
		{Ref{ProviderID: "anthropic", ModelID: "a"}, false, "claude", ""},
		{Ref{ProviderID: "anthropic", ModelID: "a", HarnessOverride: "claude"}, false, "claude", ""},
		{Ref{ProviderID: "anthropic", ModelID: "a", HarnessOverride: "pi"}, false, "pi", ""},
		{Ref{ProviderID: "lab", ModelID: "a", HarnessOverride: "pi"}, false, "pi", ""},
		{Ref{ProviderID: "anthropic", ModelID: "a", HarnessOverride: "shell"}, false, "", fmt.Sprintf(other, "shell", "shell/anthropic/a")},
		{Ref{ProviderID: "anthropic", ModelID: "a", HarnessOverride: "new"}, false, "", fmt.Sprintf(other, "new", "new/anthropic/a")},
		{Ref{ProviderID: "openai", ModelID: "a", HarnessOverride: "claude"}, false, "", fmt.Sprintf(none, "openai", "claude/openai/a")},
		{Ref{ProviderID: "openai", ModelID: "a"}, false, "codex", ""},
		{Ref{ProviderID: "openai-codex", ModelID: "a"}, false, "codex", ""},
		{Ref{ProviderID: "openai-codex", ModelID: "a", HarnessOverride: "claude"}, false, "", fmt.Sprintf(none, "openai-codex", "claude/openai-codex/a")},
		{Ref{ProviderID: "google", ModelID: "a"}, false, "gemini", ""},
		{Ref{ProviderID: "google-vertex", ModelID: "a"}, false, "pi", ""},
		{Ref{ProviderID: "google", ModelID: "a", HarnessOverride: "opencode"}, false, "opencode", ""},
		{Ref{ProviderID: "opencode", ModelID: "a"}, false, "opencode", ""},
	} {
		kind := c.ref.Kind()
		if kind.RunsScript != c.script || kind.HasSessions == c.script || kind.UsesModel == c.script {
			t.Errorf("%+v: %+v", c.ref, kind)
		}
		why := ""
		harness, err := c.ref.Harness()
		if err != nil {
			why = err.Error()
		}
		if harness != c.harness || why != c.why {
			t.Errorf("%+v: %q, %q, want %q, %q", c.ref, harness, why, c.harness, c.why)
		}
	}
}

func TestPricesAreExact(t *testing.T) {
	t.Parallel()
	sonnet, _ := Default().Lookup("claude-sonnet-4-5")
	gemini, _ := Default().Lookup("gemini-2.5-pro")
	shell, _ := Default().Lookup("shell")
	for _, c := range []struct {
		ref   Ref
		use   Tokens
		nanos int64
	}{
		{sonnet, Tokens{Input: 1}, 3000},
		{sonnet, Tokens{1000, 1000, 1000, 1000}, 3_000_000 + 15_000_000 + 300_000 + 3_750_000},
		{gemini, Tokens{Input: 200_000}, 250_000_000},
		{gemini, Tokens{Input: 200_001}, 500_002_500},
		{gemini, Tokens{Input: 100_000, CacheRead: 100_001, Output: 1}, 250_000_000 + 25_000_250 + 15_000},
		{gemini, Tokens{CacheWrite: 10}, 12_500}, // no price of its own: as input
		{sonnet, Tokens{Input: -5, Output: 2}, 30_000},
		{shell, Tokens{Input: 1 << 40}, 0},
	} {
		if got, known := c.ref.Price(c.use); !known || got != c.nanos {
			t.Errorf("%s %+v: %d (%v), want %d", c.ref, c.use, got, known, c.nanos)
		}
	}
	if _, known := (Ref{ProviderID: "x", ModelID: "y"}).Price(Tokens{Input: 1}); known {
		t.Error("a model without prices has no known price")
	}
}

// What is exactly in the middle goes to the even billionth: rounding up would make every sum
// of many requests too large.
func TestHalfABillionthIsRoundedToTheEvenOne(t *testing.T) {
	t.Parallel()
	c := Cost{Input: 500_000}
	for tokens, want := range map[int64]int64{1: 0, 2: 1, 3: 2, 4: 2, 5: 2, 7: 4} {
		if got := c.price(Tokens{Input: tokens}); got != want {
			t.Errorf("%d tokens cost %d, want %d", tokens, got, want)
		}
	}
}

// The oracle is exact arithmetic of any size.
func TestPricesNeverOverflow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.OneOf(rapid.Int64Range(0, 1_000_000), rapid.Int64Range(0, math.MaxInt64))
		rate := rapid.Map(rapid.OneOf(rapid.Int64Range(0, 1000*nanos), rapid.Int64Range(0, math.MaxInt64)), func(n int64) Rate { return Rate(n) })
		read, write := rate.Draw(t, "read"), rate.Draw(t, "write")
		c := Cost{Input: rate.Draw(t, "input"), Output: rate.Draw(t, "output"), CacheRead: &read, CacheWrite: &write}
		use := Tokens{count.Draw(t, "in"), count.Draw(t, "out"), count.Draw(t, "r"), count.Draw(t, "w")}
		sum := new(big.Int)
		for _, p := range [][2]int64{{use.Input, int64(c.Input)}, {use.Output, int64(c.Output)}, {use.CacheRead, int64(read)}, {use.CacheWrite, int64(write)}} {
			sum.Add(sum, new(big.Int).Mul(big.NewInt(p[0]), big.NewInt(p[1])))
		}
		twice := new(big.Int)
		sum.DivMod(sum, big.NewInt(1_000_000), twice)
		if order := twice.Lsh(twice, 1).Cmp(big.NewInt(1_000_000)); order > 0 || order == 0 && sum.Bit(0) == 1 {
			sum.Add(sum, big.NewInt(1))
		}
		want := int64(math.MaxInt64)
		if sum.IsInt64() {
			want = sum.Int64()
		}
		if got := c.price(use); got != want {
			t.Fatalf("got %d, want %d", got, want)
		}
	})
}

func TestReferencesSurviveJSON(t *testing.T) {
	t.Parallel()
	for _, m := range Default().models {
		ref := m.ref()
		data, err := json.Marshal(ref)
		if err != nil {
			t.Fatal(err)
		}
		var back Ref
		if err := json.Unmarshal(data, &back); err != nil || !reflect.DeepEqual(back, ref) {
			t.Errorf("%s: %v\n%+v\n%+v", data, err, back, ref)
		}
	}
	for _, text := range []string{`"sonnet"`, `""`, `{"providerId":"a","modelId":"b","x":[1.50]}`, `{"providerId":"a","modelId":"b","cost":{"input":0.00875,"output":3,"reasoning":1},"limits":{"context":10,"y":null}}`} {
		var ref Ref
		if err := json.Unmarshal([]byte(text), &ref); err != nil {
			t.Fatal(err)
		}
		if data, err := json.Marshal(ref); err != nil || string(data) != text {
			t.Errorf("%s became %s (%v)", text, data, err)
		}
	}
	for _, text := range []string{`3`, `{"providerId":1}`, `{"cost":{"input":"x"}}`, `{"cost":{"input":-1}}`, `{"cost":{"input":1e300}}`} {
		var ref Ref
		if err := json.Unmarshal([]byte(text), &ref); err == nil {
			t.Errorf("%s was read as %+v", text, ref)
		}
	}
}

func TestADamagedRegistryIsAnError(t *testing.T) {
	t.Parallel()
	if _, err := read([]byte(`{"models": [{"id": 3}]}`)); err == nil {
		t.Error("it was read")
	}
}
