package recovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"hank/checkpoint"
	"hank/internal/failpoint"
	"hank/internal/vfs"
	"hank/state"
)

// Import brings checkpoints back from where they were exported to, and opens
// the execution. Where there is none, one is made of them: its state, journal
// and costs are rebuilt from their records, and the workspace is filled. What
// is not in git (transcripts, the archive) does not come back.
//
//  1. The folders, and in hank's own a mark: as long as it is there, nothing but
//     an import opens the execution, for nobody knows what it lacks.
//  2. The store, with all checkpoints. Then the state and the journal are made
//     of their records, as for an execution that has lost them.
//  3. The workspace is filled, and the mark is removed.
//
// A crash in between, or an error of the other side, leaves what the same import
// goes on with. In an execution that is there already there is no mark: it knows
// which checkpoints it lacks.
func Import(ctx context.Context, root string, from checkpoint.Remote, o Options) (*Execution, *checkpoint.Transfer, error) {
	o = o.withDefaults()
	if err := mayAct(root, o.Workspace); err != nil {
		return nil, nil, err
	}
	prefix, cut := importing(o.FS, root)
	fresh := cut || !exists(o.FS, root)
	if cut && prefix != from.Prefix {
		return nil, nil, importCut(root, prefix)
	}
	keep := o.KeepTree || cut && keepsTree(o.FS, root)
	if fresh {
		if err := askAboutTree(root, cut, o); err != nil {
			return nil, nil, err
		}
		if err := beginImport(root, from, keep, o); err != nil {
			return nil, nil, fmt.Errorf("making the execution: %w", err)
		}
	}
	var moved *checkpoint.Transfer
	o.Refill = func(store *checkpoint.Store) (err error) {
		moved, err = store.Import(ctx, from)
		return err
	}
	x, err := Open(ctx, root, o)
	if err != nil || !fresh {
		return x, moved, err
	}
	failpoint.Hit("import.opened")
	if !keep {
		err = x.fill(ctx)
	}
	failpoint.Hit("import.filled")
	if err == nil || ctx.Err() == nil { // what could not be filled is told, and the execution is whole
		mark := x.Layout.importing()
		err = errors.Join(err, x.fs.Remove(mark), x.fs.SyncDir(filepath.Dir(mark)))
	}
	if err != nil {
		return nil, moved, errors.Join(err, x.Close())
	}
	return x, moved, nil
}

// importing is the mark of an execution that is being made by an import: the
// prefix of what is imported.
func (l Layout) importing() string { return l.hank("importing") }

// Importing tells whether an execution is only half imported, and from below
// which prefix.
func Importing(root string) (prefix string, cut bool) { return importing(vfs.OS, root) }

func importing(fsys vfs.FS, root string) (prefix string, cut bool) {
	text, err := vfs.ReadFile(fsys, Layout{Root: root}.importing())
	prefix, _, _ = strings.Cut(string(text), "\n")
	return strings.TrimSpace(prefix), err == nil
}

// keepsTree reports whether an import that was cut short was to leave the workspace
// as it is.
func keepsTree(fsys vfs.FS, root string) bool {
	text, err := vfs.ReadFile(fsys, Layout{Root: root}.importing())
	return err == nil && strings.HasSuffix(string(text), "\n"+keepsTreeMark)
}

const keepsTreeMark = "keep-tree\n"

// askAboutTree asks before an import fills a workspace that has files in it.
func askAboutTree(root string, cut bool, o Options) error {
	l := Layout{Root: root, Workspace: cmp.Or(o.Workspace, DefaultWorkspace(root))}
	n := entriesIn(l.Workspace)
	if cut || o.KeepTree || o.RestoreTree || n == 0 {
		return nil
	}
	return &DecisionError{What: fmt.Sprintf("the import would fill %s, which has %s in it", l.Workspace, things(n)), Options: []string{
		"--keep-tree leaves it as it is: hank run then compares it with the newest checkpoint, and asks where it differs",
		"--restore makes it as in the newest checkpoint, and keeps what is there in a checkpoint of its own",
		"-e DIR imports into another folder"}}
}

func importCut(root, prefix string) error {
	return &DecisionError{
		What:    fmt.Sprintf("an import of %s into %s was cut short; what is there is not whole", prefix, root),
		Options: []string{"hank checkpoints import with the same address goes on with it", "delete " + Layout{Root: root}.Hankweave() + " to give it up: nothing has run there yet"},
	}
}

func beginImport(root string, from checkpoint.Remote, keep bool, o Options) error {
	l := Layout{Root: root, Workspace: DefaultWorkspace(root)}
	if o.Workspace != "" {
		l.Workspace = o.Workspace
	}
	for _, dir := range []string{l.Root, l.Workspace, l.Hankweave()} {
		perm := fs.FileMode(0o755)
		if dir == l.Hankweave() {
			perm = 0o700
		}
		if err := vfs.MkdirAll(o.FS, dir, perm); err != nil {
			return err
		}
	}
	failpoint.Hit("import.begun")
	mark := from.Prefix + "\n"
	if keep {
		mark += keepsTreeMark
	}
	if err := vfs.WriteFile(o.FS, l.importing(), []byte(mark), 0o600); err != nil {
		return err
	}
	failpoint.Hit("import.marked")
	return nil
}

// fill brings the workspace to where the execution stands. What was there is in
// a recovery checkpoint.
func (x *Execution) fill(ctx context.Context) error {
	head := x.Head()
	if head == "" {
		return nil
	}
	moved, err := x.MoveTree(ctx, Move{Kind: "restore", To: head, Tracked: checkpoint.Selection{All: true}})
	if err == nil {
		x.reportRefused(moved.Report.Refused)
		if len(moved.Report.Plan.Change)+len(moved.Report.Plan.Delete) > 0 {
			x.Report.add(Warning, "what was in the workspace is in checkpoint %.12s: hank restore . --from %.12[1]s --delete --yes -e %s brings it back", moved.Safety, x.Layout.Root)
		}
	}
	var unsafe *checkpoint.UnsafeTreeError
	if errors.As(err, &unsafe) {
		return fmt.Errorf("the execution is there, and its workspace is as it was: %w", err)
	}
	if err != nil {
		return fmt.Errorf("the execution is there, and its workspace could not be filled (hank run --restore does it): %w", err)
	}
	return nil
}

// refill is Options.Refill, with a new store where there is none that can be
// used. It returns what opening the store says now. What is damaged is out of
// the way before: an object in it would count as one that is there.
func (x *Execution) refill(ctx context.Context, why error) (storeErr, err error) {
	var damaged *checkpoint.DamagedError
	if why != nil {
		if !errors.Is(why, fs.ErrNotExist) && !errors.As(why, &damaged) {
			return why, nil
		}
		if err := x.newStore(why); err != nil {
			return nil, err
		}
	}
	before := len(x.Report.Findings)
	if err := x.salvage(ctx); err != nil {
		return nil, err
	}
	if err := x.opts.Refill(x.Store); err != nil {
		return nil, err
	}
	l, err := x.Store.Losses(ctx, nil)
	if err == nil && len(l.Cuts)+len(l.Tips) == 0 {
		for i := range x.Report.Findings[before:] {
			x.Report.Findings[before+i].Severity = Mended // it came back
		}
	}
	return nil, err
}

// DefaultPrefix is where the branches of an execution stand in another
// repository.
func DefaultPrefix(s *state.State) string { return fmt.Sprintf("hank/%.8s", s.Lineage) }
