// Package bounds decides how far a run goes through its plan where its command names a
// codon: until that codon is finished (--until), or that codon alone (--only).
//
// It reads a state and performs nothing. The run itself asks before its first codon
// (Start) and between two codons (Between), and ends where it is told to.
package bounds

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"hank/internal/shell"
	"hank/plan"
	"hank/runtime/exitcode"
	"hank/runtime/history"
	"hank/runtime/request"
	"hank/state"
)

// Bounds are how far a run goes. The zero value is to the end of the plan.
type Bounds struct {
	Codon state.CodonID // the run ends when it is finished, or cannot come any more
	Only  bool          // nothing else is to run
	until string        // the command that has named it, with --until
	loop  plan.CodonID  // that it is an iteration in; empty: none
}

// Of are the bounds that a command with a codon of the plan, or of an iteration to come, makes.
func Of(s *state.State, id state.CodonID, r request.Request) Bounds {
	b := Bounds{Codon: id, Only: r.Only, until: "hank " + string(cmp.Or(r.Mode, request.ModeRun))}
	if r.Codon != "" {
		b.until += " " + shell.Quote(string(r.Codon))
	}
	if r.FromRigSetup {
		b.until += " --from rig-setup"
	}
	if r.From != "" {
		b.until += " --from " + shell.Quote(r.From)
	}
	b.until += " --until " + shell.Quote(string(id))
	name, _, iterates := strings.Cut(string(id), "#")
	for _, e := range s.ExecutionPlan() {
		if iterates && e.LoopContext != nil && string(e.Codon.ID) == name {
			b.loop = e.LoopContext.LoopID
		}
	}
	return b
}

// CheckNew is why the first run of a program cannot go as far as the command says: the plan does
// not have the codon, or others come before the only one.
func CheckNew(p *plan.Program, r request.Request) error {
	if r.Until == "" {
		return nil
	}
	entries, err := history.EncodeEntries(p.Initial())
	if err != nil {
		return err
	}
	s, err := (&state.State{}).WithPlan(entries)
	if err != nil {
		return err
	}
	id, err := history.CodonToCome(s, string(r.Until))
	if err == nil {
		_, err = Of(s, id, r).Start(s)
	}
	var wrong *exitcode.UsageError
	if errors.As(err, &wrong) { // there is no execution yet whose plan could be shown, or that knows its hank
		hank := shell.Path(cmp.Or(r.Hank, "."))
		return &exitcode.UsageError{Why: strings.NewReplacer("`hank plan`", "hank plan "+hank, "`hank run ", "`hank run "+hank+" ").Replace(wrong.Why)}
	}
	return err
}

// flag is the option that has named the codon.
func (b Bounds) flag() string {
	if b.Only {
		return "--only"
	}
	return "--until"
}

// Start decides before a run begins at a state: why there is nothing to run, or empty.
// The error says that the codon cannot be run alone from there. Complexity: the lineage path
// and the plan.
func (b Bounds) Start(s *state.State) (over string, err error) {
	entries, finished := s.ExecutionPlan(), s.Finished()
	next := len(finished)
	if b.Codon == "" || next >= len(entries) {
		return "", nil
	}
	if i := s.PlanIndex(b.Codon); i >= 0 && i < next {
		return fmt.Sprintf("codon %s is finished already (%s): %s has nothing to run", b.Codon, finished[i].Status, b.flag()), nil
	}
	for _, e := range entries[next:] {
		if e.CodonID != b.Codon && !b.within(e.LoopContext) {
			continue
		}
		if first := entries[next].CodonID; b.Only && first != b.Codon {
			return "", &exitcode.UsageError{Why: fmt.Sprintf("--only %s: codon %s comes before it; to run that, too: `%s`", b.Codon, first, b.until)}
		}
		return "", nil
	}
	return fmt.Sprintf("codon %s does not come any more, since its loop is over: %s has nothing to run", b.Codon, b.flag()), nil
}

// Between decides between two entries of a plan, the last finished one and the next:
// why the run ends there, or empty.
func (b Bounds) Between(last *state.Codon, next plan.Entry) string {
	switch {
	case b.Codon == "" || last == nil:
		return ""
	case last.CodonID == b.Codon:
		return fmt.Sprintf("stopped after codon %s, as %s says", b.Codon, b.flag())
	case b.within(last.LoopContext) && !b.within(next.LoopContext):
		return fmt.Sprintf("stopped before codon %s: codon %s does not come any more, since its loop is over", next.CodonID, b.Codon)
	}
	return ""
}

// within reports whether an entry is of the loop of the named codon.
func (b Bounds) within(c *plan.LoopContext) bool {
	return b.loop != "" && c != nil && c.LoopID == b.loop
}
