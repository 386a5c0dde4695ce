package gate

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"hank/internal/advice"
	"hank/internal/term"
	"hank/plan"
	"hank/state"
)

// View is a request that waits for a person, as it is shown.
type View struct {
	Gate       string        `json:"gate"`
	CodonID    state.CodonID `json:"codonId"`
	LoopID     state.CodonID `json:"loopId,omitempty"`
	Kind       plan.GateKind `json:"kind"`
	Summary    string        `json:"summary"`
	Artifact   string        `json:"artifact,omitempty"` // what to look at: a path on this machine
	Checkpoint state.SHA     `json:"checkpointSha"`      // what is judged
	Time       state.Time    `json:"time"`
	Expires    *state.Time   `json:"expires,omitempty"`
	Requested  state.Time    `json:"requestedAt"` // Time
	ExpiresAt  *state.Time   `json:"expiresAt"`   // Expires
	Approve    string        `json:"approve"`     // the command that says yes
	Reject     string        `json:"reject"`      // the command that says no
}

// ViewOf is a request as it is shown of an execution with a workspace.
func ViewOf(r *state.Gate, workspace string) *View {
	v := &View{Gate: r.Gate, CodonID: r.CodonID, LoopID: r.LoopID, Kind: r.Asked.Kind, Summary: r.Asked.Summary, Checkpoint: r.Checkpoint,
		Time: r.Time, Expires: r.Expires, Requested: r.Time, ExpiresAt: r.Expires, Approve: approveCommand(r), Reject: rejectCommand(r)}
	if r.Asked.Artifact != "" {
		v.Artifact = filepath.Join(workspace, filepath.FromSlash(r.Asked.Artifact))
	}
	return v
}

// In is the view with commands that have the option, " -e DIR", with which they find the
// execution.
func (v *View) In(option string) *View {
	if v == nil {
		return nil
	}
	shown := *v
	shown.Approve, shown.Reject = advice.Command(v.Approve, option), advice.Command(v.Reject, option)
	return &shown
}

// Waits says what is waited for, in one sentence.
func (v *View) Waits() string {
	what := "approval"
	if v.Kind == plan.Reply {
		what = "a reply"
	}
	return fmt.Sprintf("waiting for %s at gate %s: %s", what, v.Gate, strings.TrimSpace(v.Summary))
}

// Rows are the facts that a person needs for the answer, each with its label.
func (v *View) Rows() (rows [][2]string) {
	if v.Artifact != "" {
		rows = append(rows, [2]string{"look at", term.ShortPath(v.Artifact)})
	}
	judged := fmt.Sprintf("checkpoint %.12s", v.Checkpoint)
	if v.Expires != nil {
		judged += ", until " + v.Expires.Local().Format("2006-01-02 15:04:05")
	}
	return append(rows, [2]string{"judged", judged}, [2]string{"to approve", v.Approve}, [2]string{"to reject", v.Reject})
}

// Words are what a person has said to the codon at an index of the plan, oldest first:
// with the no that has failed an earlier attempt, and with the yes at each gate right
// before it. The attempt follows earlier; nil: no attempt that is continued or run again.
func Words(s *state.State, index int, earlier *state.Codon) string {
	said := map[int]string{} // by the number of the request
	switch {
	case earlier == nil:
	case earlier.FailedAtGate():
		for _, r := range slices.Backward(s.Gates) {
			if r.Closed && r.CodonID == earlier.CodonID && r.Asked.ID == earlier.FailureReason.Rule && r.Answer != nil {
				said[r.Number] = r.Answer.Reply
				break
			}
		}
	case earlier.Reply != "":
		return earlier.Reply
	}
	for _, g := range append(Behind(s, index), Ahead(s, index)...) {
		if g.Passed() {
			said[g.Request.Number] = g.Request.Answer.Reply
		}
	}
	var words []string
	for _, number := range slices.Sorted(maps.Keys(said)) {
		if said[number] != "" {
			words = append(words, said[number])
		}
	}
	return strings.Join(words, "\n\n")
}

// Lapsed is a gate that has expired, before a run has taken notice of it, as it is shown.
type Lapsed struct {
	Gate      string         `json:"gate"`
	CodonID   state.CodonID  `json:"codonId"` // that the next run has fail
	At        state.Time     `json:"expiredAt"`
	OnFailure plan.OnFailure `json:"onFailure"` // of that codon: what follows
}

// Lapse is a gate that has expired, as it is shown.
func (g Standing) Lapse() *Lapsed {
	return &Lapsed{g.Name, g.Codon.CodonID, *g.Request.Expires, g.Codon.Codon.Failure()}
}

// Text says that the gate has expired, and what follows: by the run that is in progress, or by the
// next one.
func (l *Lapsed) Text(live bool) string {
	by := "the next run"
	if live {
		by = "the run"
	}
	return fmt.Sprintf("gate %s has expired on %s: %s has codon %s fail, and its onFailure (%s) applies",
		l.Gate, l.At.Local().Format("2006-01-02 15:04:05"), by, l.CodonID, l.OnFailure)
}
