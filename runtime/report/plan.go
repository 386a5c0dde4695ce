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

	Extent plan.Extent `json:"-"` // how many codons there will be

	laidOut int
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
	entries := program.Initial()
	p := &Plan{Schema: 1, Hank: path, Extent: program.Extent(len(entries), func(i int) *plan.LoopContext { return entries[i].LoopContext }, 0)}
	for i, e := range entries {
		p.Codons = append(p.Codons, plannedOf(i, e))
	}
	p.laidOut = len(p.Codons)
	return p
}

// PlanOf is the plan of an execution, with what has run; nil if it has none yet.
func PlanOf(v *recovery.View) *Plan {
	entries := v.State.ExecutionPlan()
	if len(entries) == 0 {
		return nil
	}
	p := &Plan{Schema: 1, Execution: v.Layout.Root, Hank: v.Meta.HankPath, Codons: []Planned{}, Extent: v.Extent()}
	next := v.State.Next()
	newest := map[state.CodonID]state.LineageEntry{}
	for _, step := range v.State.LineagePath() {
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
	p.laidOut = len(p.Codons)
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

// More says what the list has not: the iterations that loops add when they begin; empty
// if there are none.
func (p *Plan) More() string {
	if p.laidOut == p.Extent.Codons && !p.Extent.Open {
		return ""
	}
	return "loops are laid out one iteration at a time: " + p.Extent.Text() + " codons in all"
}
