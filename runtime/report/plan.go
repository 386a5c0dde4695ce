package report

import (
	"hank/plan"
	"hank/recovery"
	"hank/runtime/verdict"
	"hank/state"
)

// Plan is a list of codons in the order in which they run.
type Plan struct {
	Schema    int       `json:"schema"`
	Execution string    `json:"execution,omitempty"`
	Hank      string    `json:"hank,omitempty"`
	Codons    []Planned `json:"codons"`
}

// Planned is an entry of a plan.
type Planned struct {
	Index      int               `json:"index"` // from 1
	CodonID    state.CodonID     `json:"codonId"`
	Name       string            `json:"name"`
	Model      string            `json:"model"`
	Session    plan.Continuation `json:"continuationMode"`
	LoopID     state.CodonID     `json:"loopId,omitempty"`
	Iteration  *int              `json:"iteration,omitempty"` // from 0
	Status     state.CodonStatus `json:"status,omitempty"`    // empty: to come
	Verdict    verdict.Verdict   `json:"verdict,omitempty"`   // the status in a word for people
	Checkpoint state.SHA         `json:"checkpointSha,omitempty"`
	Next       bool              `json:"next,omitzero"`

	But string `json:"-"` // what the verdict leaves unsaid
}

// InitialPlan is the plan with which an execution of a hank would start.
func InitialPlan(path string, program *plan.Program) *Plan {
	p := &Plan{Schema: 1, Hank: path}
	for i, e := range program.Initial() {
		p.Codons = append(p.Codons, plannedOf(i, e))
	}
	return p
}

// PlanOf is the plan of an execution, with what has run; nil if it has none yet.
func PlanOf(v *recovery.View) *Plan {
	entries := v.State.ExecutionPlan()
	if len(entries) == 0 {
		return nil
	}
	p := &Plan{Schema: 1, Execution: v.Layout.Root, Hank: v.Meta.HankPath, Codons: []Planned{}}
	next := v.State.Next()
	newest := map[state.CodonID]state.TimelineEntry{}
	for _, step := range v.State.Timeline() {
		newest[step.Codon.CodonID] = step
	}
	for i, e := range entries {
		entry := plannedOf(i, e.Entry)
		entry.Next = i == next
		if at := newest[e.CodonID]; at.Codon != nil && i <= next {
			entry.Status, entry.Checkpoint = at.Codon.Status, at.Codon.Checkpoint()
			entry.Verdict, entry.But = verdict.OfCodon(at.Codon, verdict.OfRun(v, at.Run)), verdict.Qualification(at.Codon)
		}
		p.Codons = append(p.Codons, entry)
	}
	return p
}

func plannedOf(i int, e plan.Entry) Planned {
	p := Planned{Index: i + 1, CodonID: e.CodonID, Name: e.Codon.Name, Model: e.Codon.Model.String(), Session: e.Codon.ContinuationMode}
	if l := e.LoopContext; l != nil {
		p.LoopID, p.Iteration = l.LoopID, &l.Iteration
	}
	return p
}

// Begun reports whether a codon of the plan has run, or is next in an execution.
func (p *Plan) Begun() bool { return p.Execution != "" }

// Grows reports whether a loop of the plan may still get more iterations.
func (p *Plan) Grows() bool {
	for _, e := range p.Codons {
		if e.LoopID != "" && e.Status == "" {
			return true
		}
	}
	return false
}
