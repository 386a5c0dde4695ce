package report

import (
	"path/filepath"
	"strings"
	"time"

	"hank/recovery"
	"hank/state"
)

// hankName is what the hank of an execution is called: the name that it gives itself,
// or that of its file, or of the directory that a hank.json is in.
func hankName(v *recovery.View) string {
	if name := v.HankName(); name != "" {
		return name
	}
	path := v.Meta.HankPath
	switch base := filepath.Base(path); base {
	case ".": // an import does not know it
		return filepath.Base(v.Layout.Root)
	case "hank.json", "strand.json":
		return filepath.Base(filepath.Dir(path))
	default:
		return strings.TrimSuffix(base, filepath.Ext(base))
	}
}

// began is when the first run of an execution began; nil if none has.
func began(v *recovery.View) *time.Time {
	n := len(v.State.Runs)
	if n == 0 {
		return nil
	}
	at := v.State.Runs[n-1].StartTime.UTC()
	return &at
}

// worked is how long the attempts in an execution took, together; the running one
// until now, one that was left until its last sign of life.
func worked(v *recovery.View) time.Duration {
	return v.Head.Worked + Unended(v, v.State.Newest())
}

// Unended is how long the attempt of a run that is not over has taken: until now, or until its
// last sign of life; run may be nil.
func Unended(v *recovery.View, run *state.Run) time.Duration {
	if run == nil || run.Live() == nil {
		return 0
	}
	until := time.Now()
	if !v.Live {
		until = v.LastSign().Time
	}
	return max(0, until.Sub(run.Live().StartTime.Time))
}

// knows reports whether a state has a codon, in its plan or in a run.
func knows(s *state.State, id state.CodonID) bool {
	for _, r := range s.Runs {
		for _, k := range r.Codons() {
			if k.CodonID == id {
				return true
			}
		}
	}
	return s.PlanIndex(id) >= 0
}
