package state

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// RemovedBranch names the branch whose commits tell what hank gc has removed.
// They carry the whole state and no files, so that what the removed runs did
// and cost is known even where git is the only source left.
const RemovedBranch = "removed"

// Removal is a branch of no run that has gone, on purpose.
type Removal struct {
	Branch  string         `json:"branch"`
	Head    SHA            `json:"head"`
	Time    Time           `json:"time"`
	Unknown jsontext.Value `json:",embed"`
}

// Needed returns the runs whose checkpoints must stay: those on the lineage path, on
// the one that undoing the last move leads back to, those that have not ended,
// the newest, that of the checkpoint at which the execution is, and whatever
// these continue.
func (s *State) Needed() map[RunID]bool {
	places := s.allPlaces()
	var holders []*Run
	for _, p := range places {
		holders = append(holders, s.holder(p.CheckpointSHA))
	}
	return s.needed(places, holders...)
}

func (s *State) needed(places []*Position, runs ...*Run) map[RunID]bool {
	needed := map[RunID]bool{}
	var need func(*Run)
	need = func(r *Run) {
		if r == nil || needed[r.RunID] {
			return
		}
		needed[r.RunID] = true
		if src := r.StartingConditions.Source; src != nil && src.AfterCodon != nil {
			need(s.Run(src.RunID))
		}
	}
	for _, r := range append(runs, s.Newest()) {
		need(r)
	}
	for _, r := range s.Runs {
		if r.Status == StatusRunning {
			need(r)
		}
	}
	for _, p := range places {
		if p.CheckpointSHA != s.InitialCheckpoint { // which main leads to
			need(s.Run(p.RunID))
		}
		need(s.Run(p.EndOf))
	}
	return needed
}

// holder is the run on whose branch a checkpoint is: one that ended with it, or
// whose record has it; else one of which a codon began from it. nil: none, or main.
func (s *State) holder(sha SHA) *Run {
	var led *Run
	for _, r := range s.Runs {
		if sha == "" || sha == s.InitialCheckpoint {
			break
		}
		if r.Head == sha {
			return r
		}
		for i := range r.Len() {
			switch c := r.Codon(i); sha {
			case c.RigSetupCheckpoint, c.Checkpoint():
				return r
			case c.BaseCheckpoint:
				led = r
			}
		}
	}
	return led
}

// allPlaces are places, and where the last move came from, however long ago.
func (s *State) allPlaces() []*Position {
	all := s.places()
	if p := s.Undoable(); p != nil {
		all = append(all, p)
	}
	return all
}

// PositionCheckpoints are the checkpoints at which the state is, or to which a command can
// go back, and the ends of the runs that had ended there.
func (s *State) PositionCheckpoints() []SHA {
	var all []SHA
	add := func(r *Run) {
		if r != nil && r.Head != "" {
			all = append(all, r.Head)
		}
	}
	add(s.RunAtPosition())
	for _, p := range s.allPlaces() {
		all = append(all, p.CheckpointSHA)
		add(s.Run(p.EndOf))
	}
	return all
}

// places are the positions that a command can continue from, or back to.
func (s *State) places() []*Position {
	var all []*Position
	add := func(p *Position) {
		for ; p != nil; p = p.Before {
			all = append(all, p)
		}
	}
	add(s.Position)
	if r := s.Newest(); r != nil {
		add(r.StartingConditions.Source)
	}
	if s.Intent != nil {
		add(s.Intent.Position)
	}
	return all
}

// Undoable is where the execution stood before the last rollback, retry or undo,
// however many runs have begun since; nil: there is none that can be undone.
func (s *State) Undoable() *Position {
	if s.Position != nil {
		return s.Position.Before
	}
	for _, r := range s.Runs { // newest first
		if src := r.StartingConditions.Source; src != nil && src.Before != nil {
			return src.Before
		}
	}
	return nil
}

// NeededCheckpoints returns the commits that the state itself continues from, or
// back to. Those of the runs that are Needed are not among them.
func (s *State) NeededCheckpoints() []SHA { return s.checkpointsOf(s.allPlaces()) }

func (s *State) checkpointsOf(places []*Position) []SHA {
	all := []SHA{s.InitialCheckpoint, s.Base}
	for _, p := range places {
		all = append(all, p.CheckpointSHA)
	}
	if i := s.Intent; i != nil {
		all = append(all, i.Safety, i.To, i.Owned)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return slices.DeleteFunc(all, func(sha SHA) bool { return sha == "" })
}

// RemovedAt tells when a branch was removed; nil: it was not.
func (s *State) RemovedAt(branch string) *Time {
	for _, r := range s.Runs {
		if r.GitBranch == branch {
			return r.Removed
		}
	}
	for i, gone := range s.Removed {
		if gone.Branch == branch {
			return &s.Removed[i].Time
		}
	}
	return nil
}

func (s *State) removeBranches(t BranchesRemoved) error {
	// A journal may have what an older hank has removed, which kept less.
	needed, checkpoints := s.needed(s.places()), s.checkpointsOf(s.places())
	byBranch := map[string]*Run{}
	for _, r := range s.Runs {
		byBranch[r.GitBranch] = r
	}
	for _, b := range t.Branches {
		run := byBranch[b.Branch]
		switch {
		case run != nil && needed[run.RunID]:
			return illegal(t, "run %s is needed", run.RunID)
		case run == nil && !strings.HasPrefix(b.Branch, "recovery/"):
			return illegal(t, "branch %q is always needed", b.Branch)
		case slices.Contains(checkpoints, b.Head):
			return illegal(t, "checkpoint %.12s is needed", b.Head)
		}
	}
	s.Removed = slices.Clone(s.Removed)
	for _, b := range t.Branches {
		if run := byBranch[b.Branch]; run != nil {
			s.replaceRun(run.RunID, func(r *Run) { r.Removed = &t.Time })
			continue
		}
		s.Removed = slices.DeleteFunc(s.Removed, func(r Removal) bool { return r.Branch == b.Branch })
		s.Removed = append(s.Removed, Removal{Branch: b.Branch, Head: b.Head, Time: t.Time})
	}
	s.Removal = t.SHA
	return nil
}
