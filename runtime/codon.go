package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"hank/checkpoint"
	"hank/plan"
	"hank/recovery"
	"hank/runtime/harness"
	"hank/runtime/harness/transcript"
	"hank/runtime/keeper"
	"hank/state"
)

// attempt is one try at a codon.
type attempt struct {
	*driver
	entry  plan.Entry
	index  int // in the plan
	number int // 1 for the first in this run
	id     string
	limits limits
	notes  []string

	usage     harness.Usage // of the turn at work
	spent     harness.Usage // of the turns before it
	messages  int
	extension int
	began     time.Time
	context   bool // the context window was full
	exceeded  *state.BudgetExceeded
	skip      bool
	lastCost  time.Time
}

// live is the record at work.
func (a *attempt) live() *state.Codon { return a.x.State().Run(a.run).Live() }

// perform takes a codon from its rig to its checkpoint and returns the final
// record. An error is one of hank itself: nothing more can be acknowledged, or
// a person must decide; the record is then closed by the next opening.
//
//  1. preparing: the rig runs, and gets a checkpoint.
//  2. starting: the agent's command is put together. Durable, before anything
//     that cannot be done twice.
//  3. initializing: the agent's process is there.
//  4. running: it has a session. What it uses is recorded as it goes.
//  5. The agent and all that it started are gone. Outputs are copied. How it
//     ended is recorded, so that from here on the agent does not run again.
//  6. The checkpoint, and with it the final record.
func (a *attempt) perform(ctx context.Context) (*state.Codon, error) {
	a.began = time.Now()
	record := &state.Codon{
		CodonID: a.entry.CodonID, StartTime: a.x.Now(), Status: state.Preparing, LoopContext: a.entry.LoopContext,
		Attempt: a.number, Harness: a.harnessName(), Model: a.entry.Codon.Model.String(), BaseCheckpoint: a.x.State().Base,
		ProjectHead: projectHead(a.x.Layout.Workspace),
	}
	a.id = recovery.Attempt(a.x.State().Lineage, a.run, record)
	if err := a.x.Record(state.CodonStarted{RunID: a.run, Record: record}); err != nil {
		return nil, err
	}
	a.note("codon.started", map[string]any{"codonId": record.CodonID, "codonName": a.entry.Codon.Name, "startTime": record.StartTime})
	if failure, err := a.rig(ctx); err != nil || failure != nil {
		return a.failBeforeWork(ctx, failure, err)
	}
	failure, err := a.work(ctx)
	if err != nil || failure != nil {
		return a.failBeforeWork(ctx, failure, err)
	}
	return a.checkpoint(ctx, a.live().Conclude(a.x.Now()))
}

// failBeforeWork closes a record whose agent never had a session.
func (a *attempt) failBeforeWork(ctx context.Context, failure *state.FailureReason, err error) (*state.Codon, error) {
	if err != nil {
		return nil, err
	}
	final := a.live().Fail(a.x.Now(), -1, *failure)
	if a.stopping() {
		final.Interrupted = a.interruption()
	}
	if a.skip {
		final = a.live().Skip(a.x.Now())
	}
	final.FailureIgnored = final.Status == state.Failed && final.Interrupted == "" && a.entry.Codon.Failure() == plan.Ignore
	return a.checkpoint(ctx, final)
}

// rig runs the codon's rig, unless its work is in the tree already, and makes
// its checkpoint.
func (a *attempt) rig(ctx context.Context) (*state.FailureReason, error) {
	next := a.live().Start()
	if len(a.entry.Codon.RigSetup) == 0 || a.rigDone || a.replay != nil {
		if a.rigDone {
			next.RigSetupCheckpoint = a.x.State().Base
		}
		a.rigDone = false
		return nil, a.x.Record(state.CodonTransitioned{RunID: a.run, Record: next})
	}
	began := time.Now()
	listening, done := a.listen(ctx)
	failed := rigging{
		Workspace: a.x.Layout.Workspace, Program: a.program, Codon: a.entry.Codon, CodonID: a.entry.CodonID,
		Environ: withEnv(a.environFor(a.entry, a.id), a.entry.Codon.Env), Attempt: a.id, IgnoreFailures: a.ignoreRigs,
		Checkpoint: true, Note: a.note, Save: func(targets []string) error { return a.saveTargets(ctx, targets) }, Killed: a.killed,
	}.run(listening)
	done()
	if failed != nil {
		return a.rigFailed(failed, "rig", "rig-"+failed.Type)
	}
	a.say("  rig done in %s", time.Since(began).Round(time.Millisecond))
	snap, err := a.x.Snapshot(ctx, a.selection(a.index), a.x.Head())
	if err != nil {
		return nil, err
	}
	_, err = a.x.Commit(ctx, recovery.Commit{
		Title: a.title(state.KindRigSetup), Snapshot: snap, Parents: a.parents(), Branch: a.branch(),
		Transition: state.CodonTransitioned{RunID: a.run, Record: next},
	})
	return nil, err
}

// rigFailed makes the reason of a failure of a rig or a check. What hank itself
// could not do is an error instead: trying again would not help, and no
// checkpoint may be taken while something is still alive.
func (a *attempt) rigFailed(f *rigFailure, class, rule string) (*state.FailureReason, error) {
	var alive *keeper.AliveError
	var save *saveError
	if errors.As(f, &alive) || errors.As(f, &save) || errors.Is(f, syscall.ENOSPC) || errors.Is(f, syscall.EDQUOT) || errors.Is(f, syscall.EIO) {
		return nil, f
	}
	return &state.FailureReason{Type: f.failureType(), Retriable: true, Message: f.Message, Class: class, Rule: rule}, nil
}

// listen takes in requests while no agent runs. The context ends when one asks
// to end the codon now. done must be called before anything else listens.
func (a *attempt) listen(ctx context.Context) (listening context.Context, done func()) {
	listening, cancel := context.WithCancel(ctx)
	var taken []Request
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case r := <-a.requests:
				if taken = append(taken, r); r.Signal != StopAfterCodon {
					cancel()
				}
			case <-stop:
				return
			}
		}
	}()
	return listening, func() {
		close(stop)
		<-ended
		cancel()
		for _, r := range taken {
			a.signalled(r)
		}
	}
}

// saveTargets keeps what a rig is about to replace on a recovery branch, if
// the last checkpoint does not hold it.
func (a *attempt) saveTargets(ctx context.Context, targets []string) error {
	head := a.x.Head()
	snap, err := a.x.Snapshot(ctx, checkpoint.Selection{All: true}, head, targets...)
	if err != nil {
		return err
	}
	if tree, err := a.x.Tree(head); err == nil && tree == snap.Tree {
		a.x.Store.Abort()
		return nil
	}
	_, err = a.x.Preserve(ctx, snap, a.x.RecoveryBranch(), head, "before the rig of "+string(a.entry.CodonID)+" replaced "+strings.Join(targets, ", "))
	return err
}

// work runs the agent, turn after turn. It returns with the record settling,
// or with a failure if there was no session.
func (a *attempt) work(ctx context.Context) (*state.FailureReason, error) {
	req, failure, err := a.request()
	if err != nil || failure != nil {
		return failure, err
	}
	defer os.RemoveAll(req.Temp)
	log, err := openLog(a.x.Layout.Transcript(a.run, a.entry.CodonID, a.number))
	if err != nil {
		return nil, fmt.Errorf("creating the transcript: %w", err)
	}
	defer log.Close()
	for {
		res, failure, err := a.turn(ctx, req, log)
		if err != nil || failure != nil {
			return failure, err
		}
		again, err := a.extend(&req, res)
		if err != nil {
			return nil, err
		}
		if !again {
			return nil, a.settle(ctx, res)
		}
	}
}

// turn runs one process of the agent.
func (a *attempt) turn(ctx context.Context, req harness.Request, log *os.File) (ended, *state.FailureReason, error) {
	h, err := a.harness()
	if err == nil {
		req.Turn = a.extension
	}
	var command harness.Command
	if err == nil {
		command, err = h.Command(req)
	}
	if err != nil {
		return ended{}, &state.FailureReason{Type: state.FailUnknown, Message: err.Error(), Class: "start", Rule: "command"}, nil
	}
	t := &turn{
		command: command, reader: h.Reader(req), log: log, attempt: a.id, requests: a.requests,
		start:   transcript.Start{Harness: h.Name(), Attempt: a.id, Model: req.Model, Session: req.Session, SessionCost: req.SessionCost},
		silence: a.silence(), limit: a.limits.timeLeft(a.spentTime()),
		started: a.spawned(req, command.Session), observe: a.observe, signalled: a.signalled,
	}
	res, err := t.run(ctx)
	var start *startError
	if errors.As(err, &start) {
		return ended{}, &state.FailureReason{Type: state.FailUnknown, Message: err.Error(), Class: "start", Rule: "spawn"}, nil
	}
	if err != nil {
		return ended{}, nil, err
	}
	for _, k := range res.exit.Killed {
		a.notes = append(a.notes, fmt.Sprintf("left running and killed: %d (%s)", k.PID, k.Command))
	}
	if a.live().Status == state.Initializing { // it ended without ever having had a session
		if a.stopping() || a.skip || !res.verdict.Success {
			return res, a.verdictFailure(res), nil
		}
		if err := a.x.Record(state.CodonTransitioned{RunID: a.run, Record: a.live().Work(res.verdict.Session)}); err != nil {
			return ended{}, nil, err
		}
	}
	a.usage = res.verdict.Usage
	return res, nil, a.recordUsage(true)
}

// spawned records the agent's process, and its session if that is known. A
// second turn has both already.
func (a *attempt) spawned(req harness.Request, session string) func(int) error {
	return func(pid int) error {
		if a.live().Status != state.Starting {
			return nil
		}
		path := a.x.Layout.Relative(a.x.Layout.Transcript(a.run, a.entry.CodonID, a.number))
		spawned := a.live().Spawn(pid, path, req.Session)
		moves := []state.Transition{state.CodonTransitioned{RunID: a.run, Record: spawned}}
		if session != "" {
			moves = append(moves, state.CodonTransitioned{RunID: a.run, Record: spawned.Work(session)})
		}
		return a.x.Record(moves...)
	}
}

// observe takes in what the agent does.
func (a *attempt) observe(o harness.Observation) (stop bool, err error) {
	switch o := o.(type) {
	case harness.SessionStarted:
		if a.live().Status == state.Initializing {
			err = a.x.Record(state.CodonTransitioned{RunID: a.run, Record: a.live().Work(o.ID)})
		}
	case harness.Message:
		a.messages++
		action := "message"
		if o.Thinking {
			action = "thinking"
		}
		a.note("assistant.action", map[string]any{"codonId": a.entry.CodonID, "action": action, "content": harness.Excerpt(o.Text, 2500)})
	case harness.ToolUse:
		a.note("assistant.action", map[string]any{"codonId": a.entry.CodonID, "action": "tool_use", "content": "", "toolName": o.Name, "toolUseId": o.ID, "toolInput": toolInput(o.Input)})
	case harness.ToolResult:
		text := harness.Excerpt(o.Text, 2500)
		a.note("tool.result", map[string]any{"codonId": a.entry.CodonID, "toolUseId": o.ToolUseID, "result": text, "truncated": text != o.Text, "originalLength": len(o.Text), "isError": o.IsError})
	case harness.Usage:
		a.usage = o
		err = a.recordUsage(false)
		stop = a.overBudget()
	case harness.Retrying:
		a.say("  %s waits for its provider (try %d, %s): %s", a.entry.CodonID, o.Attempt, o.After, o.Why)
	case harness.ContextExceeded:
		a.context = true
	}
	return stop, err
}

// recordUsage brings the record's figures up to date: at most once a second
// while the agent works, and in any case at its end.
func (a *attempt) recordUsage(final bool) error {
	if status := a.live().Status; status != state.Running || !final && time.Since(a.lastCost) < time.Second {
		return nil
	}
	a.lastCost = time.Now()
	total := a.total()
	return a.x.RecordLater(state.CostsUpdated{RunID: a.run, CodonID: a.entry.CodonID, Cost: total.Cost, Tokens: total.Tokens, Messages: a.messages, Extensions: a.extension})
}

// total is what all turns of the attempt have used, in money by the agent's
// own figure or by the registry's price.
func (a *attempt) total() harness.Usage {
	sum := a.usage
	sum.Cost = a.priced(a.usage) + a.spent.Cost
	sum.Tokens = a.usage.Tokens.Add(a.spent.Tokens)
	return sum
}

// extend asks for one more turn in the session of a codon that is to fill its
// context.
func (a *attempt) extend(req *harness.Request, res ended) (bool, error) {
	v := res.verdict
	if !v.Success || a.stopping() || a.skip || a.context || v.ContextExceeded || a.exceeded != nil || a.extension >= a.entry.Codon.Extensions() {
		return false, nil
	}
	prompt, err := a.program.Extension(a.entry, a.vars())
	if err != nil || prompt == "" {
		return false, err
	}
	req.SessionCost += a.priced(a.usage)
	a.spent, a.usage = a.total(), harness.Usage{}
	a.extension++
	req.Prompt, req.Session = prompt, v.Session
	a.note("codon.extended", map[string]any{"codonId": a.entry.CodonID, "codonName": a.entry.Codon.Name, "extensionNumber": a.extension,
		"exhaustWithPrompt": prompt, "cumulativeTokens": a.spent.Tokens, "cumulativeCost": a.spent.Cost})
	return true, nil
}

// settle decides how the codon ended, and records it.
func (a *attempt) settle(ctx context.Context, res ended) error {
	s := a.judge(res)
	if a.replay != nil && s.Interrupted == "" {
		if err := a.replay.applyFiles(ctx, a.x.Workspace, a.entry.CodonID); err != nil {
			s.Status = state.Failed
			s.FailureReason = &state.FailureReason{Type: state.FailUnknown, Message: err.Error(), Class: "replay", Rule: "files"}
		}
	}
	if s.Status == state.Completed {
		failure, err := a.copyOutputs(ctx)
		if err != nil {
			return err
		}
		if failure != nil {
			s.Status, s.FailureReason, s.ExitCode = state.Failed, failure, 1
		}
		if a.stopping() && failure != nil {
			s.Interrupted = a.interruption()
		}
	}
	s.Ignored = s.Status == state.Failed && s.Interrupted == "" && a.entry.Codon.Failure() == plan.Ignore
	next := a.live().Settle(s)
	next.ContextExceeded = a.context || res.verdict.ContextExceeded
	next.BudgetExceeded = a.exceeded
	if res.verdict.Session != "" {
		next.ClaudeSessionID = res.verdict.Session
	}
	next.Notes = append(next.Notes, a.notes...)
	return a.x.Record(state.CodonTransitioned{RunID: a.run, Record: next})
}

// judge is the table of final statuses; the first row that fits decides.
func (a *attempt) judge(res ended) state.Settling {
	v := res.verdict
	s := state.Settling{Status: state.Failed, ExitCode: res.exit.Code, ResultSeen: v.ResultSeen}
	full := a.context || v.ContextExceeded
	switch {
	case a.stopping() && res.exit.Stopped:
		s.Interrupted = a.interruption()
		s.FailureReason = &state.FailureReason{Type: state.FailUnknown, Retriable: true, Message: "stopped on request", Class: "interrupted", Rule: s.Interrupted}
	case a.skip:
		s.Status = state.Skipped
	case a.exceeded == nil && res.overTime:
		a.exceeded = a.limits.timeExceeded()
		fallthrough
	case a.exceeded != nil:
		if s.Status = state.Completed; a.limits.OnExceeded == plan.Fail {
			s.Status = state.Failed
			s.FailureReason = &state.FailureReason{Type: state.FailUnknown, Message: "its budget was used up: " + a.limits.describe(a.exceeded), Class: "budget", Rule: a.exceeded.Currency}
		}
	case res.silent:
		s.FailureReason = &state.FailureReason{Type: state.FailTimeout, Retriable: true, Class: "silent", Rule: "silence-limit",
			Message: fmt.Sprintf("the agent showed no sign of life for %s", a.silence())}
	case v.Success:
		s.Status = state.Completed
	case full && a.mayFillContext():
		s.Status = state.Completed
	default:
		s.FailureReason = a.verdictFailure(res)
	}
	return s
}

// mayFillContext tells whether a full context is a good end: in a loop that
// waits for it, and for a codon that is to fill it.
func (a *attempt) mayFillContext() bool {
	if a.entry.Codon.ExhaustWithPrompt != "" {
		return true
	}
	if a.entry.LoopContext == nil {
		return false
	}
	loop := a.program.Loop(a.entry.LoopContext.LoopID)
	return loop != nil && loop.TerminateOn.Type == plan.ContextExceeded
}

func (a *attempt) verdictFailure(res ended) *state.FailureReason {
	if f := res.verdict.Failure; f != nil {
		return f
	}
	return &state.FailureReason{Type: state.FailUnknown, Retriable: true, Class: "protocol", Rule: "no-reason",
		Message: fmt.Sprintf("the agent ended with code %d and gave no reason", res.exit.Code)}
}

// checkpoint makes the final checkpoint and with it the final record. A
// codon that failed is closed even if its tree cannot be captured.
func (a *attempt) checkpoint(ctx context.Context, final *state.Codon) (*state.Codon, error) {
	if final.Settling == nil && len(final.Notes) == 0 {
		final.Notes = a.notes
	}
	if err := a.x.Finish(ctx, a.run, a.entry.Codon.Name, final, a.selection(a.index)); err != nil {
		return nil, err
	}
	done := a.x.State().Run(a.run)
	return done.Codon(done.Len() - 1), nil
}

func (a *attempt) title(kind state.CheckpointKind) recovery.Title {
	return recovery.Title{Status: kind, CodonID: a.entry.CodonID, RunID: a.run, Name: a.entry.Codon.Name}
}

func (a *attempt) vars() plan.Vars {
	return plan.Vars{Workspace: a.x.Layout.Workspace, Data: a.x.Layout.Data()}
}

// request puts together what the agent is asked.
func (a *attempt) request() (harness.Request, *state.FailureReason, error) {
	system, prompt, _, err := a.program.Prompt(a.entry, a.vars())
	if err != nil {
		return harness.Request{}, nil, err
	}
	session, sessionCost := "", state.USD(0)
	switch {
	case a.resumeSession != "":
		session, a.resumeSession = a.resumeSession, ""
	case a.entry.Codon.ContinuationMode == plan.ContinuePrevious:
		session, sessionCost = a.x.State().PreviousSession(a.index)
		if session == "" && !a.entry.Codon.Model.IsShell() {
			return harness.Request{}, &state.FailureReason{Type: state.FailUnknown, Class: "session_not_found", Rule: "continue-previous",
				Message: "the codon before it left no session to continue"}, nil
		}
	}
	home := filepath.Join(a.x.Layout.Homes(), a.harnessName())
	temp := filepath.Join(a.x.Layout.Hankweave(), "tmp", string(a.run)+"-"+plan.SafeFileName(a.entry.CodonID))
	for _, dir := range []string{home, temp} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return harness.Request{}, nil, err
		}
	}
	return harness.Request{
		Prompt: prompt, SystemPrompt: system, Model: a.entry.Codon.Model.ModelID, Session: session, SessionCost: sessionCost,
		Attempt: a.id, Workspace: a.x.Layout.Workspace, Home: home, Temp: temp, AutoCompact: a.entry.Codon.AutoCompact,
		Environ: a.environFor(a.entry, a.id), Env: a.entry.Codon.Env, Agent: a.agents[a.harnessName()],
	}, nil, nil
}
