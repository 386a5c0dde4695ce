package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hank/checkpoint"
	"hank/runtime/exitcode"
	"hank/state"
)

// BranchTarget finds where a branch begins: RUN@TARGET, a target as it is from where a run
// has ended, or RUN, where the last codon that was finished then had left the workspace. A
// part of a run's ID stands for it, if it is at the beginning or the end of no other one.
//
// A codon is looked for on the lineage path of the run alone; a SHA names any checkpoint.
func BranchTarget(s *state.State, store Resolver, text string) (Target, error) {
	name, target, named := strings.Cut(text, "@")
	run, err := runNamed(s, name)
	if err != nil {
		of := strings.TrimPrefix(text, "@") // perhaps a target without its run
		if t, wrong := ResolveTarget(s, store, of); wrong == nil && s.Newest() != nil {
			return Target{}, &exitcode.UsageError{Why: fmt.Sprintf("no run %q: --from takes RUN or RUN@TARGET; did you mean %s@%s?", text, cmp.Or(t.RunID, s.Newest().RunID), of)}
		}
		return Target{}, err
	}
	there := *s
	there.Position = &state.Position{RunID: run.RunID, EndOf: run.RunID, CheckpointSHA: run.Head}
	if !named {
		return whereLeft(&there, store, run)
	}
	if target == "" {
		return Target{}, &exitcode.UsageError{Why: fmt.Sprintf("%q names no checkpoint of the run: --from takes RUN or RUN@TARGET, such as RUN@CODON", text)}
	}
	if strings.HasPrefix(target, "~") {
		target = "last-success" + target
	}
	onTheWay := func(t Target) bool {
		return t.SHA == s.InitialCheckpoint || slices.ContainsFunc(there.LineagePath(), func(step state.LineageEntry) bool { return leadsTo(step, t) })
	}
	t, err := ResolveTarget(&there, store, target)
	var none *TargetError
	if errors.As(err, &none) && none.Meant != "" {
		if near, wrong := ResolveTarget(&there, store, none.Meant); wrong != nil || !onTheWay(near) {
			none.Meant = "" // it would be refused in turn
		}
	}
	if err != nil {
		return Target{}, err
	}
	bySHA := len(target) >= 4 && strings.HasPrefix(string(t.SHA), strings.TrimPrefix(target, "sha:"))
	if !bySHA && !onTheWay(t) {
		return Target{}, &exitcode.UsageError{Why: fmt.Sprintf("%s is not on the way to the end of run %s; see: `hank status --tree`", t, run.RunID)}
	}
	return t, nil
}

// leadsTo reports whether a record has a checkpoint, or is the codon of a run that it names.
func leadsTo(step state.LineageEntry, t Target) bool {
	if step.Run.RunID == t.RunID && step.Codon.CodonID == t.CodonID {
		return true
	}
	return slices.ContainsFunc(kinds, func(k state.CheckpointKind) bool { return CheckpointOf(step.Codon, k) == t.SHA })
}

// whereLeft is where the last finished codon of a run's lineage path has left the workspace.
func whereLeft(there *state.State, store Resolver, run *state.Run) (Target, error) {
	for _, step := range slices.Backward(there.LineagePath()) {
		t, ok := EndOf(there, step, "")
		if !ok || !step.Codon.Settled() {
			continue
		}
		if whole, err := store.IsComplete(context.Background(), checkpoint.SHA(t.SHA)); err != nil || !whole {
			if step.Run.Removed != nil {
				return Target{}, &TargetError{Text: string(run.RunID), Removed: step.Run.Removed, What: "run " + string(step.Run.RunID)}
			}
			return Target{}, &TargetError{Text: string(run.RunID), Lost: t.SHA}
		}
		return t, nil
	}
	return initialTarget(there)
}

// runNamed finds a run by its ID, or by a part of it that is of no other.
func runNamed(s *state.State, name string) (*state.Run, error) {
	if run := s.Run(state.RunID(name)); run != nil {
		return run, nil
	}
	var found []*state.Run
	for _, r := range s.Runs {
		if len(name) >= 4 && (strings.HasPrefix(string(r.RunID), name) || strings.HasSuffix(string(r.RunID), name)) {
			found = append(found, r)
		}
	}
	switch len(found) {
	case 0:
		return nil, UnknownRun(s.Runs, name)
	case 1:
		return found[0], nil
	}
	var ids []string
	for _, r := range found {
		ids = append(ids, string(r.RunID))
	}
	return nil, &exitcode.UsageError{Why: fmt.Sprintf("%q could be any of the runs %s; name one by its whole ID", name, strings.Join(ids, ", "))}
}
