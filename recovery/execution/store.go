package execution

import (
	"hank/recovery/finding"
	"hank/recovery/layout"
)

// FixCommand continues from the workspace where checkpoints are lost.
const FixCommand = "hank doctor --fix"

// NeedStore asks for checkpoints that are lost.
func NeedStore(l layout.Layout, what string) *finding.DecisionError {
	return &finding.DecisionError{What: what, Options: []string{
		"put it back from a copy into " + l.Store(),
		"`hank doctor --fix` continues from the workspace as it is; earlier checkpoints stay lost",
	}, Command: FixCommand}
}
