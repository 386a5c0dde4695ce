package runtime

import (
	"strings"
	"sync"
	"testing"

	"hank/internal/short"
	"hank/runtime/budget"
	"hank/runtime/codon"
	"hank/runtime/exitcode"
	"hank/state"
	"hank/state/journal"
)

// An attempt that was interrupted counts for the codon's own budget in the runs that
// continue from there; the user's retry gives it its whole budget again.
func TestACutOffAttemptCountsForTheCodonsOwnBudget(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := stageOf(t, `{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo '::hank usage {\"costUSD\":5}'"},
	  {"id": "pay", "name": "Pay", "model": "shell", "continuationMode": "fresh", "budget": {"maxDollars": 3},
	   "promptText": "echo x >>\"$COUNT/pay\"; echo '::hank usage {\"costUSD\":2}'; test -e \"$COUNT/go\" || sleep 600"}]}`)
	count := t.TempDir()
	s.opts.Environ = append(s.opts.Environ, "COUNT="+count)
	var once sync.Once
	stop := func(o *command) { // when its first two dollars are on record
		requests := make(chan codon.Request, 1)
		o.Requests = requests
		o.Appended = func(_ journal.Event, st *state.State) {
			if r := st.Current(); r != nil && r.Live() != nil && r.Live().CodonID == "pay" && r.Live().Cost() > 0 {
				once.Do(func() {
					requests <- codon.Request{Signal: codon.StopNow, Reason: state.EndStopped, Code: exitcode.Stopped}
				})
			}
		}
	}
	s.must(ModeRun, exitcode.Stopped, stop)
	if c := s.last("pay"); c.Interrupted == "" || c.Cost() != state.Dollars(2) {
		t.Fatalf("cut off: %+v", c)
	}
	res := s.must(ModeRun, exitcode.Done) // one dollar is left: the second two end it, as it is told to
	if c := s.last("pay"); res.Code != exitcode.Done || c.BudgetExceeded == nil || c.BudgetExceeded.Currency == "" {
		t.Errorf("gone on: %+v", c)
	}
	put(t, count, "go", "")
	s.must(ModeRetry, exitcode.Done, func(o *command) { o.Codon = "pay" })
	if c := s.last("pay"); c.BudgetExceeded != nil {
		t.Errorf("a person's retry: %+v", c.BudgetExceeded)
	}
	if got := content(t, count, "pay"); got != "x\nx\nx\n" {
		t.Errorf("it has run %q", got)
	}
}

// What a loop has used is what lies before the place that was gone back to;
// what the hank has used is everything.
func TestWhatWasGoneBackBehindStartsAnew(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := stageOf(t, `{"overrides": {"budget": {"maxDollars": 100}}, "hank": [
	  {"id": "first", "name": "First", "model": "shell", "continuationMode": "fresh", "promptText": "echo 1 >first; echo '::hank usage {\"costUSD\":1}'"},
	  {"type": "loop", "id": "l", "name": "Loop", "terminateOn": {"type": "iterationLimit", "limit": 3}, "budget": {"maxDollars": 4}, "codons": [
	    {"id": "pay", "name": "Pay", "model": "shell", "continuationMode": "fresh", "promptText": "echo x >>log; echo '::hank usage {\"costUSD\":1}'"}]},
	  {"id": "last", "name": "Last", "model": "shell", "continuationMode": "fresh", "promptText": "test $(wc -l <log) = 3"}
	]}`)
	check := func(when string, total, first, loop float64) {
		t.Helper()
		a := budget.NewAccounts(s.view().State, false)
		if a.Total.Cost != state.Dollars(total) || a.Codons[budget.Place{Codon: "first"}].Cost != state.Dollars(first) || a.Loops["l"].Cost != state.Dollars(loop) {
			t.Errorf("%s: %+v, want %v in all, %v for first, %v for the loop", when, a, total, first, loop)
		}
	}
	s.must(ModeRun, exitcode.Done)
	check("run through", 4, 1, 3)
	s.mustRollback("pay#0")
	check("rolled back into the loop", 4, 1, 1)
	s.mustUndo()
	check("taken back", 4, 1, 3)
	s.mustUndo()
	s.must(ModeRun, exitcode.Done) // 3 + 2 dollars would be too much for the loop
	check("run on in the loop", 6, 1, 3)
	s.mustRollback("first")
	check("rolled back before the loop", 6, 1, 0)
	s.must(ModeRun, exitcode.Done)
	check("run on before the loop", 9, 1, 3)
	s.mustRollback("initial")
	check("rolled back to the start", 9, 0, 0)
	res := s.must(ModeRun, exitcode.Budget, maxCost(9))
	if !strings.Contains(res.Message, "budget exhausted: $9.00 of the $9.00 limit of this execution is spent") {
		t.Errorf("the ceiling of all money: %s", res.Message)
	}
}
