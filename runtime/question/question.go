package question

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"hank/checkpoint"
	"hank/internal/advice"
	"hank/plan"
	"hank/plan/config"
	"hank/recovery"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/runtime/agents"
	"hank/runtime/edits"
	"hank/runtime/hankfile"
	"hank/runtime/history"
	"hank/runtime/machine"
	"hank/runtime/request"
	"hank/runtime/startpoint"
	"hank/runtime/verdict"
	"hank/state"
)

// Question returns a *finding.DecisionError where a command that runs codons would
// ask the user before it does: about a workspace that is gone or was changed, and
// about a hank that was changed, or whose frozen copy is lost. Its Command is that command with an answer. An
// empty command is one for a hank that is done. Nothing on disk is changed. layers
// are the settings that hold here.
//
// What the next opening of the execution brings in order by itself is no question.
func Question(ctx context.Context, v *recovery.View, layers config.Layers, command string) error {
	s, done := v.State, command == ""
	if done {
		command = "hank run"
	}
	mode := modeOf(command)
	switch {
	case v.Blocked != nil || v.Live || v.Unfinished() || s.InitialCheckpoint == "":
		return nil
	case v.Gone():
		return edits.Gone(v, command)
	case mode == request.ModeRun && !strings.HasPrefix(command, "hank run"): // it runs nothing
		return nil
	}
	st, _ := startpoint.Decide(startpoint.Situation{State: s}, request.Request{Mode: mode}, request.Answers{}) // a command that cannot mean anything moves nothing
	if ask := played(v, st); ask != nil {
		return ask
	}
	store, err := v.Store()
	if err != nil {
		return err
	}
	defer store.Close()
	ask, answer := ChangedProgram(v, store, request.Request{Mode: mode, Layers: layers})
	unanswerable := ask != nil && answer == ""
	frozen := answer == frozenOption
	if ask != nil { // the answer has the option, or another in its place
		command, answer = answered(ask, command, answer), ""
	}
	changed, keep, err := edits.Changed(ctx, v, s, store, st.To)
	if err != nil {
		return err
	}
	if changed != nil {
		if !strings.HasSuffix(command, " "+keep) {
			answer += " " + keep
		}
		if ask == nil {
			ask = changed
		} else {
			ask.What += ", and " + changed.What
			ask.Options = append(ask.Options, changed.Options...)
			ask.Answers = finding.Both(ask.Answers, changed.Answers)
		}
	}
	if ask == nil {
		return nil
	}
	if ask.Command = command + answer; unanswerable {
		ask.Command = ""
	}
	if done && frozen && changed == nil { // which would run nothing, and be asked again
		ask.Command = ""
		slices.Reverse(ask.Options)
	}
	return ask
}

// AtOnce is Question as far as a look at the workspace's directory tells.
func AtOnce(v *recovery.View, command string) *finding.DecisionError {
	switch {
	case v.Blocked != nil || v.Live || v.Unfinished() || v.State.InitialCheckpoint == "":
		return nil
	case v.Gone():
		return edits.Gone(v, command)
	}
	return v.LateAtOnce()
}

// played is the question of a codon that continues a session that was only replayed; nil
// where the next command replays, or there is none.
func played(v *recovery.View, st startpoint.Start) *finding.DecisionError {
	if v.Meta.Replay != "" || !slices.ContainsFunc(v.State.Runs, wasReplay) {
		return nil
	}
	there := *v.State
	if st.Position != nil {
		there.Position = st.Position
	}
	return startpoint.Played(&there, false)
}

// QuestionOfPlayed is what of Question is about a session that was only replayed. The
// view may be a glance: the whole state is read only where something was replayed.
func QuestionOfPlayed(v *recovery.View, command string) *finding.DecisionError {
	mode := modeOf(command)
	if v.Blocked != nil || v.Live || v.Meta.Replay != "" || !slices.ContainsFunc(v.State.Runs, wasReplay) {
		return nil
	}
	whole, err := recovery.Read(v.Layout.Root)
	if err != nil {
		return nil
	}
	st, _ := startpoint.Decide(startpoint.Situation{State: whole.State}, request.Request{Mode: mode}, request.Answers{})
	return played(whole, st)
}

// wasReplay reports whether a run was a replay, by its last record.
func wasReplay(r *state.Run) bool { return r.Len() > 0 && r.Codon(r.Len()-1).Replayed() }

// QuestionOfHank is what of Question a look at the files of the hank tells. The view
// may be a glance: what takes the whole state is read only where the hank has changed.
func QuestionOfHank(v *recovery.View, layers config.Layers, command string) error {
	s, mode := v.State, modeOf(command)
	if v.Blocked != nil || v.Live || v.Unfinished() || s.InitialCheckpoint == "" || s.Program == "" || v.Gone() {
		return nil
	}
	if live, _, err := hankfile.LoadFor(v.Layout.Root, request.Request{}, layers); len(hankfile.HankChanges(s, nil, live, err)) == 0 {
		return nil
	}
	whole, err := recovery.Read(v.Layout.Root)
	if err != nil {
		return err
	}
	store, err := whole.Store()
	if err != nil {
		return err
	}
	defer store.Close()
	ask, answer := ChangedProgram(whole, store, request.Request{Mode: mode, Layers: layers})
	switch {
	case ask == nil:
		return nil
	case answer != "":
		ask.Command = answered(ask, command, answer)
	}
	return ask
}

// correctHank is what the user does first about a hank that has errors.
const correctHank = "correct the errors in hank.json"

// answered is a command with the answer to a question about the hank. Where the user has to
// change the hank before the command (a budget is used up, a model was refused), the stored
// copy would end as before: one that has errors is to be corrected, too.
func answered(ask *finding.DecisionError, command, answer string) string {
	if strings.HasSuffix(command, verdict.AdoptOption) && answer == frozenOption {
		onlyAdopt(ask)
		return command
	}
	return strings.TrimSuffix(command, verdict.AdoptOption) + answer
}

// frozenOption follows the command that continues with the stored copy of a changed hank.
const frozenOption = " --frozen"

// WhenDone is what of Question about the hank a hank run asks whose execution is completed.
func WhenDone(v *recovery.View, layers config.Layers) []finding.Finding {
	var ask *finding.DecisionError
	if !errors.As(QuestionOfHank(v, layers, "hank run"), &ask) {
		return nil
	}
	return []finding.Finding{{Severity: finding.Warning, What: "`hank run` would ask: " + ask.Error()}}
}

// QuestionOfLost is what of Question, and of hank doctor, is about the checkpoint that the
// command goes back to, and that is lost. The view may be a glance: the store is opened only
// where a codon is to be done again.
func QuestionOfLost(v *recovery.View, command string) *finding.DecisionError {
	if v.Blocked != nil || v.Live || v.Unfinished() || !startpoint.Redoes(v.State, command) {
		return nil
	}
	store, err := v.Store()
	if err != nil {
		return nil // which is said elsewhere
	}
	defer store.Close()
	return startpoint.StartLost(v.State, store, command)
}

// ChangedProgram is the question about the hank that a command asks, and the option that
// answers it; nil if it asks none.
func ChangedProgram(v *recovery.View, store *checkpoint.Store, r request.Request) (*finding.DecisionError, string) {
	if v.State.Program == "" {
		return nil, ""
	}
	frozen, err := githistory.LoadProgram(store, v.State.Program)
	if err != nil {
		live, _, loadErr := hankfile.LoadFor(v.Layout.Root, request.Request{}, r.Layers)
		ask, answer := hankfile.LostProgram(v.State, cmp.Or(v.Meta.HankPath, "the hank"), live, err, loadErr)
		if ask != nil && live != nil {
			ask.First = raise(v, live, r)
		}
		return ask, answer
	}
	live, from, loadErr := hankfile.LoadFor(v.Layout.Root, request.Request{}, r.LayersFor(frozen.Model))
	changes := hankfile.HankChanges(v.State, frozen, live, loadErr)
	if len(changes) == 0 {
		return nil, ""
	}
	if live != nil && (v.Meta.Replay == "" || r.Replay != "") {
		if wrong := Unparsable(context.Background(), v.State, live, nil, r, from.Path); wrong != nil {
			live, changes = nil, hankfile.HankChanges(v.State, frozen, nil, wrong)
		}
	}
	if len(hankfile.OwnChanges(v.State, r, frozen, live)) > 0 {
		return nil, ""
	}
	s, err := history.Opened(v, v.State)
	if err != nil {
		s = v.State
	}
	ask, answer := OfHank(s, frozen, live, changes, r, v.Meta.Replay != "")
	if live != nil {
		ask.First = raise(v, live, r)
	}
	return ask, answer
}

// OfHank is the question about a hank that has changed, and the option that answers it; live is nil
// where it cannot be run any more. The stored copy is no answer then where it would end at a budget again.
func OfHank(s *state.State, frozen, live *plan.Program, changes []string, r request.Request, replays bool) (*finding.DecisionError, string) {
	ask, stored := hankfile.ProgramQuestion(changes, live), *frozen
	if live != nil {
		if codon := retried(s, frozen, live, r); codon != "" {
			ask.Options = append(ask.Options, advice.Quote("hank retry")+" runs "+codon+" with the new version")
		}
		return ask, verdict.AdoptOption
	}
	stored.Settings = r.Layers.Merge(stored.Hank.Overrides.Settings())
	if !endsAtBudget(s, &stored, r.Mode, replays) {
		return ask, frozenOption
	}
	onlyAdopt(ask).Options = []string{"fix the hank (see: hank validate), and raise the budget in it, which is used up: --adopt then continues with it"}
	return ask, verdict.AdoptOption
}

// retried is the codon that failed in an earlier run, if nothing but what it does has changed since:
// hank run would end with its failure, and hank retry runs it without a question.
func retried(s *state.State, frozen, live *plan.Program, r request.Request) string {
	st, err := startpoint.Decide(startpoint.Situation{State: s}, r, request.Answers{})
	if r.Mode != request.ModeRun || r.From != "" || err != nil || st.End == nil {
		return ""
	}
	if r.Mode = request.ModeRetry; len(hankfile.OwnChanges(s, r, frozen, live)) == 0 {
		return ""
	}
	return string(history.LastRecord(s).CodonID)
}

// onlyAdopt leaves the stored copy of a hank that has errors out of a question.
func onlyAdopt(ask *finding.DecisionError) *finding.DecisionError {
	ask.First, ask.Options, ask.Answers = correctHank, ask.Options[1:], []string{strings.TrimSpace(verdict.AdoptOption)}
	return ask
}

// Unparsable is the error of a changed hank, with its path, of which sh cannot parse a script that
// is to run after a command has taken it over; nil if sh can. from is where a branch is to begin;
// nil: none is.
func Unparsable(ctx context.Context, s *state.State, live *plan.Program, from *history.Target, r request.Request, path string) error {
	there, _, err := taken(s, live, from, r)
	if err != nil || r.Replays() || r.Replay == request.Noop {
		return nil
	}
	rest, err := agents.ToRun(there, live)
	if wrong := machine.Refused(ctx, live, rest, r.ProcessEnviron()); err == nil && len(wrong) > 0 {
		return hankfile.Invalid(path, wrong)
	}
	return nil
}

// raise is verdict.Raise of a command that takes a changed hank over.
func raise(v *recovery.View, live *plan.Program, r request.Request) string {
	s, err := history.Closed(v, v.State)
	if err != nil {
		return ""
	}
	there, st, err := taken(s, live, nil, r)
	if err != nil || st.End != nil {
		return ""
	}
	p := *live
	p.Settings = r.Layers.Merge(p.Hank.Overrides.Settings())
	return verdict.Raise(there, &p, history.LastRecord(s), startpoint.Before(there, st, r.Mode))
}

// taken is where a command starts that has taken a changed hank over.
func taken(s *state.State, live *plan.Program, from *history.Target, r request.Request) (*state.State, startpoint.Start, error) {
	there, err := githistory.WithPlan(s, live)
	if err != nil {
		return nil, startpoint.Start{}, err
	}
	st, err := startpoint.Decide(startpoint.Situation{State: there, From: from}, r, request.Answers{})
	if err != nil || st.Position == nil {
		return there, st, err
	}
	moved := *there
	moved.Position = st.Position
	there, err = githistory.WithPlan(&moved, live)
	return there, st, err
}

// FirstAfter is what must be done before the command that answers a question, given what had to
// be done before the command that would ask it, and whether that is to raise a budget. A changed
// hank may have raised it.
func FirstAfter(ask *finding.DecisionError, first string, raise bool) (string, bool) {
	switch {
	case !strings.Contains(ask.Command, verdict.AdoptOption):
		return "", false
	case ask.First == correctHank && first != "":
		return correctHank + ", and " + first, raise
	case ask.First == correctHank:
		return correctHank, raise
	case hankfile.IsAsked(ask.What):
		return ask.First, ask.First != ""
	}
	return first, raise
}
