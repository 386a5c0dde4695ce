package execution

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"hank/checkpoint"
	"hank/checkpoint/match"
	"hank/checkpoint/scan"
	"hank/internal/gitignore"
	"hank/internal/secret"
	"hank/internal/vfs"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/recovery/layout"
)

// FirstEstimate is what the first checkpoint of a workspace would hold, by the
// walk that makes it. There need be no execution yet.
func FirstEstimate(ctx context.Context, l layout.Layout) (checkpoint.Size, error) {
	ws, err := l.OpenWorkspace()
	if err != nil {
		return checkpoint.Size{}, err
	}
	defer ws.Close()
	return scan.EstimateNew(ctx, checkpoint.SnapshotRequest{Workspace: ws, Selection: checkpoint.Selection{All: true, Never: Never}})
}

// LeaveOut keeps files out of every checkpoint from now on, also while a run is at
// work: the list is put right before, where an agent has changed it.
func (x *Execution) LeaveOut(paths []string) error {
	if err := errors.Join(x.Held(), x.Inspect()); err != nil {
		return err
	}
	if err := match.LeaveOut(x.Store.DB, paths); err != nil {
		return err
	}
	if err := x.Monitor.Rewritten(filepath.Join(x.Layout.Store(), "info", "exclude")); err != nil {
		return err
	}
	return x.SetMeta(func(m *layout.Meta) { m.LeftOut = x.leftOut() })
}

// leftOut is what the meta can hold of the list: paths that are text.
func (x *Execution) leftOut() []string {
	return slices.DeleteFunc(match.LeftOut(x.Store.DB), func(p string) bool { return !utf8.ValidString(p) })
}

// KeepLeftOut brings the list back where the store or the meta has lost it. An
// import has neither; the record of the initial checkpoint has it, too.
func (x *Execution) KeepLeftOut() error {
	have, want := x.leftOut(), slices.Clone(x.Metadata.LeftOut)
	if x.Opts.Refill != nil {
		info, err := x.Store.CommitInfo(checkpoint.SHA(x.State().InitialCheckpoint))
		if r, found, _ := githistory.ReadRecord(info); err == nil && found { // one that cannot be read is told elsewhere
			want = append(want, slices.DeleteFunc(r.LeftOut, func(p string) bool { return !fs.ValidPath(p) || p == "." })...)
		}
	}
	missing := slices.DeleteFunc(want, func(p string) bool { return slices.Contains(have, p) })
	if len(missing) == 0 && len(have) == len(x.Metadata.LeftOut) {
		return nil
	}
	return x.LeaveOut(missing)
}

// LeaveOutPresent keeps files for secrets that an import has found in the workspace
// out of every checkpoint: those that the user wants left out, and those that the
// directory's own ignore rules hide, which the fill may take away. A checkpoint that
// has one of them has it already.
func (x *Execution) LeaveOutPresent(ctx context.Context, visible bool) error {
	size, err := FirstEstimate(ctx, x.Layout)
	if err != nil {
		return fmt.Errorf("looking for files with secrets in the workspace: %w", err)
	}
	found, err := x.hiddenPrivate(size.Private)
	if err != nil {
		return fmt.Errorf("looking for files with secrets in the workspace: %w", err)
	}
	if visible {
		found = append(found, size.Private...)
	}
	have := match.LeftOut(x.Store.DB)
	tree, err := x.Tree(x.Head())
	found = slices.DeleteFunc(found, func(p string) bool {
		return slices.Contains(have, p) || err == nil && x.Store.HasFile(tree, p) || strings.ContainsAny(p, "\n\r")
	})
	if len(found) == 0 {
		return nil
	}
	slices.Sort(found)
	x.Report.Add(finding.Warning, "left out of every checkpoint: %s", strings.Join(found, ", "))
	return x.LeaveOut(found)
}

// hiddenPrivate are the files for secrets of the workspace but those that are
// visible.
func (x *Execution) hiddenPrivate(visible []string) (hidden []string, err error) {
	apart := x.Layout.Apart()
	root, err := os.OpenRoot(x.Layout.Workspace)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil: // what cannot be read cannot come into a checkpoint
			return nil
		case name != "." && (layout.Protected(name) || apart(name)):
			if e.IsDir() {
				return fs.SkipDir
			}
		case e.Type().IsRegular() && secret.IsPrivate(e.Name()) && !slices.Contains(visible, name):
			hidden = append(hidden, name)
		}
		return nil
	})
	return hidden, err
}

// warnOfPrivate says which files that people keep secrets in are in a
// checkpoint for the first time, each once.
func (x *Execution) warnOfPrivate(snap *checkpoint.Snapshot) {
	var found []string
	for _, path := range snap.Private {
		if !x.warned[path] {
			found = append(found, path)
		}
	}
	if len(found) > 0 && x.warned == nil {
		x.warned = map[string]bool{}
	}
	for _, path := range found {
		x.warned[path] = true
	}
	for i, path := range found {
		if i == MaxNotes {
			x.Opts.Warn(fmt.Sprintf("warning: and %d more files for secrets", len(found)-MaxNotes))
			break
		}
		x.Opts.Warn(fmt.Sprintf("warning: %s goes into the checkpoints, and files of this name hold secrets; treat exports as confidential, or replace those secrets", path))
		_ = x.Note("checkpoint.private", map[string]any{"path": path, "ignore": gitignore.Line(path)}) // as driver.note
	}
}

// privateWarning is the sentence about one file, with the line that keeps it out.
func privateWarning(path, what string) string {
	return fmt.Sprintf("%s %s, and files of this name hold secrets; the line %s in .gitignore, before the first checkpoint, keeps it out", path, what, gitignore.Line(path))
}

// largestRules is more than any .gitignore has, in bytes.
const largestRules = 16 << 20

// WouldBePrivate says which files for secrets a first checkpoint of a workspace
// would hold. It looks at the two upper levels, and at the rules of the upper
// directory.
func WouldBePrivate(workspace string) []string {
	text, _ := vfs.ReadLimited(filepath.Join(workspace, ".gitignore"), largestRules) // none ignores nothing
	ignored := gitignore.Parse("", text)
	var found []string
	for _, name := range secret.PrivateFiles(workspace) {
		if !ignored.Excludes(name, false) {
			found = append(found, privateWarning(name, "would go into the checkpoints"))
		}
	}
	return found
}
