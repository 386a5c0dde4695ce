// Package alert decides when a run warns that a budget will soon be used up.
//
//   - A Limit is an amount of money, time or tokens that a codon, a loop, the hank or the
//     execution may use, or the part of one that an allocation gives a codon or loop, with what it had used before an attempt.
//   - A level is a part of a limit: 50, 80 and 95 percent. A Warning is one level of one limit
//     that is reached, and is given once. That a limit is reached whole is no warning: the
//     record of the codon says it.
//   - A Watch follows the limits of one attempt.
//
// A warning is in the journal (Event) after the use that has led to it, so that what was said
// follows from what was used: of a limit that continues, in the next attempt or the next run,
// the levels below what is used already were said. Only a crash can come between the two; then
// the journal is asked.
//
// The package decides and reads events. It records, prints and ends nothing.
package alert

import (
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"hank/internal/vfs"
	"hank/plan"
	"hank/runtime/budget"
	"hank/runtime/retry"
	"hank/state"
	"hank/state/journal"
)

// Event is the type of the event that carries a Warning.
const Event = "budget.warning"

// levels are percents, in order.
var levels = [...]int{50, 80, 95}

// Warning says that so much of a limit is used. Limit and Used are dollars, seconds or tokens.
type Warning struct {
	RunID    state.RunID  `json:"runId"`
	CodonID  plan.CodonID `json:"codonId"` // the codon that has led to it
	Scope    string       `json:"scope"`   // codon, loop, hank or execution
	LoopID   plan.CodonID `json:"loopId,omitempty"`
	Part     plan.CodonID `json:"part,omitempty"` // the codon or loop whose part of the limit it is, by the allocation; empty: the whole limit
	Currency string       `json:"currency"`       // as in budgetExceeded
	Level    int          `json:"level"`          // percent
	Limit    float64      `json:"limit"`
	Used     float64      `json:"used"`
	Message  string       `json:"message"`
}

// Watch follows what one attempt uses of its limits. One goroutine may use it.
type Watch struct {
	run    state.RunID
	codon  plan.CodonID
	limits []budget.Watched
	said   []int // the highest level of each
}

// Begin watches the limits of the next attempt at a codon, and returns what a crash of the run
// before has kept from being said. events is the directory of the journal.
func Begin(s *state.State, run state.RunID, codon plan.CodonID, limits []budget.Watched, events string) (w *Watch, missed []Warning) {
	w = newWatch(run, codon, limits)
	if crashed, last := interrupted(s, run, codon); last != nil && len(limits) > 0 {
		said, err := told(events, crashed.RunID)
		if err != nil { // better once more than not at all
			said = nil
		}
		missed = w.missed(useOf(last), said)
	}
	return w, missed
}

// newWatch watches limits for an attempt of a run at a codon.
func newWatch(run state.RunID, codon plan.CodonID, limits []budget.Watched) *Watch {
	w := &Watch{run, codon, limits, make([]int, len(limits))}
	for i, l := range limits {
		w.said[i] = level(l.Used, l.Limit)
	}
	return w
}

// Crossed returns the warnings that are due now that the attempt has used so much. A nil
// Watch has none.
func (w *Watch) Crossed(use budget.Use) (due []Warning) {
	if w == nil {
		return nil
	}
	for i, l := range w.limits {
		now := l.With(use)
		if at := level(now, l.Limit); at > w.said[i] {
			w.said[i] = at
			if now < l.Limit {
				due = append(due, w.warning(l, at, now))
			}
		}
	}
	return due
}

// missed returns the warnings that a crash has prevented: the attempt that it has interrupted
// had recorded a use for which they were due, and the journal does not have them.
func (w *Watch) missed(crashed budget.Use, told map[key]int) (due []Warning) {
	for i, l := range w.limits {
		before := l
		before.Used -= l.Of(crashed)
		if w.said[i] > level(before.Used, l.Limit) && w.said[i] > told[key{l.Scope, l.Loop, l.Part, l.Currency}] && l.Used < l.Limit {
			due = append(due, w.warning(l, w.said[i], l.Used))
		}
	}
	return due
}

// level is the highest level that is reached.
func level(used, limit int64) (reached int) {
	for _, l := range levels {
		hi, lo := bits.Mul64(uint64(max(used, 0)), 100)
		hi2, lo2 := bits.Mul64(uint64(limit), uint64(l))
		if hi > hi2 || hi == hi2 && lo >= lo2 {
			reached = l
		}
	}
	return reached
}

func (w *Watch) warning(l budget.Watched, at int, used int64) Warning {
	out := Warning{RunID: w.run, CodonID: w.codon, Scope: l.Scope, LoopID: l.Loop, Part: l.Part, Currency: l.Currency, Level: at, Limit: l.Float(l.Limit), Used: l.Float(used)}
	whose := map[string]string{budget.ScopeCodon: "the budget of " + string(w.codon), budget.ScopeLoop: "the budget of loop " + string(l.Loop),
		budget.ScopeHank: "the budget of the hank", budget.ScopeExecution: "the limit of this execution"}[l.Scope]
	if l.Part != "" {
		if l.Loop != "" {
			whose = "what loop " + string(l.Loop) + " may spend"
		}
		whose = fmt.Sprintf("the part of %s in %s", l.Part, whose)
	}
	out.Message = fmt.Sprintf("%d %% of %s is used: %s", at, whose, state.BudgetExceeded{Currency: l.Currency, Limit: out.Limit, Used: out.Used})
	return out
}

// key is what the levels of one limit have in common.
type key struct {
	Scope    string
	Loop     plan.CodonID
	Part     plan.CodonID
	Currency string
}

// told reads in the journal of an execution which levels a run has been warned of: the
// highest of each limit. A journal that is not there tells of none. Complexity: the journal.
func told(events string, run state.RunID) (map[key]int, error) {
	said := map[key]int{}
	want := func(quotedType, _ []byte) bool { return string(quotedType) == `"`+Event+`"` }
	err := journal.ReadWanted(vfs.OS, events, 0, want, func(e journal.Event) error {
		var w Warning
		if err := json.Unmarshal(e.Data, &w); err != nil {
			return fmt.Errorf("event %d: %w", e.Seq, err)
		}
		if k := (key{w.Scope, w.LoopID, w.Part, w.Currency}); w.RunID == run {
			said[k] = max(said[k], w.Level)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return said, err
}

// interrupted is the attempt at a codon that a crash has interrupted, before a run that has
// not begun one itself; nil: there is none. The runs before it are those that it continues: an undo
// can have led back past newer ones.
func interrupted(s *state.State, run state.RunID, id plan.CodonID) (*state.Run, *state.Codon) {
	now := s.Run(run)
	if now == nil || now.Len() > 0 || now.StartingConditions.Source == nil {
		return nil, nil
	}
	before := func(at int) int { // what the whole hank has used counts after hank retry, too
		start := s.Runs[at].StartingConditions
		start.Reason = state.ReasonContinue
		return retry.ContinuedFrom(s, start, at+1)
	}
	for at := before(slices.Index(s.Runs, now)); at < len(s.Runs); at = before(at) {
		r := s.Runs[at]
		if r.Len() == 0 {
			continue
		}
		last := r.Codon(r.Len() - 1)
		if r.Status == state.StatusCrashed && last.CodonID == id && last.Interrupted == state.InterruptedByCrash {
			return r, last
		}
		break
	}
	return nil, nil
}

// useOf is what a record has used.
func useOf(c *state.Codon) budget.Use {
	use := budget.Use{Cost: c.Cost(), Output: c.TokenCount().Output}
	if c.EndTime != nil {
		use.Time = max(0, c.EndTime.Sub(c.StartTime.Time)).Round(time.Millisecond)
	}
	return use
}
