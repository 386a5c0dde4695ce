package runtime

import (
	"context"
	"fmt"
	"os"
	"strings"

	"hank/checkpoint"
	"hank/checkpoint/match"
	"hank/internal/vfs"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/recovery/layout"
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
		if d.answers.Fresh {
			d.say("note: --fresh has no effect: this execution has its checkpoints, and goes on")
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
	size, err := d.x.Store.Estimate(ctx, checkpoint.SnapshotRequest{Workspace: d.x.Workspace, Selection: everything})
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
	snap, err := d.x.Snapshot(ctx, everything, "")
	if err != nil {
		return err
	}
	sha, err := d.x.Commit(ctx, execution.Commit{
		Title: githistory.Title{Status: state.KindInitial}, Snapshot: snap, Branch: "main",
		Transition: state.InitialCheckpointSet{},
	})
	if err == nil {
		d.say("initial checkpoint %.12s: %d files", sha, snap.Files)
	}
	return err
}

// askBeforeCreation asks what must be known before anything is made: whether the
// workspace that is there has files for secrets.
func askBeforeCreation(ctx context.Context, root string, r Request, a Answers, ui UI) (Answers, error) {
	if a.IncludeSecrets || a.ExcludeSecrets {
		return a, nil
	}
	l := layout.Layout{Root: root, Workspace: absolute(r.Workspace)}
	if r.Workspace == "" {
		l.Workspace = layout.DefaultWorkspace(root)
	}
	if fi, err := os.Stat(l.Workspace); err != nil || !fi.IsDir() {
		return a, nil // there is none, or creation says what is wrong with it
	}
	size, err := execution.FirstEstimate(ctx, l)
	if err != nil {
		return a, fmt.Errorf("looking for files with secrets in the workspace: %w", err)
	}
	return askAboutPrivate(size.Private, a, ui)
}

// askAboutPrivate decides whether the first checkpoint takes files for secrets:
// what is in a checkpoint stays in it.
func askAboutPrivate(files []string, a Answers, ui UI) (Answers, error) {
	if len(files) == 0 || a.IncludeSecrets || a.ExcludeSecrets {
		return a, nil
	}
	shown := strings.Join(files[:min(3, len(files))], ", ")
	if more := len(files) - 3; more > 0 {
		shown += fmt.Sprintf(" and %d more", more)
	}
	what := "the workspace has files that hold secrets by their names, and the first checkpoint would keep them: " + shown
	switch ui.choose(what, "leave them out of every checkpoint", "include them in the checkpoints", "stop") {
	case 0:
		a.ExcludeSecrets = true
		return a, nil
	case 1:
		a.IncludeSecrets = true
		return a, nil
	}
	return a, &finding.DecisionError{What: what, Options: []string{
		"--exclude-secrets leaves them out of every checkpoint", "--include-secrets includes them", "ignore them in .gitignore",
	}}
}

// askAboutHuge refuses to swallow a home directory by accident.
func (d *driver) askAboutHuge(size checkpoint.Size) error {
	if d.answers.Yes {
		return nil
	}
	huge := HugeFolder{Path: d.x.Layout.Workspace, Files: int64(size.Files), Bytes: size.Bytes}
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
		huge.Largest = append(huge.Largest, Folder{Path: f.Path, Files: int64(f.Files), Bytes: f.Bytes, Ignore: f.Ignore})
	}
	if d.ui.ConfirmHuge != nil && d.ui.ConfirmHuge(huge) {
		return nil
	}
	return &finding.DecisionError{What: fmt.Sprintf("the first checkpoint of %s would be large: %s", huge.Path, huge.Why),
		Options: []string{"--yes takes it", "put what is not needed into .gitignore (hank names the largest folders)"}}
}
