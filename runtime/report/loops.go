package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hank/internal/term"
	"hank/plan"
	"hank/plan/loop"
	"hank/recovery"
	"hank/recovery/githistory"
	"hank/runtime/exitcode"
	"hank/runtime/judging"
	"hank/runtime/verdict"
	"hank/state"
)

// Loop is a loop with the iterations of its newest pass on the lineage path, oldest first.
type Loop struct {
	Schema      int               `json:"schema"`
	LoopID      state.CodonID     `json:"loopId"`
	TerminateOn *plan.TerminateOn `json:"terminateOn,omitempty"` // absent where the hank cannot be read
	Ended       string            `json:"ended,omitempty"`       // why the loop is over: stop, limit, budget, context or left; absent: it is not
	Reason      string            `json:"reason,omitempty"`      // of a verdict that has ended it
	Count       int               `json:"count"`                 // iterations that have begun
	Iterations  []Iteration       `json:"iterations"`
}

// Iteration is one pass through the codons of a loop.
type Iteration struct {
	Iteration int             `json:"iteration"` // from 0
	Result    verdict.Verdict `json:"result"`    // of its newest attempt, in a word for people; unfinished: codons of it are to come, and none runs
	Codons    []Attempt       `json:"codons"`    // all attempts, oldest first
	state.Bill
	Seconds  float64          `json:"seconds"`            // that its attempts took
	Changed  *state.Changed   `json:"changed,omitempty"`  // compared with the iteration before; of the first: with what it began with
	Decision loop.Decision    `json:"decision,omitempty"` // absent: it has no verdict
	Reason   string           `json:"reason,omitempty"`
	Votes    []loop.Vote      `json:"votes,omitempty"`
	JudgedAt *state.Time      `json:"judgedAt,omitempty"`
	SHA      state.SHA        `json:"checkpointSha,omitempty"` // of its last codon that has one
	judged   *state.Judgement // nil: there is none
}

// IsLoop reports whether an ID is that of a loop that is in the plan or has run.
func IsLoop(v *recovery.View, id state.CodonID) bool {
	if id == "" || knows(v.State, id) {
		return false
	}
	if slices.ContainsFunc(v.State.ExecutionPlan(), func(e *state.PlanEntry) bool { return inLoop(e.LoopContext, id) }) {
		return true
	}
	for step := range v.State.Backward() {
		if inLoop(step.Codon.LoopContext, id) {
			return true
		}
	}
	return false
}

func inLoop(at *plan.LoopContext, id state.CodonID) bool { return at != nil && at.LoopID == id }

// ReadLoop reads the iterations of a loop, the last of them, at most limit, or all if that
// is 0.
func ReadLoop(v *recovery.View, id state.CodonID, limit int) (*Loop, error) {
	if !IsLoop(v, id) {
		return nil, &exitcode.UsageError{Why: fmt.Sprintf("no loop %q; see: `hank plan`", id)}
	}
	out := &Loop{Schema: 1, LoopID: id, Iterations: []Iteration{}}
	pass := slices.Collect(judging.Pass(v.State, id))
	for _, step := range slices.Backward(pass) {
		at := step.Codon.LoopContext
		if n := len(out.Iterations); n == 0 || out.Iterations[n-1].Iteration != at.Iteration {
			out.Iterations = append(out.Iterations, Iteration{Iteration: at.Iteration})
		}
		out.Iterations[len(out.Iterations)-1].add(v, step)
	}
	out.Count = len(out.Iterations)
	if err := out.compare(v); err != nil {
		return nil, err
	}
	out.end(v)
	if limit > 0 && len(out.Iterations) > limit {
		out.Iterations = out.Iterations[len(out.Iterations)-limit:]
	}
	return out, nil
}

// add takes in an attempt.
func (i *Iteration) add(v *recovery.View, step state.LineageEntry) {
	k := step.Codon
	a := Attempt{RunID: step.Run.RunID, Verdict: verdict.OfCodon(k, verdict.OfRun(v, step.Run)), Codon: k}
	i.Codons, i.Result = append(i.Codons, a), a.Verdict
	i.Bill = i.Bill.Plus(k.Bill())
	if took, over := a.Took(); over {
		i.Seconds += took.Seconds()
	} else if k == step.Run.Live() {
		i.Seconds += Unended(v, step.Run).Seconds()
	}
	if sha := k.Checkpoint(); sha != "" {
		i.SHA = sha
	}
	if !k.Settled() {
		return
	}
	if j := step.Run.Judgement(k); j != nil {
		i.judged, i.Decision, i.Reason, i.Votes, i.Changed, i.JudgedAt = j, j.Decision, j.Reason, j.Votes, j.Changed, &j.Time
	}
}

// compare counts what has changed in iterations that have no verdict to say so. Without
// the checkpoints, as while a runtime has them, nothing is counted.
func (l *Loop) compare(v *recovery.View) error {
	if !slices.ContainsFunc(l.Iterations, func(i Iteration) bool { return i.Changed == nil }) {
		return nil
	}
	store, err := v.Store()
	if err != nil {
		return nil
	}
	defer store.Close()
	for n := range l.Iterations {
		i := &l.Iterations[n]
		from := i.Codons[0].BaseCheckpoint
		if n > 0 {
			from = l.Iterations[n-1].SHA
		}
		if i.Changed != nil || i.SHA == "" || from == "" {
			continue
		}
		if _, d, err := judging.Difference(v.State, store, from, i.SHA, nil, plan.ProgressFile(l.LoopID)); err == nil {
			i.Changed = &state.Changed{Files: d.Files, Lines: d.Lines}
		}
	}
	return nil
}

// end finds out whether the loop is over, and why.
func (l *Loop) end(v *recovery.View) {
	if store, err := v.Store(); err == nil {
		if program, err := githistory.LoadProgram(store, v.State.Program); err == nil && program.Loop(l.LoopID) != nil {
			rule := program.Loop(l.LoopID).TerminateOn
			l.TerminateOn = &rule
		}
		_ = store.Close()
	}
	n := len(l.Iterations)
	if n == 0 {
		return
	}
	path, last := v.State.LineagePath(), l.Iterations[n-1]
	k := last.Codons[len(last.Codons)-1]
	defer func() {
		if k.Settled() && l.Ended == "" && !l.whole(v, k.Codon) {
			l.Iterations[n-1].Result = verdict.Unfinished
		}
	}()
	switch {
	case !k.Settled():
	case k.BudgetExceeded.EndsLoop():
		l.Ended = "budget"
	case k.ContextExceeded && l.TerminateOn != nil && l.TerminateOn.WaitsForContext():
		l.Ended = "context"
	case last.Decision == loop.Stop:
		l.Ended, l.Reason = "stop", last.Reason
	case l.TerminateOn != nil && l.TerminateOn.Limit > 0 && last.Iteration+1 >= l.TerminateOn.Limit && l.whole(v, k.Codon):
		l.Ended = "limit"
	case !inLoop(path[len(path)-1].Codon.LoopContext, l.LoopID) && v.AwaitsVerdict() != l.LoopID: // something after it has begun
		l.Ended = "left"
	}
}

// whole reports whether a record is that of the last codon of its iteration. Where the hank has the
// codon no more, it is if nothing of the loop is to come.
func (l *Loop) whole(v *recovery.View, c *state.Codon) bool {
	entries := v.State.ExecutionPlan()
	next := v.State.PlanIndex(c.CodonID) + 1
	if next == 0 {
		next = v.State.Next()
	}
	return next == len(entries) || !inLoop(entries[next].LoopContext, l.LoopID) || entries[next].LoopContext.Iteration != c.LoopContext.Iteration
}

// Summary is how the loop is, in a line.
func (l *Loop) Summary() string {
	text := term.Count(l.Count, "iteration")
	if l.TerminateOn != nil && l.TerminateOn.Limit > 0 {
		text += fmt.Sprintf(" of at most %d", l.TerminateOn.Limit)
	}
	switch {
	case l.Ended == "stop":
		text += ", over: " + l.Reason
	case l.Ended == "limit":
		text += ", over: the limit is reached"
	case l.Ended == "budget":
		text += ", over: a budget is used up"
	case l.Ended == "context":
		text += ", over: the context is full"
	case l.Ended == "left":
		text += ", over"
	case l.Count == 0:
		text += ", not begun"
	default:
		text += ", not over"
	}
	return text
}

// Took is how long the attempts of the iteration took.
func (i Iteration) Took() time.Duration { return time.Duration(i.Seconds * float64(time.Second)) }

// ChangedText is what the iteration has changed, in a few words; empty: it is not known.
func (i Iteration) ChangedText() string {
	switch {
	case i.Changed == nil:
		return ""
	case i.Changed.Files == 0:
		return "nothing that counts"
	}
	return term.Count(i.Changed.Lines, "line") + " in " + term.Count(i.Changed.Files, "file")
}

// Decided is the verdict on the iteration; empty: it has none.
func (i Iteration) Decided() string { return string(i.Decision) }

// VotesText is what each voter said.
func (i Iteration) VotesText() string {
	var said []string
	for _, v := range i.Votes {
		said = append(said, v.String())
	}
	return strings.Join(said, "; ")
}
