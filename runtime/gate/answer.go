package gate

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"hank/internal/shell"
	"hank/internal/term"
	"hank/internal/typo"
	"hank/plan"
	"hank/recovery/finding"
	"hank/runtime/exitcode"
	"hank/state"
)

// Answer is what a person says at a gate.
type Answer struct {
	Gate       string           `json:"gate"` // its name, or its id with a checkpoint
	Status     state.GateStatus `json:"status"`
	Reply      string           `json:"reply,omitempty"`
	Checkpoint string           `json:"checkpoint,omitempty"` // the beginning of the SHA that was judged; empty: the one that waits
	By         state.StartedBy  `json:"by"`
	// Operation is the command, if it is to be carried out once.
	Operation *state.Operation `json:"operation,omitempty"`
}

// Verb is the command that gives the answer: approve or reject.
func (a Answer) Verb() string { return verb(a.Status) }

// Decide computes what an answer does: a transition, or nothing where the same answer
// was given before; before is that one. The error is an *exitcode.UsageError, or a
// *finding.DecisionError where the answer comes too late, or is about something else
// than what waits.
//
//  1. The gate that waits takes an answer, within its time, about its checkpoint.
//  2. A request that was answered takes the same answer again, and no other.
//  3. Any other is about a gate that does not wait.
func Decide(s *state.State, a Answer, now state.Time) (t *state.GateAnswered, about *state.Gate, err error) {
	g := At(s)
	if g != nil && g.Waiting() && a.means(g.Request) && !a.isAboutEarlier(s, g.Request) {
		if t, about, err = a.to(g, now); err == nil {
			err = a.fits(s, g)
		}
		if err != nil {
			return nil, nil, err
		}
		return t, about, nil
	}
	if r := a.before(s, g); r != nil {
		same := r.Status == a.Status && (a.Reply == "" || a.Reply == r.Answer.Reply)
		if same && a.isAbout(r) {
			return nil, r, nil
		}
		if same {
			return nil, nil, stale("%s (%s) about checkpoint %.12s, not about %s", Sentence(r), r.Answer.Time.Local().Format(time.DateTime), r.Checkpoint, a.Checkpoint)
		}
		return nil, nil, stale("%s (%s, checkpoint %.12s), and an answer is not changed", Sentence(r), r.Answer.Time.Local().Format(time.DateTime), r.Checkpoint)
	}
	if known := names(s); !slices.Contains(known, baseOf(a.Gate)) {
		why := fmt.Sprintf("the hank has no gate %q", a.Gate)
		if near := typo.Nearest(a.Gate, known); near != "" {
			why += "; did you mean " + near + "?"
		} else if len(known) > 0 {
			why += "; it has: " + strings.Join(known, ", ")
		}
		return nil, nil, &exitcode.UsageError{Why: why}
	}
	return nil, nil, stale("gate %s does not wait for an answer", a.Gate)
}

// before is the request that was answered and that the answer may be given to again: the
// one that the execution is at, or else the one that was answered last; where the answer
// names a checkpoint, of those that are about it.
func (a Answer) before(s *state.State, at *Standing) (last *state.Gate) {
	for i := range s.Gates {
		r := &s.Gates[i]
		switch {
		case !a.means(r) || !a.isAbout(r) && a.isAboutAny(s) || r.Lineage != s.Lineage || r.Status == state.GatePending:
		case at != nil && at.Request != nil && at.Request.Number == r.Number:
			return r
		case last == nil || !r.Answer.Time.Before(last.Answer.Time.Time):
			last = r
		}
	}
	return last
}

// isAboutAny reports whether the answer is about the checkpoint of an answered request.
func (a Answer) isAboutAny(s *state.State) bool {
	return slices.ContainsFunc(s.Gates, func(r state.Gate) bool { return a.means(&r) && a.isAbout(&r) && r.Status != state.GatePending })
}

// isAboutEarlier reports whether the answer is about the checkpoint of an answered request of an
// iteration before the one that waits, and not about that of the latter.
func (a Answer) isAboutEarlier(s *state.State, waits *state.Gate) bool {
	return !a.isAbout(waits) && slices.ContainsFunc(s.Gates, func(r state.Gate) bool {
		return a.means(&r) && a.isAbout(&r) && r.Gate != waits.Gate && r.Lineage == s.Lineage && r.Status != state.GatePending
	})
}

// to is the answer to the gate that waits.
func (a Answer) to(g *Standing, now state.Time) (*state.GateAnswered, *state.Gate, error) {
	switch r := g.Request; {
	case r.Gate != a.Gate && a.Checkpoint == "": // the same command again would answer the next iteration
		return nil, nil, &exitcode.UsageError{Why: fmt.Sprintf("gate %s asks in each iteration: name the iteration, %s, or the checkpoint: `%s`", a.Gate, r.Gate, a.command(r))}
	case !a.isAbout(r):
		return nil, nil, stale("gate %s waits for an answer about checkpoint %.12s, not %s; look at it, and answer with: `%s`", r.Gate, r.Checkpoint, a.Checkpoint, a.command(r))
	case g.Expired(now.Time):
		return nil, nil, stale("gate %s has expired on %s", r.Gate, r.Expires.Local().Format(time.DateTime))
	case a.Status == state.GateApproved && r.Asked.Kind == plan.Reply && strings.TrimSpace(a.Reply) == "":
		return nil, nil, &exitcode.UsageError{Why: fmt.Sprintf("gate %s asks for a reply: `%s`", r.Gate, approveCommand(r))}
	}
	return &state.GateAnswered{Number: g.Request.Number, Status: a.Status, Answer: state.GateAnswer{Time: now, By: a.By, Reply: a.Reply}}, g.Request, nil
}

// mostSaid is how many bytes a codon can be told. An environment variable of Linux holds 131,072
// with its name, and HANK_REPLY has what was said at all gates right before the codon. A reply may
// take half of what those before it leave, so that there is room at each gate.
const mostSaid = 128_000

// told is where in the plan the codon is that is told the answer, and what it is told besides.
func (a Answer) told(s *state.State, g *Standing) (index int, words string) {
	index = s.Next()
	var earlier *state.Codon
	if a.Status == state.GateRejected {
		index = s.PlanIndex(g.Codon.CodonID)
	} else if r := s.RunAtPosition(); r != nil && r.Len() > 0 && index < len(s.ExecutionPlan()) {
		if last := r.Codon(r.Len() - 1); last.FailedAtGate() && last.CodonID == s.ExecutionPlan()[index].CodonID {
			earlier = last
		}
	}
	return index, Words(s, index, earlier)
}

// fits refuses a reply that takes more of what its codon can be told than it may.
func (a Answer) fits(s *state.State, g *Standing) error {
	_, words := a.told(s, g)
	return a.least(g, (mostSaid-len(words))/2)
}

func (a Answer) least(g *Standing, room int) error {
	if len(a.Reply) <= room {
		return nil
	}
	return &exitcode.UsageError{Why: fmt.Sprintf("the reply at gate %s has %s, and may have %d: give a shorter one, and put long text into a file that it names", g.Name, term.Count(len(a.Reply), "byte"), room)}
}

// FitsPrompt refuses a reply with which the system prompt of its codon would be longer than its agent
// can be given: an answer that was taken is not changed, and no attempt could begin with it. v has
// what else an attempt is told.
func (a Answer) FitsPrompt(s *state.State, v plan.Vars, load func(state.SHA) (*plan.Program, error)) error {
	g := At(s)
	if g == nil || a.Reply == "" || s.Program == "" {
		return nil
	}
	index, words := a.told(s, g)
	if index < 0 || index >= len(s.ExecutionPlan()) {
		return nil
	}
	p, err := load(s.Program)
	if err != nil {
		return nil // which the next command says
	}
	e := s.ExecutionPlan()[index].Entry
	whole := func(reply string) int {
		v.Reply = strings.Trim(words+"\n\n"+reply, "\n")
		return p.SystemTooLong(e, v)
	}
	if whole(a.Reply) == 0 {
		return nil
	}
	room := sort.Search(len(a.Reply), func(n int) bool { return whole(a.Reply[:n]) > 0 }) - 1
	return a.least(g, max(room, 0))
}

// means reports whether a request is one at the gate that the answer names, of whichever
// iteration if it names none.
func (a Answer) means(r *state.Gate) bool {
	return r.Gate == a.Gate || baseOf(r.Gate) == a.Gate
}

// isAbout reports whether the answer is about the checkpoint of a request.
func (a Answer) isAbout(r *state.Gate) bool {
	return a.Checkpoint == "" || strings.HasPrefix(string(r.Checkpoint), strings.ToLower(a.Checkpoint))
}

// baseOf is the id of a gate in the hank.
func baseOf(name string) string {
	id, _, _ := strings.Cut(name, "#")
	return id
}

// names are the ids of the gates of the plan as far as it is laid out.
func names(s *state.State) (list []string) {
	for _, e := range s.ExecutionPlan() {
		for _, g := range []*plan.Gate{e.Codon.Gate, loopGate(e.Entry)} {
			if g != nil && !slices.Contains(list, g.ID) {
				list = append(list, g.ID)
			}
		}
	}
	return list
}

func stale(format string, args ...any) error {
	return &finding.DecisionError{What: "the answer is refused: " + fmt.Sprintf(format, args...)}
}

func verb(status state.GateStatus) string {
	if status == state.GateRejected {
		return "reject"
	}
	return "approve"
}

// command is the command that gives the answer to a request.
func (a Answer) command(r *state.Gate) string {
	if a.Status == state.GateRejected {
		return rejectCommand(r)
	}
	return approveCommand(r)
}

// approveCommand is the command that says yes to a request.
func approveCommand(r *state.Gate) string {
	command := fmt.Sprintf("hank approve %s --checkpoint %.12s", shell.Quote(r.Gate), r.Checkpoint)
	if r.Asked.Kind == plan.Reply {
		command += " --reply TEXT"
	}
	return command
}

// rejectCommand is the command that says no to a request.
func rejectCommand(r *state.Gate) string {
	return fmt.Sprintf("hank reject %s --checkpoint %.12s", shell.Quote(r.Gate), r.Checkpoint)
}
