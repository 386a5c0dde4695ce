package codon

import (
	"fmt"
	"strings"

	"hank/plan"
	"hank/state"
)

// notObserved are the sentinels of the codon. None is run; where no agent works, there is
// nothing that they would observe.
func (a *attempt) notObserved() (names []string) {
	if a.Idle || a.replays() {
		return nil
	}
	for _, s := range a.Entry.Codon.Sentinels {
		names = append(names, s.Name())
	}
	return names
}

type notLoaded struct {
	Message  string       `json:"message"`
	Codon    plan.CodonID `json:"codon"`
	Fatal    bool         `json:"fatal"`
	Severity string       `json:"severity"`
	Code     string       `json:"code"`
}

// tellNotObserved says that sentinels are not run, in the journal and to who follows the run.
func (a *attempt) tellNotObserved(names []string) {
	if len(names) == 0 {
		return
	}
	text := "sentinels are not run by this version: " + strings.Join(names, ", ")
	a.host.Note("error", notLoaded{text, a.Entry.CodonID, false, "warning", "sentinel-not-run"})
	a.host.Say("%s", text)
}

// needsSentinel fails a codon that is not to run without a sentinel.
func (a *attempt) needsSentinel() *state.FailureReason {
	name := a.Entry.Codon.NeedsSentinel()
	if name == "" || len(a.notObserved()) == 0 {
		return nil
	}
	return &state.FailureReason{Type: state.FailSentinelLoad, Class: "sentinel", Rule: "not-run", SentinelRefs: []string{name},
		Message: fmt.Sprintf("it is not to run without sentinel %s (failCodonIfNotLoaded), and this version runs no sentinels", name)}
}
