package githistory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"hank/checkpoint"
	"hank/checkpoint/packdb"
	"hank/plan"
	"hank/plan/loop"
	"hank/recovery/finding"
	"hank/recovery/load"
	"hank/state"
)

// Heads begins the name of every branch as a reference.
const Heads = "refs/heads/"

// Sessions returns the reference that leads to the sessions of a run's agents: see package
// session of the runtime. It is no branch.
func Sessions(run state.RunID) string { return packdb.Sessions + string(run) }

// History is git as a source of the state: what the checkpoints of a store tell. It
// writes nothing, so that readers can ask it too.
type History struct {
	Store *checkpoint.Store
	Rep   *finding.Report
}

// CommitRecord is a checkpoint with what its record tells.
type CommitRecord struct {
	Branch string
	SHA    state.SHA
	Record Record
}

func (w CommitRecord) evidence() (state.Evidence, error) {
	t, err := w.Record.Transition(w.SHA)
	if err != nil {
		return state.Evidence{}, err
	}
	e := state.Evidence{Seq: w.Record.Seq, Run: w.Record.Run, Program: w.Record.Program, Transition: t}
	if w.Record.Schema >= state.LimitsSchema {
		e.Limits = &w.Record.Limits
	}
	if len(w.Record.State) > 0 {
		e.Whole, err = state.Apply(&state.State{}, w.Record.Seq, state.Rebased{State: w.Record.State})
	}
	return e, err
}

// Comparison is what git adds to what the other sources know.
type Comparison struct {
	Forward        *CommitRecord  // a checkpoint whose acknowledgement a crash interrupted
	Rebuilt        *state.State   // a history that only git knows; nil: there is none
	Unacknowledged []CommitRecord // tips that nobody knows
	Lost           []LostTip
	// Unreferenced are where branches led to whose references are gone.
	Unreferenced map[string]state.SHA
	// Behind: the state may be behind the branches, as the journal has lost its
	// end, or may have.
	Behind bool
	// Moved: after the last run that the commits tell of, one was made before a move, or some
	// were removed. Where that led to, no commit says.
	Moved bool
}

// Doubt reports that a rebuilt history may lack a move. Each is after a checkpoint of what was
// there, so that an import, which has all branches, can tell where there was none.
func (a Comparison) Doubt(rep *finding.Report, imported bool) {
	if !imported || a.Moved || len(a.Lost) > 0 {
		rep.Doubt("the checkpoints do not know everything: a rollback or an undo after the last of them is forgotten")
	}
}

// LostTip is a branch whose newest checkpoint cannot be read.
type LostTip struct {
	Branch string
	SHA    state.SHA
	Why    error
}

// ErrLostTip is said of a reference that a repair has moved from what it led to.
var ErrLostTip = errors.New("it led to a checkpoint that cannot be read whole")

// Compare compares what the other sources know with the branches:
//
//  1. A tip that the state knows says nothing new.
//  2. One unknown tip whose record carries exactly the journal's next number
//     is a checkpoint whose acknowledgement a crash interrupted: to be appended.
//  3. Records further than that mean that state and journal have lost their
//     end: the history is rebuilt from the commits. Where the journal is
//     damaged, its next number is not known, and any further record means it.
//  4. Any other unknown tip is none of the history's.
func (g History) Compare(m load.Result) (Comparison, error) {
	a := Comparison{Behind: m.State == nil || m.Rebase != "" || m.Shortened()}
	if m.State == nil || g.foreign(m.State) {
		s, err := g.rebuild(&state.State{Lineage: m.Lineage}, &a)
		if err == nil && s.Seq > 0 {
			a.Rebuilt = s
		}
		return a, err
	}
	unknown, err := g.unknownTips(m.State, &a)
	if err != nil {
		return a, err
	}
	next := m.Last + 1
	if m.Rebase != "" {
		next = m.State.Seq + 1
	}
	var further []CommitRecord
	for _, w := range unknown {
		if head := KnownHeads(m.State)[w.Branch]; w.Record.Lineage == m.State.Lineage && w.Record.Seq < next && head != "" && !IsWhole(g.Store, head) {
			continue // the nearest that is left; see recovery.truncateLostHistory
		}
		if w.Record.Lineage != m.State.Lineage || w.Record.Seq < next {
			a.Unacknowledged = append(a.Unacknowledged, w)
		} else {
			further = append(further, w)
		}
	}
	switch {
	case len(further) == 0:
	case len(further) == 1 && further[0].Record.Seq == next && m.Rebase == "":
		a.Forward = &further[0]
	default:
		a.Behind = true
		a.Rebuilt, err = g.rebuild(m.State, &a)
	}
	return a, err
}

// foreign reports whether a state is of another execution than the store: its
// beginning is not in it, though the store has a history.
func (g History) foreign(s *state.State) bool {
	if s.InitialCheckpoint == "" || g.Store.Has(checkpoint.SHA(s.InitialCheckpoint)) {
		return false
	}
	main, err := g.Store.Ref(Heads + "main")
	if err != nil || main == "" || state.SHA(main) == s.InitialCheckpoint {
		return false
	}
	info, err := g.Store.CommitInfo(main)
	if err != nil {
		return false
	}
	record, found, err := ReadRecord(info)
	return err == nil && found && record.Lineage != s.Lineage
}

// heads returns all branches, also those that OfHistory leaves out, and where they lead.
// whole: each reference can be read.
func (g History) heads() (found map[string]state.SHA, whole bool, err error) {
	refs, damaged, err := g.Store.ReadableRefs(Heads)
	if err != nil {
		return nil, false, err
	}
	out := map[string]state.SHA{}
	for ref, sha := range refs {
		out[strings.TrimPrefix(ref, Heads)] = state.SHA(sha)
	}
	return out, len(damaged) == 0, nil
}

// Unreferenced are where branches led to whose references are gone, as the commits say that
// can be read now.
func (g History) Unreferenced() (map[string]state.SHA, error) {
	refs, _, err := g.heads()
	if err != nil {
		return nil, err
	}
	return g.unreferenced(refs)
}

// unreferenced finds where branches led to whose references are gone, or have fallen
// back: to the newest commit that says that it was made for one. Refs are the
// references that are left.
//
// Where a reference is left, only what is further than its tip counts, by its
// number and in the same lineage: a number that a crash made two commits carry
// was acknowledged where the reference led, and a copy's branches go their own
// way. What another reference leads to was put there because it is not of its
// branch.
func (g History) unreferenced(refs map[string]state.SHA) (map[string]state.SHA, error) {
	newest := map[string]CommitRecord{}
	made := map[string]time.Time{}
	tips, elsewhere := map[string]Record{}, map[state.SHA]bool{}
	for branch, sha := range refs {
		if !OfHistory(branch) {
			elsewhere[sha] = true
			continue
		}
		info, err := g.Store.CommitInfo(checkpoint.SHA(sha))
		if checkpoint.IsMissing(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if record, found, err := ReadRecord(info); err != nil {
			return nil, err
		} else if found {
			tips[branch] = record
		}
	}
	err := g.Store.EachCommit(func(info checkpoint.Info) error {
		record, found, err := ReadRecord(info)
		if err != nil || !found {
			return err
		}
		branch := record.branch()
		switch tip, isLeft := tips[branch]; {
		case branch == "":
			return nil
		case isLeft && (record.Lineage != tip.Lineage || record.Seq <= tip.Seq || elsewhere[state.SHA(info.SHA)]):
			return nil
		case !isLeft && refs[branch] != "": // it leads to what has no record, or is lost
			return nil
		}
		// Two commits carry one number where a crash came before the reference moved;
		// the one that was made then does not count.
		if n, known := newest[branch]; !known || record.Seq > n.Record.Seq || record.Seq == n.Record.Seq && info.When.After(made[branch]) {
			newest[branch], made[branch] = CommitRecord{branch, state.SHA(info.SHA), record}, info.When
		}
		return nil
	})
	out := map[string]state.SHA{}
	for branch, w := range newest {
		out[branch] = w.SHA
	}
	return out, err
}

// Keep lists what must stay in a store whatever its references lead to: where the state
// continues from, and the agents' sessions of the runs that it needs.
func Keep(s *state.State, store *checkpoint.Store) []checkpoint.SHA {
	var keep []checkpoint.SHA
	needed := append(s.NeededCheckpoints(), s.Program)
	for id := range s.Needed() {
		for _, c := range s.Run(id).Codons() {
			needed = append(needed, c.SessionCheckpoint)
		}
	}
	for _, sha := range needed {
		if store.Has(checkpoint.SHA(sha)) {
			keep = append(keep, checkpoint.SHA(sha))
		}
	}
	return keep
}

// KnownHeads are the branches as a state has them.
func KnownHeads(s *state.State) map[string]state.SHA {
	known := map[string]state.SHA{"main": s.InitialCheckpoint, state.RemovedBranch: s.Removal, ProgramBranch: s.Program}
	for _, r := range s.Runs {
		known[r.GitBranch] = r.Head
	}
	return known
}

// OfHistory reports whether a branch is one whose tip the state knows in every
// moment.
func OfHistory(branch string) bool {
	return branch == "main" || branch == state.RemovedBranch || strings.HasPrefix(branch, "run-")
}

// unknownTips lists the branches whose tips are not where the state has them,
// and notes the tips that cannot be read.
func (g History) unknownTips(s *state.State, a *Comparison) ([]CommitRecord, error) {
	refs, complete, err := g.heads() // complete: no branch can have been further than it is
	if err != nil {
		return nil, err
	}
	known := KnownHeads(s)
	var out []CommitRecord
	for branch, sha := range refs {
		if !OfHistory(branch) {
			if !g.Store.Has(checkpoint.SHA(sha)) {
				a.Lost, complete = append(a.Lost, LostTip{branch, sha, checkpoint.ErrMissing}), false
			}
			continue
		}
		info, err := g.Store.CommitInfo(checkpoint.SHA(sha))
		if checkpoint.IsMissing(err) {
			a.Lost = append(a.Lost, LostTip{branch, sha, err})
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("branch %s: %w", branch, err)
		}
		if known[branch] == sha {
			continue
		}
		record, found, err := ReadRecord(info)
		if err != nil {
			return nil, err
		}
		if _, isKnown := known[branch]; !found && !isKnown && s.Adopted {
			continue // of a run that Hankweave's state does not know either
		}
		out = append(out, CommitRecord{branch, sha, record})
	}
	for branch, head := range known { // with its reference a newer tip may have been lost
		complete = complete && (head == "" || refs[branch] != "" || s.RemovedAt(branch) != nil)
	}
	if complete && !a.Behind {
		return out, nil
	}
	for _, l := range a.Lost {
		delete(refs, l.Branch)
	}
	a.Unreferenced, err = g.unreferenced(refs)
	for branch, sha := range a.Unreferenced {
		if !OfHistory(branch) || known[branch] == sha {
			continue
		}
		info, err := g.Store.CommitInfo(checkpoint.SHA(sha))
		if err != nil {
			return nil, fmt.Errorf("branch %s: %w", branch, err)
		}
		if record, _, err := ReadRecord(info); err != nil {
			return nil, err
		} else if record.Lineage == s.Lineage && record.Seq > s.Seq { // else nobody puts it back there
			out = append(out, CommitRecord{branch, sha, record})
		}
	}
	return out, err
}

// rebuild returns base brought forward by every record of its lineage.
func (g History) rebuild(base *state.State, a *Comparison) (*state.State, error) {
	records, err := g.commitRecords(a)
	if err != nil {
		return nil, err
	}
	ours := ofLineage(records, base.Lineage)
	if base.Lineage == "" && len(ours) > 0 {
		known := *base
		known.Lineage = ours[len(ours)-1].Record.Lineage
		base = &known
	}
	var evidence []state.Evidence
	for _, w := range ours {
		a.Moved = w.Record.Run == nil && (a.Moved || w.Record.IsRecovery() || w.Record.branch() == state.RemovedBranch)
		e, err := w.evidence()
		if err != nil {
			g.Rep.Add(finding.Lost, "the record of checkpoint %.12s cannot be read: %v", w.SHA, err)
			continue
		}
		evidence = append(evidence, e)
	}
	s := state.Rebuild(base, evidence)
	for _, w := range ours {
		if w.Record.Program == s.Program && w.Record.HankHash != "" {
			s.HankHash = w.Record.HankHash
		}
	}
	closeUnseen(s)
	return g.replan(s)
}

// closeUnseen gives an end to runs that ended unseen, because another began:
// that of their last record.
func closeUnseen(s *state.State) {
	s.Runs = slices.Clone(s.Runs)
	for i, r := range s.Runs {
		if r.Status != state.StatusCrashed || r.EndTime != nil {
			continue
		}
		run, end := *r, r.StartTime
		if n := run.Len(); n > 0 && run.Codon(n-1).EndTime != nil {
			end = *run.Codon(n - 1).EndTime
		}
		run.EndTime, run.EndDetail = &end, "how it ended is not known any more"
		s.Runs[i] = &run
	}
}

// ofLineage returns the records that lead to a lineage, by their numbers: its
// own, and what came before it in the executions that it is a copy of. Where
// none is of the lineage, nothing has happened since the copy.
//
// A number that a crash made two checkpoints carry counts once: on a run's
// branch, where it was acknowledged, before a recovery branch.
func ofLineage(records []CommitRecord, lineage string) []CommitRecord {
	first := uint64(math.MaxUint64)
	for _, w := range records {
		if w.Record.Lineage == lineage {
			first = min(first, w.Record.Seq)
		}
	}
	var ours []CommitRecord
	seen := map[uint64]bool{}
	for _, w := range records {
		if (w.Record.Lineage == lineage || w.Record.Seq < first) && !seen[w.Record.Seq] {
			seen[w.Record.Seq] = true
			ours = append(ours, w)
		}
	}
	slices.SortFunc(ours, func(a, b CommitRecord) int {
		if a.Record.Seq < b.Record.Seq {
			return -1
		}
		return 1
	})
	return ours
}

// commitRecords reads the record of every commit that a branch leads to, or has led
// to before its reference was lost, those of the runs' branches first.
func (g History) commitRecords(a *Comparison) ([]CommitRecord, error) {
	refs, _, err := g.heads()
	if err != nil {
		return nil, err
	}
	left := maps.Clone(refs)
	for branch, sha := range refs {
		if g.Store.Has(checkpoint.SHA(sha)) {
			continue
		}
		delete(left, branch)
		if !slices.ContainsFunc(a.Lost, func(l LostTip) bool { return l.Branch == branch }) {
			a.Lost = append(a.Lost, LostTip{branch, sha, checkpoint.ErrMissing})
		}
	}
	if a.Unreferenced, err = g.unreferenced(left); err != nil {
		return nil, err
	}
	maps.Copy(refs, a.Unreferenced)
	branches := make([]string, 0, len(refs))
	for branch := range refs {
		branches = append(branches, branch)
	}
	slices.SortFunc(branches, func(a, b string) int {
		if OfHistory(a) != OfHistory(b) {
			if OfHistory(a) {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	seen := map[state.SHA]bool{}
	var out []CommitRecord
	for _, branch := range branches {
		found, err := g.readBranch(branch, refs[branch], seen)
		out = append(out, found...)
		var newer *state.NewerError
		switch {
		case errors.As(err, &newer):
			return nil, err
		case checkpoint.IsMissing(err):
			g.Rep.Add(finding.Lost, "branch %s cannot be read to its beginning: %v", branch, err)
		case err != nil:
			return nil, fmt.Errorf("branch %s: %w", branch, err)
		}
	}
	return out, nil
}

// readBranch reads the records of a branch that were not seen before. What was
// moved to a recovery branch because nobody knew it is no evidence; what comes
// before it is.
func (g History) readBranch(branch string, tip state.SHA, seen map[state.SHA]bool) ([]CommitRecord, error) {
	var out []CommitRecord
	err := g.Store.Log(checkpoint.SHA(tip), func(info checkpoint.Info) (bool, error) {
		sha := state.SHA(info.SHA)
		if seen[sha] {
			return false, nil
		}
		seen[sha] = true
		record, found, err := ReadRecord(info)
		quarantined := !OfHistory(branch) && sha == tip && !record.IsRecovery()
		if found && !quarantined {
			out = append(out, CommitRecord{branch, sha, record})
		}
		return true, err
	})
	return out, err
}

// replan derives the plan of a rebuilt state from its frozen program.
func (g History) replan(s *state.State) (*state.State, error) {
	if s.Program == "" {
		return s, nil
	}
	program, err := ReadProgram(g.Store, s.Program)
	if err != nil {
		g.Rep.Add(finding.Lost, "the frozen program %.12s cannot be read (%v); the plan stays as it is", s.Program, err)
		return s, nil
	}
	return WithPlan(s, program)
}

// WithPlan is a state with the plan that a program gives there.
func WithPlan(s *state.State, p *plan.Program) (*state.State, error) {
	entries, err := json.Marshal(plan.StoredEntries(Derive(p, s)))
	if err != nil {
		return nil, err
	}
	return s.WithPlan(entries)
}

// MayGrow reports whether hank may have ended between the end of a codon and the growth of the plan that
// follows from it: the next run lays the plan out first. It is true of few other states.
func MayGrow(h state.Summary) bool {
	run, entries, at := h.State.Newest(), h.State.ExecutionPlan(), h.Done-1-h.From
	if run == nil || run.Status == state.StatusCompleted || run.Len() == 0 {
		return false
	}
	last := run.Codon(run.Len() - 1)
	switch of := last.LoopContext; {
	case of == nil:
		return false
	case last.FailedAtGate():
		return true
	case at < 0 || at >= len(entries) || entries[at].CodonID != last.CodonID:
		return false
	case at+1 == len(entries) || entries[at+1].LoopContext == nil || entries[at+1].LoopContext.LoopID != of.LoopID:
		return true // the loop has another iteration, or is over
	default:
		return entries[at+1].LoopContext.Iteration == of.Iteration && (last.ContextExceeded || last.BudgetExceeded != nil)
	}
}

// Derive is the plan that a program gives a state: it is laid out as far as the outcomes of
// its codons go. The outcomes of those count that are finished (see state.State.Finished): what
// stands in an adopted program after a codon that is still to run runs again, and a loop that
// has ended there begins again.
func Derive(p *plan.Program, s *state.State) []plan.Entry {
	outcome := Outcomes(p.Hank.Items, s)
	entries := p.Derive(outcome)
	finished := s.FinishedOf(len(entries), func(i int) *plan.Entry { return &entries[i] })
	if !slices.ContainsFunc(entries[len(finished):], func(e plan.Entry) bool { _, ended := outcome(e.CodonID); return ended }) {
		return entries
	}
	counts := map[plan.CodonID]bool{}
	for _, c := range finished {
		counts[c.CodonID] = true
	}
	return p.Derive(func(id plan.CodonID) (plan.Outcome, bool) {
		if !counts[id] {
			return plan.Outcome{}, false
		}
		return outcome(id)
	})
}

// Outcomes tells a plan how the codons of a program on the lineage path ended. A codon that the
// program does not have any more has ended no loop by coming after it. In a loop, what it has
// decided about the loop is told of the codon before it.
func Outcomes(program []plan.Item, s *state.State) func(plan.CodonID) (plan.Outcome, bool) {
	outcomes := map[plan.CodonID]plan.Outcome{}
	has := codonsOf(program)
	var open []*state.Codon // in loops, at the limit of all
	var before *state.Codon // the last settled one
	for _, step := range s.LineagePath() {
		c, there := step.Codon, has[placeOf(step.Codon)]
		over := c.FailedAtGate() && outcomes[c.CodonID].BudgetExceeded // its work has ended its loop
		if c.FailedAtGate() {
			delete(outcomes, c.CodonID)
		}
		if before != nil {
			was, known := outcomes[before.CodonID]
			if d := followed(before, c); known && (there || d != loop.Stop) {
				was.Decision = cmp.Or(was.Decision, d)
				outcomes[before.CodonID] = was
			}
		}
		if !c.Settled() {
			continue
		}
		ended := Judged(step.Run, c)
		ended.BudgetExceeded = ended.BudgetExceeded || over
		open = slices.DeleteFunc(open, func(o *state.Codon) bool { // its loop was not left, but continued
			return c.LoopContext != nil && c.LoopContext.LoopID == o.LoopContext.LoopID
		})
		limit := c.BudgetExceeded != nil && !c.BudgetExceeded.EndsLoop() && c.LoopContext != nil
		if !there {
			if before == nil || before.LoopContext == nil || c.LoopContext == nil || before.LoopContext.LoopID != c.LoopContext.LoopID {
				continue
			}
			was, known := outcomes[before.CodonID]
			if !known { // it has failed at its gate
				continue
			}
			was.BudgetExceeded, was.ContextExceeded = was.BudgetExceeded || ended.BudgetExceeded, was.ContextExceeded || ended.ContextExceeded
			if ended.Decision != "" && before.LoopContext.Iteration == c.LoopContext.Iteration {
				was.Decision, was.Tree, was.ChangedLines = ended.Decision, ended.Tree, ended.ChangedLines
			}
			c, ended = before, was
		}
		before = c
		outcomes[c.CodonID] = ended
		for _, o := range open {
			if leftBehind(s, o, c) {
				was := outcomes[o.CodonID]
				was.BudgetExceeded = true
				outcomes[o.CodonID] = was
			}
		}
		if limit {
			open = append(open, c)
		}
	}
	return func(id plan.CodonID) (plan.Outcome, bool) {
		o, ended := outcomes[id]
		return o, ended
	}
}

// place is where a codon is in a program; in a loop by its id there.
type place struct{ loop, codon plan.CodonID }

func placeOf(c *state.Codon) place {
	if c.LoopContext == nil {
		return place{codon: c.CodonID}
	}
	id, _, _ := strings.Cut(string(c.CodonID), "#")
	return place{c.LoopContext.LoopID, plan.CodonID(id)}
}

func codonsOf(program []plan.Item) map[place]bool {
	has := map[place]bool{}
	for _, item := range program {
		if item.Loop == nil {
			has[place{codon: item.Codon.ID}] = true
			continue
		}
		for _, c := range item.Loop.Codons {
			has[place{item.Loop.ID, c.ID}] = true
		}
	}
	return has
}

// leftBehind reports whether an execution has left the loop of a codon with it, since
// another has settled after the loop: older versions of hank left a loop at any
// limit. What follows was made without the rest, which would come too late.
func leftBehind(s *state.State, c, later *state.Codon) bool {
	at := s.PlanIndex(later.CodonID)
	return at < 0 || at > s.PlanIndex(c.CodonID)
}

// followed is the verdict on the iteration that a record ended, where none is recorded
// any more, or none was needed then: what came next tells it.
func followed(c, next *state.Codon) loop.Decision {
	switch at := next.LoopContext; {
	case c.LoopContext == nil || next.CodonID == c.CodonID:
		return ""
	case at == nil || at.LoopID != c.LoopContext.LoopID:
		return loop.Stop
	case at.Iteration > c.LoopContext.Iteration:
		return loop.Continue
	}
	return ""
}

// Judged is a record of a run as a plan sees it, with the verdict on the iteration that
// it has ended.
func Judged(r *state.Run, c *state.Codon) plan.Outcome {
	o := Outcome(c)
	if j := r.Judgement(c); j != nil {
		o.Decision, o.Tree = j.Decision, string(j.Tree)
		if j.Changed != nil {
			o.ChangedLines = j.Changed.Lines
		}
	}
	return o
}

// Outcome is a record as a plan sees it.
func Outcome(c *state.Codon) plan.Outcome {
	return plan.Outcome{
		Status:          plan.Status(c.Status),
		FailureIgnored:  c.FailureIgnored,
		ContextExceeded: c.ContextExceeded,
		BudgetExceeded:  c.BudgetExceeded.EndsLoop(),
	}
}

// IsWhole reports whether a checkpoint and all that is in it can be read.
func IsWhole(store *checkpoint.Store, sha state.SHA) bool {
	whole, err := store.IsComplete(context.Background(), checkpoint.SHA(sha))
	return err == nil && whole
}
