package codex

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"hank/runtime/harness"
	"hank/runtime/harness/internal/harnesstest"
	"hank/state"
)

// hold compares a verdict with what is wanted. recorded says that there was nothing to
// read but the transcript.
func (w want) hold(t *testing.T, name string, v harness.Verdict, recorded bool) {
	t.Helper()
	check := func(what string, got, want any) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %s is %v, want %v", name, what, got, want)
		}
	}
	check("success", v.Success, w.class == "")
	check("result seen", v.ResultSeen, !w.noResult)
	check("context exceeded", v.ContextExceeded, w.exceeded)
	check("refused tools", strings.Join(v.Denied, " "), "")
	if recorded && w.unsaid {
		w.tokens = state.Tokens{}
	}
	check("tokens", v.Usage.Tokens, w.tokens)
	check("priced", v.Usage.Priced, false)
	check("a session", v.Session != "", !w.noSession)
	if w.text != "" {
		check("text", v.Text, w.text)
	}
	if v.Failure == nil {
		check("failure", w.class, "")
		return
	}
	check("class", v.Failure.Class, w.class)
	check("rule", v.Failure.Rule, w.rule)
	check("type", v.Failure.Type, w.typ)
	check("retriable", v.Failure.Retriable, w.retriable)
	check("message given", v.Failure.Message != "", true)
}

// TestRecordedTranscripts holds the reader against what the real agent printed.
func TestRecordedTranscripts(t *testing.T) {
	known := map[string]bool{}
	for name, sc := range scenarios {
		for _, st := range sc.steps {
			known[st.name+".jsonl"] = true
			t.Run(name+"/"+st.name, func(t *testing.T) {
				verdict, _ := harnesstest.Read(t, Harness{}, filepath.Join("testdata", st.name+".jsonl"))
				st.want.hold(t, st.name, verdict, true)
			})
		}
	}
	files, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !f.IsDir() && !known[f.Name()] {
			t.Errorf("testdata/%s belongs to no scenario", f.Name())
		}
	}
}
