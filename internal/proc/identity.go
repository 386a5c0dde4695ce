// Package proc tells processes apart, finds out whether one still lives, finds
// those that belong together and ends exactly those that are meant.
//
// A process id alone names nothing for long: the kernel gives it away again,
// every PID namespace counts from one, and after a boot the count starts over.
// An Identity therefore carries the boot, the namespace and the start time as
// well. Verdicts are cautious: what cannot be proven is Unknown, and Unknown
// is never taken for dead.
package proc

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/shirou/gopsutil/v3/process"
)

// Identity names one life of one process. The zero values of the optional
// fields mean "not recorded"; records of other programs may hold a pid only.
type Identity struct {
	// Host is the host name at the time of recording. It explains, and decides
	// only where no boot id does: hosts get renamed.
	Host string `json:"host"`
	// Machine is a digest of the operating system's machine id. It survives a
	// change of the host name. It is left out in containers, whose machine id
	// comes with the image and is shared by all that run it.
	Machine string `json:"machine,omitempty"`
	// BootID changes with every boot of the machine. Containers share it with
	// the machine that they run on.
	BootID string `json:"bootId"`
	// PIDNamespace is the inode of the namespace in which PID counts.
	PIDNamespace string `json:"pidNamespace,omitempty"`
	PID          int    `json:"pid"`
	// StartTicks is the start time as the platform keeps it: clock ticks since
	// boot on Linux (field 22 of /proc/<pid>/stat, proc(5)), which no change
	// of the wall clock moves; milliseconds since 1970 elsewhere.
	StartTicks uint64 `json:"startTicks,omitempty"`
}

// Self identifies the calling process.
func Self() (Identity, error) { return Of(os.Getpid()) }

// Of identifies the process that has the pid now, be it a zombie. If there is
// none, the error matches os.ErrProcessDone.
func Of(pid int) (Identity, error) {
	seen, err := platform{}.observe(pid)
	if err != nil {
		return Identity{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	if seen.state == gone {
		return Identity{}, fmt.Errorf("identify process %d: %w", pid, os.ErrProcessDone)
	}
	return platform{}.machine().identity(pid, seen.ticks), nil
}

// Kill sends sig to the process if, and only if, it is still the one that id
// names. It returns an error matching os.ErrProcessDone if that process is
// dead, and sends nothing if it cannot be told.
func (id Identity) Kill(sig syscall.Signal) error {
	err := id.kill(sig)
	if err != nil {
		return fmt.Errorf("send signal %d to process %d: %w", int(sig), id.PID, err)
	}
	return nil
}

// proven returns nil if id names a living process, os.ErrProcessDone if it
// names a dead one, and a reason if neither can be proven.
func (id Identity) proven() error {
	switch verdict, why := id.Check(); verdict {
	case Alive:
		return nil
	case Dead:
		return os.ErrProcessDone
	default:
		return fmt.Errorf("it is not certain which process that is: %s", why)
	}
}

// machine is what can be known about the place where this process runs. Empty
// fields are unknown.
type machine struct {
	host         string
	machineID    string
	bootID       string
	pidNamespace string
}

func (m machine) identity(pid int, ticks uint64) Identity {
	return Identity{
		Host:         m.host,
		Machine:      m.machineID,
		BootID:       m.bootID,
		PIDNamespace: m.pidNamespace,
		PID:          pid,
		StartTicks:   ticks,
	}
}

// StartedAt is when the process that has the pid now was started, by the
// present setting of the clock; a second or two may be missing. It tells a
// process from the one that had its pid before, where nothing better was
// recorded.
func StartedAt(pid int) (time.Time, error) {
	ms, err := (&process.Process{Pid: int32(pid)}).CreateTime()
	if err != nil {
		return time.Time{}, fmt.Errorf("find out when process %d was started: %w", pid, err)
	}
	return time.UnixMilli(ms), nil
}
