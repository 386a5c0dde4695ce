package codon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-json-experiment/json"

	"hank/runtime/harness"
	"hank/runtime/harness/transcript"
	"hank/runtime/silence"
	"hank/state"
)

// work runs the agent, turn after turn. It returns with the end of the codon recorded,
// or with a failure if there was no session.
func (a *attempt) work(ctx context.Context) (*state.FailureReason, error) {
	req, failure, err := a.request()
	if err != nil || failure != nil {
		return failure, err
	}
	if failure = a.recall(ctx, req); failure != nil {
		return failure, nil
	}
	log, err := openLog(a.Layout.Transcript(a.Run, a.Entry.CodonID, a.Number))
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
			a.noteUsage(true)
			return nil, a.recordEnd(ctx, res, a.remember(ctx, req, cmp.Or(res.verdict.Session, a.host.Live().ClaudeSessionID)))
		}
	}
}

// turn runs one process of the agent.
func (a *attempt) turn(ctx context.Context, req harness.Request, log *os.File) (ended, *state.FailureReason, error) {
	req.Turn = a.extension - a.Extended
	if m, is := a.Harness.(harness.Metered); is && req.Session != "" {
		counted, err := m.SessionTokens(req)
		if err != nil {
			return ended{}, nil, err
		}
		req.SessionTokens = counted
	}
	command, err := a.Harness.Command(req)
	if err != nil {
		return ended{}, &state.FailureReason{Type: state.FailUnknown, Message: err.Error(), Class: "start", Rule: "command"}, nil
	}
	writable, err := a.writable()
	if err != nil {
		return ended{}, nil, err
	}
	t := &turn{
		command: command, reader: a.Harness.Reader(req), log: log, attempt: a.ID, writable: writable, known: a.Known, requests: a.host.Requests(),
		start:   transcript.Start{Harness: a.Harness.Name(), Attempt: a.ID, Model: req.Model, Session: req.Session, SessionCost: req.SessionCost, SessionTokens: transcript.Counted(req.SessionTokens)},
		silence: a.silence(), limit: a.Limits.TimeLeft(a.spentTime()), timeout: a.timeoutLeft(),
		started: a.spawned(req, command.Session), observe: a.observe, signalled: a.signalled,
		lastWord: a.lastWord(), quiet: a.quiet, wants: a.waitsFor, watch: silence.Watch{Workspace: a.Layout.Workspace},
		waits: a.host.Monitor().Step,
		tick:  a.tick,
	}
	a.host.Monitor().Step(a.startStep())
	if a.working.IsZero() {
		a.working = time.Now()
	}
	res, err := t.run(ctx)
	a.host.Monitor().Step("recording how the codon ended")
	var start *startError
	if errors.As(err, &start) {
		return ended{}, &state.FailureReason{Type: state.FailUnknown, Message: err.Error(), Class: "start", Rule: "spawn"}, nil
	}
	if err != nil {
		return ended{}, nil, err
	}
	a.agentEnd = a.agentEnd.Then(res.verdict.AgentEnd)
	a.killed(res.exit)
	a.actions.finish(a)
	if res.verdict.Success {
		a.Breaker.Answered()
	}
	if a.host.Live().Status == state.Initializing { // it ended without ever having had a session
		if a.stopping() || a.skip || !res.verdict.Success {
			a.usage = a.charged(res.verdict.Usage)
			a.noteUsage(true)
			return res, a.withoutSession(res), nil
		}
		if err := a.host.Record(state.CodonTransitioned{RunID: a.Run, Record: a.host.Live().Work(res.verdict.Session)}); err != nil {
			return ended{}, nil, err
		}
	}
	a.usage = a.charged(res.verdict.Usage)
	return res, nil, a.recordUsage(time.Now(), true)
}

// spawned records the agent's process, and its session if that is known. A
// second turn has both already. What is durable before it is enough to find
// the process and to redo the codon, so nobody waits for the disk here.
func (a *attempt) spawned(req harness.Request, session string) func(int) error {
	return func(pid int) error {
		if a.host.Live().Status != state.Starting {
			return nil
		}
		path := a.Layout.Relative(a.Layout.Transcript(a.Run, a.Entry.CodonID, a.Number))
		spawned := a.host.Live().Spawn(pid, path, req.Session)
		moves := []state.Transition{state.CodonTransitioned{RunID: a.Run, Record: spawned}}
		if session != "" {
			moves = append(moves, state.CodonTransitioned{RunID: a.Run, Record: spawned.Work(session)})
		}
		return a.host.RecordLater(moves...)
	}
}

// observe takes in what the agent does.
func (a *attempt) observe(o harness.Observation) (stop bool, err error) {
	defer func() { a.host.Monitor().observe(o, a.Layout.Workspace, a.thinks(), a.bill()) }()
	a.waits, _ = o.(harness.Retrying)
	a.waitsAt = time.Now()
	switch o := o.(type) {
	case harness.SessionStarted:
		if a.host.Live().Status == state.Initializing {
			err = a.host.Record(state.CodonTransitioned{RunID: a.Run, Record: a.host.Live().Work(o.ID)})
		}
	case harness.Message:
		if a.messages++; !o.Failed {
			a.Breaker.Answered()
		}
		action := "message"
		if o.Thinking {
			action = "thinking"
		}
		a.noteAction("assistant.action", map[string]any{"codonId": a.Entry.CodonID, "action": action, "content": harness.Excerpt(o.Text, 2500)})
	case harness.ToolUse:
		a.Breaker.Answered()
		a.called(o, time.Now())
		a.noteAction("assistant.action", map[string]any{"codonId": a.Entry.CodonID, "action": "tool_use", "content": "", "toolName": o.Name, "toolUseId": o.ID, "toolInput": toolInput(o.Input)})
	case harness.ToolResult:
		a.noteResult(o, time.Now())
	case harness.Usage:
		a.usage = a.charged(o)
		a.costs.owed = true
		a.noteUsage(false)
		err = errors.Join(a.recordUsage(time.Now(), false), a.warn(time.Now()))
		stop = a.overBudget() && !o.Final
	case harness.Retrying:
		if o.Refused != nil {
			a.refused = o.Refused
			return true, nil
		}
		if o.GivenUp != nil {
			a.givenUp = o.GivenUp
			return true, nil
		}
		a.host.Say("%s waits for its provider (try %d, %s): %s", a.Entry.CodonID, o.Attempt, o.After, o.Why)
	case harness.ContextExceeded:
		a.context = true
	}
	return stop, err
}

// lastWord is how long a script has to end by itself after it has reported a cost that
// reaches a limit: what it reports may be its last line. An agent gives an account of
// its turn at the end, and what it reports before is in the middle of its work.
func (a *attempt) lastWord() time.Duration {
	if a.Entry.Codon.Model.Kind().RunsScript {
		return 250 * time.Millisecond
	}
	return 0
}

// startStep is what is waited for until an agent or script shows a sign of life.
func (a *attempt) startStep() string {
	if a.Entry.Codon.Model.Kind().RunsScript {
		return "the script is running"
	}
	if a.replays() {
		return replaying
	}
	return "starting " + a.Harness.Name()
}

// thinks is what is waited for while an agent does nothing that can be seen.
func (a *attempt) thinks() string {
	if !a.Entry.Codon.Model.Kind().UsesModel {
		return ""
	}
	if a.replays() {
		return replaying
	}
	return "waiting for the model"
}

func (a *attempt) replays() bool { return a.Harness.Name() == state.HarnessReplay }

// replaying is what is waited for where a recording is played.
const replaying = "replaying the recording"

// recordUsage brings the record's figures up to date: at most once a second
// while the agent works, and in any case at its end.
func (a *attempt) recordUsage(now time.Time, final bool) error {
	if a.host.Live().Status != state.Running || !final && !a.costs.due(now) {
		return nil
	}
	a.costs.done(now)
	return a.host.RecordLater(a.figures())
}

// figures are the record's, brought up to date.
func (a *attempt) figures() state.CostsUpdated {
	total := a.total()
	unpriced, _ := a.unpriced()
	return state.CostsUpdated{RunID: a.Run, CodonID: a.Entry.CodonID, Cost: total.Cost, Tokens: total.Tokens, Messages: a.messages, Extensions: a.extension, UnpricedTokens: unpriced}
}

// tick records what the agent and the sentinels have used. It reports whether a sentinel,
// or what they have cost, ends the codon.
func (a *attempt) tick(now time.Time) (stop bool, err error) {
	if err := errors.Join(a.recordUsage(now, false), a.warn(now)); err != nil || a.watch == nil {
		return false, err
	}
	if a.hearing.due(now) {
		err = a.hearSentinels()
		a.hearing.done(now, time.Now())
	}
	return a.ends || a.overBudget(), err
}

// extend asks for one more turn in the session of a codon that is to fill its
// context.
func (a *attempt) extend(req *harness.Request, res ended) (bool, error) {
	v := res.verdict
	if !a.extends(v) || a.stopping() || a.skip || a.exceeded != nil {
		return false, nil
	}
	prompt, err := a.Program.Extension(a.Entry, a.vars())
	if err != nil || prompt == "" {
		return false, err
	}
	req.SessionCost += a.usage.Cost
	a.spent, a.usage = a.total(), harness.Usage{}
	a.extension++
	req.Prompt, req.Session = prompt, v.Session
	a.host.Note("codon.extended", map[string]any{"codonId": a.Entry.CodonID, "codonName": a.Entry.Codon.Name, "extensionNumber": a.extension,
		"exhaustWithPrompt": prompt, "cumulativeTokens": a.spent.Tokens, "cumulativeCost": a.spent.Cost})
	return true, a.host.Record(a.figures()) // so that who continues the attempt sends this prompt, and not the first
}

func toolInput(b []byte) any {
	var v any
	if json.Unmarshal(b, &v) != nil {
		return string(b)
	}
	return v
}
