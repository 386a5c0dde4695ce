package runtime

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"hank/internal/short"
	"hank/runtime/codon"
	"hank/runtime/exitcode"
)

// A run shows each of its steps while it is at it, and nothing when it has ended.
func TestARunShowsWhatItDoes(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := stageOf(t, `{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "onFailure": "retry", "retryConfig": {"maxAttempts": 1, "delayMs": 0},
	   "rigSetup": [{"type": "command", "command": {"run": "touch ../in-rig; until [ -e ../rigged ]; do sleep 0.02; done"}}],
	   "promptText": "[ -e ../again ] || { touch ../again; exit 1; }; echo '::hank usage {\"costUSD\":0.5}'; echo reading; until [ -e ../read ]; do sleep 0.02; done"}
	]}`)
	p := &codon.Monitor{}
	s.opts.Monitor = p
	await := func(what string, shows func(codon.Activity) bool) {
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
			if shows(p.Now()) {
				return
			}
		}
		t.Errorf("it is not shown that it is %s: %+v", what, p.Now())
	}
	var watching sync.WaitGroup
	watching.Go(func() {
		await("running the rig", func(a codon.Activity) bool { return a.Codon == "a" && a.Step == "running the rig" })
		put(t, s.root, "rigged", "")
		await("reading", func(a codon.Activity) bool {
			return a.Number == 1 && a.Extent.Codons == 1 && a.Words == "reading" && a.Step == "" && a.Cost == 500_000_000
		})
		put(t, s.root, "read", "")
	})
	s.must(ModeRun, exitcode.Done)
	watching.Wait()
	if now := p.Now(); now != (codon.Activity{}) {
		t.Errorf("the run has ended, and shows %+v", now)
	}
}

// A skip is about one codon: the next one is not shown as skipped.
func TestASkipIsShownForItsCodonAlone(t *testing.T) {
	t.Parallel()
	s := stageOf(t, `{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "until [ -e ../never ]; do sleep 0.02; done"},
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "until [ -e ../seen ]; do sleep 0.02; done"}
	]}`)
	p, requests := &codon.Monitor{}, make(chan codon.Request, 1)
	s.opts.Monitor, s.opts.Requests = p, requests
	var watching sync.WaitGroup
	watching.Go(func() {
		for asked := false; ; time.Sleep(2 * time.Millisecond) {
			switch a := p.Now(); {
			case a.Codon == "a" && a.Step == "the script is running" && !asked:
				asked = true
				requests <- codon.Request{Signal: codon.SkipCodon}
			case a.Codon == "b":
				if a.Stop != "" {
					t.Errorf("codon b is shown with %q", a.Stop)
				}
				put(t, s.root, "seen", "")
				return
			}
		}
	})
	s.must(ModeRun, exitcode.Done)
	watching.Wait()
	if told := s.told("codon.completed"); told[0]["codonId"] != "a" || fmt.Sprint(told[0]["exitStatus"]) != "map[signal:<nil> type:killed]" {
		t.Errorf("a codon that was skipped while it was running is told as %v", told[0])
	}
}
