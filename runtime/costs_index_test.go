package runtime

import (
	"bytes"
	"testing"

	"github.com/go-json-experiment/json"

	"hank/recovery"
	"hank/runtime/exitcode"
	"hank/runtime/report/cost"
	"hank/state/costindex"
)

// askHere asks the cost index in this process.
func askHere(execution string, by costindex.By) (a cost.Answer, err error) {
	var out bytes.Buffer
	if err := cost.WriteAnswer(&out, execution, by); err != nil {
		return a, err
	}
	return a, json.Unmarshal(out.Bytes(), &a)
}

// TestAnIndexThatEndsItsProcessCostsNoSum: Badger ends its process over some
// things that it meets. Then, and where that cannot even be started, or answers
// with rubbish, the sums come from the records.
func TestAnIndexThatEndsItsProcessCostsNoSum(t *testing.T) {
	t.Parallel()
	s := stageOf(t, `{"hank": [{"id": "c", "name": "C", "model": "shell", "continuationMode": "fresh", "promptText": "echo '::hank usage {\"costUSD\":5}'"}]}`)
	s.must(ModeRun, exitcode.Done)
	v, err := recovery.Read(s.root)
	if err != nil {
		t.Fatal(err)
	}
	for name, self := range map[string]string{"exits": "/bin/false", "says nothing": "/bin/true", "rubbish": "/bin/echo", "is not there": "/not/there"} {
		r := cost.Of(v, costindex.ByCodon, cost.AskIndex(self))
		if r.NoIndex == "" || r.All.Cost != 5_000_000_000 || len(r.Totals) != 1 {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r := cost.Of(v, costindex.ByCodon, askHere); r.NoIndex != "" || r.All.Cost != 5_000_000_000 {
		t.Errorf("%+v", r)
	}
}
