package hankfile

import (
	"reflect"

	"hank/plan"
)

// Repriced lists the models of a hank whose prices or sizes are others than in the frozen
// one. That is no change of the hank: a newer hank has a newer list of models. Whoever
// adopts takes them over.
func Repriced(frozen, live *plan.Program) (models []string) {
	was := map[plan.CodonID]*plan.Codon{}
	for _, e := range frozen.Initial() {
		was[e.CodonID] = e.Codon
	}
	seen := map[string]bool{}
	for _, e := range live.Initial() {
		old, now := was[e.CodonID], e.Codon.Model
		if old == nil || seen[now.String()] || reflect.DeepEqual(old.Model.Cost, now.Cost) && reflect.DeepEqual(old.Model.Limits, now.Limits) {
			continue
		}
		seen[now.String()] = true
		models = append(models, now.String())
	}
	return models
}
