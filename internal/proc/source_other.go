//go:build !linux

package proc

import (
	"errors"
	"os"

	"github.com/shirou/gopsutil/v3/process"
)

// platform reads the facts through gopsutil.
type platform struct{}

func (platform) machine() machine {
	m := fixedFacts()
	m.host, _ = os.Hostname()
	return m
}

func (platform) observe(pid int) (observation, error) {
	exists, err := process.PidExists(int32(pid))
	if err != nil {
		return observation{}, err
	}
	if !exists {
		return observation{state: gone}, nil
	}
	p := &process.Process{Pid: int32(pid)}
	seen := observation{state: unseen}
	if ms, err := p.CreateTime(); err == nil && ms > 0 {
		seen.state, seen.ticks = running, uint64(ms)
	}
	if special := endedOrStopped(pid); special != unseen {
		seen.state = special
	}
	return seen, nil
}

// cmdline returns the arguments of a process.
func cmdline(pid int) []string {
	args, err := (&process.Process{Pid: int32(pid)}).CmdlineSlice()
	if err != nil {
		return nil
	}
	return args
}

var errNoEnviron = errors.New("the environment of another process cannot be read on this system")

func children() []Identity { return nil }
