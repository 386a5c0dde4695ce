package recovery

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"hank/checkpoint"
	"hank/internal/vfs"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/recovery/hankweave"
	"hank/state"
)

// ReadForeignEvents calls fn for each event of the journal that Hankweave has
// left, with the number of its line. Lines that cannot be read are passed over,
// as Hankweave does.
func (v *View) ReadForeignEvents(fn func(line uint64, e hankweave.ForeignEvent) error) error {
	path := filepath.Join(v.Layout.Events(), "events.jsonl")
	f, err := vfs.OS.OpenFile(path, 0, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return &finding.DecisionError{What: "the journal in " + v.Layout.Events() + " is packed, as Hankweave does when a run has ended",
			Options: []string{"unpack it with: hankweave --restore-journal " + v.Layout.Root}}
	}
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewReader(f)
	for n := uint64(1); ; n++ {
		line, err := lines.ReadBytes('\n')
		if e, ok := hankweave.ParseForeignEvent(line); ok {
			if err := fn(n, e); err != nil {
				return err
			}
		}
		if err != nil {
			return errors.Join(hankweave.IgnoreEOF(err))
		}
	}
}

// respectRunning returns a *HeldError if a run of a foreign state may be at
// work though there is no lock file.
func respectRunning(x *execution.Execution, s *state.State) error {
	for _, r := range s.Runs {
		if r.Status != state.StatusRunning {
			continue
		}
		if over, why := isOver(r, false, false); !over {
			return stillRunning(x.Layout, r, why)
		}
	}
	return nil
}

// handOver keeps the workspace as Hankweave left it, in a checkpoint whose
// record carries the whole state: the commits of Hankweave tell too little to
// rebuild it from git alone.
func handOver(ctx context.Context, x *execution.Execution, r *Repair) error {
	snap, err := x.Snapshot(ctx, checkpoint.Selection{All: true}, x.Head())
	if err != nil {
		return fmt.Errorf("keeping the workspace as Hankweave left it: %w", err)
	}
	const note = "the workspace as Hankweave left it"
	branch := x.RecoveryBranch()
	sha, err := x.Commit(ctx, execution.Commit{
		Title: githistory.Title{Status: state.KindRecovery, Name: note}, Snapshot: snap, Parents: []state.SHA{x.Head()}, Branch: branch,
		Transition: state.CheckpointCreated{Kind: state.KindRecovery, Branch: branch, Note: note}, Whole: true,
	})
	r.Did = fmt.Sprintf("it is kept as checkpoint %.12s; its journal is in %s", sha, x.Layout.Quarantine())
	return err
}

// isHandOverDue reports whether the workspace is to be kept as Hankweave left it. A run
// of hank's own only begins after that.
func isHandOverDue(s *state.State, store *checkpoint.Store) (bool, error) {
	if r := s.Newest(); !s.Adopted || r != nil && len(r.Process) > 0 {
		return false, nil
	}
	refs, err := store.Refs(githistory.Heads + "recovery/")
	for _, tip := range refs {
		info, cerr := store.CommitInfo(tip)
		if cerr != nil {
			continue // the next one may be it
		}
		if r, found, _ := githistory.ReadRecord(info); found && len(r.State) > 0 {
			return false, nil
		}
	}
	return true, err
}
