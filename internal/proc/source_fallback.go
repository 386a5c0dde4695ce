//go:build !linux && !darwin

package proc

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shirou/gopsutil/v3/process"
)

// fixedFacts knows nothing here: there is no boot id to ask for, and the host
// name and the start time have to do.
func fixedFacts() machine { return machine{} }

// endedOrStopped returns zombie or stopped, and unseen for anything else.
func endedOrStopped(pid int) lifeState {
	words, err := (&process.Process{Pid: int32(pid)}).Status()
	switch {
	case err == nil && slices.Contains(words, process.Zombie):
		return zombie
	case err == nil && slices.Contains(words, process.Stop):
		return stopped
	default:
		return unseen
	}
}

func list() ([]Info, error) {
	all, err := process.Processes()
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	here := platform{}.machine()
	infos := make([]Info, 0, len(all))
	for _, p := range all {
		seen, err := platform{}.observe(int(p.Pid))
		if err != nil || seen.state == gone {
			continue
		}
		parent, err := p.Ppid()
		if err != nil {
			continue
		}
		infos = append(infos, Info{
			Identity: here.identity(int(p.Pid), seen.ticks),
			Parent:   int(parent),
			Zombie:   seen.state == zombie,
			Stopped:  seen.state == stopped,
		})
	}
	return infos, nil
}

func environ(pid int) ([]byte, error) {
	env, err := (&process.Process{Pid: int32(pid)}).Environ()
	if err != nil {
		return nil, errNoEnviron
	}
	return []byte(strings.Join(env, "\x00") + "\x00"), nil
}
