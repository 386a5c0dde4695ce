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

// Reap ends everything that a crashed attempt has left running, and returns when it
// is gone. What was started by the attempt is known by its environment, and what
// that has started by descent. It returns what it killed, and an *AliveError
// if something cannot be killed.
func Reap(attempt string) ([]Leftover, error) {
	if attempt == "" {
		return nil, errors.New("reap an attempt: it has no name")
	}
	if os.Getenv(attemptVariable) == attempt {
		return nil, fmt.Errorf("reap attempt %q: this very process was started by it; run hank outside of the agent", attempt)
	}
	ended, err := reaper{attempt: attempt}.end(killPatience)
	return ended.list, err
}

// reaper ends the processes of an attempt that are not below a keeper. Its fields
// are the marks by which they are known. All have the attempt in their environment,
// unless they hide it.
type reaper struct {
	attempt string
	command proc.Identity // the command itself and its group; zero if unknown
	session int           // session that a keeper made which was waited for; 0 if unknown
	orphans bool          // also what this process has adopted
	once    bool          // one scan that finds nothing is enough
}

// end kills until nothing is found any more. This usually takes two scans: a
// process that executes another program shows no environment for a moment.
func (r reaper) end(patience time.Duration) (killed, error) {
	var ended killed
	deadline := time.Now().Add(patience)
	pause := time.Millisecond
	for clean := 0; ; {
		alive, err := r.survivors()
		if err != nil {
			return ended, fmt.Errorf("look for what attempt %q started: %w", r.attempt, err)
		}
		if clean++; len(alive) > 0 {
			clean = 0
		}
		if clean == 2 || clean == 1 && r.once && ended.seen == nil {
			return ended, nil
		}
		if time.Now().After(deadline) {
			return ended, &AliveError{Attempt: r.attempt, Alive: leftovers(alive)}
		}
		for _, p := range alive {
			ended.kill(p.Identity)
		}
		time.Sleep(pause)
		pause = min(2*pause, 50*time.Millisecond)
	}
}

// survivors lists the processes with a mark and everything below them, but never this
// process nor its ancestors.
func (r reaper) survivors() ([]proc.Info, error) {
	r.orphans = r.orphans && adopting.Load()
	if r.orphans {
		keepers.mu.Lock() // no keeper may be born meanwhile: it would be taken for an orphan
		defer keepers.mu.Unlock()
	}
	list, err := proc.List()
	if err != nil {
		return nil, err
	}
	if r.orphans {
		buryOrphans(list)
	}
	group := r.numbers(list)
	spared := selfAndAncestors(list)
	taken := map[int]bool{}
	var alive []proc.Info
	for _, root := range list {
		if taken[root.PID] || !(group.bears(root) || r.orphans && isOrphan(root) || r.mayBear(root) && root.HasEnv(attemptVariable, r.attempt)) {
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

// mayBear reports whether a process is young enough to have been started by the
// command: reading the environment of every process is most of what a scan costs.
func (r reaper) mayBear(p proc.Info) bool {
	return r.command.PID == 0 || p.StartTicks >= r.command.StartTicks
}

// numbers are the group and the session of an attempt; 0 if unknown.
type numbers struct{ group, session int }

// numbers leaves out the group and the session if their number is the pid of another
// process by now, which can only be after all their members have ended.
func (r reaper) numbers(list []proc.Info) numbers {
	n := numbers{r.command.PID, r.session}
	for _, p := range list {
		if p.PID == n.group && p.StartTicks != r.command.StartTicks {
			n.group = 0
		}
		if p.PID == n.session {
			n.session = 0
		}
	}
	return n
}

func (n numbers) bears(p proc.Info) bool {
	return n.group != 0 && (p.PID == n.group || p.Group == n.group) || n.session != 0 && p.Session == n.session
}

// isOrphan reports whether p is a child that this process has adopted.
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

// killed collects what was killed. The zero value is empty.
type killed struct {
	list  []Leftover
	total int
	seen  map[processKey]bool
}

// processKey tells a process from another with the same pid.
type processKey struct {
	pid   int
	ticks uint64
}

// kill kills a process and counts it once. It reports whether it was new.
func (s *killed) kill(id proc.Identity) (fresh bool) {
	key := processKey{id.PID, id.StartTicks}
	line := ""
	fresh = !s.seen[key]
	if fresh && len(s.list) < maxLeftovers {
		line = id.CmdLine()
	}
	err := id.Kill(syscall.SIGKILL)
	if !fresh || errors.Is(err, os.ErrProcessDone) {
		return fresh
	}
	if s.seen == nil {
		s.seen = map[processKey]bool{}
	}
	s.seen[key] = true
	if err != nil {
		return true // it will be named by an AliveError
	}
	s.total++
	if len(s.list) < maxLeftovers {
		s.list = append(s.list, Leftover{PID: id.PID, Command: line})
	}
	return true
}

// add adds what another one has collected.
func (s *killed) add(other killed) {
	s.total += other.total
	room := min(maxLeftovers-len(s.list), len(other.list))
	s.list = append(s.list, other.list[:room]...)
}

func leftovers(alive []proc.Info) []Leftover {
	var list []Leftover
	for _, p := range alive[:min(len(alive), maxLeftovers)] {
		list = append(list, Leftover{PID: p.PID, Command: p.CmdLine()})
	}
	return list
}
