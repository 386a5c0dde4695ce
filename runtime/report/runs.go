package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"hank/internal/advice"
	"hank/internal/term"
	"hank/plan"
	"hank/plan/config"
	"hank/recovery"
	"hank/recovery/layout"
	"hank/runtime/exitcode"
	"hank/runtime/harness"
	"hank/runtime/history"
	"hank/runtime/question"
	"hank/runtime/verdict"
	"hank/runtime/why"
	"hank/state"
)

// Runs are runs of an execution with their records, newest first.
type Runs struct {
	Schema int          `json:"schema"`
	Name   string       `json:"name"`            // of the hank
	Limits state.Limits `json:"limits,omitzero"` // of the execution
	Runs   []Run        `json:"runs"`
	Gates  []state.Gate `json:"gates,omitempty"` // what persons were asked, oldest first

	view *recovery.View
}

// Summary is how the execution is, in two lines.
func (r *Runs) Summary() string {
	v := r.view
	text := fmt.Sprintf("%s, %s, %s", verdict.OfExecution(v), verdict.ProgressText(v.Head.Done, v.Extent(), v.Head.Caveats), v.Head.Bill().Text())
	if at := began(v); at != nil {
		text += fmt.Sprintf("\n  %s of work, begun %s", term.Duration(worked(v)), at.Local().Format(time.DateTime))
	}
	return text
}

// Run is a run with its records.
type Run struct {
	*state.Run
	Verdict verdict.Verdict `json:"verdict"` // in a word for people
	Codons  []*state.Codon  `json:"codons"`

	unended time.Duration // how long the attempt that is not over has taken
}

// Attempts are attempts at a codon, newest first.
type Attempts struct {
	Schema int       `json:"schema"`
	Codons []Attempt `json:"codons"`

	Finish      string `json:"-"` // the command that does the newest again, which a budget interrupted
	FinishFirst string `json:"-"` // what must be done before it

	layout layout.Layout // of the execution
}

// Transcript is the file that has the transcript of one of the attempts, as a path from here;
// empty: none has.
func (a *Attempts) Transcript(of Attempt) string {
	if of.ClaudeLogPath == "" {
		return ""
	}
	return term.ShortPath(a.layout.Resolve(of.ClaudeLogPath))
}

// Attempt is a record with the run that holds it.
type Attempt struct {
	RunID   state.RunID     `json:"runId"`
	Verdict verdict.Verdict `json:"verdict"` // in a word for people
	*state.Codon

	left bool // see LeftText
}

// LeftText says in parentheses that the execution has gone back to before the attempt since;
// empty where it has not.
func (a Attempt) LeftText() string { return leftText(a.left) }

func leftText(left bool) string {
	if !left {
		return ""
	}
	return " (left behind: the execution has gone back since)"
}

// ListRuns lists the runs of an execution, at most limit, or all if that is 0; named
// is the only one, and without it those older than the run before. The commands in
// their texts have the option, see ReadStatus.
func ListRuns(v *recovery.View, named *state.Run, limit int, before, option string) (*Runs, error) {
	runs, err := runsBefore(v.State.Runs, before)
	if err != nil {
		return nil, err
	}
	if named != nil {
		runs = []*state.Run{named}
	}
	if limit > 0 && len(runs) > limit {
		runs = runs[:limit]
	}
	out := &Runs{Schema: 1, Name: hankName(v), Limits: v.State.Limits, Runs: []Run{}, Gates: v.State.Gates, view: v}
	for _, r := range runs {
		shown := Run{shownRun(r, option), verdict.OfRun(v, r), r.Codons(), Unended(v, r)}
		for i, k := range shown.Codons {
			shown.Codons[i] = ShownCodon(k, option)
		}
		out.Runs = append(out.Runs, shown)
	}
	return out, nil
}

// ListAttempts lists the attempts at a codon, at most limit, or all if that is 0, in
// runs that are older than the run before. The commands in their texts have the
// option; in are the settings that hold here.
func ListAttempts(v *recovery.View, id state.CodonID, limit int, before, option string, in config.Layers) (*Attempts, error) {
	runs, err := runsBefore(v.State.Runs, before)
	if err != nil {
		return nil, err
	}
	if id, err = history.CodonAt(v.State, history.ToRead(v.State, string(id))); err != nil {
		return nil, err
	}
	out := attemptsOf(v, runs, option, func(k *state.Codon) bool { return k.CodonID == id })
	switch {
	case len(out.Codons) > 0:
	case knows(v.State, id):
		return nil, &exitcode.UsageError{Why: fmt.Sprintf("codon %s has not run yet; see: `hank plan`", id)}
	default:
		return nil, &exitcode.UsageError{Why: fmt.Sprintf("no run or codon %q%s see: `hank show`, `hank plan`", id, cmp.Or(history.MeantCodon(v.State, id), ";"))}
	}
	if limit > 0 && len(out.Codons) > limit {
		out.Codons = out.Codons[:limit]
	}
	if !v.Live {
		out.Finish, out.FinishFirst = verdict.Finish(v.State, id, func() *plan.Program { return question.Program(v, in) })
	}
	return out, nil
}

// ListSession lists the attempts that have worked in an agent's session, newest first. Its
// id may be cut short where it is still one session's. *exitcode.UsageError for one that no
// attempt has, or several have.
func ListSession(v *recovery.View, id string, limit int, before, option string) (*Attempts, error) {
	runs, err := runsBefore(v.State.Runs, before)
	if err != nil {
		return nil, err
	}
	out := attemptsOf(v, runs, option, func(k *state.Codon) bool { return id != "" && strings.HasPrefix(k.ClaudeSessionID, id) })
	if slices.ContainsFunc(out.Codons, func(a Attempt) bool { return a.ClaudeSessionID == id }) {
		out.Codons = slices.DeleteFunc(out.Codons, func(a Attempt) bool { return a.ClaudeSessionID != id })
	}
	for _, a := range out.Codons {
		if first := out.Codons[0].ClaudeSessionID; a.ClaudeSessionID != first {
			return nil, &exitcode.UsageError{Why: fmt.Sprintf("several sessions begin with %q, among them %s and %s", id, first, a.ClaudeSessionID)}
		}
	}
	if len(out.Codons) == 0 {
		return nil, &exitcode.UsageError{Why: fmt.Sprintf("no codon has worked in a session %q; `hank show CODON` names those of a codon", id)}
	}
	if limit > 0 && len(out.Codons) > limit {
		out.Codons = out.Codons[:limit]
	}
	return out, nil
}

// attemptsOf are those attempts of runs that are meant, newest first.
func attemptsOf(v *recovery.View, runs []*state.Run, option string, meant func(*state.Codon) bool) *Attempts {
	out, left := &Attempts{Schema: 1, Codons: []Attempt{}, layout: v.Layout}, why.LeftBehind(v.State)
	for _, r := range runs {
		for i := r.Len() - 1; i >= 0; i-- {
			if k := r.Codon(i); meant(k) {
				out.Codons = append(out.Codons, Attempt{r.RunID, verdict.OfCodon(k, verdict.OfRun(v, r)), ShownCodon(k, option), left(r, k)})
			}
		}
	}
	return out
}

func runsBefore(runs []*state.Run, before string) ([]*state.Run, error) {
	if before == "" {
		return runs, nil
	}
	at := slices.IndexFunc(runs, func(r *state.Run) bool { return r.RunID == state.RunID(before) })
	if at < 0 {
		return nil, history.UnknownRun(runs, before)
	}
	return runs[at+1:], nil
}

// Attempts are the records of the run, each with its verdict.
func (r Run) Attempts() []Attempt {
	out := make([]Attempt, len(r.Codons))
	for i, k := range r.Codons {
		out[i] = Attempt{RunID: r.RunID, Verdict: verdict.OfCodon(k, r.Verdict), Codon: k}
	}
	return out
}

// Worked is how long the attempts of the run took, in words; one that is not over until now
// or, where hank was killed, until its last sign of life.
func (r Run) Worked() string {
	sum := r.unended
	for _, a := range r.Attempts() {
		took, _ := a.Took()
		sum += took
	}
	return term.Duration(sum) + " of work"
}

// Origin is how the run came about: fresh, or from which run.
func (r Run) Origin() string {
	if src := r.StartingConditions.Source; src != nil {
		switch reason := r.StartingConditions.Reason; {
		case src.Branch:
			return "branch from " + string(src.RunID)
		case reason == state.ReasonRollback:
			return "after rollback from " + string(src.RunID)
		case reason == state.ReasonRetry:
			return "retries " + string(src.RunID)
		}
		return "continues " + string(src.RunID)
	}
	return string(r.StartingConditions.Type)
}

// Ending is what the run recorded of its end, where the verdict does not tell all.
func (r Run) Ending() string {
	if r.Verdict == verdict.Budget || r.Verdict == verdict.Paused {
		return verdict.Beside(r.Verdict, FirstLine(r.EndDetail))
	}
	return ""
}

// Took is how long the attempt took; false while it is not over.
func (a Attempt) Took() (d time.Duration, over bool) {
	if a.EndTime == nil {
		return 0, false
	}
	return a.EndTime.Sub(a.StartTime.Time), true
}

// Why is what the verdict leaves unsaid, in one line; empty if that is nothing.
func (a Attempt) Why() string {
	text := verdict.Qualification(a.Codon)
	word := verdict.OfCodon(a.Codon, "")
	if a.FailureReason == nil || word == verdict.Stopped {
		return text
	}
	if text != "" {
		text += ": "
	}
	return text + verdict.Beside(word, verdict.FailureLine(a.FailureReason))
}

// Evidence is how the failure was recognized, as far as its record has that, and
// whether another attempt may end otherwise.
func (a Attempt) Evidence() string {
	return strings.TrimSuffix(a.again()+"; "+harness.Classified(a.FailureReason), "; ")
}

// again is whether another attempt may end otherwise.
func (a Attempt) again() string {
	switch {
	case a.Verdict == verdict.Refused:
		command := "hank run"
		if _, corrected := verdict.RefusedModel(a.Codon); corrected != "" {
			command = corrected
		}
		return advice.Quote(command) + " reruns it, once the cause is removed"
	case a.FailureReason.Retriable:
		return "retryable"
	}
	return "not retryable"
}
