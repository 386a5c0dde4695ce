package plan

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"hank/plan/diagnostic"
	"hank/plan/loop"
	"hank/plan/model"
)

// Reading never panics, and a hank without errors never fails later: its plan
// grows under any outcomes as it is derived, its entries can be stored, written,
// read and resolved, its prompts can be made, and it can be frozen.
func FuzzHank(f *testing.F) {
	for _, b := range brokenHanks {
		if len(b.hank) < 10_000 {
			f.Add([]byte(b.hank), uint64(1))
		}
	}
	full, err := os.ReadFile("testdata/full/hank.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(full, uint64(7))
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		h, parsed := parseAlone("hank.json", data)
		if h == nil && !diagnostic.HasErrors(parsed) {
			t.Fatal("no hank and no error")
		}
		for _, d := range parsed {
			if d.Line < 1 || d.Column < 1 || d.Message == "" {
				t.Fatalf("a diagnostic without a place: %+v", d)
			}
		}
		p, ds := Load(folder(map[string]string{"hank.json": string(data), "p.md": "x", "t/x": "x"}), "hank.json")
		if (p == nil) != diagnostic.HasErrors(ds) {
			t.Fatalf("program %v, but %s", p, diagnostic.Text(ds))
		}
		if p != nil {
			attack(t, p, rand.New(rand.NewPCG(seed, 0)))
		}
	})
}

// attack uses a sound program in every way.
func attack(t *testing.T, p *Program, r *rand.Rand) {
	outcomes := map[CodonID]Outcome{}
	entries := p.Initial()
	for i := 0; i < len(entries) && i < 50; i++ {
		e := entries[i]
		o := Outcome{Status: []Status{Completed, Failed, Skipped}[r.IntN(3)], FailureIgnored: r.IntN(2) == 0, ContextExceeded: r.IntN(4) == 0, BudgetExceeded: r.IntN(9) == 0, Decision: []loop.Decision{"", loop.Continue, loop.Stop}[r.IntN(3)]}
		outcomes[e.CodonID] = o
		drop, add := p.Grow(entries, i, o)
		entries = splice(entries, i, drop, add)
		data, err := json.Marshal(e.stored())
		if err != nil {
			t.Fatal(err)
		}
		var back Entry
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		resolved, err := p.Resolve(back)
		if err != nil || marshal(t, resolved) != marshal(t, e) {
			t.Fatalf("%v: %s, want %s", err, marshal(t, resolved), marshal(t, e))
		}
		if _, _, _, err := p.Prompt(back, vars); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := idsOf(p.Derive(known(outcomes))), idsOf(entries); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("derived %v, grown %v", got, want)
	}
	q, err := Thaw(openIn(frozenFiles(t, p)))
	if err != nil {
		t.Fatal(err)
	}
	same(t, p, q)
}

// What is read is written again as it was, and read again without complaint.
func TestAHankCanBeWrittenAndReadAgain(t *testing.T) {
	t.Parallel()
	h, ds := parseAlone("hank.json", readFile(t, "testdata/full/hank.json"))
	if diagnostic.HasErrors(ds) {
		t.Fatal(diagnostic.Text(ds))
	}
	var out diagnostic.Reporter
	raw := parse("hank.json", readFile(t, "testdata/full/hank.json"), &out) // models are still names
	again, ds := parseAlone("hank.json", []byte(marshal(t, raw)))
	if diagnostic.HasErrors(ds) || marshal(t, again) != marshal(t, h) {
		t.Errorf("%s\n%s\n%s", diagnostic.Text(ds), marshal(t, again), marshal(t, h))
	}
}

func TestDeepNestingIsAnErrorAndNoCrash(t *testing.T) {
	t.Parallel()
	for _, text := range []string{strings.Repeat("[", 200_000), strings.Repeat(`{"a":`, 100_000), `{"hank":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "}"} {
		if _, ds := parseAlone("hank.json", []byte(text)); !diagnostic.HasErrors(ds) {
			t.Error("must be an error")
		}
	}
}

// bigHank has n codons in loops of ten, with a prompt file for every tenth.
func bigHank(n int) (data []byte, files map[string]string) {
	var items []string
	files = map[string]string{}
	for i := 0; i < n; i += 10 {
		var codons []string
		for j := range 10 {
			codons = append(codons, shellCodon(fmt.Sprintf("c%d", i+j), `"checkpointedFiles": ["src/**/*.go", "docs"]`, `"budget": {"maxTimeSeconds": 60}`))
		}
		name := fmt.Sprintf("prompts/%d.md", i)
		files[name] = "Do it.\n"
		codons[0] = fmt.Sprintf(`{"id": "c%d", "name": "Codon c%d", "model": "haiku", "continuationMode": "fresh", "promptFile": %q}`, i, i, name)
		items = append(items, loopOf(fmt.Sprintf("l%d", i), limit(3), codons...))
	}
	return []byte(hankOf(items...)), files
}

// The cost for each codon must be the same for a thousand and for ten thousand,
// also when everything is wrong: places and hints are part of it.
func BenchmarkParse(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		sound, _ := bigHank(n)
		wrong := bytes.ReplaceAll(sound, []byte(`"checkpointedFiles"`), []byte(`"trackedFile"`))
		for name, data := range map[string][]byte{"sound": sound, "wrong": wrong} {
			b.Run(fmt.Sprintf("%s-%d", name, n), func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				for b.Loop() {
					if _, ds := parseAlone("hank.json", data); diagnostic.HasErrors(ds) != (name == "wrong") {
						b.Fatal(diagnostic.Text(ds))
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/codon")
			})
		}
	}
}

func BenchmarkLoad10000Codons(b *testing.B) {
	data, files := bigHank(10_000)
	dir := b.TempDir()
	if err := os.Mkdir(dir+"/prompts", 0o755); err != nil {
		b.Fatal(err)
	}
	files["hank.json"] = string(data)
	for name, text := range files {
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if _, ds := Load(os.DirFS(dir), "hank.json"); diagnostic.HasErrors(ds) {
			b.Fatal(diagnostic.Text(ds))
		}
	}
}

// A hank with some random damage, or none, is refused, or it works in every way.
func TestDamagedHanksAreRefusedOrWork(t *testing.T) {
	full := readFile(t, "testdata/full/hank.json")
	root := os.DirFS("testdata/full")
	worked := 0
	rapid.Check(t, func(rt *rapid.T) {
		tree, err := readNode(full)
		if err != nil {
			rt.Fatal(err)
		}
		for range rapid.IntRange(0, 2).Draw(rt, "damages") {
			damage(rt, tree)
		}
		p, ds := Load(overlay{root, tree.Sound()}, "hank.json")
		if (p == nil) != diagnostic.HasErrors(ds) {
			rt.Fatalf("program %v, but %s", p, diagnostic.Text(ds))
		}
		if p != nil {
			worked++
			attack(t, p, rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0)))
		}
	})
	if worked == 0 {
		t.Error("no damaged hank was sound enough to be used")
	}
}

// overlay is a directory with another hank.json.
type overlay struct {
	fs.FS
	hank []byte
}

func (o overlay) Open(name string) (fs.File, error) {
	if name == "hank.json" {
		return fstest.MapFS{name: {Data: o.hank}}.Open(name)
	}
	return o.FS.Open(name)
}

// parseAlone reads a hank.json and reports everything that can be said without
// looking at other files. It does not stop at the first problem. The Hank
// holds what is right in the file; it is nil if the file is not JSON at all.
func parseAlone(name string, data []byte) (*Hank, []diagnostic.Diagnostic) {
	var out diagnostic.Reporter
	h := parse(name, data, &out)
	if h != nil {
		h.resolve(overrideOf(h), model.Default().Lookup, &out)
		h.structure(&out)
	}
	return h, out.Sorted(name)
}
