package execution

import "hank/recovery/finding"

// FixCommand goes on from the workspace where checkpoints are lost.
const FixCommand = "hank doctor --fix"

func (x *Execution) NeedStore(what string) error {
	return &finding.DecisionError{What: what, Options: []string{
		"put it back from a copy into " + x.Layout.Store(),
		"`hank doctor --fix` goes on from the workspace as it is; earlier checkpoints stay lost",
	}, Command: FixCommand}
}
