package runtime

import (
	"fmt"
	"slices"

	"hank/plan"
	"hank/recovery/finding"
	"hank/runtime/hankfile"
)

// askAboutHankweaves compares the hank with the plan that Hankweave has left.
// Hankweave freezes no program, so the hank as it is now takes the plan's
// place; the user decides where it has other codons.
func (d *driver) askAboutHankweaves(live *plan.Program) error {
	var before, now []plan.CodonID
	for _, e := range d.x.State().ExecutionPlan() {
		before = hankfile.AppendNew(before, e.Codon.ID)
	}
	for _, e := range live.Initial() {
		now = hankfile.AppendNew(now, e.Codon.ID)
	}
	if slices.Equal(before, now) || len(before) == 0 {
		if adopted := d.x.Meta().Adopted; adopted != nil && adopted.HankHash != "" && adopted.HankHash != hankfile.FileHash(d.x.Meta().HankPath) {
			d.say("note: the hank may not be the version that Hankweave ran; its codons are the same, and completed codons stay completed")
		}
		return nil
	}
	question := fmt.Sprintf("the hank has different codons than the one that Hankweave ran here (then: %s; now: %s)", hankfile.Listed(before), hankfile.Listed(now))
	if d.answers.Adopt {
		d.say("note: %s", question)
		return nil
	}
	return &finding.DecisionError{What: question, Options: []string{
		"--adopt continues with the current hank: completed codons that are still in it stay completed", "restore the previous hank"}}
}
