package runtime

import (
	"context"
	"fmt"
	"os"

	"hank/checkpoint"
	"hank/recovery"
	"hank/state"
)

// Limits above which the first checkpoint of a folder wants a person's yes.
const (
	hugeFiles = 200_000
	hugeBytes = 5 << 30
)

// begin makes the checkpoint of the untouched workspace, if there is none.
func (d *driver) begin(ctx context.Context) error {
	if d.x.State().InitialCheckpoint != "" {
		return nil
	}
	everything := checkpoint.Selection{All: true}
	if err := d.askAboutHuge(ctx, everything); err != nil {
		return err
	}
	snap, err := d.x.Snapshot(ctx, everything, "")
	if err != nil {
		return err
	}
	sha, err := d.x.Commit(ctx, recovery.Commit{
		Title: recovery.Title{Status: state.KindInitial}, Snapshot: snap, Branch: "main",
		Transition: state.InitialCheckpointSet{},
	})
	if err == nil {
		d.say("initial checkpoint %.12s: %d files", sha, snap.Files)
	}
	return err
}

// askAboutHuge refuses to swallow a home directory by accident.
func (d *driver) askAboutHuge(ctx context.Context, sel checkpoint.Selection) error {
	if d.opts.Yes {
		return nil
	}
	sel.Never = recovery.Never
	size, err := d.x.Store.Estimate(ctx, checkpoint.SnapshotRequest{Workspace: d.x.Workspace, Selection: sel})
	if err != nil {
		return err
	}
	huge := HugeFolder{Path: d.x.Layout.Workspace, Files: int64(size.Files), Bytes: size.Bytes}
	home, _ := os.UserHomeDir()
	switch {
	case home != "" && sameFolder(home, huge.Path):
		huge.Why = "it is your home directory"
	case size.Files > hugeFiles:
		huge.Why = fmt.Sprintf("it has over %d files", hugeFiles)
	case size.Bytes > hugeBytes:
		huge.Why = "it has over 5 GB"
	default:
		return nil
	}
	for _, f := range size.Largest {
		huge.Largest = append(huge.Largest, Folder{Path: f.Path, Files: int64(f.Files), Bytes: f.Bytes, Ignore: f.Ignore})
	}
	if d.opts.ConfirmHuge != nil && d.opts.ConfirmHuge(huge) {
		return nil
	}
	return &recovery.DecisionError{What: fmt.Sprintf("the first checkpoint of %s would be large: %s", huge.Path, huge.Why),
		Options: []string{"--yes takes it", "put what is not needed into .gitignore (hank names the largest folders)"}}
}

func sameFolder(a, b string) bool {
	fa, errA := os.Stat(a)
	fb, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(fa, fb)
}
