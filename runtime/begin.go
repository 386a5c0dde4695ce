package runtime

import (
	"context"
	"fmt"
	"os"
	"strings"

	"hank/checkpoint"
	"hank/checkpoint/match"
	"hank/internal/term"
	"hank/internal/vfs"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/runtime/request"
	"hank/state"
)

// Limits above which the first checkpoint of a directory wants the user's yes.
const (
	hugeFiles = 200_000
	hugeBytes = 5 << 30
)

// begin makes the checkpoint of the untouched workspace, if there is none.
func (d *driver) begin(ctx context.Context) error {
	if d.x.State().InitialCheckpoint != "" {
		if d.answers.Fresh {
			d.say("note: --fresh has no effect: this execution has its checkpoints, and continues")
		}
		if d.answers.ExcludeSecrets && len(match.LeftOut(d.x.Store.DB)) == 0 {
			d.say("--exclude-secrets has no effect: the first checkpoint was made without it")
		}
		return nil
	}
	if err := d.accept(); err != nil {
		return err
	}
	everything := checkpoint.Selection{All: true, Never: execution.Never}
	d.ui.Monitor.Wait("counting the files of the workspace")
	size, err := d.estimate(ctx, everything)
	if err != nil {
		return err
	}
	if d.answers, err = askAboutPrivate(size.Private, d.answers, d.ui); err != nil {
		return err
	}
	if err := d.askAboutHuge(size); err != nil {
		return err
	}
	if d.answers.ExcludeSecrets && len(size.Private) > 0 {
		if err := d.x.LeaveOut(size.Private); err != nil {
			return err
		}
		d.say("left out of every checkpoint: %s", strings.Join(size.Private, ", "))
	}
	d.ui.Monitor.Wait("making the first checkpoint")
	snap, err := d.x.Snapshot(ctx, everything, "")
	if err != nil {
		return err
	}
	sha, err := d.x.Commit(ctx, execution.Commit{
		Title: githistory.Title{Status: state.KindInitial}, Snapshot: snap, Branch: "main",
		Transition: state.InitialCheckpointSet{},
	})
	if err == nil {
		linked := ""
		if d.x.Meta().ReadOnlySourceDataPath != "" {
			linked = " (the data is linked, and in no checkpoint)"
		}
		d.say("initial checkpoint %.12s: %s%s", sha, term.Count(snap.Files, "file"), linked)
	}
	return err
}

// estimate is what the first checkpoint would hold. The look from before the execution was
// made counts, unless somebody else has made it meanwhile.
func (d *driver) estimate(ctx context.Context, everything checkpoint.Selection) (checkpoint.Size, error) {
	if d.size != nil && d.x.Report.Source == "new" {
		return *d.size, nil
	}
	return d.x.Store.Estimate(ctx, checkpoint.SnapshotRequest{Workspace: d.x.Workspace, Selection: everything})
}

// askAboutHuge refuses to swallow a home directory by accident.
func (d *driver) askAboutHuge(size checkpoint.Size) error {
	if d.answers.Yes {
		return nil
	}
	huge := HugeWorkspace{Path: d.x.Layout.Workspace, Files: int64(size.Files), Bytes: size.Bytes}
	home, _ := os.UserHomeDir()
	switch {
	case home != "" && vfs.SameFile(home, huge.Path):
		huge.Why = "it is your home directory"
	case size.Files > hugeFiles:
		huge.Why = fmt.Sprintf("it has over %d files", hugeFiles)
	case size.Bytes > hugeBytes:
		huge.Why = "it has over 5 GB"
	default:
		return nil
	}
	for _, f := range size.Largest {
		huge.Largest = append(huge.Largest, request.Directory{Path: f.Path, Files: int64(f.Files), Bytes: f.Bytes, Ignore: f.Ignore})
	}
	if d.ui.ConfirmHuge != nil && d.ui.ConfirmHuge(huge) {
		return nil
	}
	return &finding.DecisionError{What: fmt.Sprintf("the first checkpoint of %s would be large: %s", huge.Path, huge.Why),
		Options: []string{"--yes checkpoints it anyway", "exclude what is not needed in .gitignore (hank lists the largest directories)", "`hank reset` gives up the execution that was begun"}}
}
