// Package preview works out what a retry moves before it runs anything, and what it asks
// before that.
//
// It decides as package runtime does, by the same functions, and has the same PlanMove
// compute the move, in one look at the workspace. It only reads: it takes no lock.
package preview

import (
	"context"
	"fmt"
	"time"

	"hank/checkpoint"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/recovery/lock"
	"hank/runtime/edits"
	"hank/runtime/exitcode"
	"hank/runtime/hankfile"
	"hank/runtime/history"
	"hank/runtime/question"
	"hank/runtime/request"
	"hank/runtime/startpoint"
	"hank/state"
)

// Retry is what a retry does before it runs anything.
type Retry struct {
	*history.Preview
	Codon state.CodonID          // the one that runs again
	Stays bool                   // the workspace stays as it is
	Uses  []string               // what of the codon the author has changed, and the retry takes over
	Asks  *finding.DecisionError // what is asked first; without an answer nothing moves; nil: nothing

	Refused error // why the move would be refused, if nothing is asked first; nil: it would not be
}

// OfRetry works out what a retry moves, and what it asks before that: as Run does,
// in one look at the workspace. Of one that ends before it moves anything (unmoved; see
// forecast.Forecast) the workspace stays. It takes no lock and changes nothing on disk.
func OfRetry(ctx context.Context, r request.Request, a request.Answers, unmoved bool, work execution.Work) (*Retry, error) {
	began, out := time.Now(), &Retry{}
	preview, err := history.PreviewMove(ctx, history.RollbackOptions{Execution: r.Execution, Work: work}, func(v *recovery.View, src *execution.Sources) (t history.Target, m *execution.Move, err error) {
		switch {
		case v.Live:
			return t, nil, &lock.HeldError{Path: v.Layout.Root, Holder: v.Holder, Why: "a run is in progress"}
		case v.Unfinished():
			return t, nil, &exitcode.UsageError{Why: fmt.Sprintf("%s was interrupted, which the next command finishes before anything else; what a retry moves is known then", finding.WithArticle(v.State.Intent.Kind))}
		case v.State.Hold != nil: // a retry looks at nothing else
			out.Stays, t.Position = true, v.State.CurrentPosition()
			return t, nil, nil
		}
		if src.State, err = history.Concluded(v.State); err != nil {
			return t, nil, err
		}
		if r.Codon, err = history.CodonAt(src.State, string(r.Codon)); err != nil {
			return t, nil, err
		}
		if _, err := startpoint.Decide(startpoint.Situation{State: src.State}, r, a); err != nil { // it cannot mean anything here
			return t, nil, err
		}
		if err := out.follow(v, src, r, a); err != nil {
			return t, nil, err
		}
		st, err := out.decided(ctx, src, r, a)
		if err != nil {
			return t, nil, err
		}
		out.Codon, out.Stays = st.Redo.CodonID, st.Stay
		t = history.TargetOf(src.State, src.Store, st.Target)
		t.Position = *st.Position
		if unmoved {
			out.Stays, t.Position = true, src.State.CurrentPosition()
			return t, nil, nil
		}
		if st.To == "" {
			return t, nil, nil
		}
		unasked, err := out.findEdits(ctx, v, *src, st, a, began)
		if err != nil || out.Stays {
			return t, nil, err
		}
		c := edits.Comparison{State: src.State, Store: src.Store, Layout: src.Layout, Workspace: src.Workspace}
		return t, &execution.Move{Kind: st.Kind(request.ModeRetry), To: st.To, Tracked: c.TrackedBefore(*st.Position), Position: st.Position, Leave: unasked, Since: began}, nil
	})
	if out.Preview = preview; err == nil && unmoved {
		preview.Stay()
	}
	if err == nil && !out.Stays && out.Asks == nil && !execution.IsClosed(preview.Refused) { // about a closed workspace it asks
		out.Refused = preview.Refused
	}
	return out, err
}

// follow finds which version of the hank the retry follows.
func (p *Retry) follow(v *recovery.View, src *execution.Sources, r request.Request, a request.Answers) error {
	if a.Frozen {
		return nil
	}
	ask, _ := question.ChangedProgram(v, src.Store, r)
	if ask != nil && !a.Adopt {
		p.Asks = ask
		return nil
	}
	frozen, err := githistory.LoadProgram(src.Store, v.State.Program)
	if err != nil {
		return nil // the question about it is answered
	}
	live, _, _ := hankfile.LoadFor(v.Layout.Root, request.Request{}, r.LayersFor(frozen.Model))
	if live == nil || hankfile.Same(src.State, frozen, live) {
		return nil
	}
	if !a.Adopt {
		p.Uses = hankfile.OwnChanges(src.State, r, frozen, live)
	}
	src.State, err = githistory.WithPlan(src.State, live)
	return err
}

// decided is decide, told whether the checkpoint is lost. A question that it leaves open is
// kept.
func (p *Retry) decided(ctx context.Context, src *execution.Sources, r request.Request, a request.Answers) (startpoint.Start, error) {
	st, err := startpoint.Decide(startpoint.Situation{State: src.State}, r, a)
	if err != nil {
		return st, err
	}
	whole, err := src.Store.IsComplete(ctx, checkpoint.SHA(st.Target))
	if err == nil && !whole {
		st, err = startpoint.Decide(startpoint.Situation{State: src.State, Lost: true}, r, a)
	}
	if st.Question != nil {
		return st, st.Question.Open
	}
	return st, err
}

// findEdits looks what the user has changed in the workspace, and what becomes of it. It returns what
// stays without a question.
func (p *Retry) findEdits(ctx context.Context, v *recovery.View, src execution.Sources, st startpoint.Start, a request.Answers, began time.Time) ([]string, error) {
	if run := v.State.Newest(); run != nil && run.Live() != nil { // nothing to compare with yet: the next opening makes its checkpoint
		late, err := v.LateQuestion(ctx, src.Store)
		p.ask(late)
		return nil, err
	}
	c := edits.Comparison{State: src.State, Store: src.Store, Layout: src.Layout, Workspace: src.Workspace}
	e, err := c.Find(st.To, func(head state.SHA) (*checkpoint.Snapshot, error) {
		selection := execution.Tracked(src.State, history.NextID(src.State))
		selection.Never = execution.Never
		if !src.Store.Has(checkpoint.SHA(head)) {
			head = ""
		}
		return src.Store.Snapshot(ctx, checkpoint.SnapshotRequest{Workspace: src.Workspace, Selection: selection, Base: checkpoint.SHA(head), Progress: src.Progress, Since: began})
	})
	if err != nil || len(e.Changes) == 0 {
		return e.Unasked, err
	}
	keep, missing := startpoint.DecideEdits(st, e.Changes, false, request.ModeRetry, a)
	if p.Stays = p.Stays || keep; missing != nil {
		p.ask(missing.Open)
	}
	return e.Unasked, nil
}

// ask adds a question to those that are asked.
func (p *Retry) ask(more *finding.DecisionError) {
	switch {
	case more == nil:
	case p.Asks == nil:
		p.Asks = more
	default:
		p.Asks.What += ", and " + more.What
		p.Asks.Options = append(p.Asks.Options, more.Options...)
	}
}
