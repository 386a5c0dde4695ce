package runtime

import (
	"testing"

	"hank/recovery"
	"hank/runtime/exitcode"
	"hank/runtime/report/cost"
	"hank/state/costindex"
)

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
	if r := cost.Of(v, costindex.ByCodon, cost.ReadIndex); r.NoIndex != "" || r.All.Cost != 5_000_000_000 {
		t.Errorf("%+v", r)
	}
}
