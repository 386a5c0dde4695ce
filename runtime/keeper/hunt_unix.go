//go:build unix

package keeper

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hank/internal/proc"
)

// Reap ends everything that a crashed attempt has left, and returns when it is
// gone. What was started by the attempt is known by its environment, and what
// that has started by descent. It returns what it killed, and an *AliveError
// if something cannot be killed.
func Reap(attempt string) ([]Leftover, error) {
	if attempt == "" {
		return nil, errors.New("reap an attempt: it has no name")
	}
	if os.Getenv(AttemptVariable) == attempt {
		return nil, fmt.Errorf("reap attempt %q: this very process was started by it; run hank outside of the agent", attempt)
	}
	killed, err := hunt{attempt: attempt}.end(killPatience)
	return killed.list, err
}

// hunt says by which marks the processes of an attempt are known when they are
// not below a keeper.
type hunt struct {
	attempt string
	session int  // session that the keeper made; 0 if unknown
	group   int  // group that the command made; 0 if unknown
	orphans bool // also what this process has adopted
}

// end kills until nothing is found any more, twice in a row: a process that is
// just executing another program shows no environment for a moment.
func (h hunt) end(patience time.Duration) (spoils, error) {
	var killed spoils
	deadline := time.Now().Add(patience)
	pause := time.Millisecond
	for clean := 0; ; {
		alive, err := h.survivors()
		if err != nil {
			return killed, fmt.Errorf("look for what attempt %q started: %w", h.attempt, err)
		}
		if clean++; len(alive) > 0 {
			clean = 0
		}
		if clean == 2 {
			return killed, nil
		}
		if time.Now().After(deadline) {
			return killed, &AliveError{Attempt: h.attempt, Alive: leftovers(alive)}
		}
		for _, p := range alive {
			killed.kill(p.Identity)
		}
		time.Sleep(pause)
		pause = min(2*pause, 50*time.Millisecond)
	}
}

// survivors lists what bears a mark and everything below it, but never this
// process nor its ancestors.
func (h hunt) survivors() ([]proc.Info, error) {
	list, err := proc.List()
	if err != nil {
		return nil, err
	}
	marked, err := proc.WithEnv(AttemptVariable, h.attempt)
	if err != nil {
		return nil, err
	}
	lives := make(map[int]uint64, len(marked))
	for _, id := range marked {
		lives[id.PID] = id.StartTicks
	}
	if h.orphans && adopting.Load() {
		keepers.mu.Lock() // no keeper may be born unseen meanwhile
		defer keepers.mu.Unlock()
		if list, err = proc.List(); err != nil {
			return nil, err
		}
		buryOrphans(list)
	}
	h.dropReused(list)
	spared := selfAndAncestors(list)
	taken := map[int]bool{}
	var alive []proc.Info
	for _, root := range list {
		ticks, isMarked := lives[root.PID]
		if !(isMarked && ticks == root.StartTicks) && !h.bearsNumber(root) && !h.isOrphan(root) {
			continue
		}
		for _, p := range append([]proc.Info{root}, proc.Below(list, root.PID)...) {
			if !p.Zombie && !spared[p.PID] && !taken[p.PID] {
				taken[p.PID] = true
				alive = append(alive, p)
			}
		}
	}
	return alive, nil
}

// dropReused forgets the session and the group if a process has that number:
// both leaders were waited for, so it is somebody else, which it can be only
// if nobody is left in them.
func (h *hunt) dropReused(list []proc.Info) {
	for _, p := range list {
		if p.PID == h.session {
			h.session = 0
		}
		if p.PID == h.group && p.Parent != os.Getpid() {
			h.group = 0
		}
	}
}

func (h hunt) bearsNumber(p proc.Info) bool {
	return h.session != 0 && p.Session == h.session || h.group != 0 && p.Group == h.group
}

func (h hunt) isOrphan(p proc.Info) bool { return h.orphans && adopting.Load() && isOrphan(p) }

// isOrphan says whether p is a child that this process has adopted.
// The caller holds keepers.mu.
func isOrphan(p proc.Info) bool {
	own, err := unix.Getsid(0)
	return err == nil && p.Parent == os.Getpid() && p.Session != own && !keepers.alive[p.PID]
}

// buryOrphans waits for adopted children that have ended.
func buryOrphans(list []proc.Info) {
	for _, p := range list {
		if p.Zombie && isOrphan(p) {
			_, _ = unix.Wait4(p.PID, nil, unix.WNOHANG, nil)
		}
	}
}

func selfAndAncestors(list []proc.Info) map[int]bool {
	parents := make(map[int]int, len(list))
	for _, p := range list {
		parents[p.PID] = p.Parent
	}
	found := map[int]bool{}
	for pid := os.Getpid(); pid > 0 && !found[pid]; pid = parents[pid] {
		found[pid] = true
	}
	return found
}

// spoils collects what was killed. The zero value is empty.
type spoils struct {
	list  []Leftover
	total int
	seen  map[life]bool
}

type life struct {
	pid   int
	ticks uint64
}

// kill kills a process and counts it once. It reports whether it was new.
func (s *spoils) kill(id proc.Identity) (fresh bool) {
	key := life{id.PID, id.StartTicks}
	line := ""
	fresh = !s.seen[key]
	if fresh && len(s.list) < MaxLeftovers {
		line = id.CmdLine()
	}
	err := id.Kill(syscall.SIGKILL)
	if !fresh || errors.Is(err, os.ErrProcessDone) {
		return fresh
	}
	if s.seen == nil {
		s.seen = map[life]bool{}
	}
	s.seen[key] = true
	if err != nil {
		return true // it will be named by an AliveError
	}
	s.total++
	if len(s.list) < MaxLeftovers {
		s.list = append(s.list, Leftover{PID: id.PID, Command: line})
	}
	return true
}

// add takes over what another one has collected.
func (s *spoils) add(other spoils) {
	s.total += other.total
	room := min(MaxLeftovers-len(s.list), len(other.list))
	s.list = append(s.list, other.list[:room]...)
}

func leftovers(alive []proc.Info) []Leftover {
	var list []Leftover
	for _, p := range alive[:min(len(alive), MaxLeftovers)] {
		list = append(list, Leftover{PID: p.PID, Command: p.CmdLine()})
	}
	return list
}
