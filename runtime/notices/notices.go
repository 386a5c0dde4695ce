// Package notices makes the events that tell those who follow the journal how a codon, an
// iteration of a loop and the files of a codon came out.
//
// A notice is an event that changes no state: its Type, and its Data as the compatible
// system has it. What cannot be known when it is written is null. All of it can be derived
// from the state and the checkpoints; nothing is ever derived from a notice.
//
// It reads records and checkpoints, and neither writes nor decides anything.
package notices

import (
	"strings"
	"sync"
	"time"

	"hank/plan"
	"hank/plan/loop"
	"hank/runtime/judging"
	"hank/runtime/verdict"
	"hank/state"
)

// Notice is an event that changes no state.
type Notice struct {
	Type string
	Data any
}

// exitStatus is how a codon came out, after its final status and not after the exit status
// of its agent.
type exitStatus struct {
	Type   string `json:"type"` // success, error or killed
	Code   *int   `json:"code,omitempty"`
	Signal any    `json:"signal,omitzero"` // not omitempty, which would leave out null
}

// unknownSignal is that of a process that hank itself has asked to end.
type unknownSignal struct{}

func (unknownSignal) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// exitOf is nil for a codon that was skipped before its agent was started.
func exitOf(c *state.Codon) *exitStatus {
	killed := &exitStatus{Type: "killed", Signal: unknownSignal{}}
	switch {
	case c.Status == state.Completed:
		return &exitStatus{Type: "success"}
	case c.Status == state.Skipped && (c.SkippedDuring == state.Preparing || c.SkippedDuring == state.Starting):
		return nil
	case c.Status == state.Skipped:
		return killed
	}
	if f := c.FailureReason; f != nil {
		if signal, ok := strings.CutPrefix(f.Rule, "signal:"); ok && signal != "" {
			killed.Signal = signal
			return killed
		}
	}
	if c.Interrupted != "" {
		return killed
	}
	code := -1
	if c.ExitCode != nil {
		code = *c.ExitCode
	}
	return &exitStatus{Type: "error", Code: &code}
}

type completed struct {
	CodonID        plan.CodonID          `json:"codonId"`
	Success        bool                  `json:"success"`
	Cost           state.USD             `json:"cost"`
	Duration       int64                 `json:"duration"` // milliseconds
	ExitStatus     *exitStatus           `json:"exitStatus"`
	FailureReason  *state.FailureReason  `json:"failureReason"`
	FailureIgnored bool                  `json:"failureIgnored"`
	BudgetExceeded *state.BudgetExceeded `json:"budgetExceeded,omitempty"`
	Harness        string                `json:"harness,omitempty"` // hank's addition: replay and noop are no real runs
}

type failed struct {
	Message  string       `json:"message"`
	Codon    plan.CodonID `json:"codon,omitempty"`
	Fatal    bool         `json:"fatal"` // the run ends with it
	Severity string       `json:"severity"`
	Code     string       `json:"code,omitempty"`
}

// OfCodon tells of the final record of an attempt. ends: the run ends with it.
func OfCodon(c *state.Codon, took time.Duration, ends bool) []Notice {
	list := []Notice{{"codon.completed", completed{c.CodonID, c.Status == state.Completed, c.Cost(), took.Milliseconds(), exitOf(c), c.FailureReason, c.FailureIgnored, c.BudgetExceeded, c.Harness}}}
	f := c.FailureReason
	if c.Status != state.Failed || f == nil || verdict.OfCodon(c, "") == verdict.Stopped {
		return list
	}
	e := failed{Message: f.Message, Codon: c.CodonID, Fatal: ends, Severity: "codon", Code: f.Class}
	switch {
	case ends:
		e.Severity = "fatal"
	case c.FailureIgnored:
		e.Severity = "warning"
	}
	return append(list, Notice{"error", e})
}

// OfError tells of an error of hank itself that ends a run.
func OfError(err error, code state.EndReason) Notice {
	return Notice{"error", failed{Message: verdict.Sentence(err), Fatal: true, Severity: "fatal", Code: string(code)}}
}

type iteration struct {
	LoopID    plan.CodonID `json:"loopId"`
	Iteration int          `json:"iteration"`
	Duration  int64        `json:"durationMs"` // of work: its attempts, without what is between them
	Cost      state.USD    `json:"costUsd"`
	Tokens    int64        `json:"tokensUsed"`
	Final     bool         `json:"isFinal"`
	Reason    string       `json:"terminationReason,omitempty"`
}

// OfIteration tells of the iteration that a record has ended, the last on the lineage path
// of s. final: the loop is over, and o says why.
func OfIteration(s *state.State, last *state.Codon, final bool, o plan.Outcome, l *plan.Loop) Notice {
	at := last.LoopContext
	e := iteration{LoopID: at.LoopID, Iteration: at.Iteration, Final: final}
	for step := range judging.Pass(s, at.LoopID) {
		c := step.Codon
		if c.LoopContext.Iteration != at.Iteration {
			break
		}
		bill := c.Bill()
		e.Cost += bill.Cost
		e.Tokens += c.TokenCount().Sum()
		if c.EndTime != nil {
			e.Duration += max(0, c.EndTime.Sub(c.StartTime.Time).Milliseconds())
		}
	}
	if final {
		e.Reason = reasonOf(o, l)
	}
	return Notice{"loop.iteration.completed", e}
}

// reasonOf is why a loop is over, in the order in which the plan decides it.
func reasonOf(o plan.Outcome, l *plan.Loop) string {
	switch {
	case o.BudgetExceeded:
		return "budget" // hank's addition
	case l != nil && o.ContextExceeded && l.TerminateOn.WaitsForContext():
		return "context_exceeded"
	case o.Decision == loop.Stop:
		return "verdict" // hank's addition
	}
	return "iteration_limit"
}

// Pending are notices that are put together beside a run, until the run writes them.
type Pending struct {
	mu    sync.Mutex
	ready []Notice
	under sync.WaitGroup
}

// Begin announces an Add.
func (p *Pending) Begin() { p.under.Add(1) }

// Add hands over what was announced.
func (p *Pending) Add(list []Notice) {
	p.mu.Lock()
	p.ready = append(p.ready, list...)
	p.mu.Unlock()
	p.under.Done()
}

// Take returns what is ready; all that was announced if it is to wait for that.
func (p *Pending) Take(wait bool) []Notice {
	if wait {
		p.under.Wait()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.ready
	p.ready = nil
	return list
}
