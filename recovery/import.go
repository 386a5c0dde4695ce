package recovery

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"hank/checkpoint"
	"hank/internal/vfs"
	"hank/state"
)

// Import brings checkpoints back from where they were exported to, and opens
// the execution. Where there is none, one is made of them: its state, journal
// and costs are rebuilt from their records, and the workspace is filled. What
// is not in git (transcripts, the archive) does not come back.
func Import(ctx context.Context, root string, from checkpoint.Remote, o Options) (*Execution, *checkpoint.Transfer, error) {
	o = o.withDefaults()
	fresh := !exists(o.FS, root)
	if fresh {
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
				return nil, nil, fmt.Errorf("making the execution: %w", err)
			}
		}
		if err := vfs.WriteFile(o.FS, l.hank(".gitignore"), []byte("*\n"), 0o600); err != nil {
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
	if err := x.fill(ctx); err != nil {
		return nil, moved, errors.Join(err, x.Close())
	}
	return x, moved, nil
}

// fill brings the workspace to where the execution stands. What was there is in
// a recovery checkpoint.
func (x *Execution) fill(ctx context.Context) error {
	head := x.Head()
	if head == "" {
		return nil
	}
	_, err := x.MoveTree(ctx, Move{Kind: "restore", To: head, Tracked: checkpoint.Selection{All: true}})
	if err != nil {
		return fmt.Errorf("the execution is there, and its workspace could not be filled (hank run --restore does it): %w", err)
	}
	return nil
}

// refill is Options.Refill, with a new store where there is none that can be
// used. It returns what opening the store says now.
func (x *Execution) refill(why error) (storeErr, err error) {
	var damaged *checkpoint.DamagedError
	if why != nil {
		if !errors.Is(why, fs.ErrNotExist) && !errors.As(why, &damaged) {
			return why, nil
		}
		if err := x.newStore(why); err != nil {
			return nil, err
		}
	}
	return nil, x.opts.Refill(x.Store)
}

// DefaultPrefix is where the branches of an execution stand in another
// repository.
func DefaultPrefix(s *state.State) string { return fmt.Sprintf("hank/%.8s", s.Lineage) }
