//go:build unix

package modeltest

import (
	"fmt"
	"slices"
	"strings"
)

// An errand is a command with an operation ID, and how it ended: given again it does
// nothing and answers the same, whatever has happened since.
type errand struct {
	id     string
	args   []string
	code   int
	answer string // what --json printed
}

// errand draws whether a command gets an operation ID, and returns its arguments.
func (l *lane) errand(args ...string) []string {
	if l.rng.IntN(3) > 0 {
		return args
	}
	return append(slices.Clip(args), "--json", "--op-id", fmt.Sprint("op-", l.ops))
}

// carried notes how a command ended, if it has an ID.
func (l *lane) carried(args []string, r result) {
	if i := slices.Index(args, "--op-id"); i >= 0 {
		l.m.errands = append(slices.Clip(l.m.errands), errand{args[i+1], args, r.code, object(r.out)})
	}
}

// object is the JSON object in an output that has lines for people before it.
func object(out string) string {
	_, text, _ := strings.Cut("\n"+out, "\n{\n")
	return text
}

// repeat gives a command with an ID again: as it was, or with other arguments, which is
// a mistake.
func (l *lane) repeat() bool {
	n := len(l.m.errands)
	if n == 0 {
		return false
	}
	e := l.m.errands[n-1-l.rng.IntN(min(n, 6))]
	if l.rng.IntN(4) == 0 {
		other := []string{"rollback", "initial", "--yes", "--op-id", e.id}
		if l.rng.IntN(2) == 0 {
			other = []string{"run", "../hank", "--stop-after", "77", "--op-id", e.id}
		}
		if r := l.hank(other...); r.code != 2 {
			l.fatalf("operation %s was given with other arguments and ended with %d:\n%s", e.id, r.code, r.out)
		}
	} else {
		r := l.hank(e.args...)
		if r.code != e.code {
			l.fatalf("operation %s ended with %d, and given again with %d:\n%s", e.id, e.code, r.code, r.out)
		}
		if got := object(r.out); got != e.answer {
			l.fatalf("operation %s answered\n%s\nand given again\n%s", e.id, e.answer, got)
		}
	}
	if starts := l.newStarts(); len(starts) > 0 {
		l.fatalf("operation %s was given again, and %v began", e.id, starts)
	}
	l.check(nil)
	return true
}
