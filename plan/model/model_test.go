package model

import (
	"errors"
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
		"claude-opus-4-6-20260205": "anthropic/claude-opus-4-6-20260205", "claude-opus-4": "anthropic/claude-opus-4-20250514", "claude-3-5-sonnet": "anthropic/claude-3-5-sonnet-20241022",
		"sonnet-4.5": "anthropic/claude-sonnet-4-5", "sonnet 4": "anthropic/claude-sonnet-4-0", "opus-4": "anthropic/claude-opus-4-0", "claude-3-sonnet": "anthropic/claude-3-sonnet-20240229",
		"grok": "xai/grok-4.3", "glm": "zai/glm-5.2",
	} {
		if ref, err := Default().Lookup(name); err != nil || ref.String() != want {
			t.Errorf("%q: got %s, %v; want %s", name, ref, err, want)
		}
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
	if len(r.models) < 600 || !strings.Contains(r.Source, "models.dev") || len(r.Providers) < 10 {
		t.Fatalf("the registry has %d models of %v from %q", len(r.models), r.Providers, r.Source)
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
	for name, want := range map[string]string{"shell": "shell", "sonnet": "claude"} {
		ref, _ := Default().Lookup(name)
		if got, err := ref.Harness(); err != nil || got != want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	ref, _ := Default().Lookup("gpt-5")
	var none *NoHarnessError
	if _, err := ref.Harness(); !errors.As(err, &none) || none.Model.ProviderID != "openai" {
		t.Errorf("gpt-5: %v", err)
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

// The oracle is exact arithmetic of any size.
func TestPricesNeverOverflow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.OneOf(rapid.Int64Range(0, 1_000_000), rapid.Int64Range(0, math.MaxInt64))
		rate := rapid.Map(rapid.OneOf(rapid.Int64Range(0, 1000*nanos), rapid.Int64Range(0, math.MaxInt64)), func(n int64) Rate { return Rate(n) })
		read, write := rate.Draw(t, "read"), rate.Draw(t, "write")
		c := Cost{Input: rate.Draw(t, "input"), Output: rate.Draw(t, "output"), CacheRead: &read, CacheWrite: &write}
		use := Tokens{count.Draw(t, "in"), count.Draw(t, "out"), count.Draw(t, "r"), count.Draw(t, "w")}
		sum := big.NewInt(500_000)
		for _, p := range [][2]int64{{use.Input, int64(c.Input)}, {use.Output, int64(c.Output)}, {use.CacheRead, int64(read)}, {use.CacheWrite, int64(write)}} {
			sum.Add(sum, new(big.Int).Mul(big.NewInt(p[0]), big.NewInt(p[1])))
		}
		sum.Div(sum, big.NewInt(1_000_000))
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
