package state

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"hank/internal/vfs"
	"hank/internal/vfs/vfstest"
	"hank/state/journal"
)

var update = flag.Bool("update", false, "write the schemas in docs/schema and the states in fixtures/states anew")

func compile(t testing.TB, schema []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func fits(s *jsonschema.Schema, text []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return s.Validate(v)
}

// published compares a file of the repository with what the code makes.
func published(t *testing.T, name string, want []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the code says: go test ./state -update", name)
	}
}

func TestPublishedSchemasOfStateAndEventsAreCurrent(t *testing.T) {
	t.Parallel()
	published(t, "../docs/schema/state.schema.json", stateSchema())
	published(t, "../docs/schema/events.schema.json", eventSchema())
}

// A record has what its status needs for the schema exactly when it has it for
// Apply and Validate.
func TestSchemaAndTransitionTableAgreeOnWhatARecordNeeds(t *testing.T) {
	t.Parallel()
	w := newSchemaWriter()
	schema := compile(t, w.finish("codon", "", w.of(reflect.TypeFor[Codon]())))
	rapid.Check(t, func(rt *rapid.T) {
		c := full(rapid.SampledFrom([]CodonStatus{Preparing, Starting, Initializing, Running, CompletingSentinels, Completed, Failed, Skipped}).Draw(rt, "status"))
		for _, drop := range []func(){
			func() { c.EndTime = nil }, func() { c.ClaudePid = 0 }, func() { c.ClaudeLogPath = "" }, func() { c.ClaudeSessionID = "" },
			func() { c.CurrentCost = nil }, func() { c.CurrentTokens = nil }, func() { c.FinalCost = nil }, func() { c.FinalTokens = nil },
			func() { c.ExitCode = nil }, func() { c.CompletionCheckpoint = "" }, func() { c.FailedDuring = "" }, func() { c.SkippedDuring = "" },
			func() { c.FailureReason = nil }, func() { c.Settling = &Settling{Status: Failed} }, func() { c.Settling = &Settling{Status: Running} },
			func() { c.Settling = &Settling{Status: Failed, FailureReason: c.FailureReason} }, func() { c.Settling = &Settling{Status: Skipped} },
		} {
			if rapid.IntRange(0, 9).Draw(rt, "drop") == 0 {
				drop()
			}
		}
		text, err := json.Marshal(c)
		if err != nil {
			rt.Fatal(err)
		}
		if err, missing := fits(schema, text), c.missing(); (err == nil) != (missing == "") {
			rt.Fatalf("the table misses %q, the schema says %v\n%s", missing, err, text)
		}
	})
}

func TestEveryLegalHistoryFitsTheSchemas(t *testing.T) {
	t.Parallel()
	state, line := compile(t, stateSchema()), compile(t, eventSchema())
	entries := entriesJSON(t, 3)
	rapid.Check(t, func(rt *rapid.T) {
		w := newWalker(rt, entries)
		run := w.startRun(StartingConditions{Type: StartFresh, InitialCheckpointSHA: w.s.InitialCheckpoint})
		for range rapid.IntRange(1, 3).Draw(rt, "codons") {
			if w.s.Next() == 3 || w.s.Run(run).Paused != nil {
				break
			}
			w.attempt(run, w.s.ExecutionPlan()[w.s.Next()].CodonID)
		}
		w.do(RunFailed{RunID: run, EndTime: epoch, Reason: EndStopped})
		here := w.s.CurrentPosition()
		w.do(IntentOpened{Intent{ID: "i", Kind: "rollback", Position: &here, Safety: w.sha(), Owned: w.sha(), To: w.sha()}})
		w.do(IntentClosed{ID: "i"})
		if err := fits(state, text(rt, w.s)); err != nil {
			rt.Fatal(err)
		}
		for _, l := range journalLines(rt, w.log) {
			if err := fits(line, l); err != nil {
				rt.Fatalf("%v\n%s", err, l)
			}
		}
	})
}

// journalLines writes transitions to a journal and returns its lines.
func journalLines(t interface{ Fatal(...any) }, log []Transition) [][]byte {
	events := make([]journal.Event, len(log))
	for i, tr := range log {
		data, err := Encode(tr)
		if err != nil {
			t.Fatal(err)
		}
		events[i] = journal.Event{Seq: uint64(i + 1), ID: "e", Timestamp: epoch.Time, Type: TransitionEvent, Data: data}
	}
	disk := vfstest.NewMem()
	if err := disk.Mkdir("/journal", 0o700); err != nil {
		t.Fatal(err)
	}
	j, err := journal.Create(disk, "/journal", 0, events...)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := vfs.ReadFile(disk, "/journal/events.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(bytes.TrimSpace(text), []byte("\n"))
}

func TestSchemaOfEventsLetsUnknownTypesPass(t *testing.T) {
	t.Parallel()
	line := compile(t, eventSchema())
	for _, l := range []struct {
		text string
		good bool
	}{
		{`{"seq":1,"id":"a","timestamp":"2026-01-02T03:04:05.678Z","type":"of.tomorrow","data":[1],"sum":"00000000"}`, true},
		{`{"seq":1,"id":"a","timestamp":"2026-01-02T03:04:05.678Z","type":"state.transition","data":{"transitionType":"Nonsense","transition":{"type":"Nonsense","data":{}}},"sum":"00000000"}`, false},
		{`{"seq":1,"id":"a","timestamp":"2026-01-02T03:04:05.678Z","type":"state.transition","data":{"transitionType":"RunCompleted","transition":{"type":"RunCompleted","data":{"runId":"r"}}},"sum":"00000000"}`, false},
		{`{"seq":1,"id":"a","timestamp":"2026-01-02T03:04:05.678Z","type":"of.tomorrow","data":[1]}`, false},
	} {
		if err := fits(line, []byte(l.text)); (err == nil) != l.good {
			t.Errorf("%s\n%v", l.text, err)
		}
	}
}
