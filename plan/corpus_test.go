package plan

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"hank/internal/jsonchange"
	"hank/internal/race"
	"hank/internal/short"
	"hank/plan/config"
	"hank/plan/diagnostic"
)

// published is an entry of fixtures/published/manifest.json. One with a rule is wrong, for
// that reason alone.
type published struct {
	Hank, About string
	Warns       []string

	Rule, Pointer, File string
	Line                int
}

// corpus is the hanks in fixtures/published, as people publish them.
func corpus(t *testing.T) []published {
	t.Helper()
	var all []published
	if err := json.Unmarshal(readFile(t, "../fixtures/published/manifest.json"), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func (p published) dir() string {
	return filepath.Join("../fixtures/published", filepath.FromSlash(p.Hank))
}

// file is the name of the hank in its directory.
func (p published) file() string {
	if _, err := os.Stat(filepath.Join(p.dir(), "strand.json")); err == nil {
		return "strand.json"
	}
	return "hank.json"
}

// judged is what is found in the hank and in the hankweave.json beside it.
func (p published) judged(t *testing.T) (program *Program, found []diagnostic.Diagnostic) {
	t.Helper()
	var layers config.Layers
	if text, err := os.ReadFile(filepath.Join(p.dir(), "hankweave.json")); err == nil {
		if layers.File, found = config.Parse(text); diagnostic.HasErrors(found) {
			for i := range found {
				found[i].File = "hankweave.json"
			}
			return nil, found
		}
	}
	root, err := os.OpenRoot(p.dir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	program, more := LoadWith(root.FS(), p.file(), layers)
	return program, append(found, more...)
}

func TestEveryPublishedHankGetsItsVerdict(t *testing.T) {
	t.Parallel()
	all := corpus(t)
	if len(all) < 60 {
		t.Fatalf("%d hanks", len(all))
	}
	s := compile(t, readFile(t, "../docs/schema/hank.schema.json"))
	for _, p := range all {
		program, found := p.judged(t)
		var wrong, rules []string
		for _, d := range found {
			if rules = append(rules, d.Rule); d.Severity == diagnostic.Error {
				wrong = append(wrong, fmt.Sprintf("%s:%d %s %s", d.File, d.Line, d.Rule, d.Pointer))
			}
		}
		if p.Rule != "" {
			file := p.File
			if file == "" {
				file = p.file()
			}
			want := fmt.Sprintf("%s:%d %s %s", file, p.Line, p.Rule, p.Pointer)
			if program != nil || len(wrong) != 1 || wrong[0] != want {
				t.Errorf("%s (%s): %q, want %q alone", p.Hank, p.About, wrong, want)
			}
		} else if program == nil || len(wrong) > 0 {
			t.Errorf("%s (%s): %q", p.Hank, p.About, wrong)
		}
		for _, rule := range p.Warns {
			if !slices.Contains(rules, rule) {
				t.Errorf("%s (%s): %q, and no %s", p.Hank, p.About, rules, rule)
			}
		}
		if p.File != "" || p.Rule != "" && !slices.Contains(fieldRules, p.Rule) {
			continue // not what the schema of hank.json knows
		}
		if err := validate(s, readFile(t, filepath.Join(p.dir(), p.file()))); (err == nil) != (p.Rule == "") {
			t.Errorf("%s (%s): the published schema says %v", p.Hank, p.About, err)
		}
	}
}

// Each directory of the corpus is in the manifest, once.
func TestTheManifestHasEveryPublishedHank(t *testing.T) {
	t.Parallel()
	var listed []string
	for _, p := range corpus(t) {
		listed = append(listed, p.Hank)
	}
	slices.Sort(listed)
	var there []string
	for _, side := range []string{"right", "wrong"} {
		entries, err := os.ReadDir(filepath.Join("../fixtures/published", side))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			there = append(there, side+"/"+e.Name())
		}
	}
	if !slices.Equal(listed, there) {
		t.Errorf("listed %q\nthere  %q", listed, there)
	}
}

// Whatever the published schema refuses in a changed hank, hank refuses, too. Of the three
// hanks each value is replaced by values of other kinds and sizes, each key renamed, removed
// and joined by one more; HANK_LONG=1 tries all, else every twentieth.
func TestNoChangedHankIsAcceptedThatTheSchemaRefuses(t *testing.T) {
	t.Parallel()
	race.Without(t)
	short.Skip(t)
	every := 20
	if os.Getenv("HANK_LONG") != "" {
		every = 1
	}
	others := []any{nil, true, 0, -1, 1.5, 1e9, "", " ", "x", "a/../../b", []any{}, []any{1}, map[string]any{}, map[string]any{"x": 1}}
	s := compile(t, readFile(t, "../docs/schema/hank.schema.json"))
	for _, dir := range []string{"testdata/full", "../fixtures/published/right/rich", "../fixtures/published/right/data-codebook"} {
		files := fstest.MapFS{}
		if err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				files[name] = &fstest.MapFile{Data: readFile(t, filepath.Join(dir, name)), Mode: 0o644}
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		text := files["hank.json"].Data
		n, refused, step := 0, 0, 0
		if err := jsonchange.Each(text, others, true, func(what string, changed []byte) {
			if step++; step%every != 0 {
				return
			}
			n++
			err := validate(s, changed)
			if err == nil {
				return // the schema cannot know more
			}
			refused++
			here := maps.Clone(files)
			here["hank.json"] = &fstest.MapFile{Data: changed, Mode: 0o644}
			if p, found := Load(here, "hank.json"); p != nil {
				t.Errorf("%s: %s is accepted with\n%s\nthe schema says %v", dir, what, diagnostic.Text(found), err)
			}
		}); err != nil {
			t.Fatal(err)
		}
		if t.Logf("%s: %d changes, %d of them refused by the schema", dir, n, refused); refused < n/4 {
			t.Errorf("%s: only %d of %d changes are refused by the schema", dir, refused, n)
		}
	}
}
