package execution

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"hank/checkpoint"
	"hank/internal/proc"
	"hank/plan"
	"hank/state"
)

// IsOfBoot reports whether a run began in a boot.
func IsOfBoot(r *state.Run, boot string) bool {
	var id proc.Identity
	return json.Unmarshal(r.Process, &id) == nil && id.BootID != "" && id.BootID == boot
}

// MaxNotes bounds what a record names one by one.
const MaxNotes = 20

// Shortcomings names what a checkpoint could not hold as it is on disk.
func Shortcomings(snap *checkpoint.Snapshot) []string {
	var notes []string
	each := func(n int, more string, note func(i int) string) {
		for i := range min(n, MaxNotes) {
			notes = append(notes, note(i))
		}
		if n > MaxNotes {
			notes = append(notes, fmt.Sprintf("and %d more %s", n-MaxNotes, more))
		}
	}
	each(len(snap.Skipped), "are not in the checkpoint", func(i int) string {
		return fmt.Sprintf("not in the checkpoint: %q (%s)", snap.Skipped[i].Path, snap.Skipped[i].Why)
	})
	each(len(snap.Escaped), "are kept under escaped names", func(i int) string {
		return fmt.Sprintf("kept in the checkpoint as %q: %q", snap.Escaped[i].As, snap.Escaped[i].Path)
	})
	each(len(snap.Nested), "repositories are kept without their .git", func(i int) string {
		return fmt.Sprintf("not in the checkpoint: %q (the history of a repository of its own; its files are)", snap.Nested[i]+"/.git")
	})
	if n := len(snap.Empty) - len(KeptFolders(snap.Empty)); n > 0 {
		notes = append(notes, fmt.Sprintf("not in the checkpoint: %d empty folders", n))
	}
	return notes
}

// Tracked is what the checkpoint of a codon takes: the union of the patterns
// of the plan up to it. A codon that says nothing tracks everything.
func Tracked(s *state.State, upto state.CodonID) checkpoint.Selection {
	var sel checkpoint.Selection
	for _, e := range s.ExecutionPlan() {
		Track(&sel, e.Codon, s.Adopted)
		if sel.All || e.CodonID == upto {
			break
		}
	}
	return sel
}

// Track adds what one more codon tracks. One that says nothing tracks
// everything, but in an execution that Hankweave began nothing, as there.
func Track(sel *checkpoint.Selection, c *plan.Codon, adopted bool) {
	if c.CheckpointedFiles == nil && !adopted {
		sel.All = true
	}
	for _, p := range c.CheckpointedFiles {
		if !slices.Contains(sel.Patterns, p) {
			sel.Patterns = append(sel.Patterns, p)
		}
	}
}
