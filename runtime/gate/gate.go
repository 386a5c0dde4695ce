package gate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"hank/plan"
	"hank/state"
)

// Standing is a gate that the execution has come to.
type Standing struct {
	Name   string       // of the gate; of a codon in a loop with the iteration: plan-ok#1
	Gate   *plan.Gate   // as the plan has it
	Codon  plan.Entry   // whose codon fails where the answer is no
	Loop   plan.CodonID // the loop that has the gate; empty: the codon has it
	Judged state.SHA    // the checkpoint that is judged
	// Request is the newest one that counts; nil: nobody was asked yet.
	Request *state.Gate
}

// Passed reports whether the answer was yes.
func (g Standing) Passed() bool {
	return g.Request != nil && g.Request.Status == state.GateApproved
}

// Waiting reports whether somebody was asked who has not answered.
func (g Standing) Waiting() bool {
	return g.Request != nil && g.Request.Status == state.GatePending
}

// Expired reports whether nobody has answered in time.
func (g Standing) Expired(now time.Time) bool {
	return g.Waiting() && g.Request.Expires != nil && !now.Before(g.Request.Expires.Time)
}

// Refused reports whether the answer was no, or none came in time.
func (g Standing) Refused(now time.Time) bool {
	return g.Request != nil && !g.Passed() && (!g.Waiting() || g.Expired(now))
}

// Why says what came of a request that was refused.
func (g Standing) Why(now time.Time) string {
	if r := *g.Request; g.Expired(now) {
		r.Status = state.GateExpired
		return Sentence(&r)
	}
	return Sentence(g.Request)
}

// At is the gate that an execution stands at: the first between the codon that has
// ended and the next one that was not passed; nil if there is none. While a codon
// runs there is none.
func At(s *state.State) *Standing {
	if run := s.Current(); run != nil && run.Live() != nil {
		return nil
	}
	next := s.Next()
	for _, list := range [][]Standing{Behind(s, next), Ahead(s, next)} {
		for _, g := range list {
			if !g.Passed() {
				return &g
			}
		}
	}
	return nil
}

// OfEnded is the gate of its own at which the codon that has ended last stands, which asks whether
// or not its loop continues; nil: it has none, or it was answered.
func OfEnded(s *state.State) *Standing {
	for _, g := range Behind(s, s.Next()) {
		if g.Loop == "" && (g.Request == nil || g.Waiting()) {
			return &g
		}
	}
	return nil
}

// Ask is what comes before the next codon begins: the name of the gate that asks, or has asked,
// empty if there is none; or refused, where the answer was no or has not come in time, and it depends
// on the codon's onFailure which codon is next.
func Ask(s *state.State, now time.Time) (name string, refused bool) {
	switch g := At(s); {
	case g == nil:
		return "", false
	case g.Refused(now):
		return "", true
	default:
		return g.Name, false
	}
}

// MayCome reports whether an execution may stand at a gate, as far as its summary tells.
func MayCome(h state.Summary) bool {
	entries, next := h.State.ExecutionPlan(), h.Done-h.From
	return slices.ContainsFunc(entries[min(len(entries), max(0, next-1)):min(len(entries), next+1)], func(e *state.PlanEntry) bool {
		return e.Codon.Gate != nil || loopGate(e.Entry) != nil
	})
}

// Behind are the gates after the codon that has ended before the entry of the plan at
// an index, passed or not: its own, and that of its loop where the loop is over. A
// codon that was skipped has none of its own, nor has one that the gate has failed already.
func Behind(s *state.State, next int) (list []Standing) {
	entries := s.ExecutionPlan()
	if next <= 0 || next > len(entries) {
		return nil
	}
	e := entries[next-1].Entry
	own, ofLoop := e.Codon.Gate, loopGate(e)
	if own != nil && own.When != plan.After {
		own = nil
	}
	if ofLoop != nil && (ofLoop.When != plan.After || next < len(entries) && sameLoop(e, entries[next].Entry)) {
		ofLoop = nil
	}
	if own == nil && ofLoop == nil { // to find records takes as long as the lineage path is
		return nil
	}
	finished := s.Finished()
	if next > len(finished) {
		return nil
	}
	record := finished[next-1]
	if record.Status == state.Skipped { // which leaves nothing to ask about but the loop
		own = nil
	}
	judged := workOf(s, e.CodonID)
	if own != nil && !record.FailedAtGate() {
		list = append(list, standing(s, own, name(own, e), e, "", judged))
	}
	if ofLoop != nil && !(record.FailedAtGate() && record.FailureReason.Rule == ofLoop.ID) {
		list = append(list, standing(s, ofLoop, ofLoop.ID, e, e.LoopContext.LoopID, judged))
	}
	return list
}

// Ahead are the gates before the entry of the plan at an index, which is the next one,
// passed or not: that of the loop that begins with it, and its own.
func Ahead(s *state.State, next int) (list []Standing) {
	entries := s.ExecutionPlan()
	if next < 0 || next >= len(entries) {
		return nil
	}
	e := entries[next].Entry
	own, ofLoop := e.Codon.Gate, loopGate(e)
	if own != nil && own.When != plan.Before {
		own = nil
	}
	if ofLoop != nil && (ofLoop.When != plan.Before || e.LoopContext.Iteration > 0 || e.LoopContext.CodonIndexInLoop > 0) {
		ofLoop = nil
	}
	if own == nil && ofLoop == nil {
		return nil
	}
	judged := s.InitialCheckpoint
	if last := s.LastSettled(); last != nil {
		judged = workOf(s, last.Codon.CodonID)
	}
	if ofLoop != nil {
		list = append(list, standing(s, ofLoop, ofLoop.ID, e, e.LoopContext.LoopID, judged))
	}
	if own != nil {
		list = append(list, standing(s, own, name(own, e), e, "", judged))
	}
	return list
}

func loopGate(e plan.Entry) *plan.Gate {
	if e.LoopContext == nil {
		return nil
	}
	return e.LoopContext.LoopGate
}

func sameLoop(a, b plan.Entry) bool {
	return a.LoopContext != nil && b.LoopContext != nil && a.LoopContext.LoopID == b.LoopContext.LoopID
}

// name is what a codon's gate is called: in a loop each iteration has its own.
func name(g *plan.Gate, e plan.Entry) string {
	if e.LoopContext == nil {
		return g.ID
	}
	return string(plan.IterationID(plan.CodonID(g.ID), e.LoopContext.Iteration))
}

// workOf is the checkpoint of the newest work of a codon on the lineage path. A record that
// says that the codon has failed at its gate has none.
func workOf(s *state.State, id state.CodonID) (sha state.SHA) {
	for _, step := range s.LineagePath() {
		if c := step.Codon; c.CodonID == id && c.Settled() {
			sha = cmp.Or(c.Checkpoint(), sha)
		}
	}
	return cmp.Or(sha, s.Base)
}

func standing(s *state.State, g *plan.Gate, name string, e plan.Entry, loop plan.CodonID, judged state.SHA) Standing {
	st := Standing{Name: name, Gate: g, Codon: e, Loop: loop, Judged: judged}
	for i := range s.Gates {
		r := &s.Gates[i]
		if r.Status == state.GatePending && failedAt(s, g) && !led(s, r.RunID) {
			continue // this one was asked elsewhere
		}
		if r.Status == state.GatePending && r.Asked.ExpiresAfter != g.ExpiresAfter {
			continue // it is asked again, and expires as the hank that was adopted since says
		}
		of := r.CodonID == e.CodonID || loop != "" // that of a loop stays, whichever codon is its first
		if of && r.Gate == name && r.LoopID == loop && r.Checkpoint == judged && r.Lineage == s.Lineage && r.Asked.Asks(g) {
			st.Request = r
		}
	}
	if st.Request != nil && st.Request.Closed {
		st.Request = nil
	}
	return st
}

// failedAt reports whether the last codon has failed at a gate.
func failedAt(s *state.State, g *plan.Gate) bool {
	for step := range s.Backward() {
		return step.Codon.FailedAtGate() && step.Codon.FailureReason.Rule == g.ID
	}
	return false
}

// led reports whether a run is on the lineage path.
func led(s *state.State, id state.RunID) bool {
	for run := s.RunAtPosition(); run != nil; run = s.Run(run.StartingConditions.Source.RunID) {
		if run.RunID == id {
			return true
		}
		if run.StartingConditions.Source == nil {
			break
		}
	}
	return false
}

// request is the request that asks at a gate.
func (g Standing) request(s *state.State, run state.RunID, now state.Time) state.Gate {
	r := state.Gate{Number: s.NextGate(), Gate: g.Name, CodonID: g.Codon.CodonID, LoopID: g.Loop, Asked: g.Gate,
		Checkpoint: g.Judged, Lineage: s.Lineage, RunID: run, Time: now, Status: state.GatePending}
	if wait := g.Gate.Expiry(); wait > 0 {
		at := state.At(now.Add(wait))
		r.Expires = &at
	}
	return r
}

// Ask is the transition that asks at a gate.
func (g Standing) Ask(s *state.State, run state.RunID, now state.Time) state.GateRequested {
	return state.GateRequested{Request: g.request(s, run, now)}
}

// Fail are the transitions with which the codon of a gate fails, for an answer of no or
// for none in time. They belong into one call: no crash comes between them. base is the
// checkpoint that the codon starts from, empty after a codon: the one that it has started
// from. attempt is the number of its next one in the run.
func (g Standing) Fail(s *state.State, run state.RunID, now state.Time, base state.SHA, attempt int) []state.Transition {
	r := *g.Request
	var all []state.Transition
	if r.Status == state.GatePending {
		r.Status, r.Answer = state.GateExpired, &state.GateAnswer{Time: now}
		all = append(all, state.GateAnswered{Number: r.Number, Status: r.Status, Answer: *r.Answer})
	}
	record := &state.Codon{CodonID: g.Codon.CodonID, StartTime: now, Status: state.Preparing, LoopContext: g.Codon.LoopContext,
		Attempt: attempt, Model: g.Codon.Codon.Model.String(), BaseCheckpoint: base}
	if g.Gate.When == plan.After { // it says of an attempt how it has ended after all
		if finished, i := s.Finished(), s.PlanIndex(g.Codon.CodonID); i >= 0 && i < len(finished) {
			judged := finished[i]
			if record.Harness = judged.Harness; base == "" {
				record.BaseCheckpoint, record.ProjectHead = judged.BaseCheckpoint, judged.ProjectHead
			}
			if attempt > 1 { // which this run has made
				record.Attempt = judged.Attempt
			}
		}
	}
	rule := g.Gate.ID
	failed := record.Fail(now, 1, state.FailureReason{Type: state.FailUnknown, Retriable: true, Class: state.GateClass, Rule: rule, Message: Sentence(&r)})
	failed.FailureIgnored = g.Codon.Codon.Failure() == plan.Ignore
	return append(all, state.GateClosed{Number: r.Number},
		state.CodonStarted{RunID: run, Record: record}, state.CodonTransitioned{RunID: run, Record: failed})
}

// Sentence says what came of a request.
func Sentence(r *state.Gate) string {
	switch {
	case r.Status == state.GatePending:
		return fmt.Sprintf("waiting at gate %s", r.Gate)
	case r.Status == state.GateExpired:
		return fmt.Sprintf("gate %s has expired: nobody has answered", r.Gate)
	}
	return string(r.Status) + " at gate " + r.Gate + words(r.Answer)
}

// AnswerSentence says what an answer is, without its gate.
func AnswerSentence(status state.GateStatus, a state.GateAnswer) string {
	return string(status) + words(&a)
}

// words are by whom, and with which words.
func words(a *state.GateAnswer) (text string) {
	if a == nil {
		return ""
	}
	if who := Person(a.By); who != "" {
		text = " by " + who
	}
	if said := strings.TrimSpace(a.Reply); said != "" {
		text += ": " + said
	}
	return text
}

// Person is who has answered, or has held the execution.
func Person(by state.StartedBy) string {
	if by.Host == "" {
		return by.User
	}
	return by.User + "@" + by.Host
}
