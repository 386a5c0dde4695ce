// Package names lists the names that can be typed on a command line about an execution:
// targets, codons, runs.
//
// It is for completion, which happens at every press of a key: it reads the state, no
// store and no workspace, takes no lock and writes nothing.
package names

import (
	"slices"

	"hank/recovery"
	"hank/runtime/history"
	"hank/state"
)

// Of lists the names of a kind, by the word that stands for it in help texts. What
// cannot be read has none.
func Of(root, kind string) []string {
	if !slices.Contains([]string{"TARGET", "CODON", "RUN"}, kind) {
		return nil
	}
	s, err := recovery.ReadNames(root)
	if err != nil {
		return nil
	}
	switch kind {
	case "TARGET":
		return history.TargetNames(s)
	case "CODON":
		return history.CodonNames(s)
	}
	return runs(s)
}

func runs(s *state.State) []string {
	var all []string
	for _, r := range s.Runs {
		all = append(all, string(r.RunID))
	}
	return all
}
