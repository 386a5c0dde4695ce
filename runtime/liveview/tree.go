package liveview

import (
	"slices"
	"time"

	"hank/plan"
	"hank/runtime/verdict"
	"hank/state"
)

// Tree is the plan of an execution with what has run.
type Tree struct {
	Nodes []*Node
	// Elsewhere is what codons cost that are not in the plan any more. With it the costs of
	// all nodes add up to what the execution has cost.
	Elsewhere state.Bill
}

// Node is a codon, a loop, or an iteration of a loop.
type Node struct {
	Codon     state.CodonID // of a codon; else empty
	Loop      state.CodonID // of a loop, an iteration, and a codon in one
	Iteration int           // from 0, of an iteration and of a codon in one
	Name      string        // of a codon or loop, as the hank names it
	Model     string        // of a codon

	Status  state.CodonStatus // of its newest attempt on the way to where the execution is; empty: to come
	Verdict verdict.Verdict   // the same in a word for people; of a loop or iteration: of its newest codon
	But     string            // what the verdict leaves unsaid
	Why     string            // of a failure: what was recorded of it
	Next    bool              // it comes next, or is in progress

	Attempts   int           // of all runs
	Took       time.Duration // of all attempts that are over
	Since      *time.Time    // when the attempt in progress began
	Bill       state.Bill    // of all attempts
	Checkpoint state.SHA     // of its newest attempt

	Record *state.Codon // its newest attempt on the way to where the execution is; nil: to come
	Run    *state.Run   // that holds it

	Of   string  // of a loop: when it ends
	Has  []*Node // of a loop its iterations, of an iteration its codons
	plan *state.PlanEntry
}

// IsLoop reports whether a node is a loop.
func (n *Node) IsLoop() bool { return n.Codon == "" && n.plan == nil }

// IsIteration reports whether a node is an iteration of a loop.
func (n *Node) IsIteration() bool { return n.Codon == "" && n.plan != nil }

// Elapsed is how long the attempts of a node took; the one in progress until now.
func (n *Node) Elapsed(now time.Time) time.Duration {
	took := n.Took
	if n.Since != nil {
		took += max(0, now.Sub(*n.Since))
	}
	return took
}

// Tree draws up the plan with what has run. Complexity: records and entries of the plan.
func (v *View) Tree() *Tree {
	s := v.State
	t, codons := &Tree{}, map[state.CodonID]*Node{}
	next, undecided := s.Next(), v.Status != nil && v.Status.Awaits != "" // then which codon is next
	newest := map[state.CodonID]state.LineageEntry{}
	for _, step := range s.LineagePath() {
		newest[step.Codon.CodonID] = step
	}
	for i, e := range s.ExecutionPlan() {
		n := &Node{Codon: e.CodonID, Name: e.Codon.Name, Model: e.Codon.Model.String(), Next: i == next && !undecided, plan: e}
		codons[e.CodonID] = n
		if at := newest[e.CodonID]; at.Codon != nil && (i < next || i == next && !at.Codon.Settled()) {
			n.record(v, at)
		}
		t.place(v, n, e)
	}
	for _, r := range s.Runs {
		for i := range r.Len() {
			k := r.Codon(i)
			if n := codons[k.CodonID]; n != nil {
				n.count(k, v.Live)
			} else {
				t.Elsewhere = t.Elsewhere.Plus(k.Bill())
			}
		}
	}
	for _, n := range t.Nodes {
		n.sum()
	}
	return t
}

// place puts a codon where it belongs.
func (t *Tree) place(v *View, n *Node, e *state.PlanEntry) {
	at := e.LoopContext
	if at == nil {
		t.Nodes = append(t.Nodes, n)
		return
	}
	n.Loop, n.Iteration = at.LoopID, at.Iteration
	var loop *Node
	if last := len(t.Nodes) - 1; last >= 0 && t.Nodes[last].IsLoop() && t.Nodes[last].Loop == at.LoopID {
		loop = t.Nodes[last]
	} else {
		loop = v.loop(at)
		t.Nodes = append(t.Nodes, loop)
	}
	if last := len(loop.Has) - 1; last < 0 || loop.Has[last].Iteration != at.Iteration {
		loop.Has = append(loop.Has, &Node{Loop: at.LoopID, Iteration: at.Iteration, plan: e})
	}
	i := loop.Has[len(loop.Has)-1]
	i.Has = append(i.Has, n)
}

// loop is a loop without its iterations.
func (v *View) loop(at *plan.LoopContext) *Node {
	n := &Node{Loop: at.LoopID, Name: string(at.LoopID)}
	if v.Plan == nil {
		return n
	}
	for _, l := range v.Plan.Loops {
		if l.LoopID == at.LoopID {
			n.Of = l.Ends
			if l.Name != "" {
				n.Name = l.Name
			}
		}
	}
	return n
}

// record takes in the newest attempt on the way to where the execution is.
func (n *Node) record(v *View, at state.LineageEntry) {
	n.Record, n.Run = at.Codon, at.Run
	n.Status, n.Checkpoint = at.Codon.Status, at.Codon.Checkpoint()
	n.Verdict, n.But = verdict.OfCodon(at.Codon, v.OfRun(at.Run)), verdict.Qualification(at.Codon)
	if f := at.Codon.FailureReason; f != nil {
		n.Why = verdict.FailureLine(f)
	}
}

// Attempts are the attempts at the codon of a node, of all runs, oldest first: nodes that each
// have the record of one. Complexity: the records of all runs.
func (v *View) Attempts(of *Node) (list []*Node) {
	for _, r := range slices.Backward(v.State.Runs) {
		for i := range r.Len() {
			if k := r.Codon(i); k.CodonID == of.Codon {
				one := *of
				one.Why = ""
				one.record(v, state.LineageEntry{Run: r, Codon: k})
				list = append(list, &one)
			}
		}
	}
	return list
}

// AttemptOf is which of a list of attempts a node has the record of, from 1; 0: none.
func AttemptOf(list []*Node, n *Node) int {
	return 1 + slices.IndexFunc(list, func(one *Node) bool { return one.Record == n.Record })
}

// count takes in an attempt, of any run.
func (n *Node) count(k *state.Codon, live bool) {
	if !k.FailedAtGate() {
		n.Attempts++
	}
	n.Bill = n.Bill.Plus(k.Bill())
	switch {
	case k.EndTime != nil:
		n.Took += k.EndTime.Sub(k.StartTime.Time)
	case live && !k.Status.Terminal():
		at := k.StartTime.Time
		n.Since = &at
	}
}

// sum adds up what is in a loop or iteration.
func (n *Node) sum() {
	for _, in := range n.Has {
		in.sum()
		n.Attempts, n.Took, n.Bill = n.Attempts+in.Attempts, n.Took+in.Took, n.Bill.Plus(in.Bill)
		n.Next = n.Next || in.Next
		if in.Since != nil {
			n.Since = in.Since
		}
		if in.Verdict != "" {
			n.Status, n.Verdict, n.Checkpoint = in.Status, in.Verdict, in.Checkpoint
		}
	}
}

// Row is a node where it is drawn.
type Row struct {
	*Node
	Depth int
	// Folded counts the iterations of a loop that are not drawn.
	Folded int
}

// Rows are the nodes in their order. Of a loop that is not open, the newest iteration that has
// begun is drawn alone, and without a row of its own. open may be nil: none is.
func (t *Tree) Rows(open func(loop state.CodonID) bool) (rows []Row) {
	rows = make([]Row, 0, len(t.Nodes))
	for _, n := range t.Nodes {
		if !n.IsLoop() {
			rows = append(rows, Row{Node: n})
			continue
		}
		if open != nil && open(n.Loop) {
			rows = append(rows, Row{Node: n})
			for _, i := range n.Has {
				rows = append(rows, Row{Node: i, Depth: 1})
				for _, k := range i.Has {
					rows = append(rows, Row{Node: k, Depth: 2})
				}
			}
			continue
		}
		rows = append(rows, Row{Node: n, Folded: len(n.Has) - 1})
		if i := n.newest(); i != nil {
			for _, k := range i.Has {
				rows = append(rows, Row{Node: k, Depth: 1})
			}
		}
	}
	return rows
}

// newest is the newest iteration that has begun, or else the first.
func (n *Node) newest() *Node {
	for i := len(n.Has) - 1; i > 0; i-- {
		if n.Has[i].Verdict != "" || n.Has[i].Next {
			return n.Has[i]
		}
	}
	if len(n.Has) == 0 {
		return nil
	}
	return n.Has[0]
}

// counts is how many codons of the plan have each verdict; those to come have the empty one.
func (t *Tree) counts() map[verdict.Verdict]int {
	out := map[verdict.Verdict]int{}
	var add func(list []*Node)
	add = func(list []*Node) {
		for _, n := range list {
			if n.Codon != "" {
				out[n.Verdict]++
			}
			add(n.Has)
		}
	}
	add(t.Nodes)
	return out
}

// Find is the node of a codon; nil: it is not in the plan.
func (t *Tree) Find(id state.CodonID) *Node {
	var in func(list []*Node) *Node
	in = func(list []*Node) *Node {
		for _, n := range list {
			if n.Codon == id {
				return n
			}
			if found := in(n.Has); found != nil {
				return found
			}
		}
		return nil
	}
	if id == "" {
		return nil
	}
	return in(t.Nodes)
}

// Judged is the checkpoint that the work began with which the gate of a codon asks about: that of
// the attempt; of a gate before its codon all that was done, from the initial one on. Empty: it is
// not known.
func (t *Tree) Judged(id state.CodonID) string {
	if n := t.Find(id); n != nil && n.Record != nil && !n.Record.FailedAtGate() {
		return string(n.Record.BaseCheckpoint)
	}
	return "initial"
}

// Symbol is a verdict as one character, which is always shown with its word; ASCII where plain
// is wanted.
func Symbol(of verdict.Verdict, plain bool) string {
	rich, ascii := "·", "."
	switch of {
	case verdict.Completed:
		rich, ascii = "✓", "+"
	case verdict.Failed, verdict.Refused:
		rich, ascii = "✗", "x"
	case verdict.Crashed, verdict.Interrupted:
		rich, ascii = "‼", "!"
	case verdict.Stopped, verdict.Budget, verdict.Held, verdict.Paused, verdict.RolledBack:
		rich, ascii = "■", "="
	case verdict.Waiting, verdict.Blocked:
		rich, ascii = "?", "?"
	case verdict.Unavailable:
		rich, ascii = "…", "~"
	case verdict.Skipped:
		rich, ascii = "»", ">"
	case verdict.NotBegun, "":
	default: // in progress
		rich, ascii = "▶", "*"
	}
	if plain {
		return ascii
	}
	return rich
}
