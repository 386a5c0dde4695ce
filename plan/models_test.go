package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"hank/plan/config"
	"hank/plan/diagnostic"
	"hank/plan/model"
)

// layersWith are the layers with a hankweave.json and a list that it names.
func layersWith(t *testing.T, settings, list string) config.Layers {
	t.Helper()
	s, ds := config.Parse([]byte(settings))
	if diagnostic.HasErrors(ds) {
		t.Fatal(diagnostic.Text(ds))
	}
	var l model.List
	if list != "" {
		var ds []diagnostic.Diagnostic
		if l, ds = config.ParseModels("list.json", []byte(list), time.Time{}); len(ds) > 0 {
			t.Fatal(diagnostic.Text(ds))
		}
	}
	return config.Layers{File: s, Models: func() *model.Registry { return s.Registry("hankweave.json", l) }}
}

func codonOf(id, mode, named, more string) string {
	return `{"id": "` + id + `", "name": "` + strings.ToUpper(id) + `", "model": "` + named + `", "continuationMode": "` + mode + `", "promptText": "x"` + more + `}`
}

func TestAPriceCanBeRequired(t *testing.T) {
	t.Parallel()
	const limit = `, "budget": {"maxDollars": 1}`
	for _, c := range []struct {
		hank, settings string
		want           []string
	}{
		{hankOf(codonOf("a", "fresh", "claude/next", limit)), `{}`, []string{"unlisted-model", "budget-no-price"}},
		{hankOf(codonOf("a", "fresh", "haiku", limit+`, "fallback": ["claude/next"]`)), `{}`, []string{"unlisted-model", "budget-no-price"}},
		{hankOf(codonOf("a", "fresh", "haiku", `, "fallback": ["claude/next"]`)), `{}`, []string{"unlisted-model"}},
		{hankOf(codonOf("a", "fresh", "claude/next", limit)), `{"requirePrice": true}`, []string{"unlisted-model", "price-required"}},
		{hankOf(codonOf("a", "fresh", "claude/next", "")), `{"requirePrice": true}`, []string{"unlisted-model"}},
		{hankOf(codonOf("a", "fresh", "claude/next", "")), `{"requirePrice": true, "budget": {"maxDollars": 3}}`, []string{"unlisted-model", "price-required"}},
		{hankOf(codonOf("a", "fresh", "claude/next", limit)), `{"requirePrice": true, "prices": {"anthropic/next": {"input": 1, "output": 2}}}`, nil},
		{hankOf(codonOf("a", "fresh", "next", limit)), `{"requirePrice": true, "models": {"models": [{"provider": "anthropic", "id": "next"}]}}`, []string{"price-required"}},
		{hankOf(codonOf("a", "fresh", "sonnet-high", limit), codonOf("b", "continue-previous", "sonnet-low", limit)), `{"requirePrice": true}`, nil},
		{strings.Replace(hankOf(codonOf("a", "fresh", "claude/next", limit)), `{`, `{"overrides": {"requirePrice": true}, `, 1), `{}`, []string{"unlisted-model", "price-required"}},
		{strings.Replace(hankOf(codonOf("a", "fresh", "claude/next", limit)), `{`, `{"overrides": {"requirePrice": false}, `, 1), `{"requirePrice": true}`, []string{"unlisted-model", "price-required"}},
	} {
		p, ds := LoadWith(folder(map[string]string{"hank.json": c.hank}), "hank.json", layersWith(t, c.settings, ""))
		if got := rulesOf(ds); !slices.Equal(got, c.want) || (p == nil) != slices.Contains(c.want, "price-required") {
			t.Errorf("%s with %s: %v, want %v\n%s", c.hank, c.settings, got, c.want, diagnostic.Text(ds))
		}
	}
}

func TestTheLimitOfAnExecutionNeedsPrices(t *testing.T) {
	t.Parallel()
	for settings, want := range map[string]string{`{}`: "budget-no-price", `{"requirePrice": true}`: "price-required"} {
		layers := layersWith(t, settings, "")
		layers.Limited = true
		dir := folder(map[string]string{"hank.json": hankOf(codonOf("a", "fresh", "claude/next", ""), codonOf("b", "fresh", "sonnet", ""))})
		if _, ds := LoadWith(dir, "hank.json", layers); !slices.Equal(rulesOf(ds), []string{"unlisted-model", want}) {
			t.Errorf("with %s: %s", settings, diagnostic.Text(ds))
		}
	}
}

// A price that the user gives is the one that counts, also when the frozen program is read
// by a hank that knows nothing of it.
func TestModelsOfTheUserAreUsedAndFrozen(t *testing.T) {
	t.Parallel()
	list := `{"lab": {"id": "lab", "npm": "x", "models": {"small": {"name": "Small", "release_date": "2026-09-01", "modalities": {}, "cost": {"input": 1, "output": 2, "cache_read": 0.1, "context_over_200k": {"input": 2, "output": 4}}, "limit": {"context": 1000, "output": 10}}}}}`
	dir := folder(map[string]string{"hank.json": hankOf(codonOf("a", "fresh", "pi/lab/small-high", ""), codonOf("b", "fresh", "sonnet", ""))})
	p, ds := LoadWith(dir, "hank.json", layersWith(t, `{"models": "list.json", "prices": {"anthropic/claude-sonnet-5": {"input": 100, "output": 100}}}`, list))
	if p == nil {
		t.Fatal(diagnostic.Text(ds))
	}
	again := frozenAgain(t, p)
	for _, p := range []*Program{p, again} {
		small, sonnet := p.Codon("a").Model, p.Codon("b").Model
		if nano, known := small.Price(model.Tokens{Input: 1000, CacheRead: 1000}); !known || nano != 1_100_000 || small.Effort != "high" || small.HarnessOverride != "pi" {
			t.Errorf("%+v costs %d", small, nano)
		}
		if nano, _ := small.Price(model.Tokens{Input: 200_001}); nano != 2*200_001_000 {
			t.Errorf("a large request costs %d", nano)
		}
		if nano, _ := sonnet.Price(model.Tokens{Output: 1000}); nano != 100_000_000 || sonnet.Limits == nil {
			t.Errorf("sonnet costs %d, %+v", nano, sonnet)
		}
	}
}

func frozenAgain(t *testing.T, p *Program) *Program {
	t.Helper()
	again, err := Thaw(openIn(frozenFiles(t, p)))
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// An older hank would run a program that asks for an agent or an effort with another.
func TestAProgramSaysThatItAsksForAnAgent(t *testing.T) {
	t.Parallel()
	for name, schema := range map[string]string{"sonnet": `"schema": 1`, "sonnet-high": `"schema": 2`, "pi/sonnet": `"schema": 2`, "gpt-5": `"schema": 1`} {
		p, ds := Load(folder(map[string]string{"hank.json": hankOf(codonOf("a", "fresh", name, ""))}), "hank.json")
		if p == nil {
			t.Fatal(diagnostic.Text(ds))
		}
		if data := frozenFiles(t, p)[manifestPath]; !strings.Contains(data, schema) {
			t.Errorf("%s: %s", name, data)
		}
	}
}

func TestAListOfModelsThatIsWrong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:    "list.json:1:1: error [syntax] the file is empty",
		`{`:   "list.json:1:2: error [syntax] unexpected end of file",
		`[]`:  "list.json:1:1: error [wrong-type]",
		`{}`:  "list.json:1:1: error [missing-field]",
		"{\n": "list.json:2:1: error [syntax]",
		`{"models": [{"provider": "a", "id": "b"}, {"provider": "a/b", "id": "c"}]}`:             `list.json:1:56: error [bad-value] "a/b" is not allowed here`,
		"{\"models\": [\n  {\"provider\": \"a\", \"id\": \"b\", \"cost\": {\"input\": \"3\"}}]}": "list.json:2:40: error [missing-field]",
		`{"models": [], "date": "today"}`:                                                        "list.json:1:24: error [bad-value]",
		`{"lab": {"models": {"x": {"cost": {"input": -1}}}}}`:                                    "list.json:1:45: error [bad-value]",
		`{"lab": {"models": {"x": {"limit": {"context": "many"}}}}}`:                             "list.json:1:48: error [wrong-type]",
		`{"lab": {"modells": {}}}`:                                                               "list.json:1:9: error [missing-field]",
		`{"models": [{"provider": "a", "id": "b", "cost": {"inputs": 1}}]}`:                      "error [missing-field]",
	} {
		l, ds := config.ParseModels("list.json", []byte(text), time.Time{})
		if len(ds) == 0 || !strings.Contains(ds[0].String(), want) || len(l.Models) > 0 {
			t.Errorf("%s: %s", text, diagnostic.Text(ds))
		}
	}
	day := time.Date(2026, 11, 3, 12, 0, 0, 0, time.UTC)
	if l, ds := config.ParseModels("list.json", []byte(`{"models": []}`), day); l.Date != "2026-11-03" || l.Source != "list.json" || len(ds) > 0 {
		t.Errorf("%+v, %v", l, ds)
	}
	if l, _ := config.ParseModels("list.json", []byte(`{"models": [], "date": "2026-01-02", "source": "us"}`), day); l.Date != "2026-01-02" || l.Source != "us" {
		t.Errorf("%+v", l)
	}
}
