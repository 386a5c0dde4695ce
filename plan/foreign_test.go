package plan

import (
	"io"
	"testing"
	"testing/fstest"

	"hank/plan/config"
	"hank/plan/diagnostic"
)

// Ids that Hankweave allows are taken in an execution that it began, and stay
// as they are when the program has been frozen. An empty one never is.
func TestIDsOfHankweave(t *testing.T) {
	t.Parallel()
	const id = "gather notes/ä#1"
	dir := fstest.MapFS{"hank.json": {Data: []byte(hankOf(`{"id": "` + id + `", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "x"}`))}}
	if p, _ := LoadWith(dir, "hank.json", config.Layers{}); p != nil {
		t.Fatal("the id is taken anywhere")
	}
	p, found := LoadWith(dir, "hank.json", config.Layers{AnyIDs: true})
	if p == nil || p.Initial()[0].CodonID != id {
		t.Fatalf("the id is not taken: %v", found)
	}
	if len(found) != 1 || found[0].Rule != "foreign-id" || found[0].Severity != diagnostic.Warning {
		t.Errorf("found %v", found)
	}
	files := map[string][]byte{}
	frozen, err := p.Frozen()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range frozen {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if files[f.Path], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	thawed, err := Thaw(func(path string) ([]byte, error) { return files[path], nil })
	if err != nil || thawed.Initial()[0].CodonID != id {
		t.Errorf("thawed: %v", err)
	}
	dir["hank.json"].Data = []byte(hankOf(`{"id": "", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "x"}`))
	if p, _ := LoadWith(dir, "hank.json", config.Layers{AnyIDs: true}); p != nil {
		t.Error("an empty id is taken")
	}
}

// A sentinel with a text between answers that are data was taken once: what is stored with an
// execution stays valid.
func TestATextBetweenDataThatIsStoredIsTaken(t *testing.T) {
	t.Parallel()
	hank := withSentinel(sentinelHead + onError + `, "structuredOutput": {"output": "enum", "enumValues": ["a"]}, "joinString": "--"`)
	dir := fstest.MapFS{"hank.json": {Data: []byte(hank)}}
	for _, stored := range []bool{false, true} {
		if p, found := LoadWith(dir, "hank.json", config.Layers{AnyIDs: stored}); (p != nil) != stored {
			t.Errorf("stored %t: %v", stored, found)
		}
	}
}
