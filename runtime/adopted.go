package runtime

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"

	"hank/plan"
	"hank/recovery/finding"
)

// askAboutHankweaves compares the hank with the plan that Hankweave has left.
// Hankweave freezes no program, so the hank as it is now takes the plan's
// place; the user decides where it has other codons.
func (d *driver) askAboutHankweaves(live *plan.Program) error {
	var before, now []plan.CodonID
	for _, e := range d.x.State().ExecutionPlan() {
		before = appendNew(before, e.Codon.ID)
	}
	for _, e := range live.Initial() {
		now = appendNew(now, e.Codon.ID)
	}
	if slices.Equal(before, now) || len(before) == 0 {
		if adopted := d.x.Meta().Adopted; adopted != nil && adopted.HankHash != "" && adopted.HankHash != fileHash(d.x.Meta().HankPath) {
			d.say("note: the hank may not be the version that Hankweave ran; its codons are the same, and completed codons stay completed")
		}
		return nil
	}
	question := fmt.Sprintf("the hank has different codons than the one that Hankweave ran here (then: %s; now: %s)", listed(before), listed(now))
	if d.answers.Adopt {
		d.say("note: %s", question)
		return nil
	}
	return &finding.DecisionError{What: question, Options: []string{
		"--adopt continues with the current hank: completed codons that are still in it stay completed", "restore the previous hank"}}
}

func appendNew(ids []plan.CodonID, id plan.CodonID) []plan.CodonID {
	if slices.Contains(ids, id) {
		return ids
	}
	return append(ids, id)
}

func listed(ids []plan.CodonID) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = string(id)
	}
	return strings.Join(names, ", ")
}

// fileHash is the digest that Hankweave records of a hank whose text is in its
// normal form.
func fileHash(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
