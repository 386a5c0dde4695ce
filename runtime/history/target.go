package history

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hank/checkpoint"
	"hank/internal/typo"
	"hank/recovery/execution"
	"hank/recovery/githistory"
	"hank/state"
)

// ResolveTarget finds the checkpoint that text names:
//
//	initial, last-success
//	CODON, CODON:rig-setup, CODON:completed, CODON:error, CODON:skipped
//	a SHA or a prefix of at least four digits
//	@, where the execution is
//	TARGET~N, N finished codons before a target, along the lineage path that leads to it
//
// The prefixes codon:, sha: and run: (its last checkpoint) always work. Codons
// are looked for on the lineage path first, then in all runs, newest first. The
// error is a *TargetError.
func ResolveTarget(s *state.State, store Resolver, text string) (Target, error) {
	t, err := resolve(s, store, text)
	if run := s.Run(t.RunID); err == nil && run != nil && run.Removed != nil {
		if _, gone := store.CommitInfo(checkpoint.SHA(t.SHA)); gone != nil {
			return Target{}, &TargetError{Text: text, Removed: run.Removed, What: "run " + string(run.RunID)}
		}
	}
	if err == nil {
		if whole, werr := store.IsComplete(context.Background(), checkpoint.SHA(t.SHA)); werr == nil && !whole {
			return Target{}, &TargetError{Text: text, Lost: t.SHA}
		}
	}
	var none *TargetError
	if errors.As(err, &none) && len(none.Candidates) == 0 && none.Removed == nil && none.Beyond == nil {
		if none.Lost = known(s, strings.TrimPrefix(text, "sha:")); none.Lost != "" {
			return t, err
		}
		if none.What, none.Removed = removed(s, strings.TrimPrefix(text, "sha:")); none.Removed == nil {
			none.Known, none.Meant = names(s, store), meant(s, store, text)
			none.Waiting = s.PlanIndex(state.CodonID(strings.TrimPrefix(text, "codon:"))) >= 0
		}
	}
	return t, err
}

// targetToRead is ResolveTarget where a command only reads, see ToRead.
func targetToRead(s *state.State, store Resolver, text string) (Target, error) {
	t, err := ResolveTarget(s, store, text)
	name, kind, hasKind := strings.Cut(strings.TrimPrefix(text, "codon:"), ":")
	newest := ToRead(s, name)
	if err == nil || newest == name {
		return t, err
	}
	if hasKind {
		newest += ":" + kind
	}
	return ResolveTarget(s, store, newest)
}

// known finds a checkpoint of the state by the beginning of its name, for one
// that the store does not have.
func known(s *state.State, prefix string) state.SHA {
	if len(prefix) < 4 {
		return ""
	}
	for _, k := range githistory.KnownCheckpoints(s) {
		if strings.HasPrefix(string(k.SHA), prefix) {
			return k.SHA
		}
	}
	return ""
}

// removed finds what hank gc has removed by the beginning of a commit's name.
func removed(s *state.State, prefix string) (what string, at *state.Time) {
	if len(prefix) < 4 {
		return "", nil
	}
	is := func(sha state.SHA) bool { return strings.HasPrefix(string(sha), prefix) }
	for i, r := range s.Removed {
		if is(r.Head) {
			return "branch " + r.Branch, &s.Removed[i].Time
		}
	}
	for _, r := range s.Runs {
		if r.Removed == nil {
			continue
		}
		if is(r.Head) {
			return "run " + string(r.RunID), r.Removed
		}
		for i := range r.Len() {
			if slices.ContainsFunc(kinds, func(k state.CheckpointKind) bool { return is(CheckpointOf(r.Codon(i), k)) }) {
				return "run " + string(r.RunID), r.Removed
			}
		}
	}
	return "", nil
}

// names are names that stand for a checkpoint that the store has: the fixed ones, and those of
// codons, of the lineage path first, the last ones before others. Where there are more of
// them, it ends with an ellipsis.
func names(s *state.State, store Resolver) []string {
	const most = 7
	var out []string
	more := false
	add := func(step state.LineageEntry) {
		name := string(step.Codon.CodonID)
		if more || slices.Contains(out, name) {
			return
		}
		if t, ok := EndOf(s, step, ""); !ok || !isStored(store, t.SHA) {
			return
		}
		if more = len(out) == most; !more {
			out = append(out, name)
		}
	}
	if s.InitialCheckpoint != "" && isStored(store, s.InitialCheckpoint) {
		out = append(out, "initial")
	}
	if t, err := lastSuccess(s); err == nil && isStored(store, t.SHA) {
		out = append(out, "last-success")
	}
	for _, step := range slices.Backward(s.LineagePath()) {
		add(step)
	}
	for _, r := range s.Runs { // newest first
		for _, c := range slices.Backward(r.Codons()) {
			add(state.LineageEntry{Run: r, Codon: c})
		}
	}
	if more {
		out = append(out, "…")
	}
	return out
}

func isStored(store Resolver, sha state.SHA) bool {
	_, err := store.CommitInfo(checkpoint.SHA(sha))
	return err == nil
}

// resolve looks for names first, then for steps back from one.
func resolve(s *state.State, store Resolver, text string) (Target, error) {
	t, err := resolveName(s, store, text)
	from, back, ok := relative(text)
	if none, _ := err.(*TargetError); none == nil || len(none.Candidates) > 0 || !ok {
		return t, err
	}
	if t, err = resolve(s, store, from); err != nil {
		var none *TargetError
		if errors.As(err, &none) && none.Beyond == nil {
			return Target{}, &TargetError{Text: text, Candidates: none.Candidates}
		}
		return Target{}, err
	}
	return stepsBack(s, store, t, back, text)
}

func resolveName(s *state.State, store Resolver, text string) (Target, error) {
	switch {
	case text == atPresent:
		return present(s, store)
	case text == "initial":
		return initialTarget(s)
	case text == "last-success":
		return lastSuccess(s)
	case strings.HasPrefix(text, "sha:"):
		return commitTarget(s, store, strings.TrimPrefix(text, "sha:"), text)
	case strings.HasPrefix(text, "run:"):
		return runTarget(s, strings.TrimPrefix(text, "run:"), text)
	case strings.HasPrefix(text, "codon:"):
		return codonTarget(s, strings.TrimPrefix(text, "codon:"), text)
	}
	t, err := codonTarget(s, text, text)
	if err == nil {
		return t, nil
	}
	if found, serr := commitTarget(s, store, text, text); serr == nil || len(serr.(*TargetError).Candidates) > 0 {
		return found, serr
	}
	return Target{}, err
}

func lastSuccess(s *state.State) (Target, error) {
	steps := s.LineagePath()
	for i := len(steps) - 1; i >= 0; i-- {
		if c := steps[i].Codon; c.Status == state.Completed {
			return recordTarget(s, steps[i], state.KindCompleted), nil
		}
	}
	return Target{}, &TargetError{Text: "last-success"}
}

func runTarget(s *state.State, id, text string) (Target, error) {
	r := s.Run(state.RunID(id))
	if r == nil || r.Head == "" {
		return Target{}, &TargetError{Text: text}
	}
	for i := r.Len() - 1; i >= 0; i-- {
		if t, ok := EndOf(s, state.LineageEntry{Run: r, Codon: r.Codon(i)}, ""); ok {
			return t, nil
		}
	}
	return Target{}, &TargetError{Text: text}
}

func codonTarget(s *state.State, name, text string) (Target, error) {
	id, kind := state.CodonID(name), state.CheckpointKind("")
	for _, k := range kinds {
		if before, ok := strings.CutSuffix(name, ":"+string(k)); ok {
			id, kind = state.CodonID(before), k
		}
	}
	steps := s.LineagePath()
	for i := len(steps) - 1; i >= 0; i-- {
		if t, ok := EndOf(s, steps[i], kind); ok && steps[i].Codon.CodonID == id {
			return t, nil
		}
	}
	for _, r := range s.Runs {
		for i := r.Len() - 1; i >= 0; i-- {
			if r.Codon(i).CodonID != id {
				continue
			}
			if t, ok := EndOf(s, state.LineageEntry{Run: r, Codon: r.Codon(i)}, kind); ok {
				return t, nil
			}
		}
	}
	return Target{}, &TargetError{Text: text}
}

// commitTarget finds a commit by its name.
func commitTarget(s *state.State, store Resolver, prefix, text string) (Target, error) {
	none := &TargetError{Text: text}
	if len(prefix) < 4 || strings.Trim(prefix, "0123456789abcdef") != "" {
		return Target{}, none
	}
	found, err := store.Resolve(prefix)
	if err != nil || len(found) == 0 {
		return Target{}, none
	}
	for _, sha := range found {
		if isOfWorkspace(store, sha) {
			none.Candidates = append(none.Candidates, TargetOf(s, store, state.SHA(sha)))
		}
	}
	if len(none.Candidates) != 1 {
		return Target{}, none
	}
	return none.Candidates[0], nil
}

// isOfWorkspace reports whether a commit holds a workspace. The store has frozen
// programs too, and notes of what gc has removed.
func isOfWorkspace(store Resolver, sha checkpoint.SHA) bool {
	info, err := store.CommitInfo(sha)
	if err != nil {
		return true // it says so itself when it is read
	}
	kind := Describe(info).Kind
	return kind != execution.ProgramTitle && kind != state.KindRemoved
}

// meant is the target that a mistyped one was perhaps meant to be; empty if none is near.
func meant(s *state.State, store Resolver, text string) string {
	from, steps, found := asWritten(text)
	if _, err := resolve(s, store, from); found && err == nil {
		if _, err := resolve(s, store, from+steps); err == nil {
			return from + steps
		}
		return ""
	}
	if near := nearest(s, from); near != "" {
		return near + steps
	}
	return ""
}

// nearest is the name of a place that a mistyped one was perhaps meant to be: a codon
// that has a checkpoint, with the kind of that, or a fixed name. Those of the lineage path
// come first.
func nearest(s *state.State, text string) string {
	name, kind, hasKind := strings.Cut(text, ":")
	if hasKind {
		var words []string
		for _, k := range kinds {
			words = append(words, string(k))
		}
		if kind = typo.Nearest(kind, words); kind == "" {
			return ""
		}
		kind = ":" + kind
	}
	words := []string{}
	if !hasKind {
		if _, err := lastSuccess(s); err == nil {
			words = append(words, "last-success")
		}
		if s.InitialCheckpoint != "" {
			words = append(words, "initial")
		}
	}
	add := func(step state.LineageEntry) {
		if _, ok := EndOf(s, step, state.CheckpointKind(strings.TrimPrefix(kind, ":"))); ok {
			words = append(words, string(step.Codon.CodonID))
		}
	}
	for _, step := range slices.Backward(s.LineagePath()) {
		add(step)
	}
	for _, r := range s.Runs { // newest first
		for _, c := range slices.Backward(r.Codons()) {
			add(state.LineageEntry{Run: r, Codon: c})
		}
	}
	if near := NearestCodon(name, words); near != "" {
		return near + kind
	}
	return ""
}

// TargetNames are names of targets, the nearest ones first.
func TargetNames(s *state.State) []string {
	const most = 5
	all := []string{atPresent}
	for i := range min(most, len(finished(s.LineagePath()))) {
		all = append(all, fmt.Sprintf("%s~%d", atPresent, i+1))
	}
	if _, err := lastSuccess(s); err == nil {
		all = append(all, "last-success")
	}
	if s.InitialCheckpoint == "" {
		return nil
	}
	all = append(all, "initial")
	for _, r := range s.Runs { // newest first
		for _, c := range slices.Backward(r.Codons()) {
			if slices.ContainsFunc(kinds, func(k state.CheckpointKind) bool { return CheckpointOf(c, k) != "" }) {
				all = append(all, string(c.CodonID))
			}
		}
	}
	return all
}

// CodonNames are the codons of the plan, in its order, and those that only ran before.
func CodonNames(s *state.State) []string {
	var all []string
	for _, e := range s.ExecutionPlan() {
		all = append(all, string(e.CodonID))
	}
	for _, r := range s.Runs {
		for _, c := range r.Codons() {
			all = append(all, string(c.CodonID))
		}
	}
	return all
}
