// Package judging asks the voters about an iteration of a loop that has ended, so that
// plan/loop can decide whether the loop is over.
//
//   - A Case is an iteration with its records and checkpoints, and the verdict on the one
//     before it.
//   - A Pass is what a loop has done since it has begun: an adopted hank can let it run
//     again.
//   - A voter is the trees of the checkpoints, the codon that has written a decision, which
//     its record has, or a command.
//
// It reads checkpoints and runs nothing but the command that it is given. It records
// nothing: the judgement that it returns is for the caller to record, once.
package judging

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"hank/checkpoint"
	"hank/checkpoint/diff"
	"hank/plan"
	"hank/plan/loop"
	"hank/recovery/execution"
	"hank/state"
)

// Case is an iteration that has ended.
type Case struct {
	Store   *checkpoint.Store
	Loop    *plan.Loop
	Tracked bool // checkpoints take files, not only the progress file

	Last   *state.Codon   // the record that has ended the iteration
	Codons []*state.Codon // the settled records of the iteration, newest first
	// Before is the verdict on the iteration before it, and End the newest record of that
	// with a checkpoint; nil if there is none.
	Before *state.Judgement
	End    *state.Codon

	state *state.State // with the plan by which the checkpoints were made

	// Until runs a command in the workspace; its error is one of hank itself, or that it
	// was stopped.
	Until func(context.Context, loop.Rule) (loop.Ballot, error)
}

// Pass yields the records of a loop on the lineage path of s, newest first, without those of
// earlier passes: what the plan has before the loop has ended those, and so has what comes
// later in the loop and ran earlier. What ran after the loop ends no pass: with a new limit
// the loop continues. Complexity: what is taken of it, and the plan up to the loop.
func Pass(s *state.State, id plan.CodonID) iter.Seq[state.LineageEntry] {
	in := func(c *plan.LoopContext) bool { return c != nil && c.LoopID == id }
	entries := s.ExecutionPlan()
	first := slices.IndexFunc(entries, func(e *state.PlanEntry) bool { return in(e.LoopContext) })
	before, codons := entries[:max(0, first)], map[plan.CodonID]int{} // codons of the loop, as the plan has them now
	for i := max(0, first); i < len(entries) && in(entries[i].LoopContext) && entries[i].LoopContext.Iteration == entries[first].LoopContext.Iteration; i++ {
		codons[entries[i].Codon.ID] = i
	}
	earlier := func(a, b *state.Codon) bool { // one that the plan has no more: where it is in the path
		if a.LoopContext.Iteration != b.LoopContext.Iteration {
			return a.LoopContext.Iteration < b.LoopContext.Iteration
		}
		i, planned := codons[idOf(a)]
		j, also := codons[idOf(b)]
		return !planned || !also || i < j
	}
	return func(yield func(state.LineageEntry) bool) {
		var oldest, later *state.Codon // of the pass so far, and right after the record
		for step := range s.Backward() {
			c := step.Codon
			if !in(c.LoopContext) && slices.ContainsFunc(before, func(e *state.PlanEntry) bool { return e.CodonID == c.CodonID }) {
				return
			}
			again := oldest != nil && later == oldest && c.CodonID == oldest.CodonID // another attempt
			later = c
			if !in(c.LoopContext) || oldest != nil && !again && !earlier(c, oldest) {
				continue
			}
			if oldest = c; !yield(step) {
				return
			}
		}
	}
}

// idOf is the id that the codon of a record has in its loop.
func idOf(c *state.Codon) plan.CodonID {
	id, _, _ := strings.Cut(string(c.CodonID), "#")
	return plan.CodonID(id)
}

// Find collects the records of the iteration that a record on the lineage path of s has ended.
// It looks no further back than to the iteration before.
func Find(s *state.State, last *state.Codon) Case {
	c, at := Case{Last: last, state: s}, last.LoopContext
	for step := range Pass(s, at.LoopID) {
		k := step.Codon
		if !k.Settled() {
			continue
		}
		if k.LoopContext.Iteration < at.Iteration-1 {
			break
		}
		if k.LoopContext.Iteration == at.Iteration {
			c.Codons = append(c.Codons, k)
			continue
		}
		if c.End == nil {
			c.Before = step.Run.Judgement(k)
		}
		if c.End = k; k.Checkpoint() != "" { // a failure at a gate has none
			break
		}
	}
	return c
}

// Judge asks every voter once and decides.
func (c Case) Judge(ctx context.Context, now state.Time) (*state.Judgement, error) {
	at := c.Last.LoopContext
	j := &state.Judgement{CodonID: c.Last.CodonID, LoopID: at.LoopID, Iteration: at.Iteration, Attempt: c.Last.Attempt, Time: now}
	members := c.Loop.TerminateOn.Members()
	if tree, d, err := c.difference(c.counted()); err == nil {
		j.Tree, j.Changed = tree, &state.Changed{Files: d.Files, Lines: d.Lines}
	}
	var ballots []loop.Ballot
	for _, r := range members {
		b, err := c.ask(ctx, r)
		if err != nil {
			return nil, err
		}
		ballots = append(ballots, b)
	}
	var before *loop.Verdict
	if c.Before != nil {
		before = &c.Before.Verdict
	}
	j.Verdict = c.Loop.TerminateOn.Decide(at.Iteration, before, ballots)
	return j, nil
}

// ask gets the ballot on a rule.
func (c Case) ask(ctx context.Context, r loop.Rule) (loop.Ballot, error) {
	if r.Type == loop.Command {
		return c.Until(ctx, r)
	}
	if r.Type == loop.Plateau && r.Vote == loop.BySentinel {
		return c.sentinel(r.Sentinel), nil
	}
	if id := r.Asked(string(c.Loop.Codons[len(c.Loop.Codons)-1].ID)); id != "" {
		return c.codon(plan.CodonID(id)), nil
	}
	return c.trees(r), nil
}

// codon is what a codon of the iteration has decided.
func (c Case) codon(id plan.CodonID) loop.Ballot {
	want := plan.IterationID(id, c.Last.LoopContext.Iteration)
	at := slices.IndexFunc(c.Codons, func(k *state.Codon) bool { return k.CodonID == want })
	b := loop.NoDecision()
	switch {
	case at < 0:
		b.Reason = "it did not run"
	case c.Codons[at].Status != state.Completed:
		b.Reason = "it was " + string(c.Codons[at].Status)
		if c.Codons[at].Status == state.Failed {
			b.Reason = "it failed"
		}
	case c.Codons[at].Decision != nil:
		b = *c.Codons[at].Decision
	}
	b.Codon = string(id)
	return b
}

// sentinel is what a sentinel of the iteration has answered last.
func (c Case) sentinel(id string) loop.Ballot {
	for _, k := range c.Codons {
		if k.Sentinels == nil {
			continue
		}
		for _, s := range k.Sentinels.Executed {
			if s.ID == id && s.Decision != nil {
				b := *s.Decision
				b.Codon = id
				return b
			}
		}
	}
	return loop.Ballot{Decision: loop.Continue, Invalid: true, Reason: "the sentinel has given no answer", Codon: id}
}

// trees compares the checkpoint of the iteration with that of the iteration before. What
// was not done says nothing about what is left to gain.
func (c Case) trees(r loop.Rule) loop.Ballot {
	unclear := func(why string) loop.Ballot { return loop.Ballot{Decision: loop.Continue, Invalid: true, Reason: why} }
	for _, k := range c.Codons {
		if k.Status != state.Completed && k.SkipReason == "" {
			return unclear(fmt.Sprintf("%s did not complete", k.CodonID))
		}
	}
	switch {
	case !c.Tracked:
		return unclear("no file is tracked")
	case c.End == nil:
		return loop.Ballot{Decision: loop.Continue, Reason: "there is no iteration before it to compare it with"}
	}
	_, d, err := c.difference(r)
	if err != nil {
		return unclear("its checkpoints cannot be compared: " + err.Error())
	}
	return d.Ballot(r)
}

// counted is the rule whose ignored files are left out of what is shown.
func (c Case) counted() loop.Rule {
	for _, r := range c.Loop.TerminateOn.Members() {
		if r.ByTrees() {
			return r
		}
	}
	return loop.Rule{}
}

// difference is how the checkpoint of the iteration differs from that of the iteration
// before, or of the first one from what the loop began with, without what a rule ignores
// and without the loop's progress file.
func (c Case) difference(r loop.Rule) (tree state.SHA, d loop.Difference, err error) {
	from := state.SHA("")
	if c.End != nil {
		from = c.End.Checkpoint()
	} else if n := len(c.Codons); n > 0 {
		from = c.Codons[n-1].BaseCheckpoint
	}
	return Difference(c.state, c.Store, from, c.Last.Checkpoint(), r.Ignore, plan.ProgressFile(c.Loop.ID))
}

// Difference counts how two checkpoints differ, without the files that patterns give and
// without one more. tree is that of the second.
func Difference(s *state.State, store *checkpoint.Store, from, to state.SHA, ignore []string, progress string) (tree state.SHA, d loop.Difference, err error) {
	after, err := store.CommitInfo(checkpoint.SHA(to))
	if err != nil {
		return "", d, err
	}
	tree = state.SHA(after.Tree)
	changes, err := execution.Compared(s, store, from, to)
	if err != nil {
		return tree, d, err
	}
	ignored := checkpoint.Selection{Patterns: ignore}.Matcher()
	changes = slices.DeleteFunc(changes, func(change diff.Change) bool { return change.Path == progress || ignored(change.Path) })
	stats, err := diff.Stat(store.DB, changes)
	if err != nil {
		return tree, d, err
	}
	d.Files = len(stats)
	for _, s := range stats {
		d.Lines += s.Added + s.Deleted
		if s.Binary || s.Added+s.Deleted == 0 {
			d.Uncounted++
		}
	}
	return tree, d, nil
}
