package report

import (
	"fmt"
	"sync"
	"time"

	"hank/internal/term"
	"hank/internal/vfs"
	"hank/recovery"
	"hank/runtime/history"
	"hank/runtime/why"
	"hank/state/journal"
)

// Why explains a codon of an execution. The name is one as in hank show.
func Why(v *recovery.View, name string) (why.Explanation, error) {
	return WhyAfter(v, name, sync.OnceValue(func() (moves []why.Move) {
		// A journal that is lost, damaged or Hankweave's tells of fewer moves.
		_ = journal.ReadWanted(vfs.OS, v.Layout.Events(), 1, why.MayMove, func(e journal.Event) error {
			if m, moved := why.MoveOf(e); moved {
				moves = append(moves, m)
			}
			return nil
		})
		return moves
	}))
}

// WhyAfter is Why for who keeps the moves; see why.Explain.
func WhyAfter(v *recovery.View, name string, moves func() []why.Move) (why.Explanation, error) {
	s, undecided := history.Ahead(v)
	id, err := history.CodonToCome(s, history.ToRead(s, name))
	if err != nil {
		return why.Explanation{}, err
	}
	return why.Explain(s, id, moves, undecided, s.Newest() != nil && v.Crashed(s.Newest()), time.Now()), nil
}

// mostExplained is how many attempts fit on a screen.
const mostExplained = 5

// mostOfSummary is how much is shown of what holds for the codon.
const mostOfSummary = 1000

// mostOfReason is how much of a reason is shown.
const mostOfReason = 300

// WhyLines are an explanation for people, on one screen.
func WhyLines(e why.Explanation) (lines []Line) {
	add := func(label, format string, args ...any) {
		lines = append(lines, Line{Label: label, Text: fmt.Sprintf(format, args...)})
	}
	add("", "%s", oneLine(e.Summary, mostOfSummary))
	for i, a := range e.Attempts {
		if i == mostExplained {
			add("", "and %s before: --json has all", term.Count(len(e.Attempts)-i, "attempt"))
			break
		}
		add("", "%s  run %s, attempt %d%s", a.Began.Local().Format(time.DateTime), a.RunID, a.Attempt, leftText(a.Left))
		add("began because", "%s", oneLine(a.Because, mostOfReason))
		add("then", "%s", oneLine(a.Then, mostOfReason))
	}
	return lines
}
