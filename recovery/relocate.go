package recovery

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"hank/internal/vfs"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/layout"
	"hank/state"
)

// relocate records where the execution is. A moved one gets other paths; a copied one a
// lineage of its own besides, so that the two cannot be taken for one another.
func relocate(x *execution.Execution, inode string) error {
	how, note := relocated(x.FS, x.Layout, x.Metadata, x.State(), inode)
	switch s, strayed := x.Layout.Rehouse(x.State()); {
	case how == layout.Copied:
		copied := *s
		x.Origin, copied.Lineage = s.Lineage, layout.NewID(16)
		if err := rebase(x, &copied, x.Journal.Last()+1, "this is a copy of "+x.Metadata.Root); err != nil {
			return err
		}
	case strayed:
		if err := rebase(x, s, x.Journal.Last()+1, "the execution is in "+x.Layout.Root+" now"); err != nil {
			return err
		}
	}
	note.report(&x.Report)
	if how != layout.InPlace {
		x.Metadata.Folder = nil
	}
	return nil
}

// relocated says how an execution that is not where it was last opened got where it is,
// and what becomes of it.
func relocated(fsys vfs.FS, l layout.Layout, m layout.Meta, s *state.State, inode string) (how layout.Relocation, note Repair) {
	how = layout.Relocated(fsys, m, l.Root, inode)
	_, strayed := l.Rehouse(s)
	switch {
	case how == layout.Copied:
		note = Repair{Severity: finding.Note, Found: "this execution is a copy of " + m.Root, Will: "the next command lets it go its own way from here", Did: "it goes its own way from here"}
	case how == layout.Moved, strayed:
		note = Repair{Severity: finding.Note, Found: "the execution was moved here from " + orElsewhere(m.Root)}
	}
	return how, note
}

func orElsewhere(root string) string {
	if root == "" {
		return "elsewhere"
	}
	return root
}

// renewMeta brings execution-meta.json up to date. A damaged one is kept in
// quarantine, and what of it can be seen in the execution is taken from there.
func renewMeta(x *execution.Execution, inode string) error {
	if x.Metadata.Version == "" {
		if _, err := layout.ReadMetaFile(x.FS, x.Layout.Meta()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			if err := x.SetAside(x.Layout.Meta(), err); err != nil {
				return err
			}
		}
		x.Metadata = layout.Meta{Version: layout.MetaVersion, CreatedAt: x.Now(), Environment: layout.Here()}
		if data, err := os.Readlink(x.Layout.Data()); err == nil {
			x.Metadata.ReadOnlySourceDataPath, x.Metadata.LinkType = data, "symlink"
		}
	}
	return x.SetMeta(func(m *layout.Meta) {
		if x.State().Adopted && m.Lineage == "" && m.Adopted == nil {
			m.Adopt(x.Now())
		}
		m.SetLineage(x.State().Lineage)
		m.Root, m.Inode = x.Layout.Root, inode
		if r := x.State().Newest(); r == nil || r.Live() == nil {
			m.RememberWorkspace(x.Lock.Workspace())
		}
		if x.Layout.Workspace != layout.DefaultWorkspace(x.Layout.Root) {
			m.Workspace = x.Layout.Workspace
		}
	})
}

// rebase makes a state the one that the journal begins with.
func rebase(x *execution.Execution, s *state.State, seq uint64, why string) error {
	base, err := x.BaseEvent(s, seq, why)
	if err != nil {
		return err
	}
	if err := x.Journal.NewSegment(base); err != nil {
		return fmt.Errorf("beginning the journal anew: %w", err)
	}
	return nil
}
