package planview

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"hank/plan"
	"hank/plan/diagnostic"
	"hank/state"
)

const rich = `{
  "meta": {"name": "rich", "version": "1"},
  "overrides": {"budget": {"maxDollars": 5, "allocation": "proportional", "shares": {"rounds": 0.5}, "onExceeded": "fail"}},
  "globalSystemPromptText": "Be brief.",
  "hank": [
    {"id": "first", "name": "First \"one\"", "model": "haiku", "continuationMode": "fresh", "promptFile": "p.md", "checkpointedFiles": ["notes"], "budget": {"maxDollars": 1}},
    {"id": "second", "name": "Second", "model": "haiku", "continuationMode": "continue-previous", "promptText": "twelve bytes", "checkpointedFiles": ["notes", "*.md"]},
    {"type": "loop", "id": "rounds", "name": "Rounds", "terminateOn": {"type": "iterationLimit", "limit": 3},
      "gate": {"id": "ok", "when": "before", "kind": "approve", "summary": "End [now]? \"]; end %% <b>` + "`x`" + `"},
      "codons": [
        {"id": "work", "name": "Work", "model": "haiku", "continuationMode": "continue-previous", "promptText": "x", "checkpointedFiles": []},
        {"id": "check", "name": "Check", "model": "haiku", "continuationMode": "continue-previous", "promptText": "y", "checkpointedFiles": []}
      ]},
    {"id": "last", "name": "Last", "model": "shell", "continuationMode": "fresh", "promptText": "true", "gate": {"id": "done", "when": "after", "kind": "reply", "summary": "Good?"}}
  ]
}`

func richPlan(t *testing.T) *Plan {
	t.Helper()
	files := fstest.MapFS{"hank.json": {Data: []byte(rich)}, "p.md": {Data: []byte("---\nname: x\n---\nSay <!-- not this -->so.\n")}}
	program, found := plan.Load(files, "hank.json")
	if program == nil {
		t.Fatal(diagnostic.Text(found))
	}
	return Initial("hank.json", program)
}

func TestAPlanTellsWhatHoldsForEachCodon(t *testing.T) {
	t.Parallel()
	p := richPlan(t)
	if got := len(p.Codons); got != 5 || p.Total.Codons != 9 || p.Total.AtMost || p.Total.Open {
		t.Errorf("%d codons laid out, in all %+v", got, p.Total)
	}
	if got := p.Codons[0].Prompt; *got != (Prompt{Bytes: len("Say so.\n"), System: len("Be brief.")}) {
		t.Errorf("the first is told %+v", got)
	}
	if got := p.Codons[4].Prompt; *got != (Prompt{Bytes: len("true")}) {
		t.Errorf("the script has %+v: it is told no system prompt", got)
	}
	for i, want := range []string{"1 pattern", "2 patterns", "2 patterns", "2 patterns", "everything, 2 patterns"} {
		if got := p.Codons[i].TracksText(); got != want {
			t.Errorf("%s tracks %s, want %s", p.Codons[i].CodonID, got, want)
		}
	}
	if got := p.Codons[1].Tracks.Own; !slices.Equal(got, []string{"*.md"}) {
		t.Errorf("the second adds %q", got)
	}
	if len(p.Sessions) != 1 || !slices.Equal(p.Sessions[0], []state.CodonID{"first", "second", "work#0", "check#0"}) {
		t.Errorf("the sessions are %q", p.Sessions)
	}
	var all strings.Builder
	for _, s := range p.Sentences() {
		all.WriteString(s.About + " " + s.Text + "\n")
	}
	for _, want := range []string{
		"loop rounds (work, check): repeated: 3 times\n",
		"gate ok, before loop rounds, asks to approve: End [now]?",
		"gate done, after last, asks to reply: Good?\n",
		"budget hank: at most $5.00, proportional; fails when it is used up\n",
		"budget first: at most $1.00\n",
		"session first, second, work#0, check#0 share a session, and so does what follows in loop rounds\n",
		"tracks from first on: notes\ntracks from second on: *.md\n",
	} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("%q is not in\n%s", want, all.String())
		}
	}
}

// What an author writes can neither end a label nor begin anything in it.
func TestNoTextOfAHankLeavesItsLabel(t *testing.T) {
	t.Parallel()
	drawn := richPlan(t).Mermaid()
	for line := range strings.Lines(drawn) {
		if n := strings.Count(line, `"`); n != 0 && n != 2 {
			t.Errorf("%d quotation marks: %s", n, line)
		}
		if _, inside, found := strings.Cut(line, `"`); found {
			inside, _, _ = strings.Cut(inside, `"`)
			if strings.ContainsAny(strings.ReplaceAll(inside, "<br/>", ""), "<>[]{}`%&|\\\n") {
				t.Errorf("the label %s", inside)
			}
		}
	}
	for _, want := range []string{"flowchart TD\n", `subgraph l3 ["rounds: 3 times"]`, "lg3 --> c3\n", "c4 -. again .-> c3\n", "g5 --> done", "c1 -. session .- c2\n", `#34;#93;#59; end #37;#37; #60;b#62;#96;x#96;`} {
		if !strings.Contains(drawn, want) {
			t.Errorf("%q is not in\n%s", want, drawn)
		}
	}
}

// The lists of patterns are one list, of which each codon has the beginning.
func TestPatternsAreNotCopiedForEachCodon(t *testing.T) {
	t.Parallel()
	p := richPlan(t)
	for i := 2; i < len(p.Codons); i++ {
		if &p.Codons[i].Tracks.Patterns[0] != &p.Codons[1].Tracks.Patterns[0] {
			t.Errorf("codon %d has a list of its own", i+1)
		}
	}
}
