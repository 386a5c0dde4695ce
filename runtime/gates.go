package runtime

import (
	"context"
	"strings"
	"time"

	"hank/internal/advice"
	"hank/internal/failpoint"
	"hank/plan"
	"hank/runtime/exitcode"
	"hank/runtime/gate"
	"hank/runtime/result"
	"hank/runtime/retry"
	"hank/runtime/startpoint"
	"hank/runtime/verdict"
	"hank/state"
)

// behindStep takes the run past the gates after the codon that has ended, before
// anything else happens to what it left.
func (d *driver) behindStep(ctx context.Context, e *entry) (*verdict.Outcome, error) {
	return d.pass(ctx, func() []gate.Standing { return gate.Behind(d.x.State(), e.index) })
}

// aheadStep takes the run past the gates before the codon, which costs nothing until
// then.
func (d *driver) aheadStep(ctx context.Context, e *entry) (*verdict.Outcome, error) {
	return d.pass(ctx, func() []gate.Standing { return gate.Ahead(d.x.State(), e.index) })
}

// pass asks at one gate after the other, and follows the answers:
//
//  1. The request is recorded (gate.requested). From here on it survives everything but a
//     move to before the gate.
//  2. The run ends, and says what waits for whom. Or it stays, where that was asked for:
//     the notification command is told (gate.announced), and the run waits.
//  3. The answer is recorded, by this process or by the command that gives it
//     (gate.answered). A gate that nobody has answered in time is one that was refused.
//  4. With a yes the run continues. With a no the codon fails, in one piece with the end of
//     the request (gate.failed), and its onFailure applies.
//
// Whatever is cut off after one of these steps, the next run finds the gate by the same
// rule, and continues with the step that follows.
func (d *driver) pass(ctx context.Context, list func() []gate.Standing) (*verdict.Outcome, error) {
	for !d.again {
		if firstOpen(list()) == nil {
			return nil, nil
		}
		if end, err := d.requestStep(ctx, nil); end != nil || err != nil {
			return end, err
		}
		switch g := firstOpen(list()); {
		case g == nil: // the step has taken in its answer
		case g.Request == nil:
			if err := d.x.Record(g.Ask(d.x.State(), d.run, d.x.Now())); err != nil {
				return nil, err
			}
			failpoint.Hit("gate.requested")
		case g.Waiting() && !g.Expired(d.x.Now().Time):
			if !d.request.Wait {
				return d.waiting(g), nil
			}
			if end, err := d.await(ctx, g, list); end != nil || err != nil {
				return end, err
			}
		default:
			if end, err := d.failAt(ctx, g); end != nil || err != nil {
				return end, err
			}
		}
	}
	return nil, nil
}

func firstOpen(list []gate.Standing) *gate.Standing {
	for i := range list {
		if !list[i].Passed() {
			return &list[i]
		}
	}
	return nil
}

// waiting is the outcome of a run that ends because a person is asked.
func (d *driver) waiting(g *gate.Standing) *verdict.Outcome {
	return &verdict.Outcome{Reason: state.EndGate, Code: exitcode.Waiting, Codon: g.Codon.CodonID, Detail: gate.ViewOf(g.Request, d.x.Layout.Workspace).Waits()}
}

// await stays until the gate is answered, or its time is over. What the user has changed
// meanwhile is asked about as at a start.
func (d *driver) await(ctx context.Context, g *gate.Standing, list func() []gate.Standing) (*verdict.Outcome, error) {
	d.still = time.Time{}
	view := gate.ViewOf(g.Request, d.x.Layout.Workspace)
	d.say("%s", view.Waits())
	for _, row := range view.Rows() {
		text := row[1]
		if strings.HasPrefix(text, "hank ") {
			text = advice.Quote(text)
		}
		d.say("  %-12s %s", row[0], text)
	}
	d.ui.Monitor.Wait("waiting at gate " + g.Name)
	d.announceGate(ctx, g)
	failpoint.Hit("gate.announced")
	var over <-chan time.Time
	if at := g.Request.Expires; at != nil {
		timer := time.NewTimer(max(0, at.Sub(d.x.Now().Time)))
		defer timer.Stop()
		over = timer.C
	}
	for {
		select {
		case r := <-d.requests:
			if d.take(r); d.stop != nil {
				return d.stopped("while waiting at gate " + g.Name), nil
			}
		case <-over:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		now := firstOpen(list())
		if now == nil || now.Name != g.Name || !now.Waiting() || now.Expired(d.x.Now().Time) {
			break
		}
	}
	d.ui.Monitor.Wait("comparing the workspace with its checkpoint")
	_, err := d.askAboutEdits(ctx, startpoint.Start{})
	return nil, err
}

// announceGate tells the notification command that the run waits.
func (d *driver) announceGate(ctx context.Context, g *gate.Standing) {
	if d.request.Notify == "" {
		return
	}
	d.ui.Monitor.Wait("running the notification command")
	result.Notify(ctx, d.request, d.ui, d.result(*d.waiting(g), nil), nil)
	d.ui.Monitor.Wait("waiting at gate " + g.Name)
}

// failAt fails the codon of a gate that was answered with no, or not in time, and follows
// its onFailure: nil where the run continues, with another entry if d.again is set.
func (d *driver) failAt(ctx context.Context, g *gate.Standing) (*verdict.Outcome, error) {
	s, id, from, attempt := d.x.State(), g.Codon.CodonID, state.SHA(""), d.attemptsOf(g.Codon.CodonID)+1
	if g.Gate.When == plan.Before {
		from = d.base(id)
	}
	moves := g.Fail(s, d.run, d.x.Now(), from, attempt)
	kept := d.keep && g.Gate.When == plan.After && retry.Foretold(s, d.run, moves).Again
	if kept {
		moves = g.Fail(s, d.run, d.x.Now(), s.Base, attempt)
	}
	if err := d.x.Record(moves...); err != nil {
		return nil, err
	}
	failpoint.Hit("gate.failed")
	run := d.x.State().Run(d.run)
	final := run.Codon(run.Len() - 1)
	d.say("%s: %s", id, final.FailureReason.Message)
	if err := d.replan(); err != nil {
		return nil, err
	}
	d.settle()
	d.lookAhead(d.x.State().Next()) // its loop may continue
	switch {
	case final.FailureIgnored: // its loop is judged again, and the plan may continue otherwise
		d.again = true
		return d.judgeLeft(ctx)
	case d.stop == nil && d.after(final).Again:
		d.again = true
		if kept { // with what its rig has done
			d.say("  retrying (attempt %d) on the workspace as it is", final.Attempt+1)
			d.resumed, d.rigDone = nil, s.Finished()[s.PlanIndex(id)].RigSetupCheckpoint != ""
			return nil, nil
		}
		d.say("  retrying (attempt %d)", final.Attempt+1)
		if g.Gate.When == plan.Before { // it has not run
			return nil, nil
		}
		return nil, d.restoreBase(ctx, final, d.x.State().PlanIndex(id))
	}
	return d.endedBy(final), nil
}

// held is the outcome of a command that does nothing because the execution is held.
func held(h *state.Hold) *verdict.Outcome {
	detail := "the execution is held"
	if who := gate.Person(h.By); who != "" {
		detail += " by " + who
	}
	detail += " since " + h.Time.Local().Format(time.DateTime) + ": " + h.Reason
	return &verdict.Outcome{Reason: state.EndHeld, Code: exitcode.Waiting, Detail: strings.TrimSuffix(detail, ": ")}
}
