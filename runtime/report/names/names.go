// Package names lists the names that can be typed on a command line about an execution:
// targets, codons, runs, gates that wait for an answer.
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
	if !slices.Contains([]string{"TARGET", "CODON", "RUN", "RUN[@TARGET]", "GATE"}, kind) {
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
	case "GATE":
		return waiting(s)
	}
	return runs(s)
}

// waiting are the gates with a request that nobody has answered, the newest first.
func waiting(s *state.State) []string {
	var all []string
	for _, g := range slices.Backward(s.Gates) {
		if g.Status == state.GatePending {
			all = append(all, g.Gate)
		}
	}
	return all
}

func runs(s *state.State) []string {
	var all []string
	for _, r := range s.Runs {
		all = append(all, string(r.RunID))
	}
	return all
}
