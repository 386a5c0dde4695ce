// Package names lists the names that can be typed on a command line about an execution:
// targets, codons, runs.
//
// It is for completion, which happens at every press of a key: it reads the state, no
// store and no workspace, takes no lock and writes nothing.
package names

import (
	"hank/recovery"
	"hank/runtime/history"
	"hank/state"
)

// Of lists the names of a kind, by the word that stands for it in help texts. What
// cannot be read has none.
func Of(root, kind string) []string {
	v, err := recovery.Read(root)
	if err != nil {
		return nil
	}
	switch kind {
	case "TARGET":
		return history.TargetNames(v.State)
	case "CODON":
		return history.CodonNames(v.State)
	case "RUN":
		return runs(v.State)
	}
	return nil
}

func runs(s *state.State) []string {
	var all []string
	for _, r := range s.Runs {
		all = append(all, string(r.RunID))
	}
	return all
}
