package report

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"hank/internal/vfs"
	"hank/recovery"
	"hank/runtime/control"
	"hank/runtime/gate"
	"hank/runtime/history"
	"hank/runtime/live"
	"hank/runtime/logview"
	"hank/runtime/losses"
	"hank/runtime/verdict"
	"hank/state"
	"hank/state/journal"
)

// FollowLog shows what a query selects of the run in progress, waits for what comes,
// attempt after attempt, and ends when the run does, however that ends. Without a run in
// progress it is PrintLog, and says how the run ended. The commands in it have the option, see ReadStatus.
func FollowLog(ctx context.Context, v *recovery.View, q LogQuery, in Settings, option string, to LogView) (err error) {
	if !v.Live || q.Run != "" && q.Run != v.State.CurrentRunID {
		err := PrintLog(v, q, to)
		if run := cmp.Or(v.State.Run(q.Run), v.State.Newest()); err == nil && run != nil && verdict.OfRun(v, run) != verdict.Running {
			err = to.RunEnd(runEnd(v, run, in, option))
		}
		return errors.Join(err, to.Flush())
	}
	if q.Codon, err = history.CodonAt(v.State, string(q.Codon)); err != nil {
		return err
	}
	f := &follower{LogView: to, q: q, in: in, option: option, root: v.Layout.Root, v: v, next: v.State.Seq + 1, run: v.State.CurrentRunID}
	if err := f.begin(); err != nil {
		return err
	}
	return errors.Join(f.follow(ctx), to.Flush())
}

// follower follows a run through its codons. It learns from the journal which attempts
// begin and end, and from their transcripts what they say.
type follower struct {
	LogView
	q      LogQuery
	in     Settings
	option string
	root   string
	v      *recovery.View // for its layout; its state is that of the beginning
	next   uint64         // the event that is wanted next
	run    state.RunID    // empty: it has not begun

	current *Attempt // the attempt that is shown
	file    *openedTranscript
	heard   time.Time // when there was something new, or the run was seen to be alive
}

// begin shows what there is of the run by now.
func (f *follower) begin() error {
	q := f.q
	if q.Run = f.run; q.Run == "" { // it has no record yet
		return nil
	}
	attempts, err := q.attempts(f.v)
	if err != nil {
		if f.q.Codon != "" && !f.q.mayCome(f.v.State) && len(f.v.State.ExecutionPlan()) > 0 {
			return err
		}
		if live := f.v.State.Current().Live(); live != nil && q.wants(f.v.State, live.CodonID) {
			return f.attempt(live)
		}
		return nil
	}
	last := attempts[len(attempts)-1]
	if last.Status.Terminal() {
		return printAttempts(f.v, f.q, attempts, f)
	}
	if err := printAttempts(f.v, f.q, attempts[:len(attempts)-1], f); err != nil {
		return err
	}
	return f.attempt(last.Codon)
}

// follow takes in what happens until the run is over.
func (f *follower) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	events, ended := make(chan journal.Event, 64), make(chan error, 1)
	go func() { ended <- f.events(ctx, events) }()
	defer func() { cancel(); <-ended }()
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	f.heard = time.Now()
	for {
		if err := f.drain(); err != nil {
			return err
		}
		if err := f.Flush(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-ended:
			ended <- nil
			return err
		case e := <-events:
			if over, err := f.take(e); err != nil || over {
				return errors.Join(err, f.end())
			}
		case <-tick.C:
			if over, err := f.isGone(ctx); err != nil || !over {
				if err != nil {
					return err
				}
				continue
			}
			cancel()
			return errors.Join(f.catchUp(events), f.end())
		}
	}
}

// events sends the events of the journal that change the state, past damage.
func (f *follower) events(ctx context.Context, to chan<- journal.Event) error {
	dir, next := f.v.Layout.Events(), f.next
	for {
		err := journal.Follow(ctx, vfs.OS, dir, next, followEvery, func(e journal.Event) error {
			if next = e.Seq + 1; e.Type != state.TransitionEvent {
				return nil
			}
			select {
			case to <- e:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		var gap *journal.GapError
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &gap) && gap.Next > next:
			next = gap.Next
		default: // it cannot be read any more: what the run says is in its transcripts alone
			<-ctx.Done()
			return nil
		}
	}
}

// aliveEvery is how often a run of which nothing is heard is asked whether it is there.
const aliveEvery = time.Second

// isGone reports whether the runtime is gone.
func (f *follower) isGone(ctx context.Context) (bool, error) {
	if time.Since(f.heard) < aliveEvery {
		return false, nil
	}
	f.heard = time.Now()
	limited, cancel := context.WithTimeout(ctx, answerPatience)
	defer cancel()
	if _, err := live.Control(limited, f.root, "ping"); err == nil || !errors.Is(err, control.ErrNotRunning) {
		return false, ctx.Err()
	}
	v, err := recovery.ReadSummary(f.root)
	if err != nil {
		return false, err
	}
	if !v.Live {
		return true, nil
	}
	current := v.State.CurrentRunID // another run may have begun since
	return f.run != "" && current != "" && current != f.run, nil
}

// errOver ends the reading of a journal.
var errOver = errors.New("the run is over")

// catchUp takes in what the journal has more when its writer is gone. What cannot be
// read of it is in the state, which is read next.
func (f *follower) catchUp(events <-chan journal.Event) error {
	var failed error
	take := func(e journal.Event) error {
		if e.Type != state.TransitionEvent {
			return nil
		}
		over, err := f.take(e)
		if failed = err; err == nil && over {
			return errOver
		}
		return err
	}
	for len(events) > 0 {
		if err := take(<-events); err != nil {
			return failed
		}
	}
	_ = journal.Read(vfs.OS, f.v.Layout.Events(), f.next, take)
	return failed
}

// take takes in an event, and reports whether the run is over.
func (f *follower) take(e journal.Event) (over bool, err error) {
	if e.Seq < f.next {
		return false, nil
	}
	f.next, f.heard = e.Seq+1, time.Now()
	t, err := state.Decode(e.Data)
	if err != nil {
		return false, nil // of a newer hank: it will be in the state
	}
	switch t := t.(type) {
	case state.RunStarted:
		if f.run != "" && t.Run.RunID != f.run {
			return true, nil
		}
		f.run = t.Run.RunID
	case state.CodonStarted:
		return false, f.record(t.RunID, t.Record)
	case state.CodonTransitioned:
		return false, f.record(t.RunID, t.Record)
	case state.GateRequested:
		if t.Request.RunID == f.run {
			return false, f.Gate(gate.ViewOf(&t.Request, f.v.Layout.Workspace).In(f.option))
		}
	case state.RunCompleted:
		return t.RunID == f.run, nil
	case state.RunFailed:
		return t.RunID == f.run, nil
	case state.RunPaused:
		return t.RunID == f.run, nil
	case state.RunCrashed:
		return t.RunID == f.run, nil
	}
	return false, nil
}

// record takes in the next form of a record.
func (f *follower) record(run state.RunID, k *state.Codon) error {
	if f.run == "" {
		f.run = run
	}
	if run != f.run || !f.q.wants(f.v.State, k.CodonID) {
		return nil
	}
	return f.attempt(k)
}

// attempt shows the attempt that a record is of.
func (f *follower) attempt(k *state.Codon) error {
	a := Attempt{RunID: f.run, Verdict: verdict.OfCodon(k, verdict.Running), Codon: k}
	if c := f.current; c == nil || c.CodonID != k.CodonID || c.number() != a.number() {
		if err := f.endAttempt(); err != nil {
			return err
		}
		if err := f.Begin(a); err != nil {
			return err
		}
	}
	f.current = &a
	if f.file == nil && k.ClaudeLogPath != "" {
		if err := f.open(a); err != nil {
			return err
		}
	}
	if !k.Status.Terminal() {
		return nil
	}
	return f.endAttempt()
}

// open opens the transcript of the attempt, and shows what it has by now, or the end
// of that.
func (f *follower) open(a Attempt) error {
	t, err := openTranscript(f.v, a, f.LogView)
	if err != nil {
		return nil // it is opened by the next event: what an attempt says may be gone, and its end is told
	}
	f.file = t
	limit := f.q.Limit
	f.q.Limit = 0 // what comes is shown
	if limit > 0 {
		return t.tail(f, limit, false)
	}
	return f.drain()
}

// drain shows what the transcript has by now.
func (f *follower) drain() error {
	if f.file == nil {
		return nil
	}
	return f.file.each(false, func(l logview.Line) error {
		f.heard = time.Now()
		return f.Line(l)
	})
}

// endAttempt shows how the attempt ended, after all that its transcript has.
func (f *follower) endAttempt() error {
	if f.current == nil {
		return nil
	}
	a := *f.current
	if f.file != nil {
		err := f.file.each(true, f.Line)
		f.file.close()
		f.file = nil
		if err != nil {
			return err
		}
	}
	if text := losses.Text(f.v.Layout, a.Codon); text != "" {
		if err := f.Line(logview.Damage(text)); err != nil {
			return err
		}
	}
	f.current = nil
	return f.End(a)
}

// leaving is how long a run that has ended may take to let go of its execution, for its
// last checkpoint: until then nobody can say which command is next.
const leaving = 5 * time.Second

// end shows how the run ended, from its state.
func (f *follower) end() error {
	if err := f.Flush(); err != nil {
		return err
	}
	for patience := time.Now().Add(leaving); time.Now().Before(patience); time.Sleep(followEvery / 4) {
		if v, err := recovery.ReadSummary(f.root); err != nil || !v.Live {
			break
		}
	}
	v, err := recovery.Read(f.root)
	if err != nil {
		return err
	}
	run := v.State.Run(f.run)
	if run == nil {
		return errors.Join(f.endAttempt(), f.Flush())
	}
	of := verdict.OfRun(v, run)
	if c := f.current; c != nil {
		for _, k := range slices.Backward(run.Codons()) {
			if a := (Attempt{RunID: f.run, Verdict: verdict.OfCodon(k, of), Codon: k}); k.CodonID == c.CodonID && a.number() == c.number() {
				f.current = &a
			}
		}
		if err := f.endAttempt(); err != nil {
			return err
		}
	}
	return errors.Join(f.RunEnd(runEnd(v, run, f.in, f.option)), f.Flush())
}

// runEnd is how a run has ended.
func runEnd(v *recovery.View, run *state.Run, in Settings, option string) RunEnd {
	ended := RunEnd{RunID: run.RunID, Verdict: verdict.OfRun(v, run), Cost: run.Bill().Cost, bill: run.Bill()}
	if run.EndTime != nil {
		ms := run.EndTime.Sub(run.StartTime.Time).Milliseconds()
		ended.Millis, ended.at = &ms, run.EndTime.Time
	}
	switch ended.Verdict {
	case verdict.Budget, verdict.Paused, verdict.Waiting, verdict.Held:
		ended.Detail = shownEnd(run, option)
	}
	if !v.Live {
		s := StatusOf(v, v.Weigh(), in, option)
		if ended.Next = s.After; s.After != "" {
			ended.Advice = &s.After
		}
		if s.Command != "" {
			ended.Command = &s.Command
		}
	}
	return ended
}
