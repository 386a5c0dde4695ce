package output

import (
	"hank/runtime/report"
	"hank/runtime/report/planview"
	"hank/runtime/verdict"
	"hank/runtime/why"
	"hank/state"
)

// Runs are what hank show prints of runs.
type Runs struct {
	Schema int          `json:"schema"`
	Name   string       `json:"name"`            // of the hank
	Limits state.Limits `json:"limits,omitzero"` // of the execution
	Runs   []Run        `json:"runs"`
	Gates  []Request    `json:"gates,omitempty"` // what persons were asked, oldest first
}

// Run is a run with its attempts.
type Run struct {
	report.Run
	RunStatus state.RunStatus `json:"runStatus"`
	StartedAt state.Time      `json:"startedAt"`
	EndedAt   *state.Time     `json:"endedAt"`
	Codons    []Attempt       `json:"codons"`
}

// RunsOf are runs as they are printed.
func RunsOf(r *report.Runs) *Runs {
	out := &Runs{Schema: r.Schema, Name: r.Name, Limits: r.Limits, Runs: make([]Run, len(r.Runs))}
	for i, run := range r.Runs {
		out.Runs[i] = Run{run, run.Status, run.StartTime, run.EndTime, attemptsOf(run.Attempts())}
	}
	for i := range r.Gates {
		out.Gates = append(out.Gates, *requestOf(&r.Gates[i]))
	}
	return out
}

// Attempts are what hank show prints of a codon.
type Attempts struct {
	Schema        int       `json:"schema"`
	Codons        []Attempt `json:"codons"`
	FinishCommand *string   `json:"finishCommand"`
}

// Attempt is a record with the run that holds it.
type Attempt struct {
	RunID   state.RunID     `json:"runId"`
	Verdict verdict.Verdict `json:"verdict"` // in a word for people
	*Record
}

func attemptsOf(list []report.Attempt) []Attempt {
	out := make([]Attempt, len(list))
	for i, a := range list {
		out[i] = Attempt{a.RunID, a.Verdict, recordOf(a.Codon)}
	}
	return out
}

// AttemptsOf are attempts as they are printed; finish is the command that does the newest
// again, which a budget interrupted.
func AttemptsOf(a *report.Attempts, finish string) *Attempts {
	return &Attempts{a.Schema, attemptsOf(a.Codons), null(finish)}
}

// Loop is what hank show prints of a loop.
type Loop struct {
	*report.Loop
	EndedBy    *string     `json:"endedBy"` // stop, limit, budget, context or left; null: it is not over
	Iterations []Iteration `json:"iterations"`
}

// Iteration is one pass through the codons of a loop.
type Iteration struct {
	report.Iteration
	Verdict verdict.Verdict `json:"verdict"` // of its newest attempt; unfinished: codons of it are to come, and none runs
	Codons  []Attempt       `json:"codons"`  // all attempts, oldest first
}

// LoopOf is a loop as it is printed.
func LoopOf(l *report.Loop) *Loop {
	out := &Loop{Loop: l, EndedBy: null(l.Ended), Iterations: make([]Iteration, len(l.Iterations))}
	for i, it := range l.Iterations {
		out.Iterations[i] = Iteration{it, it.Result, attemptsOf(it.Codons)}
	}
	return out
}

// Explanation is what hank why prints.
type Explanation struct {
	why.Explanation
	Attempts []Explained `json:"attempts"` // newest first
}

// Explained is an attempt, explained.
type Explained struct {
	why.Attempt
	StartedAt         state.Time `json:"startedAt"`
	BaseCheckpointSHA *state.SHA `json:"baseCheckpointSha"`
}

// ExplanationOf is an explanation as it is printed.
func ExplanationOf(e why.Explanation) *Explanation {
	out := &Explanation{e, make([]Explained, len(e.Attempts))}
	for i, a := range e.Attempts {
		out.Attempts[i] = Explained{a, a.Began, null(a.Base)}
	}
	return out
}

// Plan is what hank plan prints.
type Plan struct {
	*planview.Plan
	HankPath    *string        `json:"hankPath"`
	HankGiven   *string        `json:"hankGiven"`
	NextCodonID *state.CodonID `json:"nextCodonId"`
	NextGate    *string        `json:"nextGate"` // that asks, or has asked, before nextCodonId begins; null: none
	Codons      []Planned      `json:"codons"`
}

// Planned is an entry of a plan.
type Planned struct {
	planview.Planned
	CodonStatus *state.CodonStatus `json:"codonStatus"` // null: to come
}

// PlanOf is a plan as it is printed, of a hank at a path, which was given as it says.
func PlanOf(p *planview.Plan, path, given string) *Plan {
	out := &Plan{Plan: p, HankPath: null(path), HankGiven: null(given), NextGate: null(p.NextGate), Codons: make([]Planned, len(p.Codons))}
	for i, e := range p.Codons {
		out.Codons[i] = Planned{e, null(e.Status)}
		if e.Next {
			out.NextCodonID = &p.Codons[i].CodonID
		}
	}
	return out
}
