package runtime

import (
	"context"
	"fmt"
	"time"

	"hank/checkpoint"
	"hank/checkpoint/match"
	"hank/plan"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/githistory"
	"hank/runtime/agents"
	"hank/runtime/breaker"
	"hank/runtime/codon"
	"hank/runtime/fallback"
	"hank/runtime/gate"
	"hank/runtime/harness/noop"
	"hank/runtime/history"
	"hank/runtime/result"
	"hank/runtime/session"
	"hank/runtime/usergit"
	"hank/runtime/verdict"
	"hank/state"
)

// host gives an attempt at a codon what it needs of the execution.
type host struct {
	d     *driver
	entry plan.Entry
	index int // in the plan
}

var _ codon.Host = host{}

func (h host) Live() *state.Codon { return h.d.x.State().Run(h.d.run).Live() }

func (h host) Now() state.Time { return h.d.x.Now() }

func (h host) Record(t ...state.Transition) error { return h.d.x.Record(t...) }

func (h host) RecordLater(t ...state.Transition) error { return h.d.x.RecordLater(t...) }

func (h host) Note(eventType string, data any) { h.d.note(eventType, data) }

func (h host) Checkpoint(ctx context.Context, next *state.Codon) (*state.Codon, error) {
	d, name := h.d, h.entry.Codon.Name
	if next.Status.Terminal() {
		d.still = time.Now() // nothing of the codon runs any more
		if err := recovery.Finish(ctx, d.x, d.run, name, next, d.selection(h.index)); err != nil {
			return nil, err
		}
		run := d.x.State().Run(d.run)
		return run.Codon(run.Len() - 1), nil
	}
	snap, err := d.x.Snapshot(ctx, d.selection(h.index), d.x.Head())
	if err != nil {
		return nil, err
	}
	_, err = d.x.Commit(ctx, execution.Commit{
		Title:    githistory.Title{Status: state.KindRigSetup, CodonID: h.entry.CodonID, RunID: d.run, Name: name},
		Snapshot: snap, Parents: d.parents(), Branch: d.branch(),
		Transition: state.CodonTransitioned{RunID: d.run, Record: next},
	})
	return h.Live(), err
}

func (h host) Preserve(ctx context.Context, paths []string, why string) error {
	x := h.d.x
	head := x.Head()
	snap, err := x.Snapshot(ctx, checkpoint.Selection{All: true}, head, paths...)
	if err != nil {
		return err
	}
	if tree, err := x.Tree(head); err == nil && tree == snap.Tree {
		x.Store.Abort()
		return nil
	}
	_, err = x.Preserve(ctx, snap, x.RecoveryBranch(), head, why)
	return err
}

func (h host) KeepSession(ctx context.Context, f session.Files) (state.SHA, error) {
	return session.Keep(ctx, h.d.x, h.d.run, fmt.Sprintf("session: after %s (run %s)", h.entry.CodonID, h.d.run), f)
}

func (h host) BringBackSession(ctx context.Context, f session.Files, to state.SHA) (bool, error) {
	return session.BringBack(ctx, h.d.x, h.d.run, fmt.Sprintf("session: before %s began again (run %s)", h.entry.CodonID, h.d.run), f, to)
}

func (h host) LeftOut() []string { return match.LeftOut(h.d.x.Store.DB) }

func (h host) LeaveOut(path string) error { return h.d.x.LeaveOut([]string{path}) }

func (h host) Requests() <-chan codon.Request { return h.d.requests }

func (h host) Stopping(r codon.Request) { h.d.stopFor(r) }

func (h host) Dropped(r codon.Request) { h.d.dropped(r) }

func (h host) ExplainRefusal(f *state.FailureReason) {
	verdict.ExplainModel(f, h.entry.Codon, h.d.program, h.d.layers, h.d.answers.Frozen, h.d.x.Meta().HankPath)
}

func (h host) Say(format string, args ...any) {
	h.d.detail(format, args...)
}

func (h host) Stuck(s codon.Stuck) {
	h.d.note("codon.stuck", s)
	h.d.say("%s: the agent may be stuck: %s", s.CodonID, s.Message)
	if h.d.request.Notify != "" {
		result.Notify(context.Background(), h.d.request, h.d.ui, h.d.result(verdict.Outcome{Reason: verdict.EndStuck, Codon: s.CodonID, Detail: "the agent may be stuck: " + s.Message}, nil), nil)
	}
}

func (h host) Monitor() *codon.Monitor { return h.d.ui.Monitor }

// spec is what the next attempt at an entry of the plan is to do. What the start has
// left for the first attempt is used up by it.
func (d *driver) spec(entry plan.Entry, index, number int) codon.Spec {
	s, id := d.x.State(), entry.CodonID
	spec := codon.Spec{
		Run: d.run, ID: recovery.Attempt(s.Lineage, d.run, &state.Codon{CodonID: id, Attempt: number}),
		Entry: entry, Number: number, Base: d.base(id), ProjectHead: usergit.Head(d.x.Layout.Workspace, d.x.Layout.Named()),
		SkipRig: d.rigDone || d.replay != nil || d.noop, LastOutcome: lastOutcome(d.settled),
		Program: d.program, Settings: d.settings, Limits: d.limits(entry), LoopLimits: d.accounts.LoopLimits(d.program, entry), Watch: d.watch(entry), Warn: d.warn,
		Layout: d.x.Layout, Output: d.x.Meta().Output, Overwrite: d.request.Overwrite, HasData: d.x.Meta().ReadOnlySourceDataPath != "",
		Follow: d.events.FollowEarly, Journaled: d.events.Last, SentinelEnviron: d.request.SentinelEnviron(),
		Environ: d.request.ProcessEnviron(), Confined: d.confinement != nil, IgnoreRigs: d.ignoreRigs, Known: d.secrets.Known,
	}
	spec.Begun = entry.Codon.SkipIf != nil && (d.session != nil || d.hasWork(spec))
	spec.Reply = gate.Words(s, index, d.before(id))
	if d.rigDone {
		spec.RigCheckpoint = d.rigCheckpoint(id)
	}
	own := s.ExecutionPlan()[index].Codon.Model
	if own.String() != entry.Codon.Model.String() {
		spec.FallbackOf = own.String()
		if d.replay == nil && !d.noop {
			spec.OwnProblem = d.agents.Problem(agents.With(entry.Codon, own), spec.Environ)
		}
	}
	if from := d.session; from != nil {
		spec.Session, spec.SessionCheckpoint = from.ClaudeSessionID, from.SessionCheckpoint
		spec.Extended = min(from.Extensions(), entry.Codon.Extensions())
	}
	if spec.Session == "" && entry.Codon.ContinuationMode == plan.ContinuePrevious {
		from := s.PreviousSession(index)
		spec.Session, spec.SessionCheckpoint, spec.SessionCost = from.ID, from.Checkpoint, from.Cost
	}
	if !fallback.Fits(s, spec.Session, entry.Codon) {
		d.detail("a new session of %s begins: the one to continue is of another agent", entry.Codon.Model.Kind().Name)
		entry.Codon = fallback.Fresh(entry.Codon)
		spec.Entry, spec.Session, spec.SessionCheckpoint, spec.SessionCost, spec.Extended = entry, "", "", 0, 0
	}
	d.rigDone, d.session = false, nil
	if d.replay != nil {
		spec.Harness, spec.Decided = d.replay.Harness(id), d.replay.Decision(id)
		spec.Apply = func(ctx context.Context, cut bool, at *state.BudgetExceeded) (bool, error) {
			return d.replay.ApplyFiles(ctx, d.x.Workspace, id, cut, at)
		}
		return spec
	}
	if d.noop {
		spec.Idle, spec.Harness = true, noop.Harness{Full: fills(d.program, entry)}
		return spec
	}
	h, _, _ := agents.Of(entry.Codon) // preflight has looked at it
	spec.Harness, spec.Agent = h, d.agents.Of(entry.Codon)
	past := d.past || d.request.Now && s.Run(d.run).Len() == 0
	past = past || spec.FallbackOf != "" && own.ProviderID == entry.Codon.Model.ProviderID // whose limit may be one of the model
	d.account = agents.Account(entry.Codon, d.settings, spec.Environ, breaker.Holder{Execution: d.x.Layout.Root, Run: string(d.run), Codon: string(id), Attempt: spec.ID}, past)
	spec.Breaker, d.past = d.account, false
	if spec.Confined {
		spec.Writable = spec.Harness.LoginFiles(agents.WithEnv(spec.Environ, entry.Codon.Env))
	}
	return spec
}

// fills reports whether a codon, or the loop that it is the last of, waits for a full
// context.
func fills(p *plan.Program, e plan.Entry) bool {
	if e.Codon.ExhaustWithPrompt != "" || e.LoopContext == nil {
		return e.Codon.ExhaustWithPrompt != ""
	}
	l := p.Loop(e.LoopContext.LoopID)
	return l != nil && l.TerminateOn.WaitsForContext() && e.LoopContext.CodonIndexInLoop == len(l.Codons)-1
}

// before is the attempt at a codon that the next one follows: in this run, or in the one
// that it continues or repeats; nil: there is none.
func (d *driver) before(id state.CodonID) *state.Codon {
	if r := d.x.State().Run(d.run); r.Len() > 0 {
		if last := r.Codon(r.Len() - 1); last.CodonID == id {
			return last
		}
		return nil
	}
	if d.redo != nil && d.redo.CodonID == id {
		return d.redo
	}
	return nil
}

// base is the checkpoint from before a codon. Of an attempt that continues another one
// it is that one's: the workspace has unfinished work in it. So it is of one that
// begins after the rig of another: the workspace has what the rig has done.
func (d *driver) base(id state.CodonID) state.SHA {
	from := d.resumed
	if from == nil && d.rigDone {
		from = d.rigged(id)
	}
	if from != nil && from.CodonID == id && from.BaseCheckpoint != "" {
		return from.BaseCheckpoint
	}
	return d.x.State().Base
}

// hasWork reports whether the checkpoint that an attempt begins from has work of its codon:
// the first attempt of a run may begin after the rig, or on what an earlier one has left,
// and every later one that continues no session begins from its base.
func (d *driver) hasWork(spec codon.Spec) bool {
	at := spec.Base
	if spec.Number == 1 {
		at = d.x.State().Base
	}
	l := d.madeBy(at)
	return (l.Kind == state.KindError || l.Kind == state.KindRigSetup || l.Kind == state.KindCompleted) && l.CodonID == spec.Entry.CodonID
}

// madeBy is a checkpoint, or the nearest one below it of what the user or a move has
// added. It is empty where one cannot be read.
func (d *driver) madeBy(at state.SHA) history.Listed {
	for {
		info, err := d.x.Store.CommitInfo(checkpoint.SHA(at))
		if err != nil {
			return history.Listed{}
		}
		l := history.Describe(info)
		if l.Kind != state.KindManual && l.Kind != state.KindTracked && l.Kind != state.KindRecovery || len(info.Parents) == 0 {
			return l
		}
		at = state.SHA(info.Parents[0])
	}
}

// rigged is the record whose rig has made the checkpoint that a codon begins from, or
// the nearest one below it of what the user or a move has added; nil: there is none.
func (d *driver) rigged(id state.CodonID) *state.Codon {
	l := d.madeBy(d.x.State().Base)
	if l.Kind != state.KindRigSetup {
		return nil
	}
	for _, r := range d.x.State().Runs {
		for _, c := range r.Codons() {
			if c.RigSetupCheckpoint == l.SHA && c.CodonID == id {
				return c
			}
		}
	}
	return nil
}

// rigCheckpoint is the checkpoint of a rig that is not run again. A codon that
// continues without a rig has none.
func (d *driver) rigCheckpoint(id state.CodonID) state.SHA {
	if d.resumed != nil {
		return d.resumed.RigSetupCheckpoint
	}
	if from := d.rigged(id); from != nil {
		return from.RigSetupCheckpoint
	}
	return d.x.State().Base
}
