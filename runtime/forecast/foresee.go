package forecast

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"hank/checkpoint"
	"hank/internal/vfs"
	"hank/plan"
	"hank/plan/config"
	"hank/plan/loop"
	"hank/recovery"
	"hank/recovery/datalist"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/runtime"
	"hank/runtime/agents"
	"hank/runtime/bounds"
	"hank/runtime/edits"
	"hank/runtime/exitcode"
	"hank/runtime/fallback"
	"hank/runtime/gate"
	"hank/runtime/hankfile"
	"hank/runtime/history"
	"hank/runtime/question"
	"hank/runtime/request"
	"hank/runtime/retry"
	"hank/runtime/startpoint"
	"hank/runtime/usagelimit"
	"hank/runtime/verdict"
	"hank/state"
)

const completed = "the hank is completed"

// foreseen is how a command would start, as a reader can tell it.
type foreseen struct {
	Root     string
	View     *recovery.View // nil: there is no execution yet
	Program  *plan.Program
	State    *state.State  // from where it would start: with its plan, and its position; nil: View is
	Entries  []plan.Entry  // of the plan, as far as it is laid out
	Bounds   bounds.Bounds // how far it would go
	Awaits   bool          // it is decided first whether a loop continues
	Over     string        // why it would run nothing; empty: it would run
	Code     exitcode.Code // with which it would end, where it would run nothing
	Ahead    bool          // a gate would ask that comes after a look at the budget of its codon
	Unmoved  bool          // it would run nothing, and end before it moves anything
	Move     string        // retry, restart: the workspace goes to To first; empty: it stays
	To       state.SHA     // empty: it stays as it is, and only the position moves
	Position *state.Position
	Redone   state.CodonID // the codon that is done again
	Resets   bool          // a rejected gate has the workspace reset for it
	Resumed  state.CodonID // the codon whose interrupted attempt is continued
	Adopts   []string      // what of the hank has changed, where the command uses the new version
	Asks     []*finding.DecisionError
	Before   *state.Run     // the run whose attempts the first attempt continues; nil: none
	Found    agents.Found   // the agents that were looked for
	Rest     []plan.Entry   // what is to run, as its agents would get it; nil: no agent works on it
	Series   []*state.Codon // the attempts that the next one at the first of Rest continues
	Remarks  []string       // what the command would say before it runs anything
}

// foresee works out how a command would start. It takes no lock and writes nothing; what
// the next opening repairs by itself counts as repaired. The error is the one with which
// the command would be refused; what it would ask is in Asks.
func foresee(ctx context.Context, r request.Request, a request.Answers) (*foreseen, error) {
	r.DryRun = true
	root, err := history.LocateFor(r.Execution, r.Mode == request.ModeRun, r.Hank)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(layout.Obstructed(root), r.CheckPlaces(root)); err != nil {
		return nil, err
	}
	program, _, loadErr := hankfile.LoadFor(root, r, r.LayersFor(""))
	if loadErr != nil && (program == nil && !layout.Exists(root) || !runtime.Tolerable(loadErr, r.Layers, a)) {
		return nil, loadErr
	}
	f := &foreseen{Root: root, Found: agents.Found{}}
	if !layout.Exists(root) {
		if r.Mode != request.ModeRun {
			return nil, &layout.NotFoundError{From: root}
		}
		return f, f.begin(ctx, program, r, a)
	}
	if f.View, err = recovery.Read(root); err != nil {
		return nil, err
	}
	return f, f.resume(ctx, program, loadErr, r, a)
}

// asks adds a question, and returns what is no question.
func (f *foreseen) asks(err error) error {
	var ask *finding.DecisionError
	if errors.As(err, &ask) {
		f.Asks = append(f.Asks, ask)
		return nil
	}
	return err
}

// begin foresees the first run of an execution.
func (f *foreseen) begin(ctx context.Context, p *plan.Program, r request.Request, a request.Answers) error {
	if err := bounds.CheckNew(p, r); err != nil {
		return err
	}
	if err := f.refused(runtime.CheckNew(ctx, p, f.Root, r, a, f.Found, f.remark)); err != nil {
		return err
	}
	if f.Program, f.Entries = p, p.Initial(); !f.replays(r) {
		f.Rest = f.Entries
	}
	entries, err := history.EncodeEntries(f.Entries)
	if err != nil {
		return err
	}
	if f.State, err = (&state.State{}).WithPlan(entries); err != nil {
		return err
	}
	if f.Over != "" {
		return nil
	}
	if f.replays(r) {
		f.remark(request.ReplayText(r.Replay))
	}
	if err := f.until(r); err != nil {
		return err
	}
	if err := f.bound(); err != nil || f.Over != "" {
		return err
	}
	return f.passGates(r, a, startpoint.Start{})
}

// passGates foresees what becomes of the gates before the next codon: the run asks at one, or has
// a codon fail for the answer that it got.
func (f *foreseen) passGates(r request.Request, a request.Answers, st startpoint.Start) error {
	run := &state.Run{RunID: "dry-run", Status: state.StatusRunning, StartingConditions: startpoint.Conditions(f.State, st, r.Mode, "")}
	if f.Awaits {
		return f.passUndecided(run)
	}
	for begun := false; ; {
		now := time.Now()
		g := gate.At(f.State)
		if g == nil {
			return nil
		}
		if !g.Refused(now) {
			f.asksAt(g)
			f.Ahead = g.Gate.When == plan.Before
			return nil
		}
		var steps []state.Transition
		if !begun {
			steps, begun = append(steps, state.RunStarted{Run: run}), true
		}
		final, err := f.fail(g, run.RunID, append(steps, g.Fail(f.State, run.RunID, state.At(now), "", 1)...))
		if err != nil {
			return err
		}
		switch then := retry.Of(f.State, f.State.Run(run.RunID), final); {
		case final.FailureIgnored:
			f.remark(fmt.Sprintf("codon %s fails (%s), which onFailure ignores", final.CodonID, final.FailureReason.Message))
			if next := f.State.Next(); next < len(f.Entries) {
				if f.Over = f.Bounds.Between(final, f.Entries[next]); f.Over != "" {
					f.Code = exitcode.Stopped
					return nil
				}
			}
		case then.Again:
			where := "that it started from"
			if f.Resets = g.Gate.When == plan.After && !a.KeepsTree(r.Mode); !f.Resets && g.Gate.When == plan.After {
				where = "as it is"
			}
			f.remark(fmt.Sprintf("codon %s fails (%s), and is tried again on the workspace %s", final.CodonID, final.FailureReason.Message, where))
			if gate.At(f.State) == nil { // else its gate before it comes again first
				f.Redone = cmp.Or(f.Redone, final.CodonID)
				return nil
			}
		default:
			out := verdict.FailedBy(final)
			if then.Pause {
				out = verdict.ExhaustedBy(final)
			}
			f.Over, f.Code = verdict.About(out), out.Code
			return nil
		}
	}
}

// passUndecided foresees that the run asks at a gate before the next codon, whatever is decided about
// the loop. Which other gates come depends on the verdict.
func (f *foreseen) passUndecided(run *state.Run) error {
	if g := gate.OfEnded(f.State); g != nil {
		f.asksAt(g)
		return nil
	}
	_, held, final := history.Awaited(f.State, f.Program)
	of, now := final.LoopContext, time.Now()
	var gates []*gate.Standing
	for _, decided := range []loop.Decision{loop.Continue, loop.Stop} {
		judged := &state.Judgement{CodonID: final.CodonID, LoopID: of.LoopID, Iteration: of.Iteration, Attempt: final.Attempt, Time: state.At(now), Verdict: loop.Verdict{Decision: decided}}
		s, err := f.after(state.RunStarted{Run: run}, state.IterationJudged{RunID: held.RunID, Judgement: judged})
		if err != nil {
			return fmt.Errorf("loop %s: %w", of.LoopID, err)
		}
		g := gate.At(s)
		if g == nil || g.Refused(now) || f.Bounds.Only || g.Gate.When == plan.Before && f.Bounds.Between(final, g.Codon) != "" {
			return nil
		}
		gates = append(gates, g)
	}
	if f.asksAt(gates[0]); gates[0].Name != gates[1].Name {
		f.Over = fmt.Sprintf("a gate comes first, which asks for an answer: %s if loop %s continues, %s if it is over", gates[0].Name, of.LoopID, gates[1].Name)
	}
	f.Ahead = gates[0].Gate.When == plan.Before && gates[1].Gate.When == plan.Before
	return nil
}

// asksAt foresees that the run asks at a gate, and does nothing else.
func (f *foreseen) asksAt(g *gate.Standing) {
	f.Over, f.Code = fmt.Sprintf("the gate %s comes first, which asks for an answer", g.Name), exitcode.Waiting
}

// after is the state after some transitions, with the plan that it has then.
func (f *foreseen) after(steps ...state.Transition) (*state.State, error) {
	s := f.State
	for _, t := range steps {
		var err error
		if s, err = state.Apply(s, s.Seq+1, t); err != nil {
			return nil, err
		}
	}
	return githistory.WithPlan(s, f.Program)
}

// fail is what the transitions with which a gate has its codon fail make of the state and of
// the plan.
func (f *foreseen) fail(g *gate.Standing, run state.RunID, steps []state.Transition) (final *state.Codon, err error) {
	s, err := f.after(steps...)
	if err != nil {
		return nil, fmt.Errorf("gate %s: %w", g.Name, err)
	}
	f.State = s
	final = s.Run(run).Codon(s.Run(run).Len() - 1)
	f.Entries = nil
	for _, e := range f.State.ExecutionPlan() {
		f.Entries = append(f.Entries, e.Entry)
	}
	return final, nil
}

// remark adds what the command would say.
func (f *foreseen) remark(line string) { f.Remarks = append(f.Remarks, line) }

// refused adds why the command would end because of what is not here, or a question, and
// returns what is neither.
func (f *foreseen) refused(err error) error {
	var missing *exitcode.AgentError
	var invalid *exitcode.InvalidError
	switch {
	case !errors.As(err, &missing) && (!errors.As(err, &invalid) || len(f.Asks) == 0):
		return f.asks(err)
	case len(f.Asks) > 0: // an answer may change what is to run
		f.remark("as it is now, it could not run after that: " + verdict.Sentence(err))
	default:
		f.Over, f.Code, f.Unmoved = verdict.Sentence(err), exitcode.Agent, true
	}
	return nil
}

// notYet is an error of what the command was given; where it asks first, it runs nothing.
func (f *foreseen) notYet(err error) error {
	if err == nil || len(f.Asks) == 0 || verdict.CodeOf(err) != exitcode.Usage {
		return err
	}
	f.Over, f.Code, f.Unmoved = verdict.Sentence(err), exitcode.Usage, true
	return nil
}

// replays reports whether the command would replay, or have codons do nothing: no agent works then,
// and nothing is paid.
func (f *foreseen) replays(r request.Request) bool {
	if r.Replay == "" {
		return f.View != nil && f.View.Meta.Replay != ""
	}
	return r.Replay != request.NoReplay
}

// look looks for the agents of what is to run, as a command does before it moves anything.
func (f *foreseen) look(ctx context.Context, r request.Request, st startpoint.Start) (err error) {
	if f.replays(r) {
		f.remark(request.ReplayText(cmp.Or(r.Replay, f.View.Meta.Replay)))
		return nil
	}
	if f.Rest, err = agents.ToRun(f.State, f.Program); err != nil {
		return err
	}
	if len(f.Rest) > 0 && f.Before != nil && retry.Interrupted(f.Before) {
		f.Series = retry.Series(f.State, f.Before, f.Rest[0].CodonID)
	}
	p := *f.Program
	if r.Layers.Flags.Sandbox == "" {
		r.Layers.Flags.Sandbox = config.Sandbox(f.View.Meta.Sandbox)
	}
	p.Settings = r.LayersFor(p.Model).Merge(p.Hank.Overrides.Settings())
	if err := runtime.Preflight(ctx, &p, f.Rest, f.Found, r, runtime.UI{Say: f.remark}, f.Root, r.Limit(f.State.Limits).MaxDollars > 0); err != nil || len(f.Rest) == 0 {
		return f.refused(err)
	}
	next := fallback.Choose(f.Rest[0].Codon, nil, f.Found.Usable(f.Rest[0].Codon, r.ProcessEnviron()))
	if n := len(f.Series); n > 0 && !r.Now {
		if w := usagelimit.After(f.Series[n-1]); w != nil && w.Until.After(time.Now()) && w.Concerns(next) {
			f.remark("would begin by " + w.Says() + "; `hank run --now` does not wait")
		}
	}
	if ask := startpoint.Elsewhere(f.State, st, f.View.Layout, next); ask != nil {
		f.Asks = append(f.Asks, ask)
	}
	return nil
}

// resume foresees a command for an execution that there is: the state in which the next opening
// leaves it, the program that the command would follow, where it would begin, what it would run
// there, and what it would ask about the workspace.
func (f *foreseen) resume(ctx context.Context, live *plan.Program, loadErr error, r request.Request, a request.Answers) error {
	s, err := f.opened(r.Now)
	if err != nil || s == nil {
		return err
	}
	if r.Codon, err = history.CodonAt(s, string(r.Codon)); err != nil {
		return err
	}
	store, err := f.View.Store()
	if err != nil {
		return err
	}
	defer store.Close()
	if s, err = f.choose(store, s, live, loadErr, r, a); err != nil || f.Program == nil {
		return err
	}
	from, err := f.branch(s, store, r.From)
	if err != nil {
		return err
	}
	s, late, err := f.ended(ctx, s, store, a)
	if err != nil {
		return err
	}
	st, err := f.decide(ctx, s, store, from, r, a)
	if err != nil {
		return err
	}
	lost := st.Question != nil && st.Target != "" && !store.Has(checkpoint.SHA(st.Target))
	if err := f.beginAt(ctx, s, st, r.Mode); err != nil {
		return err
	}
	if err := f.until(r); err != nil {
		return f.notYet(err)
	}
	early, err := f.run(ctx, st, r, a)
	if err != nil {
		return err
	}
	if st.Position != nil && !lost && !f.Unmoved {
		f.To, f.Move = st.To, st.Kind(r.Mode)
	}
	if from != nil || lost || late != nil || early || f.Unmoved {
		return nil
	}
	return f.edited(ctx, s, store, st, r.Mode, a)
}

// opened is the state as the next opening leaves it; nil: the command would run nothing.
func (f *foreseen) opened(now bool) (*state.State, error) {
	v := f.View
	s := v.State
	switch {
	case v.Live && now && usagelimit.Of(s) != nil:
		f.Over, f.Code = "the run in progress ends its wait, and continues", exitcode.Done
		return nil, nil
	case v.Live && now:
		f.Over, f.Code = "the run in progress is not waiting for a provider", exitcode.Decision
		return nil, nil
	case v.Live:
		f.Over, f.Code = "a run is in progress", exitcode.Held
		return nil, nil
	case s.Hold != nil:
		f.Over, f.Code, f.Unmoved = "the execution is held; to let it run: `hank release`", exitcode.Waiting, true
		return nil, nil
	case v.Blocked != nil && !v.Unfinished():
		return nil, f.asks(v.Blocked)
	case s.Intent != nil: // which the opening finishes
		return state.Apply(s, s.Seq+1, state.IntentClosed{ID: s.Intent.ID})
	}
	return s, nil
}

// branch is the checkpoint that the run would start from; nil: that of the execution.
func (f *foreseen) branch(s *state.State, store *checkpoint.Store, from string) (*history.Target, error) {
	if from == "" {
		return nil, nil
	}
	if due := history.BranchDue(f.View, from); due != nil {
		return nil, due
	}
	t, err := history.BranchTarget(s, store, from)
	if err != nil {
		return nil, err
	}
	return &t, nil
}

// ended is the state once the run that was left is closed. late is a question about the end of
// its codon that the answers have decided: the codon is done again.
func (f *foreseen) ended(ctx context.Context, s *state.State, store *checkpoint.Store, a request.Answers) (_ *state.State, late *finding.DecisionError, err error) {
	if a.Restore {
		if late, err = f.View.LateQuestion(ctx, store); err != nil {
			return nil, nil, err
		}
	}
	if late == nil {
		if s, err = history.Concluded(s); err != nil {
			return nil, nil, err
		}
	}
	s, err = history.Closed(f.View, s)
	return s, late, err
}

// decide works out where the command would begin, as the runtime does.
func (f *foreseen) decide(ctx context.Context, s *state.State, store *checkpoint.Store, from *history.Target, r request.Request, a request.Answers) (startpoint.Start, error) {
	st, err := startpoint.Decide(startpoint.Situation{State: s, From: from, VerdictDue: history.AwaitsVerdict(s, f.Program)}, r, a)
	if err == nil && st.Target != "" && from == nil {
		if whole, unknown := store.IsComplete(ctx, checkpoint.SHA(st.Target)); unknown == nil && !whole {
			st, err = startpoint.Decide(startpoint.Situation{State: s, Lost: true}, r, a)
		}
	}
	if err == nil && st.Question != nil {
		f.Asks = append(f.Asks, st.Question.Open)
	}
	return st, err
}

// beginAt takes in where the command would begin, and the plan there.
func (f *foreseen) beginAt(ctx context.Context, s *state.State, st startpoint.Start, mode request.Mode) (err error) {
	v := f.View
	there := *s
	if st.Position != nil {
		there.Position = st.Position
	}
	f.Position = st.Position
	if f.State, err = githistory.WithPlan(&there, f.Program); err != nil {
		return err
	}
	if data, err := datalist.Look(ctx, vfs.OS, v.Layout, v.Meta); err != nil {
		f.remark("warning: " + err.Error())
	} else if data.Change != nil {
		f.remark(data.Change.Warning(v.Meta, f.State))
	}
	f.Before = startpoint.Before(f.State, st, mode)
	for _, e := range f.State.ExecutionPlan() {
		f.Entries = append(f.Entries, e.Entry)
	}
	if st.Redo != nil {
		f.Redone = st.Redo.CodonID
	}
	if st.Resumed != nil {
		f.Resumed = st.Resumed.CodonID
	}
	return nil
}

// run foresees what comes first: the end of the hank, a gate, or the agents of what is to run.
// early: the command would end before it looks at the workspace.
func (f *foreseen) run(ctx context.Context, st startpoint.Start, r request.Request, a request.Answers) (early bool, err error) {
	if f.Awaits = st.End == nil && history.AwaitsVerdict(f.State, f.Program); f.Awaits {
		depends := ""
		if next := f.State.Next(); r.Only && next < len(f.Entries) && f.Entries[next].CodonID == f.Bounds.Codon {
			depends = fmt.Sprintf("; if it does, --only %s is refused", f.Bounds.Codon)
		}
		f.remark(fmt.Sprintf("whether loop %s continues is decided first%s", f.Entries[f.State.Next()-1].LoopContext.LoopID, depends))
	}
	if st.End != nil {
		f.Over, f.Code = completed, st.End.Code
		if early = st.End.Reason != ""; early {
			f.Over = verdict.About(*st.End)
		}
		return early, nil
	}
	g := gate.At(f.State)
	switch {
	case f.Awaits:
	case g == nil && f.State.Next() == len(f.Entries): // the hank has the codon no more that is done again
		f.Over, f.Code = completed, exitcode.Done
		return false, nil
	case g != nil && g.Waiting() && !g.Expired(time.Now()) && !r.Wait && st.Target == "" && st.Resumed == nil:
		f.asksAt(g)
		return true, nil
	}
	if err := f.bound(); err != nil || f.Over != "" {
		return false, f.notYet(err)
	}
	if err := f.passGates(r, a, st); err != nil || f.Over != "" {
		return false, err
	}
	if r.Hank = cmp.Or(r.Hank, f.View.Meta.HankPath); a.Frozen || len(f.Asks) > 0 { // it may be another than the stored copy
		r.Hank = ""
	}
	return false, f.look(ctx, r, st)
}

// edited foresees what becomes of what somebody has changed in the workspace since its checkpoint.
func (f *foreseen) edited(ctx context.Context, s *state.State, store *checkpoint.Store, st startpoint.Start, mode request.Mode, a request.Answers) error {
	if a.KeepsTree(mode) || a.Restore && (f.To != "" || mode != request.ModeRun) {
		return nil
	}
	switch ask, _, err := edits.Changed(ctx, f.View, s, store, st.To); {
	case ask == nil:
		return err
	case a.Restore:
		f.remark(ask.What + ": the checkpoint is restored first, and the changes are saved in one of their own")
	default:
		if f.Asks = append(f.Asks, ask); f.Resets {
			f.remark("with --keep-tree it is tried again on the workspace as it is")
		}
	}
	return nil
}

// choose works out which program the command would follow, as the runtime does, and
// returns the state with its plan.
func (f *foreseen) choose(store *checkpoint.Store, s *state.State, live *plan.Program, loadErr error, r request.Request, a request.Answers) (*state.State, error) {
	if s.Program == "" {
		if f.Program = live; live == nil {
			return s, loadErr
		}
		return githistory.WithPlan(s, live)
	}
	frozen, err := githistory.LoadProgram(store, s.Program)
	if err == nil {
		if with := r.LayersFor(frozen.Model); with.Flags.Model != r.LayersFor("").Flags.Model {
			live, _, _ = hankfile.LoadFor(f.Root, r, with)
		}
		f.Program = frozen
	}
	ask, answer := question.ChangedProgram(f.View, store, r)
	switch {
	case a.Frozen && frozen != nil:
	case ask != nil && !(a.Adopt && answer != "" && live != nil):
		f.Asks = append(f.Asks, ask)
	case live != nil && (frozen == nil || !hankfile.Same(s, frozen, live)):
		f.Program = live
		if frozen != nil {
			f.Adopts = hankfile.DescribeChanges(frozen, live)
			if note := hankfile.Kept(s, r, frozen, live); note != "" {
				f.Remarks = append(f.Remarks, note)
			}
		}
	}
	if f.Program == nil {
		return s, nil
	}
	return githistory.WithPlan(s, f.Program)
}

// until looks up the codon that the command goes to.
func (f *foreseen) until(r request.Request) error {
	if r.Until == "" {
		return nil
	}
	until, err := history.CodonToCome(f.State, string(r.Until))
	if err == nil {
		f.Bounds = bounds.Of(f.State, until, r)
	}
	return err
}

// bound foresees that there is nothing to run as far as the command goes. Before a verdict nobody
// knows which codon is next, but one that is finished stays so.
func (f *foreseen) bound() (err error) {
	if at := f.State.PlanIndex(f.Bounds.Codon); f.Awaits && (at < 0 || at >= f.State.Next()) {
		return nil
	}
	if f.Over, err = f.Bounds.Start(f.State); f.Over != "" {
		f.Code, f.Unmoved = exitcode.Stopped, true
	}
	return err
}

// exitCode is the code with which the command would end before it runs anything; Done
// where it would run.
func (f *foreseen) exitCode() exitcode.Code {
	if len(f.Asks) > 0 {
		return verdict.CodeOf(f.Asks[0])
	}
	return f.Code
}
