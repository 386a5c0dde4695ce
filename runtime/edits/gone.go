package edits

import (
	"fmt"
	"strings"

	"hank/recovery"
	"hank/recovery/finding"
)

// Gone is what the user must do about a workspace that is gone, where the next
// command would make an empty one. That command is hank retry, or else hank run.
func Gone(v *recovery.View, command string) *finding.DecisionError {
	if c := v.Unrecorded(); c != nil {
		ask := &finding.DecisionError{
			What: fmt.Sprintf("the workspace %s is gone, and codon %s has completed its work in it and has no checkpoint yet", v.Layout.Workspace, c.CodonID),
			Options: []string{"restore it, and then `hank run`", "`hank run --keep-tree` takes an empty directory as the codon's work",
				"`hank run --restore` runs the codon again on the workspace as it was before it"},
			Command: "hank run --restore", Answers: []string{"--keep-tree", "--restore"}}
		if v.State.Newest().Paused != nil { // the codon may have deleted it, and would again
			ask.Command = "hank run --keep-tree"
		}
		return ask
	}
	again := "hank run --restore"
	if strings.HasPrefix(command, "hank retry") { // the former runs nothing then, and restores nothing
		again = "hank retry --restore"
	}
	return &finding.DecisionError{What: "the workspace " + v.Layout.Workspace + " is gone", Command: again, Answers: []string{"--restore"},
		Options: []string{"put it back", "`" + again + "` restores what the checkpoints have of it"}}
}
