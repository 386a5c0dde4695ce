package report

import (
	"context"

	"hank/recovery"
	"hank/recovery/githistory"
	"hank/runtime/history"
	"hank/state"
)

// Checkpoints is a list of the checkpoints of an execution, newest first: what hank checkpoints prints.
type Checkpoints struct {
	Schema      int              `json:"schema"`
	Execution   string           `json:"execution"`
	Checkpoints []history.Listed `json:"checkpoints"`
	Removed     []RemovedBranch  `json:"removed"` // by hank gc
	Lost        []LostCheckpoint `json:"lost"`    // cannot be read
	Before      history.Target   `json:"-"`       // they are older than this one, if it is not empty
}

// RemovedBranch is a branch that hank gc has removed.
type RemovedBranch struct {
	Branch string     `json:"branch"`
	Head   state.SHA  `json:"head"`
	Time   state.Time `json:"time"`
}

// LostCheckpoint is one that the state has and the store cannot read.
type LostCheckpoint struct {
	SHA     state.SHA     `json:"sha"`
	Branch  string        `json:"branch"`
	CodonID state.CodonID `json:"codonId,omitempty"`
}

// String names the checkpoint in a sentence.
func (l LostCheckpoint) String() string {
	return githistory.Known{SHA: l.SHA, Branch: l.Branch, Codon: l.CodonID}.String()
}

// ReadCheckpoints lists the checkpoints of an execution.
func ReadCheckpoints(ctx context.Context, v *recovery.View, o history.ListOptions) (*Checkpoints, error) {
	store, err := v.Store()
	if err != nil {
		return nil, err
	}
	defer store.Close()
	list, err := history.Checkpoints(ctx, v.State, store, o)
	if err != nil {
		return nil, err
	}
	return &Checkpoints{1, v.Layout.Root, list.Checkpoints, removedBranches(v.State), lostCheckpoints(list.Lost), list.Before}, nil
}

func removedBranches(s *state.State) []RemovedBranch {
	out := []RemovedBranch{}
	for _, r := range s.Runs {
		if r.Removed != nil {
			out = append(out, RemovedBranch{r.GitBranch, r.Head, *r.Removed})
		}
	}
	for _, r := range s.Removed {
		out = append(out, RemovedBranch{r.Branch, r.Head, r.Time})
	}
	return out
}

func lostCheckpoints(list []githistory.Known) []LostCheckpoint {
	out := []LostCheckpoint{}
	for _, k := range list {
		out = append(out, LostCheckpoint{k.SHA, k.Branch, k.Codon})
	}
	return out
}
