package verdict

import (
	"cmp"
	"fmt"
	"strings"

	"hank/plan"
	"hank/plan/config"
	"hank/runtime/harness"
	"hank/state"
)

// What the reason of a refused model ends with, after what has to be corrected.
const (
	setsIt       = ", which sets it"
	byModelFlag  = "choose another with --model" + setsIt
	chooseModel  = "hank run --model MODEL" + AdoptOption
	correctModel = "hank run" + AdoptOption
)

// ExplainModel says in the reason of a refused model of a codon where the model is
// set: file is the hank's, and frozen, that the run follows the one that was frozen.
func ExplainModel(f *state.FailureReason, codon *plan.Codon, p *plan.Program, layers config.Layers, frozen bool, file string) {
	if f.Class == harness.ClassAuth || strings.HasSuffix(f.Message, setsIt) {
		return
	}
	file = cmp.Or(file, "hank.json")
	if !strings.Contains(f.Message, codon.Model.ModelID) {
		f.Message += fmt.Sprintf(" (the model is %s)", codon.Model.ModelID)
	}
	correct := ""
	switch where := plan.ModelSource(layers, p.Hank); {
	case p.Model != "":
		correct = byModelFlag
	case frozen:
		correct = fmt.Sprintf("name another in %s than the hank that this execution froze%s", file, setsIt)
	case where == "":
		correct = fmt.Sprintf("correct \"model\" of codon %s in %s%s", codon.ID, file, setsIt)
	case strings.HasPrefix(where, "overrides"):
		correct = fmt.Sprintf("correct %s in %s%s", where, file, setsIt)
	default:
		correct = "correct " + where + setsIt
	}
	f.Message += "; " + correct
}

// RefusedModel returns what the user must do about a codon whose model was refused,
// and the command to continue with after that; empty where its model was not refused.
func RefusedModel(c *state.Codon) (first, command string) {
	if c == nil || c.Interrupted != state.InterruptedByRefusal || c.FailureReason == nil {
		return "", ""
	}
	message := c.FailureReason.Message
	if !strings.HasSuffix(message, setsIt) {
		return "", ""
	}
	first = message[strings.LastIndex(message, "; ")+len("; "):]
	if first == byModelFlag {
		return first, chooseModel
	}
	return first, correctModel
}
