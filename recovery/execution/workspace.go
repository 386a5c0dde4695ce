package execution

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"hank/internal/proc"
	"hank/recovery/layout"
	"hank/state"
)

// LinkData puts the data into the workspace.
func (x *Execution) LinkData() error {
	if data := x.Metadata.ReadOnlySourceDataPath; data != "" && x.Metadata.LinkType != "copy" {
		if err := layout.LinkData(data, x.Layout.Data()); err != nil {
			return fmt.Errorf("linking the data into the workspace: %w", err)
		}
	}
	return nil
}

// followWorkspace checks that agents work where the execution has its lock. Between a
// codon's start and its end another directory in that place is taken for the
// workspace: see DirID.Succeeds.
func (x *Execution) followWorkspace() error {
	r := x.State().Newest()
	if r == nil || r.Live() == nil {
		return x.Lock.OnWorkspace()
	}
	moved, err := x.Lock.Follow()
	if err != nil || !moved {
		return err
	}
	ws, err := x.Layout.OpenWorkspace()
	if err != nil {
		return err
	}
	old := x.Workspace
	x.Workspace = ws
	x.Monitor.Note("the workspace's directory was replaced while the codon was running; the one that is there now has its work")
	return errors.Join(old.Close(), x.LinkData(), x.SetMeta(func(m *layout.Meta) { m.RememberWorkspace(x.Lock.Workspace()) }))
}

// CheckWorkspace is for the moment before a codon begins: what is in the place
// of the workspace then was not put there by one.
func (x *Execution) CheckWorkspace() error { return x.Lock.OnWorkspace() }

// sameWorkspace checks, before what a codon has left is taken, that it is in the
// directory that was its workspace, or in one that may stand for it. After a boot, or on
// another machine, volumes and users may have other numbers.
func (x *Execution) sameWorkspace(sameBoot bool) error {
	if x.Metadata.WorkspaceDir == nil {
		return nil
	}
	was := *x.Metadata.WorkspaceDir
	if now := x.Lock.Workspace(); !sameBoot {
		was.Device, was.Owner = now.Device, now.Owner
	}
	if _, blocked := was.Succeeds(x.Layout.Workspace); blocked != nil {
		return blocked
	}
	return nil
}

// IsOfBoot reports whether a run began in a boot.
func IsOfBoot(r *state.Run, boot string) bool {
	var id proc.Identity
	return json.Unmarshal(r.Process, &id) == nil && id.BootID != "" && id.BootID == boot
}
