package githistory

import (
	"fmt"

	"hank/checkpoint"
	"hank/state"
)

// Known is a checkpoint that a state has, and the branch that it was made on.
type Known struct {
	SHA    state.SHA
	Branch string
	Codon  state.CodonID // empty: it is of no codon
}

func (k Known) String() string {
	if k.Codon == "" {
		return fmt.Sprintf("%.12s", k.SHA)
	}
	return fmt.Sprintf("%.12s (%s)", k.SHA, k.Codon)
}

// KnownCheckpoints lists the checkpoints that a state has and that nobody has
// removed, oldest first, each once.
func KnownCheckpoints(s *state.State) []Known {
	var all []Known
	seen := map[state.SHA]bool{"": true}
	add := func(sha state.SHA, branch string, codon state.CodonID) {
		if !seen[sha] {
			seen[sha] = true
			all = append(all, Known{sha, branch, codon})
		}
	}
	add(s.InitialCheckpoint, "main", "")
	for _, r := range s.Runs {
		if r.Removed != nil {
			continue
		}
		for i := range r.Len() {
			c := r.Codon(i)
			for _, sha := range []state.SHA{c.RigSetupCheckpoint, c.CompletionCheckpoint, c.ErrorCheckpoint, c.SkipCheckpoint} {
				add(sha, r.GitBranch, c.CodonID)
			}
		}
		add(r.Head, r.GitBranch, "")
	}
	return all
}

// LostCheckpoints lists the checkpoints that a state has and that cannot be
// read whole, oldest first. Complexity: the trees of all checkpoints.
func LostCheckpoints(s *state.State, whole func(checkpoint.SHA) (bool, error)) ([]Known, error) {
	var lost []Known
	for _, k := range KnownCheckpoints(s) {
		whole, err := whole(checkpoint.SHA(k.SHA))
		if err != nil {
			return nil, err
		}
		if !whole {
			lost = append(lost, k)
		}
	}
	return lost, nil
}
