package execution

import (
	"hank/checkpoint"
	"hank/recovery/finding"
	"hank/recovery/layout"
	"hank/state"
)

// FixCommand continues from the workspace where checkpoints are lost, and AllLost says what
// is lost with a store.
const FixCommand, AllLost = "hank doctor --fix", "earlier checkpoints cannot be recovered"

// NeedStore asks for checkpoints that are lost. loss: what of them stays lost without a copy.
func NeedStore(l layout.Layout, what, loss string) *finding.DecisionError {
	return &finding.DecisionError{What: what, Options: []string{
		"put it back from a copy into " + l.Store(),
		"`hank doctor --fix` continues from the workspace as it is; " + loss,
	}, Command: FixCommand}
}

// LeadsTo reports whether a commit is another, or has it among its first parents.
func LeadsTo(store *checkpoint.Store, from, to state.SHA) (bool, error) {
	found := false
	err := store.Log(checkpoint.SHA(from), func(info checkpoint.Info) (bool, error) {
		found = state.SHA(info.SHA) == to
		return !found, nil
	})
	if checkpoint.IsMissing(err) {
		err = nil
	}
	return found, err
}
