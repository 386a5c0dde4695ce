package lock

import (
	"errors"
	"fmt"

	"hank/internal/flock"
	"hank/recovery/finding"
	"hank/recovery/layout"
)

// OnWorkspace checks that the path of the workspace still leads to the directory that
// is locked, and not by a link that was put there.
func (k *Lock) OnWorkspace() error {
	k.DirsMu.Lock()
	defer k.DirsMu.Unlock()
	mine, err := k.Dirs[1].Stat()
	if err != nil || k.leadsTo(1, k.layout.Workspace, mine) {
		return err
	}
	return &finding.DecisionError{What: "the workspace " + k.layout.Workspace + " was moved, deleted or replaced while no codon was running",
		Options: []string{"put the directory back, and then `hank run`", "`hank run` compares what is there with the last checkpoint, and asks where it differs"}, Command: "hank run"}
}

// Follow takes the directory that a codon has put in the place of its workspace: it
// is locked instead of the one that was there. moved reports whether there was one
// to take.
func (k *Lock) Follow() (moved bool, err error) {
	if k.OnWorkspace() == nil {
		return false, nil
	}
	next := &Lock{fsys: k.fsys, layout: k.layout}
	was := k.Workspace()
	now, blocked := was.Succeeds(k.layout.Workspace)
	if blocked != nil {
		return false, blocked
	}
	if err := next.take(k.layout.Workspace); err != nil {
		return false, err
	}
	opened, err := next.Dirs[0].Stat()
	if err == nil && !layout.DirOf(opened).Same(now) {
		err = fmt.Errorf("%s was replaced while it was locked: %w", k.layout.Workspace, flock.ErrHeld)
	}
	if err != nil {
		return false, errors.Join(err, next.closeDirs())
	}
	k.DirsMu.Lock()
	defer k.DirsMu.Unlock()
	old := k.Dirs[1]
	k.Dirs[1], k.names[1], k.at = next.Dirs[0], next.names[0], now
	return true, flock.Close(old)
}

// Workspace is the locked directory that agents work in.
func (k *Lock) Workspace() layout.DirID {
	k.DirsMu.Lock()
	defer k.DirsMu.Unlock()
	return k.at
}
