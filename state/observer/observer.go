// Package observer has what the sentinels of a codon did, as its record holds it.
//
// Sentinels are all of one attempt, and a Sentinel is the account of one. The package runs
// none, and knows no record.
package observer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"hank/plan/loop"
	"hank/state/instant"
	"hank/state/money"
)

// Sentinels is what the observers of a codon did. The list is called loaded
// while the codon lives and executed when its record is final.
type Sentinels struct {
	Loaded    []Sentinel     `json:"loaded,omitzero"`
	Executed  []Sentinel     `json:"executed,omitzero"`
	TotalCost money.USD      `json:"totalCost"`
	Unknown   jsontext.Value `json:",embed"`
}

// Sentinel is the account of one observer.
type Sentinel struct {
	ID             string        `json:"id"`
	Model          string        `json:"model"`
	LoadedAt       instant.Time  `json:"loadedAt"`
	UnloadedAt     *instant.Time `json:"unloadedAt,omitempty"`
	LLMCallCount   int           `json:"llmCallCount"`
	FailedLLMCalls int           `json:"failedLLMCalls"`
	LastLLMCallAt  *instant.Time `json:"lastLlmCallAt,omitempty"`
	TotalTriggers  int           `json:"totalTriggers"`
	TotalCost      money.USD     `json:"totalCost"`
	Status         string        `json:"status"`
	UnloadReason   string        `json:"unloadReason,omitempty"`

	// Additive.
	Tokens          money.Tokens `json:"tokens,omitzero"` // of all calls that were answered
	DroppedTriggers int          `json:"droppedTriggers,omitzero"`
	DroppedEvents   int          `json:"droppedEvents,omitzero"`
	OpenCalls       int          `json:"openCalls,omitzero"`      // not answered: what they cost is in no figure; of one that is active, not yet
	UncountedCalls  int          `json:"uncountedCalls,omitzero"` // answered without a word of what was used: what they cost is in no figure
	Cut             string       `json:"cut,omitempty"`           // what of its work was not done at the end, and why
	Unpriced        bool         `json:"unpriced,omitzero"`       // no price is known for its model: its cost is in no figure
	Decision        *loop.Ballot `json:"decision,omitempty"`      // the last one about the loop, where it is asked

	Unknown jsontext.Value `json:",embed"`
}

// The statuses of a sentinel, and the reasons for which its work can end.
const (
	SentinelActive   = "active"
	SentinelUnloaded = "unloaded"

	UnloadComplete = "codon-complete"
	UnloadFatal    = "fatal-error"
	UnloadFailures = "consecutive-failures"
	UnloadShutdown = "shutdown" // the codon was ended from outside
)

// Execute is what the sentinels did when their codon has ended. One that still was active
// had no end of its own: its runtime was killed, or hank itself failed.
func (s *Sentinels) Execute(at instant.Time) *Sentinels {
	if s == nil {
		return nil
	}
	final := *s
	final.Executed, final.Loaded = slices.Clone(s.Loaded), nil
	for i := range final.Executed {
		if one := &final.Executed[i]; one.Status == SentinelActive {
			one.Status, one.UnloadReason, one.UnloadedAt = SentinelUnloaded, UnloadShutdown, &at
			if one.OpenCalls > 0 && one.Cut == "" {
				one.Cut = "its last call was not answered when hank ended (its cost is in no figure)"
			}
		}
	}
	return &final
}

// All are the sentinels, whether the codon has ended or not.
func (s *Sentinels) All() []Sentinel {
	if s == nil {
		return nil
	}
	return slices.Concat(s.Executed, s.Loaded)
}

// String is what the sentinel did, in words: "spy (MODEL): 4 calls, $0.005".
func (s Sentinel) String() string {
	n := func(n int, noun string) string {
		if n != 1 {
			noun += "s"
		}
		return fmt.Sprintf("%d %s", n, noun)
	}
	text := fmt.Sprintf("%s (%s): %s, %s", s.ID, s.Model, n(s.LLMCallCount, "call"), s.TotalCost.Text())
	if s.FailedLLMCalls > 0 {
		text += fmt.Sprintf(", %d failed", s.FailedLLMCalls)
	}
	if s.UncountedCalls > 0 {
		text += fmt.Sprintf(", %d of unknown cost", s.UncountedCalls)
	}
	if s.DroppedTriggers > 0 {
		text += ", " + n(s.DroppedTriggers, "trigger") + " dropped"
	}
	if s.UnloadReason != "" && s.UnloadReason != UnloadComplete {
		text += "; ended: " + strings.ReplaceAll(s.UnloadReason, "-", " ")
	}
	if s.Cut != "" {
		text += "; " + s.Cut
	}
	return text
}

// Redact returns the sentinels with what models have said as change returns it.
func (s *Sentinels) Redact(change func(string) string) *Sentinels {
	if s == nil {
		return nil
	}
	next := *s
	for _, list := range []*[]Sentinel{&next.Loaded, &next.Executed} {
		*list = slices.Clone(*list)
		for i := range *list {
			one := &(*list)[i]
			if one.Decision != nil {
				next := *one.Decision
				next.Reason = change(next.Reason)
				one.Decision = &next
			}
		}
	}
	return &next
}
