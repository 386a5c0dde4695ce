//go:build unix

package runtime

import (
	"sync"
	"testing"

	"hank/internal/short"
	"hank/runtime/codon"
	"hank/runtime/exitcode"
	"hank/runtime/history"
	"hank/state"
	"hank/state/journal"
)

// stoppedInB has a codon of two halves stopped between them, at half a dollar
// each time it is begun.
func stoppedInB(t *testing.T) (s *stage, open func()) {
	t.Helper()
	s = stageOf(t, `{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo '::hank usage {\"costUSD\":0.5}'; echo a >a"},
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo line >>b; echo '::hank usage {\"costUSD\":0.5}'; echo half >../half; test -e ../once || sleep 120; echo done >>b"},
	  {"id": "c", "name": "C", "model": "shell", "continuationMode": "fresh", "promptText": "echo c >c"}
	]}`)
	requests := make(chan codon.Request, 1)
	var once sync.Once
	s.must(ModeRun, exitcode.Stopped, func(o *command) {
		o.Requests = requests
		o.Appended = func(_ journal.Event, s *state.State) {
			if r := s.Current(); r != nil && r.Live() != nil && r.Live().CodonID == "b" && r.Live().Cost() > 0 {
				once.Do(func() {
					requests <- codon.Request{Signal: codon.StopNow, Reason: state.EndStopped, Code: exitcode.Stopped}
				})
			}
		}
	})
	return s, func() { put(t, s.root, "once", "") }
}

// An attempt that continues with an interrupted one is begun from where that one
// was, however often the execution has moved in between.
func TestAResumedCodonIsTriedAgainFromBeforeIt(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for name, moved := range map[string]func(*stage){
		"as it was":       func(*stage) {},
		"over an undo":    func(s *stage) { s.mustRollback("a"); s.mustUndo() },
		"over an edit":    func(s *stage) { put(t, s.workspace(), "mine", "mine\n") },
		"over two resume": func(s *stage) { s.must(ModeResume, exitcode.Stopped, s.stopAt("b", codon.StopNow)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, open := stoppedInB(t)
			base := s.last("b").BaseCheckpoint
			moved(s)
			open()
			s.must(ModeResume, exitcode.Done)
			if c := s.last("b"); c.BaseCheckpoint != base || c.RigSetupCheckpoint != "" {
				t.Errorf("resumed from %.12s, and its rig at %q; want %.12s and none", c.BaseCheckpoint, c.RigSetupCheckpoint, base)
			}
			s.must(ModeRetry, exitcode.Done, func(o *command) { o.Codon = "b" })
			if got := content(t, s.workspace(), "b"); got != "line\ndone\n" {
				t.Errorf("tried again: %q", got)
			}
			s.fsck()
		})
	}
}

// What is spent either stays or is left behind.
func TestARollbackAccountsForAllMoney(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s, open := stoppedInB(t)
	preview := func(to string, kept, left state.USD) {
		t.Helper()
		p, err := history.PreviewRollback(t.Context(), history.RollbackOptions{Execution: s.root, To: to, Undo: to == ""})
		if err != nil {
			t.Fatal(err)
		}
		if total := s.view().State.TotalCost(); p.CostKept != kept || p.CostLeft != left || kept+left != total {
			t.Errorf("to %q: $%s stays and $%s is left, want $%s and $%s of $%s", to, p.CostKept, p.CostLeft, kept, left, total)
		}
	}
	half := state.Dollars(0.5)
	tried := s.last("b").Cost() // before the stop
	if tried != half {
		t.Fatalf("$%s was spent before the stop", tried)
	}
	preview("a", half, tried)
	s.mustRollback("a")
	preview("initial", 0, half+tried)
	preview("", half+tried, 0)
	s.mustUndo()
	open()
	s.must(ModeResume, exitcode.Done)
	preview("b", 2*half+tried, 0)
	preview("a", half, half+tried)
	preview("initial", 0, 2*half+tried)
	s.must(ModeRetry, exitcode.Done, func(o *command) { o.Codon = "b" })
	preview("a", half, 2*half+tried)
}
