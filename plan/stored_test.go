package plan

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"hank/plan/diagnostic"
	"hank/plan/jsonshape"
)

func marshal(t rapid.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestLongTextsAndAllSecretsLeaveTheEntry(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", longText)
	short := strings.Repeat("x", longText)
	tricky := placeholder("nobody knows")
	hank := hankOf(
		agentCodon("a", "fresh", `"env": {"TOKEN": "s3cret", "EMPTY": ""}`, `"description": "`+long+`"`, `"appendSystemPromptText": "`+short+`"`,
			`"exhaustWithPrompt": "`+tricky+`"`, `"rigSetup": [{"type": "command", "command": {"run": "`+long+`!"}}]`,
			`"sentinels": [{"sentinelConfig": {`+strings.Replace(sentinelHead, `"x"`, `"`+long+`?"`, 1)+onError+`}}]`),
		shellCodon("b"))
	p := mustLoad(t, hank)
	for _, e := range p.Initial() {
		stored := e.stored()
		text := marshal(t, stored)
		for _, gone := range []string{long, "s3cret"} {
			if strings.Contains(text, gone) {
				t.Errorf("%s still has %s", e.CodonID, jsonshape.Quote(gone))
			}
		}
		if e.CodonID == "a" && !strings.Contains(text, short) {
			t.Error("a text of 4 KiB stays")
		}
		var back Entry
		if err := json.Unmarshal([]byte(text), &back); err != nil {
			t.Fatal(err)
		}
		if again := marshal(t, back.stored()); again != text {
			t.Errorf("storing twice must change nothing:\n%s\n%s", text, again)
		}
		resolved, err := p.Resolve(back)
		if err != nil || marshal(t, resolved) != marshal(t, e) {
			t.Errorf("resolved %v:\n%s\nwant\n%s", err, marshal(t, resolved), marshal(t, e))
		}
		if live, err := p.Resolve(e); err != nil || marshal(t, live) != marshal(t, e) {
			t.Errorf("an entry that was not stored must resolve to itself: %v", err)
		}
	}
	other := mustLoad(t, hankOf(shellCodon("a")))
	if _, err := other.Resolve(p.Initial()[0].stored()); err == nil || !strings.Contains(err.Error(), "another hank") {
		t.Errorf("the wrong program must not resolve: %v", err)
	}
}

func TestStoredEntriesResolveInTheFrozenProgram(t *testing.T) {
	t.Parallel()
	p, _ := Load(os.DirFS("testdata/full"), "hank.json")
	q, err := Thaw(openIn(frozenFiles(t, p)))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range p.Initial() {
		_, want, _, err := p.Prompt(e, vars)
		if err != nil {
			t.Fatal(err)
		}
		if _, got, _, err := q.Prompt(e.stored(), vars); err != nil || got != want {
			t.Errorf("%s: %q (%v), want %q", e.CodonID, got, err, want)
		}
		if r, err := q.Resolve(e.stored()); err != nil || !reflect.DeepEqual(r.Codon.Env, e.Codon.Env) {
			t.Errorf("%s: env %v, %v", e.CodonID, r.Codon.Env, err)
		}
	}
}

// A plan is stored entry by entry; the iterations of a loop share their codons, and keep
// sharing them.
func TestAPlanIsStoredAsItsEntriesAre(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long ", longText)
	var c [2]Codon
	for i, text := range []string{`{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "true", "env": {"KEY": "value"}}`,
		`{"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "` + long + `"}`} {
		if err := json.Unmarshal([]byte(text), &c[i]); err != nil {
			t.Fatal(err)
		}
	}
	entries := []Entry{{Codon: &c[0], CodonID: "a#0"}, {Codon: &c[1], CodonID: "b#0"}, {Codon: &c[0], CodonID: "a#1"}, {CodonID: "none"}}
	all := StoredEntries(entries)
	for i, e := range entries {
		want, err := json.Marshal(e.stored())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(all[i]); err != nil || string(got) != string(want) {
			t.Errorf("entry %d is stored as %s, not %s (%v)", i, got, want, err)
		}
	}
	if all[0].Codon != all[2].Codon || all[0].Codon == &c[0] || entries[0].Codon != &c[0] {
		t.Error("two iterations do not share their codon, or the plan itself was changed")
	}
}

// What newer or foreign versions write must survive a round trip, wherever it
// stands.
func TestUnknownFieldsSurvive(t *testing.T) {
	t.Parallel()
	p, _ := Load(os.DirFS("testdata/full"), "hank.json")
	for _, e := range p.Derive(known(map[CodonID]Outcome{"write#0": {Status: Completed}})) {
		root, err := readNode([]byte(marshal(t, e)))
		if err != nil {
			t.Fatal(err)
		}
		addUnknown(root)
		before := string(root.Sound())
		var back Entry
		if err := json.Unmarshal([]byte(before), &back); err != nil {
			t.Fatal(err)
		}
		if after := marshal(t, back); canonical(t, after) != canonical(t, before) {
			t.Errorf("before %s\nafter  %s", before, after)
		}
	}
}

func readNode(data []byte) (*jsonshape.Node, error) {
	var out diagnostic.Reporter
	doc := jsonshape.Read("x", data, out.Problem)
	if doc.Root == nil {
		return nil, fmt.Errorf("%s", diagnostic.Text(out.List))
	}
	return doc.Root, nil
}

// addUnknown puts a foreign field into every object that is not a map.
func addUnknown(n *jsonshape.Node) {
	for i := range n.Kids {
		if n.Kind == '{' && (n.Names[i].Text == "env" || n.Names[i].Text == "shares") {
			continue
		}
		addUnknown(&n.Kids[i])
	}
	if n.Kind == '{' {
		n.Set("x-foreign", jsonshape.Node{Kind: '[', Kids: []jsonshape.Node{{Kind: '0', Text: "1.50"}, {Kind: 'n'}}})
	}
}

func canonical(t testing.TB, text string) string {
	t.Helper()
	v := jsontext.Value(text)
	if err := v.Canonicalize(); err != nil {
		t.Fatal(err)
	}
	return string(v)
}

func TestForeignEntriesAreRead(t *testing.T) {
	t.Parallel()
	const foreign = `{"codon":{"id":"a/b","name":"A","model":{"providerId":"anthropic","modelId":"x","name":"X","cost":{"input":3,"output":15.5,"cacheRead":0.3},"limits":{"context":200000,"output":64000},"harnessOverride":"pi"},"continuationMode":"fresh","promptFile":["/abs/p.md"],"checkpointedFiles":[],"rigSetup":[{"type":"copy","copy":{"from":"/abs/t","to":"t"},"allowFailure":true}]},"codonId":"a/b"}`
	var e Entry
	if err := json.Unmarshal([]byte(foreign), &e); err != nil {
		t.Fatal(err)
	}
	// A list of one file becomes a plain string: both mean the same.
	want := strings.Replace(foreign, `["/abs/p.md"]`, `"/abs/p.md"`, 1)
	if got := marshal(t, e); canonical(t, got) != canonical(t, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if nanos, known := e.Codon.Model.Price(struct{ Input, Output, CacheRead, CacheWrite int64 }{1000, 100, 10, 0}); !known || nanos != 3_000_000+1_550_000+3_000 {
		t.Errorf("price %d %v", nanos, known)
	}
	plain := strings.Replace(foreign, `"model":{`, `"model":"sonnet","x":{`, 1)
	if err := json.Unmarshal([]byte(plain), &e); err != nil || e.Codon.Model.String() != "sonnet" || e.Codon.Model.Resolved() {
		t.Errorf("a model that is a string: %v %+v", err, e.Codon.Model)
	}
	var none Entry
	if err := json.Unmarshal([]byte(`{"codonId":"a"}`), &none); err != nil || none.Codon == nil {
		t.Errorf("an entry without codon: %v %v", err, none.Codon)
	}
}

func TestAnyTextComesBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Map(rapid.String(), placeholder), rapid.Map(rapid.IntRange(longText-2, longText+2), func(n int) string { return strings.Repeat("y", n) })).Draw(t, "text")
		e := Entry{Codon: &Codon{ID: "a", PromptText: text, Env: map[string]string{"K": text}}, CodonID: "a"}
		stored := e.stored()
		if !isPlaceholder(stored.Codon.Env["K"]) {
			t.Fatal("a value of env was stored")
		}
		if marshal(t, stored.stored()) != marshal(t, stored) {
			t.Fatal("storing twice must change nothing")
		}
		if got := stored.Codon.PromptText; isPlaceholder(got) != (len(text) > longText || isPlaceholder(text)) || len(text) <= longText && got != text {
			t.Fatalf("%s became %s", jsonshape.Quote(text), got)
		}
		p := &Program{codons: map[CodonID]*Codon{"a": e.Codon}}
		p.digests = p.collectDigests
		if back, err := p.Resolve(stored); err != nil || back.Codon.PromptText != text || back.Codon.Env["K"] != text {
			t.Fatalf("resolved to %+v, %v", back.Codon, err)
		}
	})
}
