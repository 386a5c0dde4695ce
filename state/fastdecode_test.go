package state

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// sameBothWays reads a text that Marshal has written by its form and as any
// JSON, and compares.
func sameBothWays(t *testing.T, name string, s *State) {
	t.Helper()
	own := text(t, s)
	quick, err := unmarshalOwn(own)
	if err != nil {
		t.Fatalf("%s: by its form: %v", name, err)
	}
	doc, err := parse(own)
	if err != nil {
		t.Fatal(err)
	}
	slow, err := doc.state()
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(quick, slow) {
		t.Fatalf("%s: the two ways of reading differ in\n%s", name, own)
	}
	sameNames(t, name, own, slow)
	if !bytes.Equal(text(t, quick), own) {
		t.Fatalf("%s: what was read is written otherwise", name)
	}
}

// sameNames reads what names are made of, and compares it with the state.
func sameNames(t *testing.T, name string, own []byte, want *State) {
	t.Helper()
	names, ok := UnmarshalNames(own)
	if !ok {
		t.Fatalf("%s: the names cannot be read", name)
	}
	if len(names.Runs) != len(want.Runs) || len(names.ExecutionPlan()) != len(want.ExecutionPlan()) || names.InitialCheckpoint != want.InitialCheckpoint || !reflect.DeepEqual(names.Position, want.Position) {
		t.Fatalf("%s: the names are of another state than\n%s", name, own)
	}
	for i, r := range want.Runs {
		for k := range r.Codons() {
			c := *r.Codon(k)
			c = Codon{CodonID: c.CodonID, Status: c.Status, RigSetupCheckpoint: c.RigSetupCheckpoint, CompletionCheckpoint: c.CompletionCheckpoint,
				ErrorCheckpoint: c.ErrorCheckpoint, SkipCheckpoint: c.SkipCheckpoint, FailureIgnored: c.FailureIgnored}
			got := *names.Runs[i].Codon(k)
			if got.encoded = nil; !reflect.DeepEqual(got, c) {
				t.Fatalf("%s: run %d, record %d: %+v, want %+v", name, i, k, got, c)
			}
		}
	}
	for k, e := range want.ExecutionPlan() {
		if got := names.ExecutionPlan()[k].CodonID; got != e.CodonID {
			t.Fatalf("%s: entry %d: %q, want %q", name, k, got, e.CodonID)
		}
	}
}

// TestAStateOfHanksOwnReadsLikeAnyOther: names, values and unknown members that
// look like the form by which the text is cut do not mislead it.
func TestAStateOfHanksOwnReadsLikeAnyOther(t *testing.T) {
	t.Parallel()
	sameBothWays(t, "an empty one", &State{Lineage: "l"})
	paths, err := filepath.Glob("../fixtures/states/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatal(err)
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Unmarshal(content)
		if err != nil {
			t.Fatal(err)
		}
		s.Lineage = "l"
		sameBothWays(t, path, s)
	}
	const odd = `{"runs":[
	{"runId":"2","codons":[],"xcodons":[{"codons":[{"a":1},{}]}],"status":"failed","startTime":"2025-01-04T12:00:00.000Z","serverPid":1,
	 "startingConditions":{"type":"fresh","codons":[{"codonId":"x"}],"executionPlan":[{}]}},
	{"runId":"1\n  ],\n  \"currentRunId\": ","status":"running","startTime":"2025-01-04T12:00:00.000Z","serverPid":1,"startingConditions":{"type":"fresh"},
	 "codons":[{"codonId":"a","startTime":"2025-01-04T12:00:00.000Z","status":"failed","x":[{},{"codons":[{}]}],"notes":["\n        }","\n        {"]},
	  {"codonId":"b","startTime":"2025-01-04T12:00:00.000Z","status":"running","x":{}}]}],
	"currentRunId":null,
	"executionPlan":[{"codon":{"id":"a","codons":[{}],"x":{"y":[{}]}},"codonId":"a","codons":[{"a":[]}]},
	 {"codon":{"id":"a","codons":[{}],"x":{"y":[{}]}},"codonId":"a#1","loopContext":{"loopId":"l","iteration":1,"codonIndexInLoop":0},"executionPlan":[{}]},
	 {"codon":{"id":"b"},"codonId":"b"},{"codon":{},"codonId":"c"},{"codonId":"d"}],
	"x":{"codons":[{"a":1}],"executionPlan":[{"a":1}]},"y":[{"currentRunId":null}]}`
	s, err := Unmarshal([]byte(odd))
	if err != nil {
		t.Fatal(err)
	}
	s.Lineage = "l"
	sameBothWays(t, "an odd one", s)
	// Enough records for several cores.
	for i := range 2000 {
		c := *full(Completed)
		c.CodonID = CodonID(fmt.Sprint("a", i))
		if err := c.freeze(); err != nil {
			t.Fatal(err)
		}
		s.Runs[0].done = s.Runs[0].done.append(&c)
		s.plan = s.plan.append(s.plan.items[i%3])
	}
	sameBothWays(t, "a long one", s)
}

// A text that is of another form, though its digest is right, is read as any
// JSON.
func TestADigestOverAnotherFormIsNoReasonToRefuse(t *testing.T) {
	t.Parallel()
	for _, change := range []func(string) string{
		func(s string) string { return strings.Replace(s, "\n        {", "\n         {", 1) },
		func(s string) string { return strings.ReplaceAll(s, `"codons": [`, `"codons":[`) },
		func(s string) string { return strings.Replace(s, `"executionPlan": [`, `"executionPlan":  [`, 1) },
	} {
		w := &State{Lineage: "l", Runs: []*Run{{RunID: "r", Status: StatusRunning, live: full(Running)}}, CurrentRunID: "r"}
		good := string(text(t, w))
		body := change(good[:strings.LastIndex(good, digestKey)])
		changed := sealed([]byte(body))
		if _, err := unmarshalOwn(changed); !errors.Is(err, errOtherForm) {
			t.Fatalf("by its form: %v", err)
		}
		s, err := Unmarshal(changed)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(text(t, s)); got != good {
			t.Fatalf("it reads as\n%s\ninstead of\n%s", got, good)
		}
	}
}
