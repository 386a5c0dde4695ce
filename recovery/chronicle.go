package recovery

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-json-experiment/json"

	"hank/checkpoint"
	"hank/plan"
	"hank/state"
)

const heads = "refs/heads/"

// chronicle is git as a memory: what the checkpoints of a store tell. It
// writes nothing, so that readers can ask it too.
type chronicle struct {
	store *checkpoint.Store
	rep   *Report
}

// witness is a checkpoint with what its record tells.
type witness struct {
	branch string
	sha    state.SHA
	record Record
}

func (w witness) evidence() (state.Evidence, error) {
	t, err := w.record.transition(w.sha)
	if err != nil {
		return state.Evidence{}, err
	}
	e := state.Evidence{Seq: w.record.Seq, Run: w.record.Run, Program: w.record.Program, Transition: t}
	if w.record.Schema >= state.LimitsSchema {
		e.Limits = &w.record.Limits
	}
	if len(w.record.State) > 0 {
		e.Whole, err = state.Apply(&state.State{}, w.record.Seq, state.Rebased{State: w.record.State})
	}
	return e, err
}

// advice is what git adds to what the other memories know.
type advice struct {
	forward *witness     // a checkpoint whose acknowledgement a crash cut off
	rebuilt *state.State // a history that only git knows; nil: there is none
	evict   []witness    // tips that nobody knows
	lost    []lostTip
	// strays are where branches led to whose references are gone.
	strays map[string]state.SHA
	// behind: the state may be behind the branches, as the journal has lost its
	// end, or may have.
	behind bool
}

// lostTip is a branch whose newest checkpoint cannot be read.
type lostTip struct {
	branch string
	sha    state.SHA
	why    error
}

// advise compares what the other memories know with the branches:
//
//  1. A tip that the state knows says nothing new.
//  2. One unknown tip whose record carries exactly the journal's next number
//     is a checkpoint whose acknowledgement a crash cut off: to be appended.
//  3. Records further than that mean that state and journal have lost their
//     end: the history is rebuilt from the commits. Where the journal is
//     damaged, its next number is not known, and any further record means it.
//  4. Any other unknown tip is none of the history's.
func (g chronicle) advise(m memory) (advice, error) {
	a := advice{behind: m.state == nil || m.rebase != "" || m.shortened()}
	if m.state == nil || g.foreign(m.state) {
		s, err := g.rebuild(&state.State{Lineage: m.lineage}, &a)
		if err == nil && s.Seq > 0 {
			a.rebuilt = s
		}
		return a, err
	}
	unknown, err := g.unknownTips(m.state, &a)
	if err != nil {
		return a, err
	}
	next := m.last + 1
	if m.rebase != "" {
		next = m.state.Seq + 1
	}
	var further []witness
	for _, w := range unknown {
		if head := knownHeads(m.state)[w.branch]; w.record.Lineage == m.state.Lineage && w.record.Seq < next && head != "" && !isWhole(g.store, head) {
			continue // the nearest that is left; see partFromLost
		}
		if w.record.Lineage != m.state.Lineage || w.record.Seq < next {
			a.evict = append(a.evict, w)
		} else {
			further = append(further, w)
		}
	}
	switch {
	case len(further) == 0:
	case len(further) == 1 && further[0].record.Seq == next && m.rebase == "":
		a.forward = &further[0]
	default:
		a.behind = true
		a.rebuilt, err = g.rebuild(m.state, &a)
	}
	return a, err
}

// foreign tells whether a state is of another execution than the store: its
// beginning is not in it, though the store has a history.
func (g chronicle) foreign(s *state.State) bool {
	if s.InitialCheckpoint == "" || g.store.Has(checkpoint.SHA(s.InitialCheckpoint)) {
		return false
	}
	main, err := g.store.Ref(heads + "main")
	if err != nil || main == "" || state.SHA(main) == s.InitialCheckpoint {
		return false
	}
	info, err := g.store.CommitInfo(main)
	if err != nil {
		return false
	}
	record, found, err := readRecord(info)
	return err == nil && found && record.Lineage != s.Lineage
}

// heads returns the branches that belong to the history and where they lead.
func (g chronicle) heads() (found map[string]state.SHA, whole bool, err error) {
	refs, damaged, err := g.store.ReadableRefs(heads)
	if err != nil {
		return nil, false, err
	}
	for _, d := range damaged {
		g.rep.add(Mended, "the reference %s is damaged (%s); %s to where the state, or its own checkpoints, have it", d.Path, d.Why,
			g.rep.will("its branch is put back", "the next command puts its branch back"))
	}
	out := map[string]state.SHA{}
	for ref, sha := range refs {
		out[strings.TrimPrefix(ref, heads)] = state.SHA(sha)
	}
	return out, len(damaged) == 0, nil
}

// strays finds where branches led to whose references are gone, or have fallen
// back: to the newest commit that says that it was made for one. Refs are the
// references that are left.
//
// Where a reference is left, only what is further than its tip counts, by its
// number and in the same lineage: a number that a crash made two commits carry
// was acknowledged where the reference led, and a copy's branches go their own
// way. What another reference leads to was put there because it is not of its
// branch.
func (g chronicle) strays(refs map[string]state.SHA) (map[string]state.SHA, error) {
	newest := map[string]witness{}
	made := map[string]time.Time{}
	tips, kept := map[string]Record{}, map[state.SHA]bool{}
	for branch, sha := range refs {
		if !ofHistory(branch) {
			kept[sha] = true
			continue
		}
		info, err := g.store.CommitInfo(checkpoint.SHA(sha))
		if gone(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if record, found, err := readRecord(info); err != nil {
			return nil, err
		} else if found {
			tips[branch] = record
		}
	}
	err := g.store.EachCommit(func(info checkpoint.Info) error {
		record, found, err := readRecord(info)
		if err != nil || !found {
			return err
		}
		branch := record.branch()
		tip, left := tips[branch]
		if branch == "" || !left && refs[branch] != "" || left && (record.Lineage != tip.Lineage || record.Seq <= tip.Seq || kept[state.SHA(info.SHA)]) {
			return nil
		}
		// Two commits carry one number where a crash came before the reference moved;
		// the one that was made then does not count.
		if n, known := newest[branch]; !known || record.Seq > n.record.Seq || record.Seq == n.record.Seq && info.When.After(made[branch]) {
			newest[branch], made[branch] = witness{branch, state.SHA(info.SHA), record}, info.When
		}
		return nil
	})
	out := map[string]state.SHA{}
	for branch, w := range newest {
		out[branch] = w.sha
	}
	return out, err
}

// knownHeads are the branches as a state has them.
func knownHeads(s *state.State) map[string]state.SHA {
	known := map[string]state.SHA{"main": s.InitialCheckpoint, state.RemovedBranch: s.Removal, ProgramBranch: s.Program}
	for _, r := range s.Runs {
		known[r.GitBranch] = r.Head
	}
	return known
}

// ofHistory tells whether a branch is one whose tip the state knows in every
// moment.
func ofHistory(branch string) bool {
	return branch == "main" || branch == state.RemovedBranch || strings.HasPrefix(branch, "run-")
}

// unknownTips lists the branches whose tips are not where the state has them,
// and notes the tips that cannot be read.
func (g chronicle) unknownTips(s *state.State, a *advice) ([]witness, error) {
	refs, whole, err := g.heads()
	if err != nil {
		return nil, err
	}
	known := knownHeads(s)
	var out []witness
	for branch, sha := range refs {
		if !ofHistory(branch) {
			if !g.store.Has(checkpoint.SHA(sha)) {
				a.lost, whole = append(a.lost, lostTip{branch, sha, plumbing.ErrObjectNotFound}), false
			}
			continue
		}
		info, err := g.store.CommitInfo(checkpoint.SHA(sha))
		if gone(err) {
			a.lost = append(a.lost, lostTip{branch, sha, err})
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("branch %s: %w", branch, err)
		}
		if known[branch] == sha {
			continue
		}
		record, found, err := readRecord(info)
		if err != nil {
			return nil, err
		}
		if _, ours := known[branch]; !found && !ours && s.Adopted {
			continue // of a run that Hankweave's state does not know either
		}
		out = append(out, witness{branch, sha, record})
	}
	for branch, head := range known { // with its reference a newer tip may have been lost
		whole = whole && (head == "" || refs[branch] != "" || s.RemovedAt(branch) != nil)
	}
	if whole && !a.behind {
		return out, nil
	}
	for _, l := range a.lost {
		delete(refs, l.branch)
	}
	a.strays, err = g.strays(refs)
	for branch, sha := range a.strays {
		if !ofHistory(branch) || known[branch] == sha {
			continue
		}
		info, err := g.store.CommitInfo(checkpoint.SHA(sha))
		if err != nil {
			return nil, fmt.Errorf("branch %s: %w", branch, err)
		}
		if record, _, err := readRecord(info); err != nil {
			return nil, err
		} else if record.Lineage == s.Lineage && record.Seq > s.Seq { // else nobody puts it back there
			out = append(out, witness{branch, sha, record})
		}
	}
	return out, err
}

// IsLost tells whether an error means that an object of the store is missing or
// damaged.
func IsLost(err error) bool { return err != nil && gone(err) }

// gone tells whether an error means that an object is missing or damaged, and
// not that the disk cannot be read at the moment.
func gone(err error) bool {
	var damaged *checkpoint.DamagedError
	return errors.Is(err, plumbing.ErrObjectNotFound) || errors.As(err, &damaged) || errors.Is(err, fs.ErrNotExist)
}

// rebuild returns base brought forward by every record of its lineage.
func (g chronicle) rebuild(base *state.State, a *advice) (*state.State, error) {
	records, err := g.witnesses(a)
	if err != nil {
		return nil, err
	}
	ours := ofLineage(records, base.Lineage)
	if base.Lineage == "" && len(ours) > 0 {
		known := *base
		known.Lineage = ours[len(ours)-1].record.Lineage
		base = &known
	}
	var evidence []state.Evidence
	for _, w := range ours {
		e, err := w.evidence()
		if err != nil {
			g.rep.add(Lost, "the record of checkpoint %.12s cannot be read: %v", w.sha, err)
			continue
		}
		evidence = append(evidence, e)
	}
	s := state.Rebuild(base, evidence)
	for _, w := range ours {
		if w.record.Program == s.Program && w.record.HankHash != "" {
			s.HankHash = w.record.HankHash
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
func ofLineage(records []witness, lineage string) []witness {
	first := uint64(math.MaxUint64)
	for _, w := range records {
		if w.record.Lineage == lineage {
			first = min(first, w.record.Seq)
		}
	}
	var ours []witness
	seen := map[uint64]bool{}
	for _, w := range records {
		if (w.record.Lineage == lineage || w.record.Seq < first) && !seen[w.record.Seq] {
			seen[w.record.Seq] = true
			ours = append(ours, w)
		}
	}
	slices.SortFunc(ours, func(a, b witness) int {
		if a.record.Seq < b.record.Seq {
			return -1
		}
		return 1
	})
	return ours
}

// witnesses reads the record of every commit that a branch leads to, or has led
// to before its reference was lost, those of the runs' branches first.
func (g chronicle) witnesses(a *advice) ([]witness, error) {
	refs, _, err := g.heads()
	if err != nil {
		return nil, err
	}
	left := maps.Clone(refs)
	for branch, sha := range refs {
		if g.store.Has(checkpoint.SHA(sha)) {
			continue
		}
		delete(left, branch)
		if !slices.ContainsFunc(a.lost, func(l lostTip) bool { return l.branch == branch }) {
			a.lost = append(a.lost, lostTip{branch, sha, plumbing.ErrObjectNotFound})
		}
	}
	if a.strays, err = g.strays(left); err != nil {
		return nil, err
	}
	maps.Copy(refs, a.strays)
	branches := make([]string, 0, len(refs))
	for branch := range refs {
		branches = append(branches, branch)
	}
	slices.SortFunc(branches, func(a, b string) int {
		if ofHistory(a) != ofHistory(b) {
			if ofHistory(a) {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	seen := map[state.SHA]bool{}
	var out []witness
	for _, branch := range branches {
		found, err := g.along(branch, refs[branch], seen)
		out = append(out, found...)
		var newer *state.NewerError
		switch {
		case errors.As(err, &newer):
			return nil, err
		case gone(err):
			g.rep.add(Lost, "branch %s cannot be read to its beginning: %v", branch, err)
		case err != nil:
			return nil, fmt.Errorf("branch %s: %w", branch, err)
		}
	}
	return out, nil
}

// along reads the records of a branch that were not seen before. What was
// moved to a recovery branch because nobody knew it is no evidence; what lies
// behind it is.
func (g chronicle) along(branch string, tip state.SHA, seen map[state.SHA]bool) ([]witness, error) {
	var out []witness
	err := g.store.Log(checkpoint.SHA(tip), func(info checkpoint.Info) (bool, error) {
		sha := state.SHA(info.SHA)
		if seen[sha] {
			return false, nil
		}
		seen[sha] = true
		record, found, err := readRecord(info)
		evicted := !ofHistory(branch) && sha == tip && !record.isRecovery()
		if found && !evicted {
			out = append(out, witness{branch, sha, record})
		}
		return true, err
	})
	return out, err
}

// replan derives the plan of a rebuilt state from its frozen program.
func (g chronicle) replan(s *state.State) (*state.State, error) {
	if s.Program == "" {
		return s, nil
	}
	program, err := loadProgram(g.store, s.Program)
	if err != nil {
		g.rep.add(Lost, "the frozen program %.12s cannot be read (%v); the plan stays as it is", s.Program, err)
		return s, nil
	}
	entries, err := json.Marshal(stored(program.Derive(Outcomes(s))))
	if err != nil {
		return nil, err
	}
	return s.WithPlan(entries)
}

func stored(entries []plan.Entry) []plan.Entry {
	out := make([]plan.Entry, len(entries))
	for i, e := range entries {
		out[i] = e.Stored()
	}
	return out
}

// Outcomes tells a plan how the codons on the thread ended.
func Outcomes(s *state.State) func(plan.CodonID) (plan.Outcome, bool) {
	outcomes := map[plan.CodonID]plan.Outcome{}
	var open []*state.Codon // in loops, at the limit of all
	for _, step := range s.Thread() {
		c := step.Codon
		if !c.Settled() {
			continue
		}
		outcomes[c.CodonID] = Outcome(c)
		for _, o := range open {
			if leftBehind(s, o, c) {
				was := outcomes[o.CodonID]
				was.BudgetExceeded = true
				outcomes[o.CodonID] = was
			}
		}
		if c.BudgetExceeded != nil && !c.BudgetExceeded.EndsLoop() && c.LoopContext != nil {
			open = append(open, c)
		}
	}
	return func(id plan.CodonID) (plan.Outcome, bool) {
		o, ended := outcomes[id]
		return o, ended
	}
}

// leftBehind reports whether an execution has left the loop of a codon with it, since
// another has settled behind the loop: older versions of hank left a loop at any
// limit. What follows was made without the rest, which would come too late.
func leftBehind(s *state.State, c, later *state.Codon) bool {
	if l := later.LoopContext; l != nil && l.LoopID == c.LoopContext.LoopID {
		return false
	}
	at := s.PlanIndex(later.CodonID)
	return at < 0 || at > s.PlanIndex(c.CodonID)
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
