//go:build unix

package keeper

import (
	"fmt"
	"os/exec"
	"sync"
	"sync/atomic"
)

// registry knows the keepers that this process has started, so that a reaper
// does not take a keeper for an orphan.
type registry struct {
	mu    sync.Mutex
	alive map[int]bool
}

var keepers = registry{alive: map[int]bool{}}

// start starts a keeper. The lock is held from before the process exists
// until it is known.
func (r *registry) start(cmd *exec.Cmd) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	r.alive[cmd.Process.Pid] = true
	return nil
}

// forget removes a keeper that has ended and was waited for.
func (r *registry) forget(pid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.alive, pid)
}

// adopting is set when this process is a subreaper.
var adopting atomic.Bool

// BecomeSubreaper makes orphans of a lost keeper children of this process, so
// that they are found even if they left their session and hide their
// environment. The runtime calls it once, before the first Start. Afterwards
// the process may start helpers by other means only in its own session:
// children in other sessions are taken for orphans when a keeper is lost.
// Where the system has no subreapers it does nothing.
func BecomeSubreaper() error {
	if err := becomeSubreaper(); err != nil {
		return fmt.Errorf("become a subreaper: %w", err)
	}
	adopting.Store(hasSubreapers)
	return nil
}
