package recovery

import (
	"context"
	"errors"
	"fmt"

	"hank/checkpoint"
	"hank/checkpoint/restore"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/recovery/lock"
	"hank/state"
)

// stages bring an execution whose state is known into order. Openings and readers go
// through them in this order: an opening applies what each plans before the next looks,
// a reader continues with the state that it will lead to.
var stages = []stage{
	planIndexes,  // first: without an index, whoever reads an object reads a whole pack
	planBranches, // before all that records: a checkpoint is only acknowledged with the journal's next number, which any other event would take
	planPlace,    // before all that records: from here on state.json is kept, and paths are those of here
	planHead,     // before all that makes checkpoints: their parent is the newest one
	planHandOver, // before the workspace changes: it is kept as Hankweave left it
	planIntent,   // before the runs: what a run's codon has left is taken from a workspace that no move has half changed
	planRuns,     // last: it takes the workspace as it is by then
}

// goThroughStages goes through the stages of an opening.
func goThroughStages(ctx context.Context, x *execution.Execution, a githistory.Comparison) error {
	for _, plan := range stages {
		s := subject{fs: x.FS, layout: x.Layout, meta: x.Metadata, state: x.State(), store: x.Store, history: a,
			boot: x.Lock.Info.Process.BootID, trusted: lock.FlockTrusted(x.Lock.Dirs[0]), copied: x.Origin != "", opening: true, answers: x.Opts}
		repairs, err := plan(&s)
		if err == nil {
			err = repairAll(ctx, x, repairs)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// foresee goes through the stages for a reader.
func (v *View) foresee(a githistory.Comparison) {
	s := subject{fs: v.fs, layout: v.Layout, meta: v.Meta, state: v.State, store: v.store, history: a, boot: layout.Boot(), trusted: lock.IsTrusted(v.Layout), copied: layout.IsCopy(v.fs, v.Meta, v.Layout.Root)}
	stopped := false // an opening reports the first
	for _, plan := range stages {
		repairs, err := plan(&s)
		var decision *finding.DecisionError
		if err = v.orOwner(err); errors.As(err, &decision) {
			v.block(decision)
		} else if err != nil && !stopped {
			v.Report.Add(finding.Warning, "%v; while that lasts, a command that changes something stops at it", err)
			stopped = true
		}
		v.plan(repairs)
		s.state = v.State
	}
}

// planHead makes sure that the next checkpoint has a parent that can be read.
func planHead(s *subject) ([]Repair, error) {
	if s.answers.ReplaceStore {
		return []Repair{{do: func(ctx context.Context, x *execution.Execution, _ *Repair) error { return repairStore(ctx, x) }}}, nil
	}
	if s.store == nil {
		return nil, nil
	}
	err := readHead(s.state, s.store)
	switch {
	case err == nil:
		return nil, nil
	case checkpoint.IsMissing(err):
		return nil, needHead(s.layout, s.state, err)
	}
	return nil, fmt.Errorf("the newest checkpoint: %w", err)
}

// planHandOver keeps the workspace as Hankweave left it.
func planHandOver(s *subject) ([]Repair, error) {
	if s.store == nil {
		return nil, nil
	}
	due, err := isHandOverDue(s.state, s.store)
	if err != nil || !due {
		return nil, err
	}
	return []Repair{{Severity: finding.Note, Found: "the workspace is as Hankweave left it", Will: "the next command keeps it in a checkpoint", do: handOver}}, nil
}

// planIntent ends a change of the workspace that was announced and not closed. An
// opening tries, whatever it looks like; for a reader it blocks where it shows at a
// glance that it cannot be finished.
func planIntent(s *subject) ([]Repair, error) {
	i := s.state.Intent
	if i == nil {
		return nil, nil
	}
	if !s.opening && s.store != nil {
		if why := unfinishable(s, i); why != nil {
			return nil, execution.NeedUnfinished(i, why)
		}
	}
	return []Repair{finishing(i)}, nil
}

func unfinishable(s *subject, i *state.Intent) error {
	if lost := lostForMove(s.store, i); lost != nil {
		return lost
	}
	ws, err := s.layout.OpenWorkspace()
	if err != nil {
		return nil // the next opening makes one, or says why not
	}
	defer ws.Close()
	return restore.Writable(ws)
}
