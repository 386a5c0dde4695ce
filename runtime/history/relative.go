package history

import (
	"slices"
	"strconv"
	"strings"

	"hank/checkpoint"
	"hank/internal/lazyregexp"
	"hank/recovery/execution"
	"hank/state"
)

// atPresent is the target that is where the execution is.
const atPresent = "@"

// relativeForm is a target with steps back from it, as git writes them: X~ is X~1.
var relativeForm = lazyregexp.New(`^(.+)~(\d{0,6})$`)

// relative takes the last steps back off a target.
func relative(text string) (from string, back int, ok bool) {
	m := relativeForm.FindStringSubmatch(text)
	if m == nil {
		return "", 0, false
	}
	if back = 1; m[2] != "" {
		back, _ = strconv.Atoi(m[2]) // six digits at most
	}
	return m[1], back, true
}

// present is where the execution is: the checkpoint that the workspace was last at,
// by the name of the codon that ended there, if one did.
func present(s *state.State, store Resolver) (Target, error) {
	head := execution.Head(s)
	if head == "" {
		return Target{}, &TargetError{Text: atPresent}
	}
	if steps := s.LineagePath(); len(steps) > 0 {
		if end, ok := EndOf(s, steps[len(steps)-1], ""); ok && sameTree(store, end.SHA, head) {
			return end, nil
		}
	}
	return TargetOf(s, store, head), nil
}

func sameTree(store Resolver, a, b state.SHA) bool {
	one, err := store.CommitInfo(checkpoint.SHA(a))
	other, otherErr := store.CommitInfo(checkpoint.SHA(b))
	return a == b || err == nil && otherErr == nil && one.Tree == other.Tree
}

// stepsBack goes from a target so many finished codons back.
func stepsBack(s *state.State, store Resolver, t Target, back int, text string) (Target, error) {
	if back == 0 {
		return t, nil
	}
	earlier := earlierOf(s, store, t)
	if back > len(earlier) {
		return Target{}, &TargetError{Text: text, Beyond: &beyond{From: t, Steps: len(earlier)}}
	}
	return earlier[back-1], nil
}

// earlierOf are the checkpoints that a target's steps back lead to, the nearest first:
// those of the codons that were finished on the way to it, and the initial one.
func earlierOf(s *state.State, store Resolver, t Target) []Target {
	if t.SHA == s.InitialCheckpoint {
		return nil
	}
	at := t.Position
	if t.Kind == state.KindRecovery {
		if ended := execution.EndedAt(store, t.SHA); ended != t.SHA {
			at = TargetOf(s, store, ended).Position
		}
	}
	there := *s
	there.Position = &at
	steps := finished(there.LineagePath())
	if n := len(steps); n > 0 && endsWithCodon(t) {
		steps = steps[:n-1]
	}
	out := make([]Target, 0, len(steps)+1)
	for _, step := range slices.Backward(steps) {
		if end, ok := EndOf(s, step, ""); ok {
			out = append(out, end)
		}
	}
	if first, err := initialTarget(s); err == nil {
		out = append(out, first)
	}
	return out
}

// endsWithCodon reports whether a target is the end of a finished codon, and not inside
// or after one.
func endsWithCodon(t Target) bool {
	ends := []state.CheckpointKind{state.KindCompleted, state.KindSkipped, state.KindError, state.KindArchive, state.KindExit}
	return slices.Contains(ends, t.Kind) && t.Position.RestartAt == ""
}

// finished are the attempts of a lineage path that have finished their codon, the last of
// each that has a checkpoint: the record of a gate that was not passed has none.
func finished(steps []state.LineageEntry) []state.LineageEntry {
	last := map[state.CodonID]*state.Codon{}
	for _, step := range steps {
		has := func(k state.CheckpointKind) bool { return CheckpointOf(step.Codon, k) != "" }
		if step.Codon.Settled() && slices.ContainsFunc(kinds, has) {
			last[step.Codon.CodonID] = step.Codon
		}
	}
	return slices.DeleteFunc(slices.Clone(steps), func(step state.LineageEntry) bool { return last[step.Codon.CodonID] != step.Codon })
}

// What other tools write for a place, and the number of steps that it means.
var (
	gitForm   = lazyregexp.New(`^(?i:(HEAD)|(.+?))?(?:(\^+)|~(\d{0,6})|\^(\d{1,6})|@?\{(\d{1,6})\})?$`)
	stepsForm = lazyregexp.New(`^[-~]?(\d{1,3})$`)
)

// asWritten takes what other tools write for a number of steps back off a text: 2, -2,
// HEAD~2, HEAD^^ and @{2} are @~2. found is false for a text that has none of it.
func asWritten(text string) (from, steps string, found bool) {
	if m := stepsForm.FindStringSubmatch(text); m != nil {
		return atPresent, "~" + m[1], true
	}
	m := gitForm.FindStringSubmatch(text)
	if m == nil {
		return text, "", false
	}
	if from = m[2]; m[1] != "" || from == "" {
		from = atPresent
	}
	switch number := m[4] + m[5] + m[6]; {
	case m[3] != "": // ^^
		steps = "~" + strconv.Itoa(len(m[3]))
	case number != "" || strings.HasSuffix(text, "~"):
		steps = "~" + number
	}
	return from, steps, steps != "" || m[1] != ""
}
