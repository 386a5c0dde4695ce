package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hank/internal/typo"
	"hank/runtime/exitcode"
	"hank/state"
)

// FindOnLineagePath returns the newest record of a codon on the current lineage path, or else that
// of the run at the position, if it ends with this codon.
func FindOnLineagePath(s *state.State, id state.CodonID) (state.LineageEntry, error) {
	steps := s.LineagePath()
	for i := len(steps) - 1; i >= 0; i-- {
		if steps[i].Codon.CodonID == id {
			return steps[i], nil
		}
	}
	if r := s.RunAtPosition(); r != nil && r.Len() > 0 && r.Codon(r.Len()-1).CodonID == id {
		return state.LineageEntry{Run: r, Codon: r.Codon(r.Len() - 1)}, nil
	}
	if s.PlanIndex(id) >= 0 || slices.ContainsFunc(s.Runs, func(r *state.Run) bool {
		return slices.ContainsFunc(r.Codons(), func(c *state.Codon) bool { return c.CodonID == id })
	}) {
		return state.LineageEntry{}, &exitcode.UsageError{Why: fmt.Sprintf("codon %s has not run on the way to where the execution is; see: `hank plan`", id)}
	}
	return state.LineageEntry{}, UnknownCodon(s, id)
}

// UnknownCodon is the error about a codon that is neither in the plan nor in any
// run, with the name that was perhaps meant.
func UnknownCodon(s *state.State, id state.CodonID) error {
	return &exitcode.UsageError{Why: fmt.Sprintf("there is no codon %s%s to see their names: `hank plan`", id, cmp.Or(MeantCodon(s, id), ";"))}
}

// MeantCodon asks for the codon of the plan whose name is nearest to a mistyped
// one; empty if none is near.
func MeantCodon(s *state.State, id state.CodonID) string {
	var names []string
	for _, e := range s.ExecutionPlan() {
		names = append(names, string(e.CodonID))
	}
	slices.Reverse(names)
	from, steps, found := asWritten(string(id))
	near := NearestCodon(from, names)
	if found && from == atPresent {
		near = from
	}
	if near != "" {
		return "; did you mean " + near + steps + "?"
	}
	return ""
}

// NearestCodon is the name that a mistyped one was perhaps meant to be; empty if none is
// near. Of the iterations of a loop that could be meant equally, it is the first of names.
// An iteration of the codon that is named comes before any other codon.
func NearestCodon(text string, names []string) string {
	if slices.Contains(names, text) {
		return text
	}
	codon, _, iterates := strings.Cut(text, "#")
	codons := make([]string, len(names)) // without the number of the iteration
	for i, name := range names {
		codons[i], _, _ = strings.Cut(name, "#")
	}
	if at := slices.Index(codons, codon); at >= 0 {
		return names[at]
	}
	if at := slices.IndexFunc(codons, func(c string) bool { return typo.Same(c, codon) }); at >= 0 && !iterates {
		return names[at]
	}
	if near := typo.Nearest(text, names); near != "" {
		return near
	}
	if at := slices.Index(codons, typo.Nearest(codon, codons)); at >= 0 {
		return names[at]
	}
	return ""
}

// CodonAt is the codon that a name stands for: one with that ID, or the codon of a
// relative target on the current lineage path. A name that is neither is returned as it is.
func CodonAt(s *state.State, name string) (state.CodonID, error) {
	from, back, ok := relative(name)
	switch {
	case isCodon(s, state.CodonID(name)), !ok && name != atPresent:
		return state.CodonID(name), nil
	case !ok:
		from = atPresent
	}
	for deeper, more, chained := relative(from); chained; deeper, more, chained = relative(from) { // X~1~2
		from, back = deeper, back+more
	}
	way := codonsTo(s)
	at := len(way) - 1
	if from != atPresent {
		if at = slices.Index(way, state.CodonID(from)); at < 0 {
			if isCodon(s, state.CodonID(from)) {
				return "", &exitcode.UsageError{Why: fmt.Sprintf("%q is no codon: %s has not run on the way to where the execution is; see: `hank plan`", name, from)}
			}
			return "", UnknownCodon(s, state.CodonID(name))
		}
	}
	if at -= back; at < 0 {
		return "", &exitcode.UsageError{Why: fmt.Sprintf("%q is no codon: no codon has run that far back; see: `hank plan`", name)}
	}
	return way[at], nil
}

func isCodon(s *state.State, id state.CodonID) bool {
	return s.PlanIndex(id) >= 0 || slices.ContainsFunc(s.Runs, func(r *state.Run) bool {
		return slices.ContainsFunc(r.Codons(), func(c *state.Codon) bool { return c.CodonID == id })
	})
}

// codonsTo are the codons on the way to where the execution is: those that are
// finished, and the one that it is inside of, if it is.
func codonsTo(s *state.State) []state.CodonID {
	var way []state.CodonID
	steps := s.LineagePath()
	for _, step := range finished(steps) {
		way = append(way, step.Codon.CodonID)
	}
	if n := len(steps); n > 0 && !steps[n-1].Codon.Settled() {
		return append(way, steps[n-1].Codon.CodonID)
	}
	if p := s.Position; p != nil && p.EndOf == "" && p.RestartAt != "" && p.CheckpointSHA != s.InitialCheckpoint {
		way = append(way, p.RestartAt)
	}
	return way
}

// CodonThere is CodonAt for a codon that must be in the plan or in a run.
func CodonThere(s *state.State, name string) (state.CodonID, error) {
	id, err := CodonAt(s, name)
	if err == nil && !isCodon(s, id) {
		return "", UnknownCodon(s, id)
	}
	return id, err
}

// CodonToCome is CodonThere for a codon that may also come in another iteration of a loop.
func CodonToCome(s *state.State, name string) (state.CodonID, error) {
	id, err := CodonAt(s, name)
	if err != nil || isCodon(s, id) {
		return id, err
	}
	loop, _, iterates := strings.Cut(string(id), "#")
	if iterates && slices.ContainsFunc(s.ExecutionPlan(), func(e *state.PlanEntry) bool { return strings.HasPrefix(string(e.CodonID), loop+"#") }) {
		return id, nil
	}
	return "", UnknownCodon(s, id)
}

// ToRead is the name that a name of a codon stands for where a command only reads. Without the
// number of an iteration it stands for the newest iteration that has begun. A command that
// changes something asks for the iteration instead: another one may have begun since the user looked.
func ToRead(s *state.State, name string) string {
	if isCodon(s, state.CodonID(name)) {
		return name
	}
	for _, r := range s.Runs { // newest first
		for _, c := range slices.Backward(r.Codons()) {
			if strings.HasPrefix(string(c.CodonID), name+"#") {
				return string(c.CodonID)
			}
		}
	}
	return name
}

// UnknownRun is the error about a run that there is none of.
func UnknownRun(runs []*state.Run, name string) error {
	var all []string
	for _, r := range runs {
		all = append(all, string(r.RunID))
	}
	meant := ";"
	if near := typo.Nearest(name, all); near != "" {
		meant = "; did you mean " + near + "?"
	}
	return &exitcode.UsageError{Why: fmt.Sprintf("no run %q%s see: `hank show`", name, meant)}
}
