package codon

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"hank/plan"
	"hank/state"
	"hank/state/observer"
)

// Run takes a codon from its rig to its checkpoint and returns the final record. An
// error is one of hank itself: nothing more can be acknowledged, or the user must
// decide; the record is then closed by the next opening.
//
//  1. preparing: its skipIf is asked, and where it holds, the record ends here, with a
//     checkpoint: see skipIf. The rig runs, and gets a checkpoint.
//  2. starting: the agent's command is put together. Durable, before anything
//     that cannot be done twice.
//  3. initializing: the agent's process is there.
//  4. running: it has a session. What it uses is recorded as it goes.
//  5. The agent and all that it started are gone. What is expected of it is checked,
//     outputs are copied. How it ended is recorded, so that from here on the agent does not run again.
//     The sentinels, which began before the agent did, finish within their time. What they
//     spend in it can still reach a limit: see lateSpending.
//  6. The checkpoint, and with it the final record.
func Run(ctx context.Context, spec Spec, host Host) (*state.Codon, error) {
	a := &attempt{Spec: spec, host: host, began: time.Now(), extension: spec.Extended}
	if spec.FallbackOf != "" && spec.OwnProblem != "" {
		a.notes = append(a.notes, fmt.Sprintf("its own model %s cannot be used here: %s", spec.FallbackOf, spec.OwnProblem))
	}
	a.loadSentinels()
	record := &state.Codon{
		CodonID: a.Entry.CodonID, StartTime: host.Now(), Status: state.Preparing, LoopContext: a.Entry.LoopContext,
		Attempt: a.Number, Harness: a.Harness.Name(), Model: a.Entry.Codon.Model.String(), FallbackOf: a.FallbackOf, BaseCheckpoint: a.Base,
		ProjectHead: a.ProjectHead, Reply: a.Reply, NotObserved: a.notLoaded(),
	}
	if !a.hasRig() { // what follows must know of the rig before it, wherever this attempt ends
		record.RigSetupCheckpoint = a.RigCheckpoint
	}
	if a.extension > 0 {
		record.ExtensionCount = &spec.Extended
	}
	begin := host.RecordLater // the next transition is synced before the agent is there
	if a.hasRig() || a.asks() {
		begin = host.Record
	}
	if err := begin(state.CodonStarted{RunID: a.Run, Record: record}); err != nil {
		return nil, err
	}
	defer a.dropTemp()
	defer a.dropSentinels()
	host.Note("codon.started", started{record.CodonID, a.Entry.Codon.Name, a.Entry.Codon.Description, nil, a.Session, record.StartTime})
	a.tellNotLoaded()
	holds, failure, err := a.skipIf(ctx)
	if err != nil || failure != nil {
		return a.failBeforeWork(ctx, failure, err)
	}
	if holds != "" {
		return a.checkpoint(ctx, a.skipped(holds))
	}
	if a.skip || a.stopping() { // which came while it was asked
		return a.failBeforeWork(ctx, &state.FailureReason{Type: state.FailUnknown, Retriable: true, Message: "stopped on request", Class: "interrupted", Rule: a.interruption()}, nil)
	}
	defer a.Breaker.Ended(nil)
	if failure = a.foreseen(); failure != nil {
		return a.failBeforeWork(ctx, failure, nil)
	}
	if failure, err = a.rig(ctx); err != nil || failure != nil {
		return a.failBeforeWork(ctx, failure, err)
	}
	if failure, err = a.startSentinels(); err == nil && failure == nil {
		failure, err = a.work(ctx)
	}
	within := a.exceeded == nil
	if err == nil && failure == nil {
		err = a.finishSentinels(ctx)
	}
	if err != nil || failure != nil {
		return a.failBeforeWork(ctx, failure, err)
	}
	final := a.host.Live().Conclude(a.host.Now())
	if within {
		final = a.lateSpending(final)
	}
	return a.checkpoint(ctx, final)
}

// failBeforeWork closes a record whose agent never had a session.
func (a *attempt) failBeforeWork(ctx context.Context, failure *state.FailureReason, err error) (*state.Codon, error) {
	if err != nil {
		return nil, err
	}
	if err := a.endSentinels(observer.UnloadShutdown, "before the agent had a session"); err != nil {
		return nil, err
	}
	if a.isRefusal(failure) && a.FallbackOf == "" {
		a.host.ExplainRefusal(failure)
	}
	final := a.host.Live().Fail(a.host.Now(), -1, *failure)
	if a.stopping() {
		final.Interrupted = a.interruption()
	}
	if a.skip {
		final = a.host.Live().Skip(a.host.Now())
	}
	ignored := a.Entry.Codon.Failure() == plan.Ignore
	if final.Status == state.Failed && final.Interrupted == "" {
		if a.judged != nil {
			final.Interrupted, ignored = a.judged.Interrupted, ignored || a.judged.Ignored
		} else {
			final.Interrupted = a.interrupted(final.FailureReason)
		}
	}
	final.FailureIgnored = final.Status == state.Failed && final.Interrupted == "" && ignored
	used := a.total()
	final.PartialCost, final.PartialTokens = &used.Cost, &used.Tokens
	final.BudgetExceeded = a.limitHit()
	final.AgentEnd = a.agentEnd.Recorded()
	var unpriced []string
	final.UnpricedTokens, unpriced = a.unpriced()
	a.notes = append(a.notes, unpriced...)
	return a.checkpoint(ctx, final)
}

// checkpoint makes the final checkpoint and with it the final record.
func (a *attempt) checkpoint(ctx context.Context, final *state.Codon) (*state.Codon, error) {
	a.host.Monitor().Step("making the checkpoint")
	if final.Settling == nil && len(final.Notes) == 0 {
		final.Notes = a.notes
	}
	final.BudgetExceeded = a.ofLoop(final)
	return a.host.Checkpoint(ctx, final)
}

// vars is what the codon is told of where it is.
func (a *attempt) vars() plan.Vars {
	v := plan.Vars{Workspace: a.Layout.Workspace, Data: a.Layout.Data(), HasData: a.HasData, Output: a.Output, LastOutcome: a.LastOutcome, Attempt: a.Number, LastFailure: a.LastFailure, Reply: a.Reply, Decision: a.decisionPath()}
	if a.Limits.Dollars > 0 {
		v.DollarsLeft = a.Limits.Dollars.String()
	}
	left := a.Limits.Time
	if timeout := a.timeout(); timeout > 0 && (left == 0 || timeout < left) {
		left = timeout
	}
	if left > 0 {
		v.SecondsLeft = strconv.FormatInt(int64(left.Seconds()), 10)
	}
	return v
}
