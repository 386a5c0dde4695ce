package execution

import (
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	"hank/checkpoint"
	"hank/checkpoint/diff"
	"hank/plan"
	"hank/recovery/githistory"
	"hank/state"
)

// Tracked is what the checkpoint of a codon takes: the union of the patterns
// of the plan up to it. A codon that says nothing tracks everything. Before that of an
// iteration that the plan does not have yet, each codon of its loop has run.
func Tracked(s *state.State, upto state.CodonID) checkpoint.Selection {
	var t Tracking
	entries := s.ExecutionPlan()
	if s.PlanIndex(upto) < 0 {
		upto = lastOfLoop(entries, upto)
	}
	for _, e := range entries {
		t.Track(e.Entry, s.Adopted)
		if t.All || e.CodonID == upto {
			break
		}
	}
	return t.Selection
}

// isPlanned reports whether a plan has a codon, or will have it when its loop continues.
func isPlanned(s *state.State, id state.CodonID) bool {
	return s.PlanIndex(id) >= 0 || lastOfLoop(s.ExecutionPlan(), id) != ""
}

// lastOfLoop is the last codon of a plan that is of the loop of which another codon is an
// iteration; empty: the plan has none.
func lastOfLoop(entries []*state.PlanEntry, of state.CodonID) (last state.CodonID) {
	id, _, iterates := strings.Cut(string(of), "#")
	var loop plan.CodonID
	for _, e := range entries {
		switch at := e.LoopContext; {
		case at == nil || !iterates:
		case at.LoopID == loop:
			last = e.CodonID
		case string(e.Codon.ID) == id:
			loop, last = at.LoopID, e.CodonID
		}
	}
	return last
}

// Tracking adds up what the codons of a plan track, one after the other. Its patterns are
// only appended to.
type Tracking struct {
	checkpoint.Selection
	has map[string]bool // the patterns
}

// Track adds what one more codon tracks. One that says nothing tracks
// everything, but in an execution that Hankweave began nothing, as there. The progress
// file of a loop is always tracked.
func (t *Tracking) Track(e plan.Entry, adopted bool) {
	c := e.Codon
	if c.CheckpointedFiles == nil && !adopted {
		t.All = true
	}
	patterns := c.CheckpointedFiles
	if at := e.LoopContext; at != nil && at.ProgressFile != "" && !t.All {
		patterns = append(slices.Clone(patterns), at.ProgressFile)
	}
	if t.has == nil {
		t.has = map[string]bool{}
	}
	for _, p := range patterns {
		if !t.has[p] {
			t.has[p], t.Patterns = true, append(t.Patterns, p)
		}
	}
}

// Covers reports whether a selection takes all that another one does. It may
// say no too often.
func Covers(a, b checkpoint.Selection) bool {
	if a.All {
		return !slices.ContainsFunc(a.Patterns, func(p string) bool { return strings.HasPrefix(p, "!") && !slices.Contains(b.Patterns, p) })
	}
	return !b.All && !slices.ContainsFunc(b.Patterns, func(p string) bool { return !strings.HasPrefix(p, "!") && !slices.Contains(a.Patterns, p) })
}

func union(a, b checkpoint.Selection) checkpoint.Selection {
	return checkpoint.Selection{All: a.All || b.All, Patterns: append(slices.Clone(a.Patterns), b.Patterns...)}
}

// Taken is what the checkpoint of a commit was asked to take.
func Taken(s *state.State, store *checkpoint.Store, sha state.SHA) checkpoint.Selection {
	info, err := store.CommitInfo(checkpoint.SHA(sha))
	if err != nil {
		return checkpoint.Selection{All: true}
	}
	s = underProgramOf(s, store, info)
	title, body, _ := strings.Cut(info.Message, "\n")
	kind, rest, _ := strings.Cut(title, ":")
	codon, _, _ := strings.Cut(rest, " ")
	for line := range strings.Lines(body) { // an id of Hankweave's may have spaces
		if id, ok := strings.CutPrefix(line, "Codon: "); ok {
			codon = strings.TrimSpace(id)
			break
		}
	}
	switch state.CheckpointKind(kind) {
	case state.KindRigSetup, state.KindCompleted, state.KindError, state.KindSkipped, state.KindArchive, state.KindTracked:
		return Tracked(s, state.CodonID(codon))
	case state.KindExit, state.KindManual: // these look ahead to the next codon
		return Tracked(s, nextAt(s, sha))
	}
	return checkpoint.Selection{All: true}
}

// Compared returns what differs between what an attempt at a codon, or an iteration, started
// from and its checkpoint, without the files that this was not to take: they have not been
// deleted, as far as is known.
func Compared(s *state.State, store *checkpoint.Store, from, to state.SHA) ([]diff.Change, error) {
	before, err := store.CommitInfo(checkpoint.SHA(from))
	if err != nil {
		return nil, err
	}
	after, err := store.CommitInfo(checkpoint.SHA(to))
	if err != nil {
		return nil, err
	}
	changes, err := diff.Diff(store, before.Tree, after.Tree)
	takes := sync.OnceValue(func() func(string) bool { return Taken(s, store, to).Matcher() }) // what codons track is added up for files that are gone
	return slices.DeleteFunc(changes, func(c diff.Change) bool { return c.Kind == diff.Deleted && !takes()(c.Path) }), err
}

// underProgramOf is the state with the plan that the program of a checkpoint gives
// it, if the user has adopted another since: what a codon tracked then is what
// counts. Where that program cannot be read, the state is returned as it is.
func underProgramOf(s *state.State, store *checkpoint.Store, info checkpoint.Info) *state.State {
	r, found, err := githistory.ReadRecord(info)
	if err != nil || !found || r.Program == "" || r.Program == s.Program {
		return s
	}
	program, err := githistory.ReadProgram(store, r.Program)
	if err != nil {
		return s
	}
	entries, err := json.Marshal(plan.StoredEntries(githistory.Derive(program, s)))
	if err != nil {
		return s
	}
	then, err := state.Apply(s, s.Seq+1, state.PlanSet{Program: r.Program, HankHash: r.HankHash, Entries: entries})
	if err != nil {
		return s
	}
	return then
}

// nextAt is the codon that was the next one at the checkpoint of a run's end,
// or of what the user changed: the one that started from there, or followed the
// last one of the run; else the one that is next now.
func nextAt(s *state.State, sha state.SHA) state.CodonID {
	plan := s.ExecutionPlan()
	at := s.Next()
	for _, r := range s.Runs {
		for _, c := range r.Codons() {
			if c.BaseCheckpoint == sha && isPlanned(s, c.CodonID) { // another program may have led on from there
				return c.CodonID
			}
		}
		if r.Head != sha || r.Len() == 0 {
			continue
		}
		last := r.Codon(r.Len() - 1)
		if at = s.PlanIndex(last.CodonID); at < 0 && isPlanned(s, last.CodonID) {
			return last.CodonID
		}
		if at >= 0 && last.Settled() {
			at++
		}
	}
	if at < 0 || at >= len(plan) {
		return ""
	}
	return plan[at].CodonID
}
